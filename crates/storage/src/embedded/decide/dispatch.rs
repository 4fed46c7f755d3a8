//! Queueing deliveries of events.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use restante_model::{EventType, Timestamp, WebhookId};

use super::{Decision, Operation, Room};
use crate::NewDelivery;
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::queue_rows::QueueRows;
use crate::embedded::record::{Head, QueuedHead, Record};
use crate::embedded::rows::{WebhookRow, key, queue_key};
use crate::embedded::view::View;

/// Events of one step.
const EVENTS: usize = 256;
/// Deliveries after which a step ends, with the event under way.
const DELIVERIES: usize = 256;

/// A step of [`crate::WebhookStore::dispatch`], which says whether it was the last.
pub(in super::super) struct Dispatch {
    pub(in super::super) through: u64,
    pub(in super::super) deliveries: Arc<[NewDelivery]>,
    pub(in super::super) now: Timestamp,
}

impl Operation for Dispatch {
    type Answer = bool;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<bool>, IndexError> {
        let dispatched = view.meta.dispatched;
        let through = self.through.min(view.meta.last_queue);
        if through <= dispatched {
            return Ok(Decision::nothing(true));
        }
        let keys = queue_key::event(dispatched + 1)..queue_key::event(through.saturating_add(1));
        let rows = view.range(keys, EVENTS)?;
        let mut step = Step::new(view, &self.deliveries);
        for (count, (name, _)) in rows.iter().enumerate() {
            let event = key::number_at(name, 0).ok_or(IndexError::Missing)?;
            step.event(event)?;
            let is_last = count + 1 == rows.len();
            let is_full = step.queued.len() >= DELIVERIES && !is_last;
            if is_full || (is_last && rows.len() == EVENTS && event < through) {
                return Ok(Decision::write(step.records(event, self.now), false));
            }
        }
        Ok(Decision::write(step.records(through, self.now), true))
    }
}

/// What a step writes.
struct Step<'a, 'v> {
    view: &'a View<'v>,
    by_event: BTreeMap<u64, Vec<NewDelivery>>,
    /// The sequences of the webhooks that are sent something.
    served: HashMap<WebhookId, Option<u64>>,
    queued: Vec<QueuedHead>,
    /// Events that nobody is told of.
    unheard: Vec<u64>,
}

impl<'a, 'v> Step<'a, 'v> {
    fn new(view: &'a View<'v>, deliveries: &[NewDelivery]) -> Self {
        let mut by_event: BTreeMap<u64, Vec<NewDelivery>> = BTreeMap::new();
        let pending = |delivery: &&NewDelivery| delivery.event > view.meta.dispatched;
        for delivery in deliveries.iter().filter(pending) {
            by_event.entry(delivery.event).or_default().push(*delivery);
        }
        Self {
            view,
            by_event,
            served: HashMap::new(),
            queued: Vec::new(),
            unheard: Vec::new(),
        }
    }

    fn event(&mut self, sequence: u64) -> Result<(), IndexError> {
        let mut seen: HashSet<(WebhookId, EventType)> = HashSet::new();
        for delivery in self.by_event.remove(&sequence).unwrap_or_default() {
            if self.is_told(delivery.webhook, sequence)? && seen.insert((delivery.webhook, delivery.event_type)) {
                self.queued.push(QueuedHead {
                    webhook: *delivery.webhook.as_bytes(),
                    event: sequence,
                    event_type: delivery.event_type,
                    event_id: *delivery.event_id.as_bytes(),
                });
            }
        }
        if seen.is_empty() {
            self.unheard.push(sequence);
        }
        Ok(())
    }

    /// Whether a webhook is sent an event: it is enabled, and was there before.
    fn is_told(&mut self, webhook: WebhookId, event: u64) -> Result<bool, IndexError> {
        let created = if let Some(known) = self.served.get(&webhook) {
            *known
        } else {
            let row = self.view.webhook(webhook)?.filter(WebhookRow::is_served);
            *self.served.entry(webhook).or_insert(row.map(|row| row.sequence))
        };
        Ok(created.is_some_and(|created| created < event))
    }

    fn records(&self, through: u64, now: Timestamp) -> Vec<Record> {
        let mut records = Record::queued(&self.queued, now.unix_ms());
        records.extend(Record::events_forgotten(&self.unheard));
        records.push(Record::bare(Head::EventsDispatched {
            through,
            last: self.view.meta.last_queue,
        }));
        records
    }
}
