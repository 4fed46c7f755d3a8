//! Webhooks, events and deliveries as one store gives them and another one takes them.
//!
//! Ids are bytes and times are Unix milliseconds: what is written here is part of the stream of an export
//! ([`crate::transfer`]), so fields and variants are never reordered or removed.

use bytes::Bytes;
use restante_model::{EventType, RemovalReason};
use serde::{Deserialize, Serialize};

use crate::{Activity, Switch, Topics};

/// Something of webhooks and what they are to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueItem {
    /// How far events are dispatched.
    Dispatched {
        /// All events up to this one are.
        through: u64,
        /// The last sequence that a webhook or an event was given.
        last: u64,
    },
    /// A webhook that is not removed.
    Webhook(WebhookItem),
    /// An event that is not dispatched, or of which a delivery is kept.
    Event(EventItem),
    /// A delivery, queued or finished.
    Delivery(DeliveryItem),
}

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookItem {
    /// Its id.
    pub webhook: [u8; 16],
    /// Whose it is; none if it is global.
    pub inbox: Option<[u8; 16]>,
    /// Its place in the order of creation.
    pub sequence: u64,
    /// See [`crate::StoredWebhook::revision`].
    pub revision: u64,
    /// When it was created.
    pub created_at: u64,
    /// When it was last changed.
    pub updated_at: Option<u64>,
    /// What it listens to while it is enabled.
    pub topics: Topics,
    /// Whether it is sent anything.
    pub switch: Switch,
    /// What became of its deliveries.
    pub activity: Activity,
    /// When its inbox was gone.
    pub orphaned_at: Option<u64>,
    /// Its configuration, sealed.
    pub config: Bytes,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventItem {
    /// Its place in the order of events.
    pub sequence: u64,
    /// The inbox.
    pub inbox: [u8; 16],
    /// The email.
    pub email: [u8; 16],
    /// When it happened.
    pub at: u64,
    /// What happened.
    pub what: EventItemKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventItemKind {
    /// An email arrived: what came with it, sealed.
    Arrived(Bytes),
    /// An email was removed.
    Removed {
        /// Why.
        reason: RemovalReason,
        /// The address of its inbox.
        inbox_address: String,
        /// The hash of its inbox.
        inbox_hash: [u8; 32],
    },
    /// An email came and was thrown away: what came with it, sealed.
    ThrownAway(Bytes),
}

/// A delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryItem {
    /// To whom.
    pub webhook: [u8; 16],
    /// The sequence of the event.
    pub event: u64,
    /// As what the event is told.
    pub event_type: EventType,
    /// The id of that on the wire.
    pub event_id: [u8; 16],
    /// When it was queued.
    pub created_at: u64,
    /// Attempts that were settled.
    pub attempts: u32,
    /// Whether no retry follows its next attempt.
    pub is_single: bool,
    /// How it stands.
    pub state: DeliveryItemState,
    /// The report of its last attempt, sealed.
    pub report: Option<Bytes>,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryItemState {
    /// It is attempted then.
    Queued(u64),
    /// The target took it then.
    Succeeded(u64),
    /// It is not attempted any more since then.
    Failed(u64),
}

impl QueueItem {
    /// Bytes of content.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Dispatched { .. } => 0,
            Self::Webhook(webhook) => webhook.config.len(),
            Self::Event(event) => match &event.what {
                EventItemKind::Arrived(data) | EventItemKind::ThrownAway(data) => data.len(),
                EventItemKind::Removed { .. } => 0,
            },
            Self::Delivery(delivery) => delivery.report.as_ref().map_or(0, Bytes::len),
        };
        bytes as u64
    }
}

/// Where a page of items begins: of which kind, and at which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuePlace {
    pub(crate) kind: usize,
    pub(crate) from: Vec<u8>,
}

/// Some items: first how far events are dispatched, if any were raised, then webhooks, events and deliveries.
#[derive(Debug, Clone, Default)]
pub struct QueuePage {
    /// The items.
    pub items: Vec<QueueItem>,
    /// Items that cannot be read, and are left out.
    pub damaged: u64,
    /// Where more follow.
    pub next: Option<QueuePlace>,
}
