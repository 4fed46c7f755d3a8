//! A receiver of webhooks for tests: HTTP/1.1 on a port of the loopback interface, with or without TLS.
//!
//! It does what the test tells it, misbehaviour included, and remembers every request as it came.
//! It runs on threads of its own, so it serves asynchronous tests and tests of whole processes alike.
//! A test that waits for it must not pause the time of tokio: the wait is real, and paused time would jump to the next deadline.

mod answer;
mod certificate;
mod request;
mod server;
mod state;

pub use answer::{Answer, Stage};
pub use request::Request;
pub use server::Receiver;
