//! What the server says of itself.

use restante_envelope::Algs;
use restante_model::Domain;
use serde::{Deserialize, Deserializer, Serialize};

/// `GET /api/check-key`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct CheckKey {
    /// Always `true`: a wrong key is a 401.
    pub ok: bool,
}

/// `GET /health/live` and `GET /health/ready`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Health {
    /// Whether the server can do its work.
    pub status: HealthStatus,
}

/// How the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// It works.
    Ok,
    /// It does not: the answer is a 503.
    Error,
}

/// `GET /api/server-info`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the fields of the interface")]
pub struct ServerInfo {
    /// base64url ML-DSA-65 key that signs payloads.
    pub server_sig_pk: String,
    /// The algorithms of the payload.
    #[serde(deserialize_with = "owned_algs")]
    pub algs: Algs<'static>,
    /// The context string of the encryption scheme.
    pub context: String,
    /// `always`, `enabled`, `disabled` or `never`.
    pub encryption_policy: String,
    /// The longest time to live, in seconds.
    pub max_ttl: u32,
    /// The time to live of an inbox that does not ask for one, in seconds.
    pub default_ttl: u32,
    /// Whether the server streams its console.
    pub sse_console: bool,
    /// Where inboxes may be.
    pub allowed_domains: Vec<Domain>,
    /// Whether webhooks are delivered.
    pub webhook_enabled: bool,
    /// Default of the webhook filter's `requireAuth`.
    pub webhook_require_auth_default: bool,
    /// Whether `DELETE /api/inboxes` is served.
    #[serde(default)]
    pub allow_clear_all_inboxes: bool,
    /// Whether inboxes may ask for faults.
    #[serde(default)]
    pub chaos_enabled: bool,
    /// Whether a spam filter can be asked about mail.
    #[serde(default)]
    pub spam_analysis_enabled: bool,
    /// Whether inboxes are persistent: `always`, `enabled`, `disabled` or `never`; empty if the server does not say.
    #[serde(default)]
    pub persistence_policy: String,
    /// Whether global webhooks outlive restarts: always `true`.
    #[serde(default)]
    pub persistent_global_webhooks: bool,
}

fn owned_algs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Algs<'static>, D::Error> {
    Algs::deserialize(deserializer).map(Algs::into_owned)
}
