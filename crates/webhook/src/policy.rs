//! What the operator decided about webhooks.

use std::time::Duration;

use restante_envelope::WireProfile;

use crate::PayloadLimits;

/// The settings of the webhook system (docs/spec/interface.md, "Limits").
#[derive(Debug, Clone)]
pub struct WebhookPolicy {
    /// Whose words payloads use.
    pub profile: WireProfile,
    /// Whether anything is sent but tests.
    pub is_enabled: bool,
    /// Global webhooks.
    pub max_global: u64,
    /// Webhooks of one inbox.
    pub max_inbox: u64,
    /// Attempts of a delivery, the first among them.
    pub max_attempts: u32,
    /// Queued retries of one webhook.
    pub max_retries_queued: usize,
    /// What a payload shows of an email at most.
    pub limits: PayloadLimits,
    /// Whether a URL may be plain HTTP.
    pub allow_http: bool,
    /// [`restante_model::webhook::FilterConfig::require_auth`] where a webhook says nothing.
    pub require_auth_default: bool,
    /// How long an attempt may take.
    pub timeout: Duration,
}
