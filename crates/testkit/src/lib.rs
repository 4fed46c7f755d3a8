//! Development only: what the tests of the other crates share.

pub mod clock;
pub mod dialogue;
pub mod payload;

pub use clock::FakeClock;
