//! From events to deliveries.

use std::collections::HashMap;

use restante_model::InboxKey;
use restante_storage::{NewDelivery, ReadError, StoredEvent, StoredWebhook};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::recent::Recent;
use super::{LONGEST_SLEEP, PAUSE};
use crate::Webhooks;

/// Events that are dispatched in one step, at most.
const EVENTS: usize = 128;
/// A step ends early when it has this many deliveries.
const DELIVERIES: usize = 1000;
/// Rows of removed webhooks that go in one step.
const REAP_CHUNK: usize = 256;

/// Says for whom each event is queued.
pub(super) struct Router<'a> {
    webhooks: &'a Webhooks,
    recent: &'a Recent,
    /// Told when deliveries were queued, or may be due for another reason.
    queued: &'a Notify,
}

/// What is to be dispatched in one step.
struct Step {
    through: u64,
    deliveries: Vec<NewDelivery>,
}

impl<'a> Router<'a> {
    pub(super) fn new(webhooks: &'a Webhooks, recent: &'a Recent, queued: &'a Notify) -> Self {
        Self {
            webhooks,
            recent,
            queued,
        }
    }

    /// Goes on until it is told to stop.
    pub(super) async fn run(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let pause = match self.work(stop).await {
                Ok(()) => LONGEST_SLEEP,
                Err(error) => {
                    tracing::debug!("webhooks wait for the store: {error}");
                    PAUSE
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
                () = self.webhooks.shared.bus.work() => {}
            }
        }
    }

    /// Dispatches all events that there are, and takes away what removed webhooks leave.
    async fn work(&self, stop: &CancellationToken) -> Result<(), ReadError> {
        // What woke the task may be a webhook that was enabled, or a delivery that is to be made again.
        self.queued.notify_one();
        // In turn, so that events do not wait for what a removed webhook leaves.
        while !stop.is_cancelled() {
            let dispatched = self.dispatch().await?;
            let reaped = self
                .webhooks
                .store()
                .reap_webhooks(REAP_CHUNK, self.webhooks.now())
                .await?;
            if !dispatched && !reaped.more {
                break;
            }
        }
        Ok(())
    }

    /// Dispatches the next events; `false` if there are none.
    async fn dispatch(&self) -> Result<bool, ReadError> {
        let store = self.webhooks.store();
        let events = store.events(EVENTS).await?;
        if events.is_empty() {
            return Ok(false);
        }
        let step = self.step(events).await?;
        let queues = !step.deliveries.is_empty();
        store
            .dispatch(step.through, step.deliveries, self.webhooks.now())
            .await?;
        if queues {
            self.queued.notify_one();
        }
        Ok(true)
    }

    /// Who gets which of these events.
    async fn step(&self, events: Vec<StoredEvent>) -> Result<Step, ReadError> {
        let mut step = Step {
            through: 0,
            deliveries: Vec::new(),
        };
        let mut subscribers = HashMap::new();
        for event in events {
            step.through = event.sequence;
            if self.webhooks.policy().is_enabled {
                self.route(event, &mut subscribers, &mut step.deliveries).await?;
            }
            if step.deliveries.len() >= DELIVERIES {
                break;
            }
        }
        Ok(step)
    }

    async fn route(
        &self,
        event: StoredEvent,
        subscribers: &mut HashMap<InboxKey, Vec<StoredWebhook>>,
        deliveries: &mut Vec<NewDelivery>,
    ) -> Result<(), ReadError> {
        let inbox = event.inbox;
        if !subscribers.contains_key(&inbox) {
            subscribers.insert(inbox, self.webhooks.store().subscribers(inbox).await?);
        }
        let webhooks = &subscribers[&inbox];
        if webhooks.is_empty() {
            return Ok(());
        }
        let event = self.recent.open(event).await?;
        for webhook in webhooks {
            let found = self.recent.of_revision(webhook.id, webhook.revision).await?;
            // One that cannot be read was logged; what it wants is not known.
            let Some(Ok(ready)) = found.as_deref() else { continue };
            deliveries.extend(event.wanted_by(ready).map(|event_type| NewDelivery {
                webhook: webhook.id,
                event: event.stored.sequence,
                event_type,
                event_id: event.id(event_type),
            }));
        }
        Ok(())
    }
}
