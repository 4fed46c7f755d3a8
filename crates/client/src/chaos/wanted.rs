//! The faults that an inbox is to have: what is not said is left to the server.

use restante_model::Timestamp;
use serde::{Deserialize, Serialize};

use super::sections::{Delays, Drops, Errors, Greylisting};

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use restante_model::chaos::TrackBy;
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
}
