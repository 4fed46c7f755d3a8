//! How a client behaves: time-outs, retries, and how it hears of new mail.
//!
//! Source: interface, "Client-side defaults".

use std::time::Duration;

use crate::Error;

/// How a client hears of new mail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Over the live stream, and by polling while there has been no connection for the time-out of connections.
    #[default]
    Auto,
    /// Over the live stream alone.
    Sse,
    /// By asking again and again.
    Polling,
}

/// When a request is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// How often a request is repeated at most; 0 for never.
    pub max_retries: u32,
    /// The pause before the first repetition; it doubles with each.
    pub delay: Duration,
}

/// How often a polling client asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PollingSettings {
    /// The first pause, and that after a change.
    pub initial: Duration,
    /// By what a pause grows after an answer without a change.
    pub multiplier: f64,
    /// The longest pause, before jitter.
    pub max: Duration,
    /// The share of a pause that is added at random, at most.
    pub jitter: f64,
}

/// When a broken stream is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconnectSettings {
    /// The pause before the first attempt; it doubles with each that fails.
    pub delay: Duration,
    /// How many attempts in a row may fail.
    ///
    /// A stream that was open long enough for one comparison with the server is none of them, however soon it broke:
    /// the count and the pauses begin anew.
    pub max_attempts: u32,
    /// How long an attempt may take; after so long without a connection `auto` polls.
    pub connect_timeout: Duration,
}

/// All of it, with the defaults of the interface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// How long one request may take.
    pub timeout: Duration,
    /// When it is made again.
    pub retry: RetrySettings,
    /// How the client hears of new mail.
    pub strategy: Strategy,
    /// How often it asks.
    pub polling: PollingSettings,
    /// When a stream is opened again.
    pub reconnect: ReconnectSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            retry: RetrySettings {
                max_retries: 3,
                delay: Duration::from_secs(1),
            },
            strategy: Strategy::Auto,
            polling: PollingSettings {
                initial: Duration::from_secs(2),
                multiplier: 1.5,
                max: Duration::from_secs(30),
                jitter: 0.3,
            },
            reconnect: ReconnectSettings {
                delay: Duration::from_secs(5),
                max_attempts: 10,
                connect_timeout: Duration::from_secs(5),
            },
        }
    }
}

impl Settings {
    /// Whether the settings can work.
    ///
    /// # Errors
    /// [`Error::Configuration`] for the first one that cannot.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let Self { polling, reconnect, .. } = self;
        let faults = [
            (self.timeout.is_zero(), "the time-out of requests must not be zero"),
            (polling.initial.is_zero(), "the first pause of polling must not be zero"),
            (
                polling.max < polling.initial,
                "the longest pause of polling must not be shorter than the first",
            ),
            (
                !(polling.multiplier.is_finite() && polling.multiplier >= 1.0),
                "the multiplier of polling must be 1 or more",
            ),
            (
                !(0.0..=1.0).contains(&polling.jitter),
                "the jitter of polling must be from 0 to 1",
            ),
            (
                reconnect.delay.is_zero(),
                "the pause before a reconnection must not be zero",
            ),
            (
                reconnect.connect_timeout.is_zero(),
                "the time-out of connections must not be zero",
            ),
        ];
        match faults.iter().find(|(is_fault, _)| *is_fault) {
            Some((_, fault)) => Err(Error::Configuration((*fault).to_owned())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_numbers_of_the_interface() {
        let secs = Duration::from_secs;
        let settings = Settings::default();
        let interface = Settings {
            timeout: secs(30),
            retry: RetrySettings {
                max_retries: 3,
                delay: secs(1),
            },
            strategy: Strategy::Auto,
            polling: PollingSettings {
                initial: secs(2),
                multiplier: 1.5,
                max: secs(30),
                jitter: 0.3,
            },
            reconnect: ReconnectSettings {
                delay: secs(5),
                max_attempts: 10,
                connect_timeout: secs(5),
            },
        };
        assert_eq!(settings, interface);
        settings.check().unwrap();
    }

    #[test]
    fn settings_that_cannot_work_are_refused_by_name() {
        type Change = fn(&mut Settings);
        let changes: [(&str, Change); 11] = [
            ("time-out of requests", |s| s.timeout = Duration::ZERO),
            ("first pause of polling", |s| s.polling.initial = Duration::ZERO),
            ("longest pause of polling", |s| s.polling.max = Duration::from_secs(1)),
            ("multiplier", |s| s.polling.multiplier = 0.99),
            ("multiplier", |s| s.polling.multiplier = f64::NAN),
            ("multiplier", |s| s.polling.multiplier = f64::INFINITY),
            ("jitter", |s| s.polling.jitter = -0.1),
            ("jitter", |s| s.polling.jitter = 1.1),
            ("jitter", |s| s.polling.jitter = f64::NAN),
            ("pause before a reconnection", |s| s.reconnect.delay = Duration::ZERO),
            ("time-out of connections", |s| {
                s.reconnect.connect_timeout = Duration::ZERO;
            }),
        ];
        for (named, change) in changes {
            let mut settings = Settings::default();
            change(&mut settings);
            let error = settings.check().unwrap_err();
            assert!(
                matches!(&error, Error::Configuration(text) if text.contains(named)),
                "{named}: {error}"
            );
        }
    }
}
