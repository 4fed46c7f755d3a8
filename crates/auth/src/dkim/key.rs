//! The key of a signature: a TXT record (RFC 6376 section 3.6).

use mail_auth::common::crypto::{Algorithm, VerifyingKey};
use mail_auth::common::parse::TxtRecordParser as _;
use mail_auth::common::verify::DomainKey;

use super::signature::Signature;
use super::tags::{Tags, items};
use crate::dns::{Dns, DnsFailure};

/// The least bits of an RSA key (RFC 8301 section 3.2).
const LEAST_RSA_BITS: usize = 1024;

/// A key that may verify the signature that it was looked up for.
pub(crate) struct Key {
    verifying: Box<dyn VerifyingKey + Send + Sync>,
    /// `t=y`: the domain is trying DKIM out.
    pub(crate) testing: bool,
}

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoKey {
    /// The DNS gave no answer; another time it may.
    #[error("looking up the key at {name}: {failure}")]
    Dns {
        /// Where the key should be.
        name: String,
        /// What the DNS said.
        failure: DnsFailure,
    },
    /// There is no TXT record.
    #[error("no key at {0}")]
    Missing(String),
    /// What is there is no key record.
    #[error("the TXT record at {0} is not a DKIM key")]
    NotAKey(String),
    /// `p=` is empty.
    #[error("key revoked: p= of {0} is empty")]
    Revoked(String),
    /// Another kind of key than the signature needs.
    #[error("the key at {0} is not of the type that the signature names (k= against a=)")]
    WrongType(String),
    /// `h=` of the key has no sha256.
    #[error("the key at {0} is not for sha256 (h=)")]
    WrongHash(String),
    /// `s=` of the key has neither `*` nor `email`.
    #[error("the key at {0} is not for email (s=)")]
    WrongService(String),
    /// `t=s`, and `i=` is below `d=`.
    #[error("the key at {0} is for its own domain only (t=s), and the identity (i=) is below it")]
    Subdomain(String),
    /// An RSA key that is too short.
    #[error("the RSA key at {name} has {bits} bits, and {LEAST_RSA_BITS} are the least that is accepted")]
    Short {
        /// Where the key is.
        name: String,
        /// Its size.
        bits: usize,
    },
}

impl NoKey {
    /// Whether another try may find a key.
    pub(crate) fn is_temporary(&self) -> bool {
        matches!(self, Self::Dns { .. })
    }
}

impl Key {
    /// Looks the key of a signature up.
    ///
    /// Of several records at the name, which RFC 6376 leaves undefined, the first usable one counts.
    pub(crate) async fn find(dns: &Dns, signature: &Signature) -> Result<Self, NoKey> {
        let name = signature.key_name();
        let records = match dns.txt(&format!("{name}.")).await {
            Ok(records) => records,
            Err(failure) if failure.is_temporary() => return Err(NoKey::Dns { name, failure }),
            Err(_) => return Err(NoKey::Missing(name)),
        };
        let mut first_problem = None;
        for record in &records {
            match Self::read(record, signature, &name) {
                Ok(key) => return Ok(key),
                Err(problem) => first_problem = first_problem.or(Some(problem)),
            }
        }
        Err(first_problem.unwrap_or(NoKey::Missing(name)))
    }

    /// Reads a key record, if it fits the signature.
    fn read(record: &[u8], signature: &Signature, name: &str) -> Result<Self, NoKey> {
        let (tags, flaw) = Tags::read(record);
        let version_fits = match tags.get("v") {
            Some(_) => tags.first() == Some((b"v", b"DKIM1")),
            None => true,
        };
        if flaw.is_some() || !version_fits {
            return Err(NoKey::NotAKey(name.to_owned()));
        }
        match tags.get("p") {
            None => return Err(NoKey::NotAKey(name.to_owned())),
            Some(b"") => return Err(NoKey::Revoked(name.to_owned())),
            Some(_) => check_use(&tags, signature, name)?,
        }
        let key = DomainKey::parse(record).map_err(|_| NoKey::NotAKey(name.to_owned()))?.p;
        if signature.algorithm == Algorithm::RsaSha256 {
            check_size(key.public_key_bits(), name)?;
        }
        Ok(Self {
            verifying: key,
            testing: has_flag(&tags, b"y"),
        })
    }

    /// Whether the signature is by this key, over header fields in order.
    pub(crate) fn verifies<'a>(
        &self,
        signature: &Signature,
        fields: &mut dyn Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> bool {
        let Signature {
            value,
            header_form,
            algorithm,
            ..
        } = signature;
        self.verifying.verify(fields, value, *header_form, *algorithm).is_ok()
    }
}

/// Whether the record lets its key be used for this signature (RFC 6376 section 6.1.2).
fn check_use(tags: &Tags<'_>, signature: &Signature, name: &str) -> Result<(), NoKey> {
    let wanted: &[u8] = match signature.algorithm {
        Algorithm::Ed25519Sha256 => b"ed25519",
        Algorithm::RsaSha256 | Algorithm::RsaSha1 => b"rsa",
    };
    let allows = |tag: &str, words: &[&[u8]]| {
        tags.get(tag)
            .is_none_or(|list| items(list).any(|item| words.contains(&item.to_ascii_lowercase().as_slice())))
    };
    if !tags.get("k").unwrap_or(b"rsa").eq_ignore_ascii_case(wanted) {
        Err(NoKey::WrongType(name.to_owned()))
    } else if !allows("h", &[b"sha256"]) {
        Err(NoKey::WrongHash(name.to_owned()))
    } else if !allows("s", &[b"*", b"email"]) {
        Err(NoKey::WrongService(name.to_owned()))
    } else if has_flag(tags, b"s") && signature.identity != signature.domain {
        Err(NoKey::Subdomain(name.to_owned()))
    } else {
        Ok(())
    }
}

fn check_size(bits: usize, name: &str) -> Result<(), NoKey> {
    let name = name.to_owned();
    match bits {
        0 => Err(NoKey::NotAKey(name)),
        LEAST_RSA_BITS.. => Ok(()),
        _ => Err(NoKey::Short { name, bits }),
    }
}

fn has_flag(tags: &Tags<'_>, flag: &[u8]) -> bool {
    tags.get("t")
        .is_some_and(|flags| items(flags).any(|item| item.eq_ignore_ascii_case(flag)))
}
