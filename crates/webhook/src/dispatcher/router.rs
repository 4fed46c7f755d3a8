//! From events to deliveries.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use futures_util::future::try_join_all;
use restante_model::InboxKey;
use restante_storage::{NewDelivery, ReadError, StoredEvent, StoredWebhook};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::recent::Recent;
use super::verdicts::{Pair, Verdicts};
use super::{LONGEST_SLEEP, PAUSE};
use crate::Webhooks;

/// Events that are dispatched in one step, at most.
const EVENTS: usize = 128;
/// A step ends early when it has this many deliveries.
const DELIVERIES: usize = 1000;
/// Events that are read at the same time: what they tell is in memory then.
const READS: usize = 16;
/// Rows of removed webhooks that go in one step.
const REAP_CHUNK: usize = 256;

/// Says for whom each event is queued.
pub(super) struct Router<'a> {
    webhooks: &'a Webhooks,
    recent: &'a Recent,
    /// Told when deliveries were queued, or may be due for another reason.
    queued: &'a Notify,
    verdicts: Verdicts,
}

/// The webhooks that hear of an inbox.
type Subscribers = HashMap<InboxKey, Vec<StoredWebhook>>;

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
            verdicts: Verdicts::new(),
        }
    }

    /// Goes on until it is told to stop.
    pub(super) async fn run(&self, stop: &CancellationToken) {
        let mut is_in_trouble = false;
        while !stop.is_cancelled() {
            let worked = self.work(stop).await;
            let was_in_trouble = std::mem::replace(&mut is_in_trouble, worked.is_err());
            let pause = match worked {
                Ok(()) => LONGEST_SLEEP,
                Err(error) => {
                    if !was_in_trouble {
                        tracing::warn!("events cannot be dispatched: {error}");
                    }
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
        let mut subscribers = Subscribers::new();
        for events in events.chunks(READS) {
            if step.deliveries.len() >= DELIVERIES {
                break;
            }
            step.through = events.last().map_or(step.through, |last| last.sequence);
            if self.webhooks.policy().is_enabled {
                self.route(events, &mut subscribers, &mut step.deliveries).await?;
            }
        }
        Ok(step)
    }

    async fn route(
        &self,
        events: &[StoredEvent],
        subscribers: &mut Subscribers,
        deliveries: &mut Vec<NewDelivery>,
    ) -> Result<(), ReadError> {
        for event in events {
            if let Entry::Vacant(unknown) = subscribers.entry(event.inbox) {
                unknown.insert(self.webhooks.store().subscribers(event.inbox).await?);
            }
        }
        let wanted = events.iter().filter(|event| !subscribers[&event.inbox].is_empty());
        let mut pairs = Vec::new();
        for event in try_join_all(wanted.map(|event| self.recent.open(event))).await? {
            for webhook in &subscribers[&event.stored.inbox] {
                let found = self.recent.of_revision(webhook.id, webhook.revision).await?;
                pairs.extend(found.map(|ready| Pair {
                    event: Arc::clone(&event),
                    webhook: webhook.clone(),
                    ready,
                }));
            }
        }
        let verdicts = self.verdicts.judge(&pairs).await;
        for (pair, passes) in pairs.iter().zip(verdicts) {
            deliveries.extend(pair.deliveries(passes));
        }
        Ok(())
    }
}
