//! The faults that an inbox is to have: what is not said is left to the server.

use std::time::Duration;

use restante_model::Timestamp;
use restante_model::chaos::{ErrorKind, TrackBy};
use serde::{Deserialize, Serialize};

/// The faults that an inbox is to have; the server fills in every number that is not said.
///
/// Read and written as the JSON of the interface; a field that it does not know is refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use = "`Inbox::set_chaos` asks for it"]
pub struct Chaos {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<Delays>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection_drop: Option<Drops>,
    #[serde(skip_serializing_if = "Option::is_none")]
    random_error: Option<Errors>,
    #[serde(skip_serializing_if = "Option::is_none")]
    greylist: Option<Greylisting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blackhole: Option<Blackholing>,
}

/// Replies to the end of data that come late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use = "`Chaos::latency` takes it"]
pub struct Delays {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
}

/// Connections that end instead of a reply to the end of data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use = "`Chaos::connection_drop` takes it"]
pub struct Drops {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graceful: Option<bool>,
}

/// Mail that is refused at random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use = "`Chaos::random_error` takes it"]
pub struct Errors {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_types: Option<Vec<ErrorKind>>,
}

/// Mail that is refused with 451 until it was tried often enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[must_use = "`Chaos::greylist` takes it"]
pub struct Greylisting {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_window_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    track_by: Option<TrackBy>,
}

/// Mail that is answered 250 and thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Blackholing {
    enabled: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger_webhooks: Option<bool>,
}

impl Default for Chaos {
    fn default() -> Self {
        Self::new()
    }
}

impl Chaos {
    /// No fault yet.
    pub const fn new() -> Self {
        Self {
            enabled: true,
            expires_at: None,
            latency: None,
            connection_drop: None,
            random_error: None,
            greylist: None,
            blackhole: None,
        }
    }

    /// Until this moment, by the server's clock; unless said until it is cleared.
    pub fn until(mut self, end: Timestamp) -> Self {
        self.expires_at = Some(end);
        self
    }

    /// Replies come late.
    pub fn latency(mut self, delays: Delays) -> Self {
        self.latency = Some(delays);
        self
    }

    /// Connections end.
    pub fn connection_drop(mut self, drops: Drops) -> Self {
        self.connection_drop = Some(drops);
        self
    }

    /// Mail is refused at random.
    pub fn random_error(mut self, errors: Errors) -> Self {
        self.random_error = Some(errors);
        self
    }

    /// Mail is refused until it was tried often enough.
    pub fn greylist(mut self, greylisting: Greylisting) -> Self {
        self.greylist = Some(greylisting);
        self
    }

    /// Mail is answered 250 and thrown away; nobody hears of it.
    pub fn blackhole(mut self) -> Self {
        self.blackhole = Some(Blackholing {
            enabled: true,
            trigger_webhooks: None,
        });
        self
    }

    /// The same, and webhooks are told that it was received.
    pub fn blackhole_that_webhooks_hear_of(mut self) -> Self {
        self.blackhole = Some(Blackholing {
            enabled: true,
            trigger_webhooks: Some(true),
        });
        self
    }
}

impl Default for Delays {
    fn default() -> Self {
        Self::new()
    }
}

impl Delays {
    /// Of 0.5 s to 10 s.
    pub const fn new() -> Self {
        Self {
            enabled: true,
            min_delay_ms: None,
            max_delay_ms: None,
            jitter: None,
            probability: None,
        }
    }

    /// Of a random length between these, of which the longer one is at most 60 s.
    pub fn between(shortest: Duration, longest: Duration) -> Self {
        Self {
            min_delay_ms: Some(millis(shortest)),
            max_delay_ms: Some(millis(longest)),
            ..Self::new()
        }
    }

    /// Always of this length, at most 60 s.
    pub fn of(delay: Duration) -> Self {
        Self {
            jitter: Some(false),
            ..Self::between(delay, delay)
        }
    }

    /// So often, 0 to 1; unless said always.
    pub const fn probability(mut self, probability: f64) -> Self {
        self.probability = Some(probability);
        self
    }
}

impl Drops {
    /// Ended as a server that shuts down ends them (FIN).
    pub const fn graceful() -> Self {
        Self {
            enabled: true,
            probability: None,
            graceful: Some(true),
        }
    }

    /// Ended as a server that crashes ends them (RST).
    pub const fn reset() -> Self {
        Self {
            graceful: Some(false),
            ..Self::graceful()
        }
    }

    /// So often, 0 to 1; unless said always.
    pub const fn probability(mut self, probability: f64) -> Self {
        self.probability = Some(probability);
        self
    }
}

impl Errors {
    /// 4xx: the sender is to try again.
    pub fn temporary() -> Self {
        Self::of([ErrorKind::Temporary])
    }

    /// 5xx: the sender is to give up.
    pub fn permanent() -> Self {
        Self::of([ErrorKind::Permanent])
    }

    /// Of these kinds, each as often as the others; at least one.
    pub fn of(kinds: impl IntoIterator<Item = ErrorKind>) -> Self {
        Self {
            enabled: true,
            error_rate: None,
            error_types: Some(kinds.into_iter().collect()),
        }
    }

