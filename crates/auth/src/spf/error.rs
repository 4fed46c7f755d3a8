//! Why a record gives no answer.

use restante_model::auth::SpfVerdict;

use super::budget::{MOST_LOOKUPS, MOST_NAMES, MOST_VOIDS};
use crate::dns::DnsFailure;

/// Why the evaluation ended without a match; every name is that of the domain at fault, fit to be shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SpfError {
    /// The domain has no record.
    #[error("no SPF record found for {0}")]
    NoRecord(String),
    /// The domain does not exist.
    #[error("no SPF record found for {0}: the domain does not exist")]
    NoDomain(String),
    /// Which record applies cannot be said (RFC 7208 section 4.5).
    #[error("{0} has several SPF records, and only one is allowed")]
    SeveralRecords(String),
    /// A term that is neither a mechanism nor a modifier (RFC 7208 section 4.6).
    #[error("the SPF record of {domain} is malformed at {term}")]
    Malformed {
        /// Whose record it is.
        domain: String,
        /// The first such term.
        term: String,
    },
    /// `redirect=` or `exp=` twice (RFC 7208 section 6).
    #[error("the SPF record of {domain} is malformed: it has {modifier}= twice")]
    Twice {
        /// Whose record it is.
        domain: String,
        /// Name of the modifier.
        modifier: &'static str,
    },
    /// The record of another domain is needed, and there is none (RFC 7208 sections 5.2 and 6.1).
    #[error("the SPF record of {domain} {verb} {target}, which has no SPF record")]
    Dangling {
        /// Whose record it is.
        domain: String,
        /// `includes` or `redirects to`.
        verb: &'static str,
        /// The domain without a record.
        target: String,
    },
    /// Too many terms that ask (RFC 7208 section 4.6.4).
    #[error("more than {MOST_LOOKUPS} lookups are needed, the next one by the SPF record of {0}")]
    Lookups(String),
    /// Too many lookups that found nothing (RFC 7208 section 4.6.4).
    #[error("more than {MOST_VOIDS} lookups found nothing, the last one by the SPF record of {0}")]
    Voids(String),
    /// Too many mail servers (RFC 7208 section 4.6.4).
    #[error("the SPF record of {domain} asks for the mail servers of {target}, which are more than {MOST_NAMES}")]
    MailServers {
        /// Whose record it is.
        domain: String,
        /// Whose mail servers they are.
        target: String,
    },
    /// The DNS cannot say now.
    #[error("looking up {what} of {name}: {failure}")]
    Dns {
        /// What was asked for.
        what: &'static str,
        /// The name that was asked.
        name: String,
        /// What came back.
        failure: DnsFailure,
    },
}

impl SpfError {
    /// The result for the message.
    pub(super) fn verdict(&self) -> SpfVerdict {
        match self {
            Self::NoRecord(_) | Self::NoDomain(_) => SpfVerdict::None,
            Self::Dns { .. } => SpfVerdict::Temperror,
            _ => SpfVerdict::Permerror,
        }
    }
}
