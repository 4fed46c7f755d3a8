//! What the network did instead of an answer.

use std::error::Error as StdError;
use std::io;

use super::retry::{Failed, Worth};
use crate::Error;

/// What a request to this server failed with.
///
/// A connection that breaks may work the next time. One that does not come about is told at once: whoever forgot to
/// start the server must not wait to hear it.
pub(super) fn failed(url: &str, error: &reqwest::Error) -> Failed {
    if is_no_http(error) {
        return Failed::finally(Error::UnexpectedAnswer {
            url: url.to_owned(),
            reason: "it is not HTTP; is this the port of the API, and http:// or https:// as it should be?".to_owned(),
        });
    }
    let is_final = error.is_connect() || error.is_builder();
    Failed {
        error: Error::Network {
            url: url.to_owned(),
            reason: reason(error),
        },
        worth: if is_final { Worth::Nothing } else { Worth::repetition() },
    }
}

fn is_no_http(error: &reqwest::Error) -> bool {
    cause::<hyper::Error>(error).is_some_and(hyper::Error::is_parse)
}

/// The first cause of all, without what reqwest adds of the URL, and what to do about it where that is known.
fn reason(error: &reqwest::Error) -> String {
    match cause::<rustls::Error>(error) {
        Some(tls @ rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)) => format!(
            "{tls}; if the server has an authority of its own, give the client its certificate \
             (ClientBuilder::ca_certificate)"
        ),
        Some(tls @ rustls::Error::InvalidMessage(_)) => format!("{tls}; does the server speak http:// there?"),
        _ => causes(error).last().map_or_else(String::new, ToString::to_string),
    }
}

/// The first cause of this type.
fn cause<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// An error and what caused it.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| cause_of(*error))
}

/// What caused an error; `source` skips an error that an error of IO wraps.
fn cause_of<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}
