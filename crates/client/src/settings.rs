//! How a client behaves: time-outs, retries, and how it hears of new mail.
//!
//! Source: interface, "Client-side defaults".

use std::time::Duration;

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
