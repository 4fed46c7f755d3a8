//! Reading the faults that an inbox asks for: what is not given becomes its default.
//!
//! Clients exist that send every field of a section, with 0 or an empty text where nothing was set: both are accepted, and
//! where they would make no sense they count as not given.

use restante_model::chaos::{Blackhole, ConnectionDrop, ErrorKind, Greylist, Latency, RandomError, TrackBy};
use restante_model::{ChaosConfig, Timestamp};
use serde_json::Value;

use crate::fields::Fields;

/// The longest delay, in milliseconds.
const DELAY_MS_MAX: u64 = 60_000;
const MIN_DELAY_MS: u64 = 500;
const MAX_DELAY_MS: u64 = 10_000;
const ERROR_RATE: f64 = 0.1;
/// A week: longer than mail servers try again.
const RETRY_WINDOW_MS_MAX: u64 = 604_800_000;
const RETRY_WINDOW_MS: u64 = 300_000;
const ATTEMPTS_MAX: u32 = 1000;
const ATTEMPTS: u32 = 2;

/// Reads the faults from the fields of their object; `None` only if one of them is wrong, which is noted.
pub(crate) fn read(fields: &mut Fields) -> Option<ChaosConfig> {
    let enabled = enabled(fields);
    let expires_at = expires_at(fields);
    let latency = section(fields, "latency", latency);
    let connection_drop = section(fields, "connectionDrop", connection_drop);
    let random_error = section(fields, "randomError", random_error);
    let greylist = section(fields, "greylist", greylist);
    let blackhole = section(fields, "blackhole", blackhole);
    Some(ChaosConfig {
        enabled: enabled?,
        expires_at,
        latency,
        connection_drop,
        random_error,
        greylist,
        blackhole,
    })
}

/// Reads the faults that a field holds.
pub(crate) fn field(fields: &mut Fields, name: &str) -> Option<ChaosConfig> {
    section(fields, name, read)
}

fn section<T>(fields: &mut Fields, name: &str, read: impl FnOnce(&mut Fields) -> Option<T>) -> Option<T> {
    let mut inner = fields.object(name)?;
    let section = read(&mut inner);
    fields.absorb(inner);
    section
}

fn latency(fields: &mut Fields) -> Option<Latency> {
    let enabled = enabled(fields);
    Some(Latency {
        min_delay_ms: whole(fields, "minDelayMs", DELAY_MS_MAX).unwrap_or(MIN_DELAY_MS),
        max_delay_ms: whole(fields, "maxDelayMs", DELAY_MS_MAX).unwrap_or(MAX_DELAY_MS),
        jitter: fields.flag("jitter").unwrap_or(true),
        probability: share(fields, "probability").unwrap_or(1.0),
        enabled: enabled?,
    })
}

fn connection_drop(fields: &mut Fields) -> Option<ConnectionDrop> {
    let enabled = enabled(fields);
    Some(ConnectionDrop {
        probability: share(fields, "probability").unwrap_or(1.0),
        graceful: fields.flag("graceful").unwrap_or(true),
        enabled: enabled?,
    })
}

fn random_error(fields: &mut Fields) -> Option<RandomError> {
    let enabled = enabled(fields);
    Some(RandomError {
        error_rate: share(fields, "errorRate").unwrap_or(ERROR_RATE),
        error_types: error_types(fields).unwrap_or_else(|| vec![ErrorKind::Temporary]),
        enabled: enabled?,
    })
}

fn greylist(fields: &mut Fields) -> Option<Greylist> {
    let enabled = enabled(fields);
    let window = whole(fields, "retryWindowMs", RETRY_WINDOW_MS_MAX).filter(|ms| *ms > 0);
    let attempts = whole(fields, "maxAttempts", ATTEMPTS_MAX.into()).filter(|count| *count > 0);
    Some(Greylist {
        retry_window_ms: window.unwrap_or(RETRY_WINDOW_MS),
        max_attempts: attempts.and_then(|count| u32::try_from(count).ok()).unwrap_or(ATTEMPTS),
        track_by: track_by(fields).unwrap_or(TrackBy::IpSender),
        enabled: enabled?,
    })
}

fn blackhole(fields: &mut Fields) -> Option<Blackhole> {
    let enabled = enabled(fields);
    Some(Blackhole {
        trigger_webhooks: fields.flag("triggerWebhooks").unwrap_or(false),
        enabled: enabled?,
    })
}

/// The switch that the whole and every section must have.
fn enabled(fields: &mut Fields) -> Option<bool> {
    match fields.take("enabled") {
        Some(Value::Bool(enabled)) => Some(enabled),
        Some(_) => fields.wrong("enabled", "must be a boolean"),
        None => fields.wrong("enabled", "is required"),
    }
}

/// One that is past is as good as any: it is off then.
fn expires_at(fields: &mut Fields) -> Option<Timestamp> {
    let value = fields.take("expiresAt")?;
    let moment = value.as_str().and_then(Timestamp::parse);
    moment.or_else(|| {
        fields.wrong(
            "expiresAt",
            "must be an ISO 8601 timestamp with an offset, from 1970 on",
        )
    })
}

fn whole(fields: &mut Fields, name: &str, max: u64) -> Option<u64> {
    let value = fields.take(name)?;
    let number = crate::fields::whole_number(&value).filter(|number| *number <= max && !is_negative(&value));
    number.or_else(|| fields.wrong(name, &format!("must be a whole number from 0 to {max}")))
}

fn is_negative(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number < 0.0)
}

/// How often something happens.
fn share(fields: &mut Fields, name: &str) -> Option<f64> {
    let value = fields.take(name)?;
    let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share));
    // A zero below zero is shown without its sign.
    share
        .map(f64::abs)
        .or_else(|| fields.wrong(name, "must be a number from 0 to 1"))
}

/// A kind that is repeated counts once; no kind at all is as good as none given.
fn error_types(fields: &mut Fields) -> Option<Vec<ErrorKind>> {
    let kind = |name: &Value| match name.as_str() {
        Some("temporary") => Some(ErrorKind::Temporary),
        Some("permanent") => Some(ErrorKind::Permanent),
        _ => None,
    };
    let value = fields.take("errorTypes")?;
    let kinds = value
        .as_array()
        .and_then(|names| names.iter().map(kind).collect::<Option<Vec<_>>>());
    let Some(kinds) = kinds else {
        return fields.wrong("errorTypes", "must be an array of 'temporary' and 'permanent'");
    };
    let mut unique = Vec::new();
    for kind in kinds {
        if !unique.contains(&kind) {
            unique.push(kind);
        }
    }
    Some(unique).filter(|kinds| !kinds.is_empty())
}

fn track_by(fields: &mut Fields) -> Option<TrackBy> {
    let value = fields.take("trackBy")?;
    match value.as_str() {
        Some("") => None,
        Some("ip") => Some(TrackBy::Ip),
        Some("sender") => Some(TrackBy::Sender),
        Some("ip_sender") => Some(TrackBy::IpSender),
        _ => fields.wrong("trackBy", "must be 'ip', 'sender' or 'ip_sender'"),
    }
}

#[cfg(test)]
mod tests;
