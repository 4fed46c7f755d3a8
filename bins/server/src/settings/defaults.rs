//! Defaults that are computed: from the machine, the profile, and settings above in the table.

use std::path::PathBuf;

use restante_model::Domain;

use super::kind::Value;
use super::machine::APP_DATA;
use super::profile::Profile;
use super::resolve::Basis;

/// Memory for messages being received, at most, when nothing is given.
const SMTP_INFLIGHT_MAX: u64 = 268_435_456;
/// Time to live of an inbox, in seconds, when nothing is given (interface, Limits).
const INBOX_TTL_S: u64 = 3600;

pub(super) fn profile(basis: &Basis<'_>) -> Value {
    Value::Text(basis.profile.as_str().into())
}

pub(super) fn data_path(basis: &Basis<'_>) -> Value {
    let use_app_data = basis.profile == Profile::Production || basis.machine.app_data_writable;
    Value::Path(PathBuf::from(if use_app_data { APP_DATA } else { "./data" }))
}

pub(super) fn smtp_inflight(basis: &Basis<'_>) -> Value {
    let largest = basis.above.number("SMTP_MAX_MESSAGE_SIZE");
    let quarter = basis.machine.memory_bytes / 4;
    Value::Number(quarter.min(SMTP_INFLIGHT_MAX).max(2 * largest))
}

/// A machine may have a name that no mail server may say (an underscore, none at all).
pub(super) fn smtp_hostname(basis: &Basis<'_>) -> Value {
    let name = Domain::parse(&basis.machine.hostname).or_else(|_| Domain::parse("localhost"));
    Value::Domains(name.into_iter().collect())
}

pub(super) fn https_enabled(basis: &Basis<'_>) -> Value {
    let has_certificate = basis.above.path("TLS_CERT_PATH").is_some() || basis.above.switch("TLS_SELF_SIGNED");
    Value::Switch(basis.profile == Profile::Production && has_certificate)
}

pub(super) fn inbox_ttl(basis: &Basis<'_>) -> Value {
    Value::Number(INBOX_TTL_S.min(basis.above.number("LOCAL_INBOX_MAX_TTL")))
}

pub(super) fn encryption(basis: &Basis<'_>) -> Value {
    let policy = match (basis.profile, basis.above.text("WIRE_PROFILE")) {
        (Profile::Production, _) => "always",
        (Profile::Laptop, "vaultsandbox") => "enabled",
        (Profile::Laptop, _) => "disabled",
    };
    Value::Text(policy.into())
}

pub(super) fn private_targets(basis: &Basis<'_>) -> Value {
    Value::Switch(basis.above.switch("WEBHOOK_ALLOW_HTTP"))
}
