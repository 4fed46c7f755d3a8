//! From the settings of the server to what each crate wants to know.

use std::time::Duration;

use restante_api::{ApiSettings, KeyDigest};
use restante_envelope::{Algs, base64url};
use restante_inbox::{InboxPolicy, Inboxes};
use restante_ingest::IngestLimits;
use restante_smtp::SessionConfig;
use restante_wire::ServerInfo;

use crate::settings::{Settings, SmtpSettings};

/// Pause between keep-alive comments of a stream (decisions, section 6).
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn policy(settings: &Settings) -> InboxPolicy {
    let inboxes = &settings.inboxes;
    InboxPolicy {
        profile: settings.wire_profile,
        encryption: inboxes.encryption,
        persistence: inboxes.persistence,
        allowed_domains: settings.allowed_domains.clone(),
        default_ttl_secs: inboxes.default_ttl_secs,
        max_ttl_secs: inboxes.max_ttl_secs,
        alias_random_bytes: inboxes.alias_random_bytes,
        email_auth_available: inboxes.email_auth_available,
        email_auth_default: inboxes.email_auth_default,
        spam_analysis_available: settings.spam.is_some(),
        spam_analysis_default: inboxes.spam_analysis_default,
        chaos_available: settings.chaos.is_some(),
        hostname: settings.smtp.hostname.to_string(),
        retention: settings.storage.retention,
    }
}

fn server_info(settings: &Settings, inboxes: &Inboxes) -> ServerInfo {
    ServerInfo {
        server_sig_pk: base64url::encode(inboxes.verifying_key().as_bytes()),
        algs: Algs::V1,
        context: settings.wire_profile.context().to_owned(),
        encryption_policy: settings.inboxes.encryption.to_string(),
        max_ttl: settings.inboxes.max_ttl_secs,
        default_ttl: settings.inboxes.default_ttl_secs,
        sse_console: settings.http.console,
        allowed_domains: settings.allowed_domains.clone(),
        webhook_enabled: settings.webhooks.is_enabled,
        webhook_require_auth_default: settings.webhooks.require_auth_default,
        allow_clear_all_inboxes: settings.inboxes.allow_clear_all,
        chaos_enabled: settings.chaos.is_some(),
        spam_analysis_enabled: settings.spam.is_some(),
        persistence_policy: settings.inboxes.persistence.to_string(),
        persistent_global_webhooks: true,
    }
}

pub(super) fn api(settings: &Settings, inboxes: &Inboxes, key: KeyDigest) -> ApiSettings {
    ApiSettings {
        info: server_info(settings, inboxes),
        key,
        allow_clear_all: settings.inboxes.allow_clear_all,
        serves_console: settings.http.console,
        serves_test_emails: settings.http.test_emails,
        max_message_bytes: bytes(settings.smtp.max_message_bytes),
        local_hosts_only: settings.http.listen.host.is_loopback(),
        throttle: settings.http.throttle.map(|throttle| (throttle.limit, throttle.per)),
        max_connections: settings.http.max_connections,
        max_streams: settings.http.max_streams,
        max_inflight_bytes: bytes(settings.http.max_inflight_bytes),
        keep_alive: KEEP_ALIVE,
    }
}

pub(super) fn session(smtp: &SmtpSettings) -> SessionConfig {
    SessionConfig {
        hostname: smtp.hostname.to_string(),
        banner: smtp.banner.clone(),
        max_message_bytes: bytes(smtp.max_message_bytes),
        max_header_bytes: bytes(smtp.max_header_bytes),
        max_recipients: smtp.max_recipients,
        auth: smtp.auth,
        ..SessionConfig::default()
    }
}

pub(super) fn limits(settings: &Settings) -> IngestLimits {
    let smtp = &settings.smtp;
    IngestLimits {
        max_connections: smtp.max_connections,
        max_connections_per_ip: smtp.max_connections_per_ip.unwrap_or(0),
        max_inflight_bytes: bytes(smtp.max_inflight_bytes),
        first_command: smtp.first_command_timeout,
        idle: smtp.session_timeout,
        data_block: smtp.data_timeout,
        session: smtp.max_session_duration,
        rate: smtp.rate,
        ..IngestLimits::default()
    }
}

/// A number of bytes of memory: what does not fit cannot be reached either.
pub(super) fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
