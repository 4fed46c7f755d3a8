//! Outcomes of attempts, and what they mean for their webhooks.

mod attempt;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use restante_model::{DeliveryId, EventId, Timestamp, WebhookId};

use attempt::{after, note};

use super::forget::Forgotten;
use super::webhook::state_of;
use super::{Decision, Operation, Room};
use crate::embedded::index::IndexError;
use crate::embedded::leases::{Leases, id_of};
use crate::embedded::queue_rows::QueueRows;
use crate::embedded::record::{Head, Record, Standing, WebhookState};
use crate::embedded::rows::{About, DeliveryRow, Front, Lane, Line};
use crate::embedded::view::View;
use crate::{AttemptVerdict, LastAttempt, SettleRules, Settled, Settlement};

/// Queued retries of a webhook that are looked at for the oldest.
const RETRIES: usize = 512;
/// Finished deliveries that one call forgets of a webhook beyond those that it brings.
const FORGET: u64 = 128;

/// [`crate::WebhookStore::settle`].
pub(in super::super) struct Settle {
    pub(in super::super) settlements: Vec<Settlement>,
    pub(in super::super) rules: SettleRules,
    pub(in super::super) leases: Arc<Leases>,
    pub(in super::super) now: Timestamp,
}

impl Operation for Settle {
    type Answer = Settled;

    fn bytes(&self) -> usize {
        self.settlements.iter().map(|settlement| settlement.report.len()).sum()
    }

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Settled>, IndexError> {
        let mut settling = Settling {
            view,
            rules: self.rules,
            leases: &self.leases,
            now: self.now,
            webhooks: BTreeMap::new(),
            settled: Settled::default(),
        };
        for settlement in self.settlements {
            settling.settle(settlement)?;
        }
        settling.limit_retries()?;
        let records = settling.records()?;
        Ok(Decision::write(records, settling.settled))
    }
}

/// What a call changes.
struct Settling<'a, 'v> {
    view: &'a View<'v>,
    rules: SettleRules,
    leases: &'a Leases,
    now: Timestamp,
    webhooks: BTreeMap<[u8; 16], Changing>,
    settled: Settled,
}

/// A webhook that changes.
struct Changing {
    id: WebhookId,
    state: WebhookState,
    outcomes: BTreeMap<About, Outcome>,
    /// Deliveries that end without an attempt.
    ended: BTreeMap<About, DeliveryRow>,
}

/// What an attempt leaves of its delivery.
struct Outcome {
    row: DeliveryRow,
    report: Bytes,
    was: Lane,
}

impl Settling<'_, '_> {
    /// Takes an outcome, unless its lease has ended, it was taken before, or its webhook is gone.
    fn settle(&mut self, settlement: Settlement) -> Result<(), IndexError> {
        let (webhook, about) = id_of(&settlement.lease);
        let Some(attempts) = self.leases.attempts(&settlement.lease, self.now) else {
            return Ok(());
        };
        let Some(row) = self.view.delivery(webhook, about)? else {
            return Ok(());
        };
        let was = row.slot(about).lane;
        if was == Lane::Finished || row.state.attempts != attempts || !self.begin(webhook)? {
            return Ok(());
        }
        let Some(changing) = self.webhooks.get_mut(webhook.as_bytes()) else {
            return Ok(());
        };
        if changing.outcomes.contains_key(&about) {
            return Ok(());
        }
        let state = after(row.state, settlement.verdict, self.now);
        let is_success = settlement.verdict == AttemptVerdict::Succeeded;
        let attempt = LastAttempt {
            started_at: settlement.started_at.unix_ms(),
            succeeded: is_success,
        };
        if note(&mut changing.state, attempt, self.rules.disable_after) {
            self.settled.disabled.push(webhook);
        }
        let outcome = Outcome {
            row: DeliveryRow { state, ..row },
            report: settlement.report,
            was,
        };
        changing.outcomes.insert(about, outcome);
        Ok(())
    }

