//! Measuring how long other programs take.

use std::time::{Duration, Instant};

/// Does the work and says how long it took.
#[expect(
    clippy::disallowed_methods,
    reason = "measures other programs; there is no runtime whose time could be paused"
)]
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}
