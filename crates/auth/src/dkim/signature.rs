//! A DKIM-Signature field (RFC 6376 section 3.5), checked as far as it can be without its key.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mail_auth::common::crypto::Algorithm;
use mail_auth::dkim::Canonicalization;
use restante_model::Timestamp;

use super::flaw::Flaw;
use super::tags::{Tags, items};
use crate::name::{DomainName, domain_part};

/// Most fields that `h=` may list; it lists a dozen or two.
const MOST_FIELDS: usize = 500;

/// Signers pad as they like.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// A signature that lacks nothing but its key.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    /// `a=`
    pub(crate) algorithm: Algorithm,
    /// First half of `c=`.
    pub(crate) header_form: Canonicalization,
    /// Second half of `c=`.
    pub(crate) body_form: Canonicalization,
    /// `d=`
    pub(crate) domain: DomainName,
    /// `s=`
    pub(crate) selector: DomainName,
    /// The domain of `i=`, which is `d=` unless it is given.
    pub(crate) identity: DomainName,
    /// `bh=`
    pub(crate) body_hash: Vec<u8>,
    /// `b=`
    pub(crate) value: Vec<u8>,
    /// `h=`, in lower case and in order.
    pub(crate) signed: Vec<Vec<u8>>,
    /// `l=`
    pub(crate) limit: Option<u64>,
}

impl Signature {
    /// Reads the tags of a field; `now` decides whether it has expired.
    pub(crate) fn read(tags: &Tags<'_>, now: Timestamp) -> Result<Self, Flaw> {
        if required(tags, "v")? != b"1" {
            return Err(Flaw::Version);
        }
        check_query(tags)?;
        check_dates(tags, now)?;
        let (header_form, body_form) = canonicalizations(tags)?;
        let domain = name(tags, "d")?;
        Ok(Self {
            algorithm: algorithm(required(tags, "a")?)?,
            header_form,
            body_form,
            identity: identity(tags, &domain)?,
            domain,
            selector: name(tags, "s")?,
            body_hash: base64(tags, "bh")?,
            value: base64(tags, "b")?,
            signed: signed_fields(tags)?,
            limit: number(tags, "l")?,
        })
    }

    /// Where its key is (RFC 6376 section 3.6.2.1).
    pub(crate) fn key_name(&self) -> String {
        format!("{}._domainkey.{}", self.selector, self.domain)
    }
}

fn required<'a>(tags: &Tags<'a>, tag: &'static str) -> Result<&'a [u8], Flaw> {
    tags.get(tag)
        .filter(|value| !value.is_empty())
        .ok_or(Flaw::Missing(tag))
}

fn algorithm(value: &[u8]) -> Result<Algorithm, Flaw> {
    match value.to_ascii_lowercase().as_slice() {
        b"rsa-sha256" => Ok(Algorithm::RsaSha256),
        b"ed25519-sha256" => Ok(Algorithm::Ed25519Sha256),
        b"rsa-sha1" => Err(Flaw::Sha1),
        _ => Err(Flaw::Algorithm),
    }
}

fn canonicalizations(tags: &Tags<'_>) -> Result<(Canonicalization, Canonicalization), Flaw> {
    let Some(value) = tags.get("c") else {
        return Ok((Canonicalization::Simple, Canonicalization::Simple));
    };
    let mut halves = value.splitn(2, |&byte| byte == b'/').map(canonicalization);
    let header = halves.next().unwrap_or(Err(Flaw::Canonicalization))?;
    let body = halves.next().unwrap_or(Ok(Canonicalization::Simple))?;
    Ok((header, body))
}

fn canonicalization(value: &[u8]) -> Result<Canonicalization, Flaw> {
    match value.trim_ascii().to_ascii_lowercase().as_slice() {
        b"simple" => Ok(Canonicalization::Simple),
        b"relaxed" => Ok(Canonicalization::Relaxed),
        _ => Err(Flaw::Canonicalization),
    }
}

fn name(tags: &Tags<'_>, tag: &'static str) -> Result<DomainName, Flaw> {
    let value = std::str::from_utf8(required(tags, tag)?).map_err(|_| Flaw::NotName(tag))?;
    DomainName::parse(value).ok_or(Flaw::NotName(tag))
}

fn identity(tags: &Tags<'_>, domain: &DomainName) -> Result<DomainName, Flaw> {
    let Some(value) = tags.get("i") else {
        return Ok(domain.clone());
    };
    let given = std::str::from_utf8(value)
        .ok()
        .and_then(domain_part)
        .and_then(DomainName::parse);
    given
        .filter(|identity| identity.is_within(domain))
        .ok_or(Flaw::Identity)
}

fn base64(tags: &Tags<'_>, tag: &'static str) -> Result<Vec<u8>, Flaw> {
    let folded = required(tags, tag)?;
    let value: Vec<u8> = folded
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    BASE64.decode(value).map_err(|_| Flaw::NotBase64(tag))
}

fn number(tags: &Tags<'_>, tag: &'static str) -> Result<Option<u64>, Flaw> {
    let Some(value) = tags.get(tag) else {
        return Ok(None);
    };
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Flaw::NotNumber(tag));
    }
    // Up to 76 digits are allowed; more than u64 holds means the same as its maximum.
    let digits = std::str::from_utf8(value).map_err(|_| Flaw::NotNumber(tag))?;
    Ok(Some(digits.parse().unwrap_or(u64::MAX)))
}

