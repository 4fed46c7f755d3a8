//! The hash over the ids of an inbox, kept so that an arrival costs one id and not all of them.

use std::sync::Arc;

use quick_cache::sync::Cache;
use restante_envelope::digest::Sha256;
use restante_model::{EmailId, InboxKey};

use super::index::{Index, IndexError};
use super::rows::{CountRow, key};
use crate::SyncStatus;

/// Inboxes whose hash is kept.
const INBOXES: usize = 4096;

/// Hashes over the ids of inboxes, as far as they got.
#[derive(Debug)]
pub(super) struct ListCache {
    lists: Cache<InboxKey, Arc<List>>,
}

/// The ids that were hashed: those up to `last` in ascending order.
#[derive(Debug, Default, Clone)]
struct List {
    emails: u64,
    removals: u64,
    last: Option<EmailId>,
    hash: Sha256,
}

impl ListCache {
    pub(super) fn new() -> Self {
        Self {
            lists: Cache::new(INBOXES),
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.lists.clear();
    }

    /// How many ids would have to be read to answer for these counts.
    pub(super) fn missing(&self, inbox: InboxKey, counts: &CountRow) -> u64 {
        match self.lists.get(&inbox) {
            Some(list) => {
                let is_grown = list.removals == counts.removals && list.emails <= counts.emails;
                if is_grown {
                    counts.emails - list.emails
                } else {
                    counts.emails
                }
            }
            None => counts.emails,
        }
    }

    /// The status of an inbox that has these counts; reads the ids that are not hashed yet.
    ///
    /// The answer holds only if the counts are still the same afterwards.
    pub(super) fn status(&self, index: &Index, inbox: InboxKey, counts: &CountRow) -> Result<SyncStatus, IndexError> {
        let grown = match self.lists.get(&inbox) {
            Some(list) => List::clone(&list).grown_to(index, inbox, counts)?,
            None => None,
        };
        let list = match grown {
            Some(list) => list,
            None => List::default()
                .extended(index, inbox, counts)?
                .with_removals(counts.removals),
        };
        let status = SyncStatus {
            email_count: list.emails,
            emails_hash: list.hash.clone().finish(),
        };
        if list.emails == counts.emails {
            self.lists.insert(inbox, Arc::new(list));
        }
        Ok(status)
    }
}

impl List {
    /// This list with the emails that arrived since; `None` if that does not lead to the counts,
    /// because emails were removed or one arrived with an id below the last.
    fn grown_to(self, index: &Index, inbox: InboxKey, counts: &CountRow) -> Result<Option<Self>, IndexError> {
        if self.removals != counts.removals {
            return Ok(None);
        }
        if self.emails == counts.emails {
            return Ok(Some(self));
        }
        let list = self.extended(index, inbox, counts)?;
        Ok((list.emails == counts.emails).then_some(list))
    }

    /// This list with what is behind it, up to as many emails as there are.
    fn extended(mut self, index: &Index, inbox: InboxKey, counts: &CountRow) -> Result<Self, IndexError> {
        let missing = usize::try_from(counts.emails.saturating_sub(self.emails)).unwrap_or(usize::MAX);
        let all = key::mails(inbox);
        let from = match self.last {
            Some(last) => [key::mail(inbox, last).as_slice(), &[0]].concat(),
            None => all.clone(),
        };
        for row in index.iter(from..key::end_of(&all)).take(missing) {
            let (name, _) = row?;
            let id = EmailId::from_bytes(key::last_id(&name).ok_or(IndexError::Missing)?);
            if self.emails > 0 {
                self.hash.update(b",");
            }
            self.hash.update(id.to_string().as_bytes());
            self.emails += 1;
            self.last = Some(id);
        }
        Ok(self)
    }

    fn with_removals(self, removals: u64) -> Self {
        Self { removals, ..self }
    }
}
