//! What the use cases answer.

use restante_model::webhook::{FilterConfig, WebhookTemplate};
use restante_model::{DeliveryId, EventId, EventType, Timestamp, WebhookId};
use restante_storage::{Activity, Switch};
use serde_json::value::RawValue;

use crate::{Owner, WebhookSecret};

/// A webhook, all of it: who shows it leaves out what is not to be seen.
#[derive(Debug, Clone)]
pub struct WebhookView {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is.
    pub owner: Owner,
    /// Where it is told.
    pub url: String,
    /// What it is told of, as given.
    pub events: Vec<EventType>,
    /// What it is sent.
    pub template: Option<WebhookTemplate>,
    /// Which events it gets.
    pub filter: Option<FilterConfig>,
    /// What people call it.
    pub description: Option<String>,
    /// What its deliveries are signed with.
    pub secret: WebhookSecret,
    /// Whether it is sent anything.
    pub switch: Switch,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Option<Timestamp>,
    /// What became of its deliveries.
    pub activity: Activity,
}

/// What came of a test.
#[derive(Debug, Clone)]
pub struct TestOutcome {
    /// Whether the target answered 2xx.
    pub success: bool,
    /// Its status, if it answered.
    pub status_code: Option<u16>,
    /// How long it took, rounded up, never 0.
    pub response_time_ms: u64,
    /// The first 1 KB of what it answered.
    pub response_body: Option<String>,
    /// Set whenever it is no success.
    pub error: Option<String>,
    /// What was sent, if anything was: the JSON as it was sent, or a string if it is none.
    pub payload_sent: Option<Box<RawValue>>,
}

/// A new secret.
#[derive(Debug, Clone)]
pub struct Rotation {
    /// Whose it is.
    pub id: WebhookId,
    /// The new secret.
    pub secret: WebhookSecret,
    /// Until then deliveries are signed with the former one too.
    pub previous_valid_until: Timestamp,
}

/// All webhooks together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metrics {
    /// Global webhooks.
    pub global: u64,
    /// Webhooks of inboxes.
    pub inbox: u64,
    /// Those of both that are enabled.
    pub enabled: u64,
    /// Attempts that succeeded.
    pub successful: u64,
    /// Attempts that failed.
    pub failed: u64,
}

/// A delivery, as the log shows it.
#[derive(Debug, Clone)]
pub struct DeliveryView {
    /// Its id.
    pub id: DeliveryId,
    /// The event.
    pub event_id: EventId,
    /// As what the event is told.
    pub event_type: EventType,
    /// Attempts that were made.
    pub attempts: u32,
    /// How it stands.
    pub status: DeliveryStatus,
    /// The status that the last attempt was answered with.
    pub status_code: Option<u16>,
    /// How long the last attempt took.
    pub duration_ms: Option<u64>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// The first 1 KB of what the last attempt was answered with.
    pub response: Option<String>,
    /// When it is attempted next, if it is queued.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// An attempt follows.
    Pending,
    /// The target took it.
    Success,
    /// It is not attempted any more.
    Failed,
}

impl DeliveryStatus {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }
}

/// Some deliveries of a webhook, the latest event first.
#[derive(Debug, Clone, Default)]
pub struct DeliveryList {
    /// The deliveries.
    pub deliveries: Vec<DeliveryView>,
    /// The last of them, if more follow.
    pub next: Option<DeliveryId>,
}
