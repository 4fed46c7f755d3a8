//! The sender, against targets that behave and targets that do not.

#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

mod bench;
mod connections;
mod deadline;
mod guard;
mod http2;
mod outcome;
mod request;
mod tls;