    /// Looks up a webhook; `false` if it is gone.
    fn begin(&mut self, webhook: WebhookId) -> Result<bool, IndexError> {
        if self.webhooks.contains_key(webhook.as_bytes()) {
            return Ok(true);
        }
        let Some(row) = self.view.webhook(webhook)?.filter(|row| !row.state.is_removed) else {
            return Ok(false);
        };
        let changing = Changing {
            id: webhook,
            state: row.state,
            outcomes: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        self.webhooks.insert(*webhook.as_bytes(), changing);
        Ok(true)
    }

    /// Ends the oldest retries of webhooks that have too many.
    fn limit_retries(&mut self) -> Result<(), IndexError> {
        for changing in self.webhooks.values_mut() {
            let queued = self.view.queue(changing.id)?.retry;
            let left = changing
                .outcomes
                .values()
                .filter(|outcome| outcome.was == Lane::Retry)
                .count();
            let retries = changing
                .outcomes
                .iter()
                .filter(|(about, outcome)| outcome.is_retry(**about));
            let mut joined: Vec<_> = retries.map(|(about, _)| *about).collect();
            let total = usize::try_from(queued.count).unwrap_or(usize::MAX).saturating_sub(left) + joined.len();
            let excess = total.saturating_sub(self.rules.max_retries);
            // Those that leave the line make room: a call that brings nothing ends nothing.
            if excess == 0 || joined.is_empty() {
                continue;
            }
            let waiting = waiting(self.view, self.leases, changing, &queued, self.now)?;
            joined.extend(waiting.keys().copied());
            joined.sort_unstable();
            for about in joined.into_iter().take(excess) {
                let event_id = changing.end(about, &waiting, self.now);
                let delivery = event_id.map(|event_id| DeliveryId::of(event_id, changing.id));
                self.settled
                    .ended
                    .extend(delivery.map(|delivery| (changing.id, delivery)));
            }
        }
        Ok(())
    }

    fn records(&mut self) -> Result<Vec<Record>, IndexError> {
        let (mut records, mut forgotten) = (Vec::new(), Forgotten::default());
        for changing in std::mem::take(&mut self.webhooks).into_values() {
            let finished = self.view.queue(changing.id)?.finished;
            for about in beyond(self.view, &changing, &finished, self.rules.keep_finished)? {
                forgotten.add(changing.id, about);
            }
            records.push(state_of(changing.id, changing.state));
            records.extend(changing.into_records());
        }
        records.extend(forgotten.records(self.view)?);
        Ok(records)
    }
}

impl Outcome {
    fn is_retry(&self, about: About) -> bool {
        self.row.slot(about).lane == Lane::Retry
    }
}

impl Changing {
    /// Ends a delivery, and gives the id of its event.
    fn end(&mut self, about: About, waiting: &BTreeMap<About, DeliveryRow>, now: Timestamp) -> Option<EventId> {
        self.state.activity.failed += 1;
        let standing = Standing::Failed { at: now.unix_ms() };
        if let Some(outcome) = self.outcomes.get_mut(&about) {
            outcome.row.state.standing = standing;
            return Some(EventId::from_bytes(outcome.row.event_id));
        }
        let mut row = *waiting.get(&about)?;
        row.state.standing = standing;
        self.ended.insert(about, row);
        Some(EventId::from_bytes(row.event_id))
    }

    fn into_records(self) -> impl Iterator<Item = Record> {
        let webhook = *self.id.as_bytes();
        let ended = self.ended.into_iter().map(move |(about, row)| {
            Record::bare(Head::DeliveryChanged {
                webhook,
                event: about.event,
                event_type: about.event_type,
                state: row.state,
            })
        });
        let outcomes = self.outcomes.into_iter();
        let outcomes = outcomes
            .map(move |(about, Outcome { row, report, .. })| Record::delivery(row.head(webhook, about), Some(report)));
        ended.chain(outcomes)
    }

    /// What finishes with this call, in the order of the line.
    fn finishing(&self) -> Vec<About> {
        let outcomes = self.outcomes.iter().map(|(about, outcome)| (about, &outcome.row));
        let rows = outcomes.chain(&self.ended);
        let finished = rows.filter(|(about, row)| row.slot(**about).lane == Lane::Finished);
        let mut finished: Vec<_> = finished.map(|(about, _)| *about).collect();
        finished.sort_unstable();
        finished
    }
}

/// The retries of a webhook that may end: those that were not asked for by hand and that nobody is at work on.
fn waiting(
    view: &View<'_>,
    leases: &Leases,
    changing: &Changing,
    queued: &Line<Front>,
    now: Timestamp,
) -> Result<BTreeMap<About, DeliveryRow>, IndexError> {
    let mut waiting = BTreeMap::new();
    let mut taken: HashSet<About> = changing.outcomes.keys().copied().collect();
    for Front { about, .. } in view.line(changing.id, Lane::Retry, queued, RETRIES)? {
        if !taken.insert(about) || leases.is_held(changing.id, about, now) {
            continue;
        }
        let row = view.delivery(changing.id, about)?.ok_or(IndexError::Missing)?;
        if !row.state.is_single {
            waiting.insert(about, row);
        }
    }
    Ok(waiting)
}

/// What is beyond the number of finished deliveries that are kept: those that ended first.
fn beyond(view: &View<'_>, changing: &Changing, finished: &Line<Front>, keep: usize) -> Result<Vec<About>, IndexError> {
    let finishing = changing.finishing();
    let total = finished.count + finishing.len() as u64;
    let excess = total.saturating_sub(keep as u64).min(finishing.len() as u64 + FORGET);
    let excess = usize::try_from(excess).unwrap_or(usize::MAX);
    let kept = view.line(changing.id, Lane::Finished, finished, excess)?;
    let mut beyond: Vec<_> = kept.into_iter().map(|kept| kept.about).collect();
    beyond.extend(finishing);
    beyond.truncate(excess);
    Ok(beyond)
}
