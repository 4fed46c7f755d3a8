//! Development only: what the tests of the other crates share.

pub mod clock;
pub mod dialogue;
pub mod digest;
pub mod dkim;
pub mod dns;
pub mod payload;
pub mod receiver;
pub mod webhook_signature;

pub use clock::FakeClock;