fn signed_fields(tags: &Tags<'_>) -> Result<Vec<Vec<u8>>, Flaw> {
    let fields: Vec<Vec<u8>> = items(required(tags, "h")?)
        .take(MOST_FIELDS + 1)
        .map(<[u8]>::to_ascii_lowercase)
        .collect();
    if fields.len() > MOST_FIELDS {
        return Err(Flaw::TooManyFields(MOST_FIELDS));
    }
    if !fields.iter().any(|field| field == b"from") {
        return Err(Flaw::FromNotSigned);
    }
    Ok(fields)
}

fn check_query(tags: &Tags<'_>) -> Result<(), Flaw> {
    match tags.get("q") {
        Some(methods) if !items(methods).any(|method| method.eq_ignore_ascii_case(b"dns/txt")) => Err(Flaw::Query),
        _ => Ok(()),
    }
}

fn check_dates(tags: &Tags<'_>, now: Timestamp) -> Result<(), Flaw> {
    let (made, expires) = (number(tags, "t")?, number(tags, "x")?);
    match expires {
        Some(expires) if made.is_some_and(|made| expires <= made) => Err(Flaw::ExpiresBeforeMade),
        Some(expires) if expires < now.unix_secs() => {
            Err(Flaw::Expired(Timestamp::from_unix_ms(expires.saturating_mul(1000))))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "v=1; a=rsa-sha256; d=example.test; s=sel; h=From:To; bh=aGFzaA==; b=c2ln";

    fn read(list: &str) -> Result<Signature, Flaw> {
        Signature::read(&Tags::read(list.as_bytes()).0, Timestamp::from_unix_ms(1_000_000_000))
    }

    #[test]
    fn defaults_are_those_of_rfc_6376() {
        let signature = read(GOOD).expect("it lacks nothing");
        assert_eq!(signature.header_form, Canonicalization::Simple);
        assert_eq!(signature.body_form, Canonicalization::Simple);
        assert_eq!(signature.identity, signature.domain);
        assert_eq!(signature.limit, None);
        assert_eq!(signature.key_name(), "sel._domainkey.example.test");
        assert_eq!(signature.signed, [b"from".to_vec(), b"to".to_vec()]);
        assert_eq!(
            (signature.body_hash.as_slice(), signature.value.as_slice()),
            (&b"hash"[..], &b"sig"[..])
        );
    }

    #[test]
    fn one_word_of_c_is_about_the_header() {
        let signature = read(&format!("{GOOD}; c=relaxed")).expect("it lacks nothing");
        assert_eq!(signature.header_form, Canonicalization::Relaxed);
        assert_eq!(signature.body_form, Canonicalization::Simple);
    }

    #[test]
    fn each_flaw_is_found() {
        let many = format!("h=From:{}", "x:".repeat(MOST_FIELDS));
        for (from, to, flaw) in [
            ("v=1", "v=2", Flaw::Version),
            ("v=1", "w=1", Flaw::Missing("v")),
            ("a=rsa-sha256", "a=rsa-sha1", Flaw::Sha1),
            ("a=rsa-sha256", "a=rsa-md5", Flaw::Algorithm),
            ("a=rsa-sha256", "c=nofws; a=rsa-sha256", Flaw::Canonicalization),
            ("a=rsa-sha256", "c=relaxed/x; a=rsa-sha256", Flaw::Canonicalization),
            ("d=example.test", "d=", Flaw::Missing("d")),
            ("d=example.test", "d=exa mple", Flaw::NotName("d")),
            ("s=sel", "s=.", Flaw::NotName("s")),
            ("s=sel", "s=sel; i=@example.org", Flaw::Identity),
            ("s=sel", "s=sel; i=nobody", Flaw::Identity),
            ("s=sel", "s=sel; q=ldap", Flaw::Query),
            ("s=sel", "s=sel; l=1x", Flaw::NotNumber("l")),
            ("s=sel", "s=sel; t=5; x=5", Flaw::ExpiresBeforeMade),
            ("s=sel", "s=sel; t=5; x=6", Flaw::Expired(Timestamp::from_unix_ms(6000))),
            ("h=From:To", "h=To", Flaw::FromNotSigned),
            ("h=From:To", many.as_str(), Flaw::TooManyFields(MOST_FIELDS)),
            ("bh=aGFzaA==", "bh=%%", Flaw::NotBase64("bh")),
            ("b=c2ln", "b=", Flaw::Missing("b")),
        ] {
            assert_eq!(read(&GOOD.replace(from, to)).expect_err(to), flaw, "{to}");
        }
    }

    #[test]
    fn a_signature_that_expires_later_holds() {
        assert!(read(&format!("{GOOD}; t=5; x=1000001; q=dns/txt; i=joe@mail.example.test")).is_ok());
        assert!(read(&format!("{GOOD}; x=1000000")).is_ok(), "in its last second");
        assert!(read(&format!("{GOOD}; x=999999")).is_err());
        assert!(read(&format!("{GOOD}; x=99999999999999999999999")).is_ok());
    }
}
