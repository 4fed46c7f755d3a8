//! Faults that an inbox asks its mail to meet: delays, dropped connections, refusals, silence.
//!
//! A value here is normalised: every number of a section is set, and within its bounds.
//! Field order is the order of the JSON; a section that was not given is absent.
//! Source: interface additions, "Chaos".

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// What is done to the mail of an inbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChaosConfig {
    /// Whether anything is done at all.
    pub enabled: bool,
    /// From this moment on it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Replies come late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// The connection ends instead of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_drop: Option<ConnectionDrop>,
    /// Mail is refused at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_error: Option<RandomError>,
    /// Mail is refused until it was tried often enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greylist: Option<Greylist>,
    /// Mail is taken and thrown away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blackhole: Option<Blackhole>,
}

impl ChaosConfig {
    /// Whether anything is done at `now`: enabled, and before [`ChaosConfig::expires_at`].
    pub fn is_on(&self, now: Timestamp) -> bool {
        self.enabled && self.expires_at.is_none_or(|end| now < end)
    }
}

/// Replies to the end of data come late.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// Whether it is done.
    pub enabled: bool,
    /// The shortest delay, in milliseconds.
    pub min_delay_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_delay_ms: u64,
    /// Whether delays differ; without it each is `maxDelayMs`, or `minDelayMs` if that is longer.
    pub jitter: bool,
    /// How often, 0 to 1.
    pub probability: f64,
}

/// The connection ends instead of a reply to the end of data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionDrop {
    /// Whether it is done.
    pub enabled: bool,
    /// How often, 0 to 1.
    pub probability: f64,
    /// Whether it ends with FIN; otherwise with RST.
    pub graceful: bool,
}

/// Mail is refused at random.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RandomError {
    /// Whether it is done.
    pub enabled: bool,
    /// How often, 0 to 1.
    pub error_rate: f64,
    /// With which replies; never empty.
    pub error_types: Vec<ErrorKind>,
}

/// A kind of reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// 4xx: the sender is to try again.
    Temporary,
    /// 5xx: the sender is to give up.
    Permanent,
}

/// Mail is refused until it was tried often enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Greylist {
    /// Whether it is done.
    pub enabled: bool,
    /// How long attempts are counted from the first one on, in milliseconds; at least 1.
    pub retry_window_ms: u64,
    /// The attempt that is let through; at least 1.
    pub max_attempts: u32,
    /// What tells senders apart.
    pub track_by: TrackBy,
}

/// What tells senders apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackBy {
    /// The client's address.
    Ip,
    /// The reverse-path.
    Sender,
    /// Both.
    IpSender,
}

/// Mail is answered 250 and thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blackhole {
    /// Whether it is done.
    pub enabled: bool,
    /// Whether webhooks hear of it (`email.received` only).
    pub trigger_webhooks: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_given_is_nothing_shown() {
        let off = ChaosConfig::default();
        assert_eq!(serde_json::to_string(&off).unwrap(), r#"{"enabled":false}"#);
        assert_eq!(
            serde_json::from_str::<ChaosConfig>(r#"{"enabled":false}"#).unwrap(),
            off
        );
    }

    #[test]
    fn it_is_off_from_its_end_on() {
        let at = Timestamp::from_unix_ms;
        let mut chaos = ChaosConfig {
            enabled: true,
            ..ChaosConfig::default()
        };
        assert!(chaos.is_on(at(u64::MAX)));
        chaos.expires_at = Some(at(5));
        assert!(chaos.is_on(at(4)) && !chaos.is_on(at(5)));
        chaos.enabled = false;
        assert!(!chaos.is_on(at(4)));
    }
}
