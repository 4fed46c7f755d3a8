//! Leasing deliveries that are due.

use restante_model::{EventId, Timestamp, WebhookId};

use super::due::{Due, DueNow};
use super::index::{Index, IndexError};
use super::leases::{Begun, Leases};
use super::queue_rows::QueueRows;
use super::record::Standing;
use super::rows::{About, Front, Lane, QueueRow};
use super::shared::Shared;
use crate::{Claim, Claimed, LeasedDelivery, ReadError, START_SPREAD};

/// Webhooks with first attempts, and with retries only, that one claim looks at.
const WEBHOOKS: usize = 1024;
/// Retries of a webhook that one claim looks at beyond those that it may lease, while overdue ones are spread.
const SPREAD: usize = 256;

impl Shared {
    pub(super) fn claim(&self, claim: &Claim, now: Timestamp) -> Result<Claimed, ReadError> {
        let _claim = self.leases.claim();
        // Before anything is read: of what is held by now, rows may tell what was before its outcome.
        let begun = self.leases.begin(now);
        let index = self.index()?;
        let mut claiming = Claiming {
            index: &index,
            leases: &self.leases,
            due: &self.due,
            claim,
            now,
            next_due: begun.next_end,
            begun,
            taken: Vec::new(),
        };
        let mut lines = claiming.lines();
        claiming.take(&mut lines)?;
        Ok(claiming.answer(&lines))
    }
}

/// One claim under way.
struct Claiming<'a> {
    index: &'a Index,
    leases: &'a Leases,
    due: &'a Due,
    claim: &'a Claim,
    now: Timestamp,
    begun: Begun,
    next_due: Option<Timestamp>,
    taken: Vec<LeasedDelivery>,
}

/// A webhook with something due.
struct Waiting {
    webhook: WebhookId,
    leases: usize,
    /// What may be leased, the last first; none until it is looked up.
    due: Option<Vec<About>>,
    /// When the next is due that may be leased then.
    next_due: Option<u64>,
}

impl Claiming<'_> {
    /// The webhooks with something due: those with first attempts and those with retries only by turns.
    fn lines(&mut self) -> Vec<Waiting> {
        let DueNow { first, retry, next } = self.due.at(self.now, WEBHOOKS);
        if let Some(due) = next {
            self.see(due);
        }
        let longest = first.len().max(retry.len());
        let by_turns = (0..longest).flat_map(|number| [first.get(number), retry.get(number)]);
        let waiting = by_turns.flatten().map(|webhook| Waiting {
            webhook: *webhook,
            leases: self.begun.of(*webhook).len(),
            due: None,
            next_due: None,
        });
        waiting.collect()
    }

    /// One delivery each in turn, those with the fewest leases first.
    fn take(&mut self, lines: &mut [Waiting]) -> Result<(), IndexError> {
        for leases in 0..self.claim.max_per_webhook {
            for line in lines.iter_mut().filter(|line| line.leases == leases) {
                if self.taken.len() >= self.claim.max {
                    return Ok(());
                }
                self.take_one(line)?;
            }
        }
        Ok(())
    }

    fn take_one(&mut self, line: &mut Waiting) -> Result<(), IndexError> {
        if line.due.is_none() {
            self.look_up(line)?;
        }
        while let Some(about) = line.due.as_mut().and_then(Vec::pop) {
            let row = self.index.delivery(line.webhook, about)?;
            // Gone or finished in between, perhaps.
            let Some(row) = row.filter(|row| matches!(row.state.standing, Standing::Queued { .. })) else {
                continue;
            };
            let attempts = row.state.attempts;
            let until = self.now.after(self.claim.lease);
            self.taken.push(LeasedDelivery {
                lease: self.leases.give(line.webhook, about, attempts, until),
                event_id: EventId::from_bytes(row.event_id),
                attempts,
                is_single: row.state.is_single,
            });
            line.leases += 1;
            if row.slot(about).lane == Lane::First {
                self.due.serve(line.webhook);
            }
            return Ok(());
        }
        Ok(())
    }

    /// Finds what may be leased of a webhook.
    fn look_up(&self, line: &mut Waiting) -> Result<(), IndexError> {
        let queue = self.index.queue(line.webhook)?;
        let is_spreading = self.now < self.begun.opened_at.after(START_SPREAD);
        let retries = self.claim.max_per_webhook + 1 + if is_spreading { SPREAD } else { 0 };
        let mut found = self.first_attempts(line.webhook, &queue)?;
        let retries = self.index.line(line.webhook, Lane::Retry, &queue.retry, retries)?;
        found.extend(retries.into_iter().map(|retry| self.spread(line.webhook, retry)));
        let held = self.begun.of(line.webhook);
        found.retain(|front| !held.contains(&front.about));
        let now = self.now.unix_ms();
        let later = found.iter().filter(|front| front.at > now);
        line.next_due = later.map(|front| front.at).min();
        found.retain(|front| front.at <= now);
        found.sort_by_key(|front| front.at);
        let due = found.into_iter().rev().map(|front| front.about);
        line.due = Some(due.collect());
        Ok(())
    }

    /// First attempts, which wait for nothing: a time among them that is later than now, or than that of one behind it,
    /// is of a clock that was set back.
    fn first_attempts(&self, webhook: WebhookId, queue: &QueueRow) -> Result<Vec<Front>, IndexError> {
        let limit = self.claim.max_per_webhook;
        let mut found = self.index.line(webhook, Lane::First, &queue.first, limit)?;
        let mut latest = self.now.unix_ms();
        for front in found.iter_mut().rev() {
            latest = latest.min(front.at);
            front.at = latest;
        }
        Ok(found)
    }

    /// A retry that was overdue at the start has its own moment after that.
    fn spread(&self, webhook: WebhookId, retry: Front) -> Front {
        let start = self.begun.opened_at.unix_ms();
        if retry.at >= start {
            return retry;
        }
        let mut bytes = webhook.as_bytes().to_vec();
        bytes.extend_from_slice(&retry.about.event.to_le_bytes());
        let within = u64::from(crc32fast::hash(&bytes)) % u64::try_from(START_SPREAD.as_millis()).unwrap_or(1);
        Front {
            at: start + within,
            ..retry
        }
    }

    fn see(&mut self, due: u64) {
        let due = Timestamp::from_unix_ms(due);
        self.next_due = self.next_due.into_iter().chain([due]).min();
    }

    fn answer(mut self, lines: &[Waiting]) -> Claimed {
        if self.taken.len() >= self.claim.max {
            self.next_due = Some(self.now);
        }
        for line in lines {
            // One with as many leases as it may have waits for the end of one.
            if let Some(due) = line.next_due.filter(|_| line.leases < self.claim.max_per_webhook) {
                self.see(due);
            }
        }
        Claimed {
            deliveries: self.taken,
            next_due: self.next_due,
        }
    }
}
