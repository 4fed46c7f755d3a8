//! The transport against a server that does what the test tells it: real sockets, every status, every way to fail.
//!
//! Modules: [`stage`] (the server and the client of a test), [`retries`], [`network`], [`tls`], [`answers`],
//! [`closing`], [`known`], [`secrecy`], [`watch`] (subscriptions).

mod answers;
mod closing;
mod known;
mod network;
mod retries;
mod secrecy;
mod stage;
mod tls;
mod watch;
