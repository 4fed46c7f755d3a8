//! What the dispatcher read lately: webhooks that are ready to be used, events that are open.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use restante_model::{ArrivalEvent, EmailId, EventId, EventType, WebhookId};
use restante_storage::{Happening, ReadError, StoredEvent, Topics, Unavailable};

use crate::compiled::Compiled;
use crate::config::Config;
use crate::payload::EventEnvelope;
use crate::{WebhookPolicy, Webhooks};

/// Webhooks that are kept ready: each takes its configuration, some tens of kilobytes at most.
const WEBHOOK_ITEMS: usize = 1024;
/// Memory for events, and about how many that is.
const EVENT_BYTES: u64 = 8 * 1024 * 1024;
const EVENT_ITEMS: usize = 1024;

/// A webhook, or why it cannot be used: a text for the log of its deliveries.
pub(super) type Ready = Result<Compiled, String>;

/// An event with what it tells, as far as that can be read.
#[derive(Debug)]
pub(super) struct OpenEvent {
    pub(super) stored: StoredEvent,
    /// Of an arrival.
    data: Result<Option<ArrivalEvent>, &'static str>,
    bytes: u64,
}

/// Keeps what is used again and again, within bounds.
#[derive(Debug)]
pub(super) struct Recent {
    webhooks: Webhooks,
    ready: Cache<(WebhookId, u64), Arc<Ready>>,
    events: Cache<u64, Arc<OpenEvent>, ByBytes>,
}

impl Recent {
    pub(super) fn new(webhooks: &Webhooks) -> Self {
        Self {
            webhooks: webhooks.clone(),
            ready: Cache::new(WEBHOOK_ITEMS),
            events: Cache::with_weighter(EVENT_ITEMS, EVENT_BYTES, ByBytes),
        }
    }

    /// A webhook of a known revision, or of a later one; `None` if it is gone.
    pub(super) async fn of_revision(&self, id: WebhookId, revision: u64) -> Result<Option<Arc<Ready>>, Unavailable> {
        match self.ready.get(&(id, revision)) {
            Some(ready) => Ok(Some(ready)),
            None => self.current(id).await,
        }
    }

    /// A webhook as it is now; `None` if it is gone.
    pub(super) async fn current(&self, id: WebhookId) -> Result<Option<Arc<Ready>>, Unavailable> {
        let (revision, sealed) = match self.webhooks.store().webhook_config(id).await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(ReadError::Unavailable(error)) => return Err(error),
            Err(ReadError::Damaged) => return Ok(Some(Arc::new(Err(ReadError::Damaged.to_string())))),
        };
        if let Some(ready) = self.ready.get(&(id, revision)) {
            return Ok(Some(ready));
        }
        let config = Config::open(&self.webhooks.shared.key, id, &sealed).map_err(|error| error.to_string());
        let ready = config.and_then(|config| Compiled::new(config, self.webhooks.policy()));
        if let Err(why) = &ready {
            tracing::error!(webhook = %id, "the webhook cannot be used: {why}");
        }
        let ready = Arc::new(ready);
        self.ready.insert((id, revision), Arc::clone(&ready));
        Ok(Some(ready))
    }

    /// An event with its data; `None` if it is gone.
    pub(super) async fn event(&self, sequence: u64) -> Result<Option<Arc<OpenEvent>>, ReadError> {
        if let Some(event) = self.events.get(&sequence) {
            return Ok(Some(event));
        }
        match self.webhooks.store().event(sequence).await? {
            Some(stored) => Ok(Some(self.open(&stored).await?)),
            None => Ok(None),
        }
    }

    /// An event with its data.
    pub(super) async fn open(&self, stored: &StoredEvent) -> Result<Arc<OpenEvent>, Unavailable> {
        let sequence = stored.sequence;
        let (data, bytes) = match stored.happening {
            Happening::Removed { .. } => (Ok(None), 0),
            Happening::Arrived | Happening::ThrownAway => match self.webhooks.store().event_data(sequence).await {
                Ok(Some(sealed)) => (self.opened(stored.email, &sealed).map(Some), sealed.len() as u64),
                Ok(None) => (Err("the data of the event is gone"), 0),
                Err(ReadError::Unavailable(error)) => return Err(error),
                Err(ReadError::Damaged) => (Err(UNREADABLE), 0),
            },
        };
        if let Err(why) = data {
            tracing::error!(email = %stored.email, "{why}");
        }
        let event = Arc::new(OpenEvent {
            stored: stored.clone(),
            data,
            bytes,
        });
        self.events.insert(sequence, Arc::clone(&event));
        Ok(event)
    }

    fn opened(&self, email: EmailId, sealed: &[u8]) -> Result<ArrivalEvent, &'static str> {
        let context = [b"webhook event".as_slice(), email.as_bytes()].concat();
        let json = self.webhooks.shared.key.open(&context, sealed).ok_or(UNREADABLE)?;
        serde_json::from_slice(&json).map_err(|_| UNREADABLE)
    }
}

