//! Development only: what the tests of the other crates share.

pub mod clock;
pub mod cutter;
pub mod dialogue;
pub mod digest;
pub mod dkim;
pub mod dns;
pub mod exported_inbox;
pub mod payload;
pub mod receiver;
pub mod webhook_signature;

pub use clock::FakeClock;
