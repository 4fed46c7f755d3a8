//! Why there is no analysis, in words for the user: nothing that rspamd has said, and not where it is.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::filter::ANSWER_BYTES;

/// Why there is no answer, or none that says anything.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("rspamd did not answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("rspamd does not accept connections (connection refused)")]
    Refused,
    #[error("rspamd cannot be reached")]
    Unreachable,
    #[error("the TLS connection to rspamd failed")]
    Tls(rustls::Error),
    #[error("rspamd broke the connection off, or does not speak HTTP")]
    Broken,
    #[error("rspamd refused the password")]
    WrongPassword,
    #[error("rspamd wants a password, and none is set")]
    NoPassword,
    #[error("rspamd answered with status {0}")]
    Status(u16),
    #[error("rspamd's answer has more than {ANSWER_BYTES} bytes")]
    TooLarge,
    #[error("rspamd's answer is not the JSON of /checkv2")]
    Nonsense,
    #[error("rspamd's answer has no required score: its configuration has no action with a score")]
    NoRequiredScore,
}

impl From<reqwest::Error> for Failure {
    fn from(error: reqwest::Error) -> Self {
        if let Some(tls) = causes(&error).find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
            return Self::Tls(tls.clone());
        }
        let mut kinds = causes(&error).filter_map(|cause| cause.downcast_ref::<io::Error>().map(io::Error::kind));
        if kinds.any(|kind| kind == io::ErrorKind::ConnectionRefused) {
            Self::Refused
        } else if error.is_connect() {
            Self::Unreachable
        } else {
            Self::Broken
        }
    }
}

/// An error and what caused it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

/// What caused an error; `source` skips an error that an error of IO wraps.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
