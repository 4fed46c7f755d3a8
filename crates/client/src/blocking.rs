//! The same client for plain tests: no `async`, no runtime to set up.
//!
//! Every operation is that of the asynchronous client, under the same name and with the same answer; what is waited for
//! ends with [`Wait::wait`], and a [`Watch`] is an iterator.
//!
//! ```no_run
#![doc = include_str!("../examples/plain_test.rs")]
//! ```
//!
//! A client brings a runtime with one thread of its own, which its clones, inboxes and watches share; when the last of
//! them is dropped, the thread is gone.
//! In asynchronous code it would block the thread of others: on every thread of a runtime its operations refuse with
//! [`Error::Configuration`](crate::Error::Configuration), and [`restante_client::Client`](crate::Client) is what is
//! wanted. A [`Watch`] says so once and then ends.

mod client;
mod inbox;
mod runtime;
mod wait;
mod watch;
mod webhooks;

pub use client::Client;
pub use inbox::Inbox;
pub use wait::Wait;
pub use watch::{Arrival, Watch};
pub use webhooks::Webhooks;

pub use crate::ClientBuilder;
