//! The HTTP interface of restante (docs/spec/interface.md).
//!
//! A request goes router → key → extractor → handler (a few lines) → use case of `Inboxes` or `Webhooks` → shape of
//! `wire`.
//! The crate knows no store and no socket of SMTP; every refusal comes from the one table in [`error`].
//!
//! Modules, in reading order: [`server`] (connections), `io` (their deadlines) and `linger` (their end), [`state`] (what
//! all requests share), [`gate`] (what every request passes), `deadline`, [`router`], [`body`] and `fields` (reading
//! bodies), `idempotency`, `memo` and [`query`] (the rest of a request), the handlers `info`, `inboxes`, `chaos`, `emails`, `test_emails`, [`stream`],
//! `console` and `sse` (what both streams have in common), `metrics`, `webhooks`, `answer` (making answers), then
//! [`error`], [`key`], [`budget`], [`throttle`].

mod answer;
pub mod body;
pub mod budget;
mod chaos;
mod console;
mod deadline;
mod emails;
pub mod error;
mod fields;
pub mod gate;
mod idempotency;
mod inboxes;
mod info;
mod io;
pub mod key;
mod linger;
mod memo;
mod metrics;
pub mod query;
pub mod router;
pub mod server;
mod sse;
pub mod state;
pub mod stream;
mod test_emails;
pub mod throttle;
mod webhooks;

pub use error::ApiError;
pub use key::KeyDigest;
pub use server::HttpServer;
pub use state::{Api, ApiSettings};
