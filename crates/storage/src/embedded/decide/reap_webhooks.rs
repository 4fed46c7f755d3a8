//! Removing what webhooks leave, and ending those of inboxes that are gone.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use restante_model::{InboxKey, Timestamp, WebhookId};

use super::forget::Forgotten;
use super::webhook::{removed, state_of};
use super::{Decision, Operation, Room};
use crate::embedded::index::{IndexError, Rows, inbox_key};
use crate::embedded::queue_rows::{QueueRows, webhook_id};
use crate::embedded::record::{Head, Record, WebhookState};
use crate::embedded::rows::{EventRow, WebhookRow, decode, key, queue_key};
use crate::embedded::view::View;
use crate::{ORPHAN_LIFE, ReapedWebhooks, Switch, WebhookScope};

/// Rows that one call removes, at most, whatever limit it is called with: each is several rows of one batch
/// (see [`crate::embedded::view::BATCH_ROWS`]).
const REAP_ROWS: usize = 128;
/// Webhooks of inboxes that are gone that one call looks at: whoever is woken by each mail pays for it.
const ROUND_ORPHANS: usize = 256;
/// Events that are looked at for what an inbox that is gone still has to tell.
const EVENTS: usize = 512;

/// [`crate::WebhookStore::reap_webhooks`].
pub(in super::super) struct ReapWebhooks {
    pub(in super::super) limit: usize,
    pub(in super::super) round: Arc<OrphanRound>,
    pub(in super::super) now: Timestamp,
}

impl Operation for ReapWebhooks {
    type Answer = ReapedWebhooks;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<ReapedWebhooks>, IndexError> {
        let limit = self.limit.min(REAP_ROWS);
        let mut reaping = Reaping {
            view,
            now: self.now,
            budget: limit,
            pending: None,
            records: Vec::new(),
            more: false,
        };
        reaping.removed()?;
        reaping.deserted()?;
        reaping.orphans(&self.round)?;
        let answer = ReapedWebhooks {
            rows: limit - reaping.budget,
            more: reaping.more,
        };
        Ok(Decision::write(reaping.records, answer))
    }
}

struct Reaping<'a, 'v> {
    view: &'a View<'v>,
    now: Timestamp,
    /// Rows that may still be removed in this call.
    budget: usize,
    /// The inboxes that some event that is not dispatched is about, once they are known.
    pending: Option<Pending>,
    records: Vec<Record>,
    more: bool,
}

impl Reaping<'_, '_> {
    /// Removes what removed webhooks leave.
    fn removed(&mut self) -> Result<(), IndexError> {
        let rows = self.view.front(key::all(queue_key::REMOVED), REAP_ROWS + 1)?;
        let mut forgotten = Forgotten::default();
        let mut reaped = Vec::new();
        for (name, _) in &rows {
            let webhook = id_of(name)?;
            if !self.queue(webhook, &mut forgotten)? {
                self.more = true;
                break;
            }
            reaped.push(Record::bare(Head::WebhookReaped {
                webhook: *webhook.as_bytes(),
            }));
        }
        self.more |= rows.len() > REAP_ROWS;
        self.records.extend(forgotten.records(self.view)?);
        self.records.extend(reaped);
        Ok(())
    }

    /// Forgets what the budget allows of the deliveries of a webhook; says whether nothing is left, and the webhook
    /// itself may go.
    fn queue(&mut self, webhook: WebhookId, forgotten: &mut Forgotten) -> Result<bool, IndexError> {
        let all = self.view.queue(webhook)?.all;
        let deliveries = self.view.deliveries_from_front(webhook, &all, self.budget)?;
        self.budget -= deliveries.len();
        let is_all = deliveries.len() as u64 == all.count && self.budget > 0;
        for about in deliveries {
            forgotten.add(webhook, about);
        }
        self.budget -= usize::from(is_all);
        Ok(is_all)
    }

    /// Notes which webhooks lost their inbox. Those that are disabled end.
    fn deserted(&mut self) -> Result<(), IndexError> {
        let rows = self.view.front(key::all(queue_key::DESERTED), REAP_ROWS + 1)?;
        for (name, _) in &rows {
            let inbox = name.get(2..).and_then(inbox_key).ok_or(IndexError::Missing)?;
            let mut webhooks = self.view.in_scope(WebhookScope::Inbox(inbox))?;
            webhooks.retain(|(_, row)| row.state.orphaned_at.is_none());
            self.more = true;
            if webhooks.len() > self.budget {
                // More than a call may change are changed by several: those that are noted are left out then.
                self.orphan(inbox, webhooks.into_iter().take(self.budget))?;
                self.budget = 0;
                break;
            }
            self.budget -= webhooks.len();
            self.orphan(inbox, webhooks.into_iter())?;
        }
        Ok(())
    }

