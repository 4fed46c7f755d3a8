//! Deliveries: what one webhook is told of one event.

use std::time::Duration;

use bytes::Bytes;
use restante_model::{DeliveryId, EventId, EventType, Timestamp, WebhookId};

use crate::Unavailable;

/// Retries that were due before the start are spread over this time after it.
pub const START_SPREAD: Duration = Duration::from_secs(30);

/// A delivery to queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewDelivery {
    /// To whom.
    pub webhook: WebhookId,
    /// The sequence of the event.
    pub event: u64,
    /// As what the event is told.
    pub event_type: EventType,
    /// The id of that on the wire.
    pub event_id: EventId,
}

/// How much may be claimed.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// Deliveries of this call, at most.
    pub max: usize,
    /// Leases of one webhook at a time, at most.
    pub max_per_webhook: usize,
    /// How long the leases hold.
    pub lease: Duration,
}

/// The outcome of [`crate::WebhookStore::claim_deliveries`].
#[derive(Debug, Clone, Default)]
pub struct Claimed {
    /// The leased deliveries.
    pub deliveries: Vec<LeasedDelivery>,
    /// When the next delivery is due of those that could be claimed then; a time that has passed if `max` was reached.
    pub next_due: Option<Timestamp>,
}

/// Names one claim of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The webhook.
    pub webhook: WebhookId,
    /// The sequence of the event.
    pub event: u64,
    /// As what it is told.
    pub event_type: EventType,
    /// Never given twice in the life of a store.
    pub token: u64,
}

/// A delivery that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeasedDelivery {
    /// The claim.
    pub lease: Lease,
    /// The id of the event on the wire.
    pub event_id: EventId,
    /// Attempts that were settled before this one.
    pub attempts: u32,
    /// Whether no retry follows whatever comes: it is delivered again by hand.
    pub is_single: bool,
}

/// The outcome of an attempt.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The claim.
    pub lease: Lease,
    /// When the attempt started.
    pub started_at: Timestamp,
    /// What came of it.
    pub verdict: AttemptVerdict,
    /// Status, duration, error and response: opaque to the store, and sealed, since targets may repeat what they got.
    pub report: Bytes,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// The target took it.
    Succeeded,
    /// It failed, and is tried again then; never, if there is no time.
    Failed {
        /// When.
        retry_at: Option<Timestamp>,
    },
}

/// The limits of [`crate::WebhookStore::settle`].
#[derive(Debug, Clone, Copy)]
pub struct SettleRules {
    /// Failures in a row that disable a webhook.
    pub disable_after: u32,
    /// Queued retries of one webhook.
    pub max_retries: usize,
    /// Finished deliveries of one webhook that are remembered.
    pub keep_finished: usize,
}

/// What [`crate::WebhookStore::settle`] did beside noting outcomes; for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Webhooks that failures disabled.
    pub disabled: Vec<WebhookId>,
    /// Queued retries that the limit ended.
    pub ended: Vec<(WebhookId, DeliveryId)>,
}

/// Which deliveries [`crate::WebhookStore::deliveries`] gives.
#[derive(Debug, Clone, Copy)]
pub struct DeliveriesAfter {
    /// Those behind this one, in the order of the list; nothing if it is unknown.
    pub before: Option<DeliveryId>,
    /// At most so many.
    pub limit: usize,
}

/// Some deliveries of a webhook.
#[derive(Debug, Clone, Default)]
pub struct DeliveryPage {
    /// The deliveries.
    pub deliveries: Vec<StoredDelivery>,
    /// Whether more follow.
    pub more: bool,
}

/// A delivery, queued or finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDelivery {
    /// Its id: [`DeliveryId::of`] the event and the webhook.
    pub id: DeliveryId,
    /// The id of the event on the wire.
    pub event_id: EventId,
    /// As what the event is told.
    pub event_type: EventType,
    /// Attempts that were settled.
    pub attempts: u32,
    /// How it stands.
    pub state: DeliveryState,
    /// When it was queued.
    pub created_at: Timestamp,
    /// [`Settlement::report`] of the last attempt.
    pub report: Option<Bytes>,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is attempted then, or as soon as its webhook is enabled.
    Queued {
        /// When.
        due: Timestamp,
    },
    /// The target took it.
    Succeeded {
        /// When.
        at: Timestamp,
    },
    /// It is not attempted any more.
    Failed {
        /// Since when.
        at: Timestamp,
    },
}

/// Why a delivery is not queued again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedeliverError {
    /// There is no such delivery, or no such webhook.
    #[error("the delivery is gone")]
    NoDelivery,
    /// The event is gone, or the email whose arrival it tells.
    #[error("the event is gone")]
    NoEvent,
    /// Unknown outcome: it can be repeated.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
