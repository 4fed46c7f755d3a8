//! Which attempts are worth another one, and when it is made.
//!
//! Source: interface, "Client-side defaults".

use std::time::Duration;

use crate::{Error, RetrySettings};

/// Statuses that say nothing about the request itself.
const RETRYABLE: [u16; 6] = [408, 429, 500, 502, 503, 504];
/// Statuses of requests that were certainly not carried out: there were too many, or there is no room.
const REFUSALS: [u16; 2] = [429, 503];

/// Whether an answer of this status may be another one a little later.
pub(crate) fn is_retryable(status: u16) -> bool {
    RETRYABLE.contains(&status)
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Error,
    pub(super) worth: Worth,
}

/// What a failed attempt is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// The next one would fail alike.
    Nothing,
    /// Another attempt, but not before this time has passed.
    Repetition { not_before: Duration },
}

impl Worth {
    /// Another attempt, as soon as the client likes.
    pub(super) fn repetition() -> Self {
        Self::Repetition {
            not_before: Duration::ZERO,
        }
    }
}

impl Failed {
    /// A failure that another attempt does not mend.
    pub(super) fn finally(error: Error) -> Self {
        Self {
            error,
            worth: Worth::Nothing,
        }
    }

    /// Whether the server may have done what it was asked to, though the client was not told.
    pub(super) fn may_have_succeeded(&self) -> bool {
        !self.error.status().is_some_and(|status| REFUSALS.contains(&status))
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::finally(error)
    }
}

/// When a request is made again.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    settings: RetrySettings,
    patience: Duration,
}

/// The repetitions of one request.
#[derive(Debug)]
pub(super) struct Repetitions {
    left: u32,
    pause: Duration,
    patience: Duration,
}

impl RetryPolicy {
    /// `patience` is how long a server may ask a client to wait; who waits for a test must hear of more at once.
    pub(super) fn new(settings: RetrySettings, patience: Duration) -> Self {
        Self { settings, patience }
    }

    pub(super) fn repetitions(self) -> Repetitions {
        Repetitions {
            left: self.settings.max_retries,
            pause: self.settings.delay,
            patience: self.patience,
        }
    }
}

impl Repetitions {
    /// How long to wait before the next attempt; `None` if there is none.
    pub(super) fn next_pause(&mut self, worth: Worth) -> Option<Duration> {
        let Worth::Repetition { not_before } = worth else {
            return None;
        };
        if self.left == 0 || not_before > self.patience {
            return None;
        }
        self.left -= 1;
        let pause = self.pause;
        self.pause = pause.saturating_mul(2);
        Some(pause.max(not_before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    fn repetitions() -> Repetitions {
        let settings = Settings::default();
        RetryPolicy::new(settings.retry, settings.timeout).repetitions()
    }

    fn pauses(worth: Worth) -> Vec<u64> {
        let mut repetitions = repetitions();
        let pauses = std::iter::from_fn(|| repetitions.next_pause(worth));
        pauses.map(|pause| pause.as_secs()).collect()
    }

    #[test]
    fn three_repetitions_after_pauses_that_double() {
        assert_eq!(pauses(Worth::repetition()), [1, 2, 4]);
        assert_eq!(pauses(Worth::Nothing), [0; 0]);
    }

    #[test]
    fn the_server_may_ask_for_a_longer_pause_within_the_time_out() {
        for (secs, expected) in [(0, vec![1, 2, 4]), (3, vec![3, 3, 4]), (30, vec![30; 3]), (31, vec![])] {
            let not_before = Duration::from_secs(secs);
            assert_eq!(pauses(Worth::Repetition { not_before }), expected, "{secs} s");
        }
    }

    #[test]
    fn exactly_the_statuses_of_the_interface_are_retried() {
        let retried: Vec<u16> = (0..=999).filter(|&status| is_retryable(status)).collect();
        assert_eq!(retried, [408, 429, 500, 502, 503, 504]);
    }
}