    /// So often, 0 to 1; unless said 0.1.
    pub fn rate(mut self, rate: f64) -> Self {
        self.error_rate = Some(rate);
        self
    }
}

impl Default for Greylisting {
    fn default() -> Self {
        Self::new()
    }
}

impl Greylisting {
    /// The second attempt within five minutes is taken, by the address of the client and the reverse-path.
    pub const fn new() -> Self {
        Self {
            enabled: true,
            retry_window_ms: None,
            max_attempts: None,
            track_by: None,
        }
    }

    /// This attempt is taken.
    pub const fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = Some(attempts);
        self
    }

    /// Attempts are counted for so long from the first one on.
    pub fn retry_window(mut self, window: Duration) -> Self {
        self.retry_window_ms = Some(millis(window));
        self
    }

    /// What tells senders apart.
    pub const fn track_by(mut self, trait_of_sender: TrackBy) -> Self {
        self.track_by = Some(trait_of_sender);
        self
    }
}

/// A fraction counts as a whole millisecond: none becomes no delay.
fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sent(wanted: &Chaos) -> Value {
        serde_json::to_value(wanted).unwrap()
    }

    /// A chaos with one section, by its name and its JSON.
    fn section(name: &str, fields: Value) -> Value {
        let fields = [("enabled".to_owned(), true.into()), (name.to_owned(), fields)];
        Value::Object(fields.into_iter().collect())
    }

    #[test]
    fn what_is_not_said_is_not_sent() {
        let second = Duration::from_secs(1);
        for (wanted, expected) in [
            (Chaos::new(), json!({ "enabled": true })),
            (
                Chaos::new().until(Timestamp::from_unix_ms(0)),
                json!({ "enabled": true, "expiresAt": "1970-01-01T00:00:00.000Z" }),
            ),
            (
                Chaos::new().latency(Delays::new()),
                section("latency", json!({ "enabled": true })),
            ),
            (
                Chaos::new().latency(Delays::between(Duration::ZERO, second).probability(0.5)),
                section(
                    "latency",
                    json!({ "enabled": true, "minDelayMs": 0, "maxDelayMs": 1000, "probability": 0.5 }),
                ),
            ),
            (
                Chaos::new().latency(Delays::of(second)),
                section(
                    "latency",
                    json!({ "enabled": true, "minDelayMs": 1000, "maxDelayMs": 1000, "jitter": false }),
                ),
            ),
            (
                Chaos::new().connection_drop(Drops::graceful()),
                section("connectionDrop", json!({ "enabled": true, "graceful": true })),
            ),
            (
                Chaos::new().connection_drop(Drops::reset().probability(1.0)),
                section(
                    "connectionDrop",
                    json!({ "enabled": true, "probability": 1.0, "graceful": false }),
                ),
            ),
            (
                Chaos::new().random_error(Errors::temporary()),
                section("randomError", json!({ "enabled": true, "errorTypes": ["temporary"] })),
            ),
            (
                Chaos::new().random_error(Errors::permanent().rate(1.0)),
                section(
                    "randomError",
                    json!({ "enabled": true, "errorRate": 1.0, "errorTypes": ["permanent"] }),
                ),
            ),
            (
                Chaos::new().greylist(Greylisting::new()),
                section("greylist", json!({ "enabled": true })),
            ),
            (
                Chaos::new().greylist(
                    Greylisting::new()
                        .max_attempts(3)
                        .retry_window(second)
                        .track_by(TrackBy::Sender),
                ),
                section(
                    "greylist",
                    json!({ "enabled": true, "retryWindowMs": 1000, "maxAttempts": 3, "trackBy": "sender" }),
                ),
            ),
            (
                Chaos::new().blackhole(),
                section("blackhole", json!({ "enabled": true })),
            ),
            (
                Chaos::new().blackhole_that_webhooks_hear_of(),
                section("blackhole", json!({ "enabled": true, "triggerWebhooks": true })),
            ),
        ] {
            assert_eq!(sent(&wanted), expected);
            let read: Chaos = serde_json::from_value(expected).unwrap();
            assert_eq!(read, wanted);
        }
    }

    #[test]
    fn a_field_that_nobody_knows_is_refused() {
        for json in [
            r#"{"enabled":true,"latencyy":{}}"#,
            r#"{"enabled":true,"latency":{"enabled":true,"min":1}}"#,
            r#"{"latency":{"enabled":true}}"#,
            r#"{"enabled":true,"greylist":{"enabled":true,"trackBy":"name"}}"#,
        ] {
            assert!(serde_json::from_str::<Chaos>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_fraction_of_a_millisecond_is_a_whole_one() {
        for (span, expected) in [
            (Duration::ZERO, 0),
            (Duration::from_nanos(1), 1),
            (Duration::from_millis(500), 500),
            (Duration::MAX, u64::MAX),
        ] {
            assert_eq!(millis(span), expected, "{span:?}");
        }
    }
}
