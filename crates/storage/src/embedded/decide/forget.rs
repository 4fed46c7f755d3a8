//! Forgetting deliveries, and the events that nobody needs any more.

use std::collections::BTreeMap;

use restante_model::{EventType, WebhookId};

use super::{Decision, Operation, Room};
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::queue_rows::QueueRows;
use crate::embedded::record::Record;
use crate::embedded::rows::{About, key, queue_key};
use crate::embedded::view::View;

/// Events that a step of [`ForgetUnheard`] looks at.
const EVENTS: usize = 128;

/// Forgets dispatched events of which no delivery is kept: a step of [`crate::WebhookStore::finish_restore`], which says
/// behind which event the next begins.
pub(in super::super) struct ForgetUnheard {
    pub(in super::super) after: u64,
}

impl Operation for ForgetUnheard {
    type Answer = Option<u64>;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Option<u64>>, IndexError> {
        let dispatched = view.meta.dispatched;
        if self.after >= dispatched {
            return Ok(Decision::nothing(None));
        }
        let keys = queue_key::event(self.after + 1)..queue_key::event(dispatched.saturating_add(1));
        let rows = view.range(keys, EVENTS)?;
        let (mut unheard, mut last) = (Vec::new(), None);
        for (name, _) in &rows {
            let event = key::number_at(name, 0).ok_or(IndexError::Missing)?;
            if view.event_deliveries(event)? == 0 {
                unheard.push(event);
            }
            last = Some(event);
        }
        let next = last.filter(|_| rows.len() == EVENTS);
        Ok(Decision::write(Record::events_forgotten(&unheard), next))
    }
}

/// Deliveries that a call forgets.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    by_webhook: BTreeMap<[u8; 16], Vec<(u64, EventType)>>,
    /// How many of each event.
    events: BTreeMap<u64, u32>,
}

impl Forgotten {
    pub(super) fn add(&mut self, webhook: WebhookId, about: About) {
        let deliveries = self.by_webhook.entry(*webhook.as_bytes()).or_default();
        deliveries.push((about.event, about.event_type));
        *self.events.entry(about.event).or_default() += 1;
    }

    /// The records that say so; with the last delivery of an event that is dispatched, the event goes.
    pub(super) fn records(&self, view: &View<'_>) -> Result<Vec<Record>, IndexError> {
        let mut records = Vec::new();
        for (webhook, deliveries) in &self.by_webhook {
            records.extend(Record::deliveries_forgotten(*webhook, deliveries));
        }
        let mut events = Vec::new();
        for (event, gone) in &self.events {
            let is_last = view.event_deliveries(*event)? <= *gone;
            if is_last && *event <= view.meta.dispatched && view.event(*event)?.is_some() {
                events.push(*event);
            }
        }
        records.extend(Record::events_forgotten(&events));
        Ok(records)
    }
}
