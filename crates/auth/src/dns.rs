//! Questions to the DNS, with answers that tell "there is none" from "it cannot be said now".

use std::net::IpAddr;

use mail_auth::MessageAuthenticator;
use mail_auth::hickory_resolver::TokioResolver;
use mail_auth::hickory_resolver::net::{DnsError, NetError};
use mail_auth::hickory_resolver::proto::op::ResponseCode;
use mail_auth::hickory_resolver::proto::rr::{Name, RData};

use crate::name::DomainName;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DnsFailure {
    /// The name does not exist.
    #[error("the name does not exist")]
    NoName,
    /// The name exists without a record of this type.
    #[error("the name has no such record")]
    NoRecord,
    /// No answer came in time.
    #[error("the DNS server did not answer in time")]
    Timeout,
    /// The server answered that it cannot or will not say.
    #[error("the DNS server answered {0}")]
    Refused(ResponseCode),
    /// The server could not be asked, or was not understood.
    #[error("the DNS server could not be asked")]
    Broken,
}

impl DnsFailure {
    /// Whether asking again later may give another answer.
    pub(crate) fn is_temporary(&self) -> bool {
        !matches!(self, Self::NoName | Self::NoRecord)
    }
}

impl From<NetError> for DnsFailure {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Timeout => Self::Timeout,
            NetError::Dns(DnsError::NoRecordsFound(none)) if none.response_code == ResponseCode::NXDomain => {
                Self::NoName
            }
            NetError::Dns(DnsError::NoRecordsFound(_)) => Self::NoRecord,
            NetError::Dns(DnsError::ResponseCode(code)) => Self::Refused(code),
            _ => Self::Broken,
        }
    }
}

/// The DNS, with its cache.
pub(crate) struct Dns(MessageAuthenticator);

impl Dns {
    /// Asks through `resolver`.
    pub(crate) fn new(resolver: TokioResolver) -> Self {
        Self(MessageAuthenticator(resolver))
    }

    /// The checks of mail-auth, over the same cache.
    pub(crate) fn authenticator(&self) -> &MessageAuthenticator {
        &self.0
    }

    /// TXT records of a name, the strings of each joined.
    pub(crate) async fn txt(&self, name: &str) -> Result<Vec<Vec<u8>>, DnsFailure> {
        let lookup = self.0.resolver().txt_lookup(exactly(name)?).await?;
        let records = lookup.answers().iter().filter_map(|record| match &record.data {
            RData::TXT(txt) => Some(txt.txt_data.concat()),
            _ => None,
        });
        Ok(records.collect())
    }

    /// Names that an address points to (PTR), those that are no domain names left out.
    pub(crate) async fn names_of(&self, ip: IpAddr) -> Result<Vec<DomainName>, DnsFailure> {
        let lookup = self.0.resolver().reverse_lookup(ip).await?;
        let names = lookup.answers().iter().filter_map(|record| match &record.data {
            RData::PTR(name) => DomainName::parse(&name.to_ascii()),
            _ => None,
        });
        Ok(names.collect())
    }

    /// Whether a name has `ip` among its addresses (A or AAAA).
    pub(crate) async fn has_address(&self, name: &DomainName, ip: IpAddr) -> Result<bool, DnsFailure> {
        let resolver = self.0.resolver();
        let lookup = match ip {
            IpAddr::V4(_) => resolver.ipv4_lookup(exactly(name.as_str())?).await?,
            IpAddr::V6(_) => resolver.ipv6_lookup(exactly(name.as_str())?).await?,
        };
        Ok(lookup.answers().iter().any(|record| match &record.data {
            RData::A(address) => IpAddr::V4(address.0) == ip,
            RData::AAAA(address) => IpAddr::V6(address.0) == ip,
            _ => false,
        }))
    }
}

/// The name as it is: given text, the resolver would take its labels for words of a language, and refuse underscores
/// in them and hyphens before them.
fn exactly(name: &str) -> Result<Name, DnsFailure> {
    let labels = name.strip_suffix('.').unwrap_or(name).split('.').map(str::as_bytes);
    let mut name = Name::from_labels(labels).map_err(|_| DnsFailure::NoName)?;
    name.set_fqdn(true);
    Ok(name)
}

impl std::fmt::Debug for Dns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Dns")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_for_as_they_are() {
        for name in ["host_1.r.test", "-s._domainkey.a--b.test", "_dmarc.d_x.test."] {
            let asked = exactly(name).expect("it is one");
            let labels: Vec<&[u8]> = asked.iter().collect();
            assert_eq!(labels.join(&b"."[..]), name.trim_end_matches('.').as_bytes());
            assert!(asked.is_fqdn());
        }
    }

    #[test]
    fn what_cannot_be_asked_for_does_not_exist() {
        for name in [format!("{}.test", "a".repeat(64)), "a.".repeat(128), "a..b".to_owned()] {
            assert_eq!(exactly(&name), Err(DnsFailure::NoName));
        }
    }
}
