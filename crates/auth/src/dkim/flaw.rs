//! Why a signature fails for good, in words for the developer who sent the message.

use restante_model::Timestamp;
use restante_model::auth::Verdict;

use super::tags::TagFlaw;

/// What is wrong with a signature itself, before any key is asked for (RFC 6376 section 6.1.1).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Flaw {
    /// The tag list is broken.
    #[error("the DKIM-Signature field is malformed: {0}")]
    List(#[from] TagFlaw),
    /// A required tag is missing or empty.
    #[error("the DKIM-Signature field has no {0}= tag")]
    Missing(&'static str),
    /// `v=` is not 1.
    #[error("v= of the signature is not 1")]
    Version,
    /// `a=rsa-sha1`.
    #[error("rsa-sha1 is too weak to be accepted (RFC 8301): sign with rsa-sha256 or ed25519-sha256")]
    Sha1,
    /// Another `a=`.
    #[error("the algorithm of the signature (a=) is neither rsa-sha256 nor ed25519-sha256")]
    Algorithm,
    /// `c=` names something else than simple and relaxed.
    #[error("the canonicalization of the signature (c=) is not made of simple and relaxed")]
    Canonicalization,
    /// A value that must be base64 is not.
    #[error("{0}= of the signature is not base64")]
    NotBase64(&'static str),
    /// A value that must be a number is not.
    #[error("{0}= of the signature is not a number")]
    NotNumber(&'static str),
    /// A value that must be a domain name is not.
    #[error("{0}= of the signature is not a domain name")]
    NotName(&'static str),
    /// `h=` does not list From (RFC 6376 section 5.4).
    #[error("the signature does not cover the From field (h=)")]
    FromNotSigned,
    /// `h=` lists more fields than are looked for.
    #[error("the signature lists more than {0} fields (h=)")]
    TooManyFields(usize),
    /// The domain of `i=` is neither `d=` nor below it.
    #[error("the identity (i=) is not in the signing domain (d=)")]
    Identity,
    /// `q=` does not offer dns/txt.
    #[error("the key is not in the DNS: q= of the signature has no dns/txt")]
    Query,
    /// `x=` is not after `t=`.
    #[error("the signature expires before it was made (x= is not after t=)")]
    ExpiresBeforeMade,
    /// `x=` has passed.
    #[error("signature expired {0}")]
    Expired(Timestamp),
    /// More signatures than are verified.
    #[error("not verified: the message has more than {0} signatures")]
    NotTried(usize),
    /// More header fields than anybody here reads: nothing can be said of those that are signed.
    #[error("not verified: the message has more header fields than are read")]
    LongHeader,
    /// A bug of this server.
    #[error("not checked: this server failed")]
    Unread,
}

impl Flaw {
    /// `none` if this server did not look, `fail` if there is no point in looking.
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Self::NotTried(_) | Self::LongHeader | Self::Unread => Verdict::None,
            _ => Verdict::Fail,
        }
    }
}
