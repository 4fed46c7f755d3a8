//! What time it is, and how long other programs take.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// This moment, on the monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "measures other programs; there is no runtime whose time could be paused"
)]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Does the work and says how long it took.
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = instant();
    let done = work();
    (start.elapsed(), done)
}

/// The time of this machine, which the server has too: since the Unix epoch.
#[expect(
    clippy::disallowed_methods,
    reason = "an inbox of the server expires by the clock of the machine"
)]
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("the clock is later than 1970")
}
