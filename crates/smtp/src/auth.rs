//! The exchanges of AUTH (RFC 4954) for the mechanisms PLAIN (RFC 4616) and LOGIN, which has no RFC.
//!
//! Any credentials will do, so none are kept: a response is decoded, looked at for its form, and dropped.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::reply::Reply;
use crate::wording;

/// Octets of a response line, at most, its CRLF included (RFC 4954 section 4).
pub(crate) const RESPONSE_LINE_MAX: usize = 12_288;

/// What the client says next in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// The one response of PLAIN.
    Plain,
    /// The first response of LOGIN.
    Username,
    /// The second response of LOGIN.
    Password,
}

/// A response as it was sent; it may be a password, so nothing shows it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Response<'a>(pub(crate) &'a [u8]);

impl fmt::Debug for Response<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Response(..)")
    }
}

impl Exchange {
    /// Reads what follows AUTH: the mechanism, and the initial response if there is one.
    ///
    /// # Errors
    /// The reply to a command that begins no exchange.
    pub(crate) fn begin(argument: Response<'_>) -> Result<(Self, Option<Response<'_>>), Reply> {
        let mut words = argument.0.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
        let mechanism = words.next().ok_or(wording::AUTH_SYNTAX)?;
        let initial = words.next().map(|word| match word {
            b"=" => Response(b""),
            word => Response(word),
        });
        if words.next().is_some() {
            return Err(wording::AUTH_SYNTAX);
        }
        if mechanism.eq_ignore_ascii_case(b"PLAIN") {
            Ok((Self::Plain, initial))
        } else if mechanism.eq_ignore_ascii_case(b"LOGIN") {
            Ok((Self::Username, initial))
        } else {
            Err(wording::UNKNOWN_MECHANISM)
        }
    }

    /// What asks for the response (RFC 4954 section 4); the prompts of LOGIN are those that clients know.
    pub(crate) fn challenge(self) -> Reply {
        Reply::bare(
            334,
            match self {
                Self::Plain => "",
                Self::Username => "VXNlcm5hbWU6",
                Self::Password => "UGFzc3dvcmQ6",
            },
        )
    }

    /// Takes the response; what comes after it, or nothing when the client has authenticated.
    ///
    /// # Errors
    /// The reply that ends the exchange.
    pub(crate) fn take(self, response: Response<'_>) -> Result<Option<Self>, Reply> {
        if response.0 == b"*" {
            return Err(wording::AUTH_CANCELLED);
        }
        let decoded = STANDARD.decode(response.0).map_err(|_| wording::NOT_BASE64)?;
        match self {
            Self::Plain if memchr::memchr_iter(0, &decoded).count() != 2 => Err(wording::NOT_PLAIN),
            Self::Plain | Self::Password => Ok(None),
            Self::Username => Ok(Some(Self::Password)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mechanism_may_come_with_a_response() {
        let begin = |argument: &'static str| Exchange::begin(Response(argument.as_bytes()));
        assert_eq!(begin("PLAIN"), Ok((Exchange::Plain, None)));
        assert_eq!(
            begin("plain  AGEAYg=="),
            Ok((Exchange::Plain, Some(Response(b"AGEAYg=="))))
        );
        assert_eq!(begin("LOGIN ="), Ok((Exchange::Username, Some(Response(b"")))));
        assert_eq!(begin(""), Err(wording::AUTH_SYNTAX));
        assert_eq!(begin("PLAIN a b"), Err(wording::AUTH_SYNTAX));
        assert_eq!(begin("PLAINER"), Err(wording::UNKNOWN_MECHANISM));
    }

    #[test]
    fn nothing_shows_a_response() {
        let said = format!(
            "{:?} {:?}",
            Response(b"AGEAc2VjcmV0"),
            Exchange::Plain.take(Response(b"AGEAc2VjcmV0"))
        );
        assert_eq!(said, "Response(..) Ok(None)");
    }
}
