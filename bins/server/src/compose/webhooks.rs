//! From the settings of the server to what tells others of mail.

use std::sync::Arc;

use restante_envelope::AtRestKey;
use restante_model::{Clock, WireProfile};
use restante_storage::{Bus, Store};
use restante_webhook::{
    DnsLookup, Guard, Lookup, PayloadLimits, Sender, SenderConfig, SystemLookup, WebhookPolicy, Webhooks, WebhooksParts,
};

use crate::StartError;
use crate::settings::{Settings, WebhookSettings};

/// What webhooks share with the rest of the server.
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) bus: Bus,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) key: Arc<AtRestKey>,
}

pub(super) async fn compose(settings: &Settings, shared: Shared) -> Result<Webhooks, StartError> {
    let guard = guard(&settings.webhooks);
    Ok(Webhooks::new(WebhooksParts {
        store: shared.store,
        bus: shared.bus,
        clock: shared.clock,
        key: shared.key,
        policy: policy(settings),
        sender: sender(settings, guard.clone()).await?,
        guard,
    }))
}

fn guard(settings: &WebhookSettings) -> Guard {
    let lookup: Arc<dyn Lookup> = match settings.resolver {
        Some(server) => Arc::new(DnsLookup::new(server, settings.timeout)),
        None => Arc::new(SystemLookup::new()),
    };
    Guard::new(settings.allow_private_targets, lookup)
}

/// The system's authorities are files, perhaps on a disk that does not answer: nothing else waits for them.
async fn sender(settings: &Settings, guard: Guard) -> Result<Sender, StartError> {
    let config = SenderConfig {
        timeout: settings.webhooks.timeout,
        guard,
        extra_roots: Vec::new(),
        user_agent: user_agent(settings.wire_profile).to_owned(),
    };
    let made = tokio::task::spawn_blocking(|| Sender::new(config)).await;
    made.expect("making a client does not panic")
        .map_err(StartError::Webhooks)
}

/// Decisions, section 1.
fn user_agent(profile: WireProfile) -> &'static str {
    match profile {
        WireProfile::Service => "Service-Webhook/1.0",
        WireProfile::VaultSandbox => "VaultSandbox-Webhook/1.0",
    }
}

fn policy(settings: &Settings) -> WebhookPolicy {
    let webhooks = &settings.webhooks;
    WebhookPolicy {
        profile: settings.wire_profile,
        is_enabled: webhooks.is_enabled,
        max_global: webhooks.max_global,
        max_inbox: webhooks.max_inbox,
        max_attempts: webhooks.max_attempts,
        max_retries_queued: webhooks.max_retries_queued,
        limits: PayloadLimits {
            max_headers: webhooks.max_headers,
            max_header_value_chars: webhooks.max_header_value_chars,
            max_body_bytes: webhooks.max_body_bytes,
        },
        allow_http: webhooks.allow_http,
        require_auth_default: webhooks.require_auth_default,
        timeout: webhooks.timeout,
    }
}
