//! The use cases over the embedded store, on a clock of the test.

#![expect(clippy::unwrap_used, reason = "a fixture that panics fails its test")]

mod creating;
mod expiring;
mod faulting;
mod fixture;
mod hooked;
mod panicking;
mod persisting;
mod removing;
mod retention;
mod sealing;
mod telling;
mod test_emails;
mod throwing_away;
mod watching;
