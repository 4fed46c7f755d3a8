//! Webhooks: the resource, what its operations answer, its metrics and its log of deliveries.

use std::borrow::Cow;
use std::fmt;

use restante_model::webhook::{BuiltInTemplate, FilterConfig, WebhookTemplate};
use restante_model::{DeliveryId, EventId, EventType, InboxAddress, InboxHash, Timestamp, WebhookId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

/// A webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookResource {
    /// Its id.
    pub id: WebhookId,
    /// Where it is sent, as given.
    pub url: String,
    /// What it is told, as given.
    pub events: Vec<EventType>,
    /// Whose it is.
    pub scope: ScopeWord,
    /// The address of its inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox_email: Option<InboxAddress>,
    /// The hash of its inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inbox_hash: Option<InboxHash>,
    /// Whether it is sent anything.
    pub enabled: bool,
    /// What its deliveries are signed with; absent where the interface omits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<ShownSecret>,
    /// The shape of its payloads, as given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<WebhookTemplate>,
    /// Which events it gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterConfig>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed over the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// When the last attempt started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_delivery_at: Option<Timestamp>,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_delivery_status: Option<AttemptWord>,
    /// What became of all attempts; absent where the interface omits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<WebhookStats>,
    /// Why it is sent nothing; absent while it is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<DisabledWord>,
}

/// Whose a webhook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeWord {
    /// It hears of all inboxes.
    Global,
    /// It hears of one.
    Inbox,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptWord {
    /// The target took it.
    Success,
    /// It did not.
    Failed,
}

/// Why a webhook is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DisabledWord {
    /// Somebody disabled it.
    Manual,
    /// Too many attempts failed in a row.
    Failures,
}

/// A secret that an answer shows: it is in JSON and nowhere else, and wiped when dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ShownSecret(Zeroizing<String>);

impl ShownSecret {
    /// Shows a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Zeroizing::new(secret.into()))
    }

    /// The secret, `whsec_` and 44 characters.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ShownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownSecret(..)")
    }
}

/// What became of the attempts of a webhook.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of the interface")]
pub struct WebhookStats {
    /// All of them.
    pub total_deliveries: u64,
    /// Those that the target took.
    pub successful_deliveries: u64,
    /// The others.
    pub failed_deliveries: u64,
}

/// `GET /api/webhooks` and the same of an inbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WebhookList {
    /// The webhooks in the order of their creation.
    pub webhooks: Vec<WebhookResource>,
    /// How many there are.
    pub total: usize,
}

/// What a test of a webhook came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestWebhookResponse {
    /// Whether the target answered with a 2xx.
    pub success: bool,
    /// The status that it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// How long that took, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_time: Option<u64>,
    /// The first 1 KB of what it said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was sent: the JSON as it stood, else a string with the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_sent: Option<Box<RawValue>>,
}

/// A new secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RotateSecretResponse {
    /// The webhook.
    pub id: WebhookId,
    /// Its new secret.
    pub secret: ShownSecret,
    /// Until then deliveries are signed with the old one too.
    pub previous_secret_valid_until: Timestamp,
}

/// `GET /api/webhooks/metrics`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct WebhookMetrics {
    /// How many webhooks there are.
    pub webhooks: WebhookCounts,
    /// What became of their attempts.
    pub deliveries: DeliveryCounts,
}

/// How many webhooks there are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct WebhookCounts {
    /// Those that hear of all inboxes.
    pub global: u64,
    /// Those that hear of one.
    pub inbox: u64,
    /// Those of both that are enabled.
    pub enabled: u64,
    /// All of them.
    pub total: u64,
}

/// What became of attempts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct DeliveryCounts {
    /// All of them.
    pub total: u64,
    /// Those that a target took.
    pub successful: u64,
    /// The others.
    pub failed: u64,
}

/// `GET /api/webhooks/templates`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateList {
    /// The built-in templates.
    pub templates: Vec<TemplateName>,
}

/// One built-in template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TemplateName {
    /// For people.
    pub label: Cow<'static, str>,
    /// For requests.
    pub value: BuiltInTemplate,
}

impl TemplateList {
    /// All of them, in the order of the interface.
    pub fn all() -> Self {
        let name = |value| TemplateName {
            label: label(value).into(),
            value,
        };
        Self {
            templates: BuiltInTemplate::ALL.map(name).to_vec(),
        }
    }
}

fn label(template: BuiltInTemplate) -> &'static str {
    match template {
        BuiltInTemplate::Default => "Default (Raw JSON)",
        BuiltInTemplate::Slack => "Slack",
        BuiltInTemplate::Discord => "Discord",
        BuiltInTemplate::Teams => "Microsoft Teams",
        BuiltInTemplate::Simple => "Simple",
        BuiltInTemplate::Notification => "Notification",
        BuiltInTemplate::Zapier => "Zapier/Automation",
    }
}

/// What became of one event at one webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryRecord {
    /// Its id, the same at every attempt.
    pub id: DeliveryId,
    /// The event.
    pub event_id: EventId,
    /// As what it was told.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// The number of the last attempt; 0 before the first.
    pub attempt: u32,
    /// How it stands.
    pub status: DeliveryWord,
    /// The status that the target answered to the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// How long the last attempt took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What went wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When the next attempt is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it succeeded or was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// The first 1 KB of what the target said to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<String>,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryWord {
    /// An attempt is still to come.
    Pending,
    /// The target took it.
    Success,
    /// It is not attempted any more.
    Failed,
}

/// The log of a webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeliveryList {
    /// Deliveries, the latest event first.
    pub deliveries: Vec<DeliveryRecord>,
    /// Pass it as `before` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<DeliveryId>,
}

/// A delivery that is queued once more.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RedeliverAnswer {
    /// Which.
    pub id: DeliveryId,
}

#[cfg(test)]
mod tests;
