//! Mail ingestion: sockets, and the way of a message from the wire to the inboxes.
//!
//! The session in `restante-smtp` decides; this crate reads, writes, waits and stores for it.
//! It knows the inboxes by their use cases only, and nothing of HTTP.
//!
//! Modules, in reading order: [`ingest`] is what all share, [`listener`] accepts sockets, `proxy` reads for whom one
//! speaks, `handshake` encrypts it, [`connection`] drives it, `accept` takes a complete transaction to the inboxes,
//! [`chaos`] has it meet the faults that they asked for, `authenticate` and `spam` check it for them, `reply` is the one
//! table of refusals, `note` has the monitor know of all that, [`limits`], `rate`, `patience`, and `wire`, what a connection
//! needs of its stream.

mod accept;
mod authenticate;
pub mod chaos;
pub mod connection;
mod handshake;
pub mod ingest;
pub mod limits;
pub mod listener;
mod note;
mod patience;
mod proxy;
mod rate;
mod reply;
mod spam;
mod wire;

pub use chaos::ChaosRules;
pub use ingest::{Ingest, IngestParts};
/// A network of addresses.
pub use ipnet::IpNet;
pub use limits::{IngestLimits, MailRate};
pub use listener::{Encryption, Listener};
pub use wire::Wire;
