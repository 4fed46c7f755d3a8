//! The kinds of faults: what is not said is left to the server.

use std::time::Duration;

use restante_model::chaos::{ErrorKind, TrackBy};
use serde::{Deserialize, Serialize};

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
    use super::*;

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
