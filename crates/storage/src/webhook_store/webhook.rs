//! Webhooks, and what callers say of them.

use std::time::Duration;

use bytes::Bytes;
use restante_model::{InboxKey, Timestamp, WebhookId};

use crate::{Idempotency, Unavailable};

/// How long a webhook may outlive its inbox (decisions, section 7).
pub const ORPHAN_LIFE: Duration = Duration::from_hours(5);

/// Whose webhook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WebhookScope {
    /// It hears of all inboxes.
    Global,
    /// It hears of one.
    Inbox(InboxKey),
}

/// What a webhook may want to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Mail that arrives: `email.received`, `email.stored`.
    Arrivals,
    /// Mail that is removed: `email.deleted`.
    Removals,
}

/// The topics that a webhook listens to while it is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Topics {
    /// See [`Topic::Arrivals`].
    pub arrivals: bool,
    /// See [`Topic::Removals`].
    pub removals: bool,
}

/// A webhook to create; it is enabled.
#[derive(Debug, Clone)]
pub struct NewWebhook {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is.
    pub scope: WebhookScope,
    /// What it listens to.
    pub topics: Topics,
    /// Opaque to the store, and sealed, since it holds a secret.
    pub config: Bytes,
    /// Set when the client may repeat the request.
    pub idempotency: Option<Idempotency>,
}

/// The outcome of [`crate::WebhookStore::create_webhook`].
#[derive(Debug, Clone)]
pub enum CreatedWebhook {
    /// The webhook is new.
    New(StoredWebhook),
    /// The request was a repetition; this is the webhook that the first one made, as it is now.
    Repeated(StoredWebhook),
}

/// Why a webhook was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreateWebhookError {
    /// The inbox is retired or expired.
    #[error("the inbox is gone")]
    Gone,
    /// The scope has as many as it may.
    #[error("the limit of webhooks is reached")]
    Limit,
    /// The idempotency key came with another body, or in another scope, before.
    #[error("the idempotency key was used with another body")]
    IdempotencyReused,
    /// Unknown outcome: repeat with the same id.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A webhook as it is kept, without its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWebhook {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is.
    pub scope: WebhookScope,
    /// What it listens to while it is enabled.
    pub topics: Topics,
    /// Rises with every change of the configuration or the switch, never with a delivery.
    pub revision: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed by [`crate::WebhookStore::update_webhook`].
    pub updated_at: Option<Timestamp>,
    /// Whether it is sent anything.
    pub switch: Switch,
    /// What became of its deliveries.
    pub activity: Activity,
}

/// Whether a webhook is sent anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Switch {
    /// It is.
    Enabled,
    /// Somebody disabled it.
    DisabledManually,
    /// Too many attempts failed in a row.
    DisabledByFailures,
}

/// What became of the attempts of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Activity {
    /// Attempts that succeeded.
    pub successful: u64,
    /// Attempts that failed, and queued retries that the limit ended.
    pub failed: u64,
    /// Failed attempts since the last success, or since it was enabled.
    pub failures_in_a_row: u32,
    /// The last attempt.
    pub last: Option<LastAttempt>,
}

/// The last attempt of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LastAttempt {
    /// When it started, in Unix milliseconds.
    pub started_at: u64,
    /// Whether it succeeded.
    pub succeeded: bool,
}

/// Some webhooks in the order of their ids.
#[derive(Debug, Clone, Default)]
pub struct WebhookPage {
    /// The webhooks.
    pub webhooks: Vec<StoredWebhook>,
    /// Whether more follow.
    pub more: bool,
}

/// A change of a webhook.
#[derive(Debug, Clone)]
pub struct WebhookUpdate {
    /// Which.
    pub id: WebhookId,
    /// The revision that the change was made from.
    pub revision: u64,
    /// Another configuration, and what it listens to.
    pub config: Option<(Bytes, Topics)>,
    /// Enables or disables it; enabling a disabled one forgets its failures, its queue goes on.
    pub enabled: Option<bool>,
}

/// Why a webhook was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateWebhookError {
    /// There is no such visible webhook.
    #[error("the webhook is gone")]
    Gone,
    /// It has another revision by now: read it again.
    #[error("the webhook has changed meanwhile")]
    Conflict,
    /// Unknown outcome: read it again.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The outcome of [`crate::WebhookStore::reap_webhooks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReapedWebhooks {
    /// Rows removed.
    pub rows: usize,
    /// Whether there is more to do at once.
    pub more: bool,
}