    fn orphan(
        &mut self,
        inbox: InboxKey,
        webhooks: impl Iterator<Item = (WebhookId, WebhookRow)>,
    ) -> Result<(), IndexError> {
        // It was gone by then, whenever that is noticed.
        let expired = self.view.retired(inbox)?.map(|gone| gone.inbox.expires_at);
        let at = expired.into_iter().chain([self.now.unix_ms()]).min();
        for (id, row) in webhooks {
            let state = WebhookState {
                orphaned_at: at,
                ..row.state
            };
            self.records.push(if state.switch == Switch::Enabled {
                state_of(id, state)
            } else {
                removed(id, state)
            });
        }
        Ok(())
    }

    /// Goes on with the round over webhooks whose inbox is gone, and removes those that have nothing left to tell.
    ///
    /// Most of them wait for a retry, so that another call follows only what was removed: otherwise the round goes on
    /// with the next call, whatever that is for.
    fn orphans(&mut self, round: &OrphanRound) -> Result<(), IndexError> {
        let mut next = round.lock();
        let from = next.take().unwrap_or_else(|| queue_key::ORPHANS.to_vec());
        let rows = self.view.range(from..key::end_of(queue_key::ORPHANS), ROUND_ORPHANS)?;
        for (name, _) in &rows {
            let webhook = id_of(name)?;
            let row = self.view.webhook(webhook)?.ok_or(IndexError::Missing)?;
            if self.is_over(webhook, &row)? {
                self.records.push(removed(webhook, row.state));
                self.more = true;
            }
        }
        if let (Some((name, _)), ROUND_ORPHANS) = (rows.last(), rows.len()) {
            *next = Some([name.as_ref(), &[0]].concat());
        }
        Ok(())
    }

    /// Whether a webhook whose inbox is gone has nothing left to tell, or had its time.
    fn is_over(&mut self, webhook: WebhookId, row: &WebhookRow) -> Result<bool, IndexError> {
        let gone_at = Timestamp::from_unix_ms(row.state.orphaned_at.unwrap_or_default());
        if row.state.switch != Switch::Enabled || self.now >= gone_at.after(ORPHAN_LIFE) {
            return Ok(true);
        }
        let queue = self.view.queue(webhook)?;
        if queue.first.count + queue.retry.count > 0 {
            return Ok(false);
        }
        match row.scope() {
            WebhookScope::Global => Ok(true),
            WebhookScope::Inbox(inbox) => Ok(self.view.retired(inbox)?.is_none() && !self.is_pending(inbox)?),
        }
    }

    /// Whether some event of an inbox may not be dispatched yet.
    fn is_pending(&mut self, inbox: InboxKey) -> Result<bool, IndexError> {
        let pending = match &self.pending {
            Some(known) => known,
            None => self.pending.insert(Pending::of(self.view)?),
        };
        Ok(pending.is_cut || pending.inboxes.contains(inbox.as_bytes()))
    }
}

/// The inboxes that some event that is not dispatched is about.
struct Pending {
    inboxes: BTreeSet<[u8; 16]>,
    /// There are more events than were looked at.
    is_cut: bool,
}

impl Pending {
    fn of(view: &View<'_>) -> Result<Self, IndexError> {
        let keys = queue_key::event(view.meta.dispatched.saturating_add(1))..key::end_of(queue_key::EVENTS);
        let rows = view.range(keys, EVENTS)?;
        let inbox = |(_, value): &crate::embedded::index::Row| decode::<EventRow>(value).map(|event| event.inbox);
        Ok(Self {
            inboxes: rows.iter().map(inbox).collect::<Result<_, _>>()?,
            is_cut: rows.len() == EVENTS,
        })
    }
}

/// The webhook of a key of the rows that say what is to be done.
fn id_of(name: &[u8]) -> Result<WebhookId, IndexError> {
    webhook_id(name.get(2..).ok_or(IndexError::Missing)?)
}

/// How far webhooks of inboxes that are gone were looked at: where to go on, or at the start.
#[derive(Debug, Default)]
pub(in super::super) struct OrphanRound(Mutex<Option<Vec<u8>>>);

impl OrphanRound {
    fn lock(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
