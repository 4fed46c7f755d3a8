//! Why an attempt failed, in words for the user.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::resolver::Unresolved;
use crate::target::Forbidden;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("timeout: the target did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("the target {0}")]
    Forbidden(#[from] Forbidden),
    #[error("{0}")]
    Unresolved(Unresolved),
    #[error("the target does not accept connections (connection refused)")]
    Refused,
    #[error("the target cannot be reached")]
    Unreachable,
    #[error("timeout: no connection to the target came about in time")]
    ConnectTimeout,
    #[error("the TLS connection to the target failed: {0}")]
    Tls(String),
    #[error("the target closed the connection without an answer")]
    Closed,
    #[error("the target's answer is not HTTP")]
    NoHttp,
    #[error("the value of the header {0} cannot be sent")]
    Header(&'static str),
}

/// What to say of an answer that is no success.
pub(super) fn of_status(status: u16) -> Option<String> {
    match status {
        200..=299 => None,
        300..=399 => Some(format!(
            "the target answered with status {status}; redirects are not followed"
        )),
        _ => Some(format!("the target answered with status {status}")),
    }
}

/// Whether a request failed after there was a connection, with no answer: over a kept one, the failure may be old.
pub(super) fn is_of_connection(error: &reqwest::Error) -> bool {
    error.is_request() && !error.is_connect() && !error.is_timeout() && !is_no_http(error)
}

fn is_no_http(error: &reqwest::Error) -> bool {
    cause::<hyper::Error>(error).is_some_and(hyper::Error::is_parse)
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        if let Some(forbidden) = cause::<Forbidden>(&error) {
            return Self::Forbidden(*forbidden);
        }
        if let Some(unresolved) = cause::<Unresolved>(&error) {
            return Self::Unresolved(*unresolved);
        }
        if let Some(tls) = cause::<rustls::Error>(&error) {
            return Self::Tls(tls.to_string());
        }
        if error.is_timeout() {
            return Self::ConnectTimeout;
        }
        let has = |kind| io_kinds(&error).any(|found| found == kind);
        if has(io::ErrorKind::ConnectionRefused) {
            Self::Refused
        } else if has(io::ErrorKind::UnexpectedEof) || has(io::ErrorKind::ConnectionReset) {
            Self::Closed
        } else if error.is_connect() {
            Self::Unreachable
        } else if is_no_http(&error) {
            Self::NoHttp
        } else {
            Self::Closed
        }
    }
}

/// The first cause of this type.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

fn io_kinds<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = io::ErrorKind> {
    causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>().map(io::Error::kind))
}

/// An error and what caused it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

/// What caused an error; `source` skips an error that an error of IO wraps.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
