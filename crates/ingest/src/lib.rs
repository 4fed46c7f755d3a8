//! Mail ingestion: sockets, and the way of a message from the wire to the inboxes.
//!
//! The session in `restante-smtp` decides; this crate reads, writes, waits and stores for it.
//! It knows the inboxes by their use cases only, and nothing of HTTP.
//!
//! Modules, in reading order: [`ingest`] is what all share, [`listener`] accepts sockets, [`connection`] drives one,
//! `accept` takes a complete transaction to the inboxes, `reply` is the one table of refusals, [`limits`].

mod accept;
pub mod connection;
pub mod ingest;
pub mod limits;
pub mod listener;
mod reply;

pub use ingest::{Ingest, IngestParts};
/// A network of addresses.
pub use ipnet::IpNet;
pub use limits::{IngestLimits, MailRate};
pub use listener::{Encryption, Listener};
