//! What whole-program tests share: a server in this process with real sockets and files, and clients that are not ours.
//!
//! Every server listens on 127.0.0.1 at ports of its own, keeps its data in a temporary directory, and stops when its
//! [`TestServer`] is dropped.

pub(crate) mod http;
pub(crate) mod mail;
pub(crate) mod server;
pub(crate) mod shape;
pub(crate) mod socket;
pub(crate) mod sse;
pub(crate) mod tls;

pub(crate) use http::Answer;
pub(crate) use server::{API_KEY, TestServer};
pub(crate) use shape::shape;
pub(crate) use sse::EventStream;
