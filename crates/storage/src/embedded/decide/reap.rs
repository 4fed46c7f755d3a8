//! Removing what retired inboxes leave.

use restante_model::{InboxKey, Timestamp};

use super::{Decision, Operation, Raising, Room, segments_there};
use crate::Reaped;
use crate::embedded::index::{IndexError, Rows, inbox_key};
use crate::embedded::record::{Head, Record};
use crate::embedded::rows::{RetiredRow, key};
use crate::embedded::view::View;

/// Inboxes that one call of [`Reap`] looks at, at most.
const REAP_INBOXES: usize = 256;
/// Emails that it removes, at most, whatever limit it is called with: each is several rows of one batch
/// (see [`crate::embedded::view::BATCH_ROWS`]).
const REAP_EMAILS: usize = 256;

/// [`crate::Store::reap`].
pub(in super::super) struct Reap {
    pub(in super::super) limit: usize,
    pub(in super::super) now: Timestamp,
}

impl Operation for Reap {
    type Answer = Reaped;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Reaped>, IndexError> {
        let mut reaping = Reaping {
            view,
            now: self.now,
            budget: self.limit.min(REAP_EMAILS),
            emails: 0,
            raising: Raising::new(view),
            records: Vec::new(),
        };
        let rows = view.front(key::all(key::RETIRED), REAP_INBOXES + 1)?;
        let mut reaped = 0;
        for (name, _) in rows.iter().take(REAP_INBOXES) {
            let inbox = name.get(1..).and_then(inbox_key).ok_or(IndexError::Missing)?;
            if !reaping.inbox(inbox)? {
                break;
            }
            reaped += 1;
        }
        let answer = Reaped {
            emails: reaping.emails,
            more: reaped < rows.len(),
        };
        Ok(Decision::write(reaping.records, answer))
    }
}

struct Reaping<'a, 'v> {
    view: &'a View<'v>,
    now: Timestamp,
    /// Rows that may still be removed in this call.
    budget: usize,
    emails: usize,
    raising: Raising<'a, 'v>,
    records: Vec<Record>,
}

impl Reaping<'_, '_> {
    /// Removes what the budget allows of an inbox: its mail and what is remembered of deleted mail, in the order of
    /// their ids, then itself. Says whether nothing is left of it.
    fn inbox(&mut self, inbox: InboxKey) -> Result<bool, IndexError> {
        let emails = self.ids(&key::mails(inbox))?;
        let deleted = self.ids(&key::deleted(inbox))?;
        let mut ids = [emails.as_slice(), &deleted].concat();
        ids.sort_unstable();
        let gone = self.view.retired(inbox)?.ok_or(IndexError::Missing)?;
        if ids.len() < self.budget {
            self.budget -= ids.len() + 1;
            self.raise(inbox, &gone, &emails)?;
            let held_in = segments_there(self.view, gone.inbox.held_in())?;
            self.records.push(Record::bare(Head::InboxReaped {
                inbox: *inbox.as_bytes(),
                held_in,
            }));
            return Ok(true);
        }
        ids.truncate(self.budget);
        self.budget = 0;
        if let Some(through) = ids.last() {
            let removed = emails.partition_point(|email| email <= through);
            self.raise(inbox, &gone, &emails[..removed])?;
            self.records.push(Record::bare(Head::MailReaped {
                inbox: *inbox.as_bytes(),
                through: *through,
                at: self.now.unix_ms(),
            }));
        }
        Ok(false)
    }

    /// Counts emails that are removed, and tells webhooks of them.
    fn raise(&mut self, inbox: InboxKey, gone: &RetiredRow, emails: &[[u8; 16]]) -> Result<(), IndexError> {
        self.emails += emails.len();
        let raised = self
            .raising
            .removals(inbox, &gone.inbox, emails, gone.reason, self.now)?;
        self.records.extend(raised);
        Ok(())
    }

    fn ids(&self, prefix: &[u8]) -> Result<Vec<[u8; 16]>, IndexError> {
        let rows = self.view.prefix(prefix, self.budget)?;
        Ok(rows.iter().filter_map(|(key, _)| key::last_id(key)).collect())
    }
}
