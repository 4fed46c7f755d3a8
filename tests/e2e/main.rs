//! Whole-program tests: the real server over real sockets and files.
//!
//! JSON shapes are in `snapshots/`; `INSTA_UPDATE=always cargo test -p e2e` writes them anew, for the diff to be read.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod authentication;
mod chaos;
mod chaos_api;
mod console;
mod creation;
mod dialogues;
mod dice;
mod emails;
mod encrypted;
mod gate;
mod harness;
mod https;
mod idempotency;
mod inboxes;
mod key;
mod limits;
mod metrics;
mod peer;
mod persistence;
mod profile;
mod retention;
mod sdk;
mod server_info;
mod smtp;
mod spam;
mod stalls;
mod stored;
mod stream;
mod test_emails;
mod walk;
mod webhooks;
