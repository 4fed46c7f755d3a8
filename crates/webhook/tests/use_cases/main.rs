//! The use cases and the dispatcher, over the embedded store and with a receiver on the loopback interface.
#![expect(clippy::unwrap_used, reason = "a broken promise panics, as a test does")]

mod changing;
mod creating;
mod failing;
mod fairness;
mod fixture;
mod log;
mod restarting;
mod rotating;
mod routing;
mod schedule;
mod switched_off;
mod testing;
mod thrown_away;
