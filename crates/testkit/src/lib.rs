//! Development only: what the tests of the other crates share.

pub mod dialogue;
pub mod payload;