const UNREADABLE: &str = "the data of the event cannot be read";

impl OpenEvent {
    /// What it tells, if it is an arrival that can be read.
    pub(super) fn arrival(&self) -> Option<&ArrivalEvent> {
        self.data.as_ref().ok()?.as_ref()
    }

    /// As what a webhook is told of it, whose rules it passes or not.
    ///
    /// What cannot be read is told to all that may want it: the delivery then fails, visibly.
    pub(super) fn wanted_by(&self, webhook: &Compiled, passes: bool) -> Vec<EventType> {
        let (arrival, removal) = match (&self.data, &self.stored.happening) {
            (_, Happening::Removed { .. }) => (false, webhook.matches_removal()),
            (Ok(Some(event)), Happening::Arrived | Happening::ThrownAway) => {
                (passes && webhook.takes(event.auth), false)
            }
            (Ok(None) | Err(_), Happening::Arrived | Happening::ThrownAway) => (true, false),
        };
        let is_thrown_away = self.stored.happening == Happening::ThrownAway;
        let told = move |event: &EventType| arrival && (!is_thrown_away || *event == EventType::EmailReceived);
        let arrivals = webhook.arrival_types().filter(told);
        arrivals.chain(removal.then_some(EventType::EmailDeleted)).collect()
    }

    /// As what it may be told to a webhook that cannot be used, of which only the topics are known.
    ///
    /// The deliveries fail, so that its log says why, and five of them disable it.
    pub(super) fn wanted_by_unusable(&self, topics: Topics) -> Vec<EventType> {
        match self.stored.happening {
            Happening::Arrived if topics.arrivals => vec![EventType::EmailReceived, EventType::EmailStored],
            Happening::Removed { .. } if topics.removals => vec![EventType::EmailDeleted],
            Happening::ThrownAway if topics.arrivals => vec![EventType::EmailReceived],
            Happening::Arrived | Happening::ThrownAway | Happening::Removed { .. } => Vec::new(),
        }
    }

    /// The id of the event as one type, on the wire.
    pub(super) fn id(&self, event_type: EventType) -> EventId {
        let reason = match &self.stored.happening {
            Happening::Arrived | Happening::ThrownAway => None,
            Happening::Removed { reason, .. } => Some(*reason),
        };
        EventId::of(self.stored.email, event_type, reason)
    }

    /// What receivers see of it.
    pub(super) fn envelope(
        &self,
        event_type: EventType,
        id: EventId,
        policy: &WebhookPolicy,
    ) -> Result<EventEnvelope, &'static str> {
        let id = id.to_string();
        match (&self.stored.happening, &self.data) {
            (
                Happening::Removed {
                    reason,
                    at,
                    inbox_address,
                    inbox_hash,
                },
                _,
            ) => Ok(EventEnvelope::removal(
                &id,
                self.stored.email,
                *inbox_hash,
                inbox_address,
                *reason,
                *at,
            )),
            (Happening::Arrived | Happening::ThrownAway, Ok(Some(event))) => {
                Ok(EventEnvelope::arrival(event_type, &id, event, &policy.limits))
            }
            (Happening::Arrived | Happening::ThrownAway, Ok(None)) => Err(UNREADABLE),
            (Happening::Arrived | Happening::ThrownAway, Err(why)) => Err(why),
        }
    }
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<u64, Arc<OpenEvent>> for ByBytes {
    fn weight(&self, _: &u64, event: &Arc<OpenEvent>) -> u64 {
        // Opened it takes about as much again.
        event.bytes * 2 + 512
    }
}
