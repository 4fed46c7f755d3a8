//! A clock that a test sets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use restante_model::{Clock, Timestamp};

/// Stands still until it is moved.
#[derive(Debug)]
pub struct FakeClock(AtomicU64);

impl FakeClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.unix_ms()))
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        let ms = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.0.load(Ordering::SeqCst))
    }
}
