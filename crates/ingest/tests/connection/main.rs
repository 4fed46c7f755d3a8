//! One connection on paused time: deadlines, stopping, closing.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod announcing;
mod deadlines;
mod fixture;
mod stopping;
