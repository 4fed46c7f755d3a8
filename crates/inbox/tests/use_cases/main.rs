//! The use cases over the embedded store, on a clock of the test.

#![expect(clippy::unwrap_used, reason = "a fixture that panics fails its test")]

mod creating;
mod expiring;
mod fixture;
mod hooked;
mod panicking;
mod removing;
mod retention;
mod sealing;
mod telling;
mod watching;
