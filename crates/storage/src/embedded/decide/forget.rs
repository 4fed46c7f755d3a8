//! Forgetting deliveries, and the events that nobody needs any more.

use std::collections::BTreeMap;

use restante_model::{EventType, WebhookId};

use crate::embedded::index::IndexError;
use crate::embedded::queue_rows::QueueRows;
use crate::embedded::record::Record;
use crate::embedded::rows::About;
use crate::embedded::view::View;

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
