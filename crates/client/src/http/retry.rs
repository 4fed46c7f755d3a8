//! Which answers are worth another attempt, and when it is made.
//!
//! Source: interface, "Client-side defaults".

use std::time::Duration;

use crate::{Error, RetrySettings};

/// Statuses that say nothing about the request itself.
const RETRYABLE: [u16; 6] = [408, 429, 500, 502, 503, 504];

/// Whether an answer of this status may be another one a little later.
pub(crate) fn is_retryable(status: u16) -> bool {
    RETRYABLE.contains(&status)
}

/// When a request is made again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RetryPolicy(RetrySettings);

/// The repetitions of one request.
#[derive(Debug)]
pub(crate) struct Repetitions {
    left: u32,
    pause: Duration,
}

impl RetryPolicy {
    pub(crate) fn new(settings: RetrySettings) -> Self {
        Self(settings)
    }

    pub(crate) fn repetitions(self) -> Repetitions {
        Repetitions {
            left: self.0.max_retries,
            pause: self.0.delay,
        }
    }
}

impl Repetitions {
    /// How long to wait before the next attempt; `None` if there is none.
    pub(crate) fn next_pause(&mut self, error: &Error, retry_after: Option<Duration>) -> Option<Duration> {
        if !error.status().is_some_and(is_retryable) || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let pause = self.pause;
        self.pause = pause.saturating_mul(2);
        Some(pause.max(retry_after.unwrap_or_default()))
    }
}
