//! Moving what a store holds into another one: a stream of domain records, whatever the backends are.
//!
//! The stream holds inboxes, their emails with all parts, read marks and added signatures, then webhooks, the events
//! that they are still to be told and their deliveries, queued and finished, as [`crate::Store`] shows
//! them: nothing of how a backend keeps them. Sealed parts move as they are, and mail that is stored raises no event. What expires is not in it, nor what only
//! matters for minutes (idempotency keys) or tells of what is gone (the sequences of deleted emails).
//!
//! Modules, in reading order: [`mod@format`], [`mod@export`], [`mod@import`].

pub mod export;
pub mod format;
pub mod import;

pub use export::{Damaged, ExportError, Exporting, LeftOut, export};
pub use format::{StreamError, Totals};
pub use import::{Import, ImportError};

#[cfg(test)]
mod tests;
