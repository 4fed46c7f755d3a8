//! An SPF record, read whole before anything is asked (RFC 7208 sections 4.5 and 4.6).

use super::error::SpfError;
use super::macros::DomainSpec;
use super::target::Target;
use super::terms::{Directive, Term};
use crate::shown::shown_bytes;

/// A record without syntax errors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// In order; the first that matches decides.
    pub(super) directives: Vec<Directive>,
    /// Whose record applies if none matches.
    pub(super) redirect: Option<DomainSpec>,
    /// Where the reason for a `fail` is.
    pub(super) explanation: Option<DomainSpec>,
}

impl Record {
    /// Reads the record of a domain.
    ///
    /// # Errors
    /// [`SpfError::Malformed`] and [`SpfError::Twice`], whatever stands before the error.
    pub(super) fn parse(text: &[u8], domain: &Target) -> Result<Self, SpfError> {
        let mut record = Self::default();
        let terms = text.split(|&byte| byte == b' ').skip(1);
        for term in terms.filter(|term| !term.is_empty()) {
            let parsed = std::str::from_utf8(term).ok().and_then(Term::parse);
            match parsed.ok_or_else(|| malformed(term, domain))? {
                Term::Directive(directive) => record.directives.push(directive),
                Term::Redirect(spec) => set(&mut record.redirect, spec, "redirect", domain)?,
                Term::Explanation(spec) => set(&mut record.explanation, spec, "exp", domain)?,
                Term::Unknown => {}
            }
        }
        Ok(record)
    }
}

/// Whether a text is an SPF record: it starts with the version, then a space or the end (RFC 7208 section 4.5).
pub(super) fn is_spf(text: &[u8]) -> bool {
    let version = text.split(|&byte| byte == b' ').next();
    version.is_some_and(|version| version.eq_ignore_ascii_case(b"v=spf1"))
}

fn malformed(term: &[u8], domain: &Target) -> SpfError {
    SpfError::Malformed {
        domain: domain.shown(),
        term: shown_bytes(term),
    }
}

fn set(
    slot: &mut Option<DomainSpec>,
    spec: DomainSpec,
    modifier: &'static str,
    domain: &Target,
) -> Result<(), SpfError> {
    if slot.replace(spec).is_some() {
        let domain = domain.shown();
        return Err(SpfError::Twice { domain, modifier });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &[u8]) -> Result<Record, SpfError> {
        Record::parse(text, &Target::parse("example.test").expect("a name"))
    }

    #[test]
    fn only_the_exact_version_makes_an_spf_record() {
        for record in [&b"v=spf1"[..], b"v=spf1 -all", b"V=SPF1 -all"] {
            assert!(is_spf(record));
        }
        for record in [&b"v=spf10 -all"[..], b" v=spf1", b"v=spf1\t-all", b"spf2.0/pra", b""] {
            assert!(!is_spf(record));
        }
    }

    #[test]
    fn terms_stand_between_any_number_of_spaces() {
        let record = parse(b"v=spf1  a   moo=x redirect=a.test -all exp=b.test ").expect("a record");
        assert_eq!(record.directives.len(), 2);
        assert!(record.redirect.is_some() && record.explanation.is_some());
        assert_eq!(parse(b"v=spf1"), Ok(Record::default()));
    }

    #[test]
    fn the_first_error_anywhere_is_named() {
        for (text, expected) in [
            (&b"v=spf1 +all foo bar"[..], "is malformed at foo"),
            (b"v=spf1 a\t-all", "is malformed at a?-all"),
            (b"v=spf1 moo=\xe9", "is malformed at moo=\u{fffd}"),
            (b"v=spf1 redirect=a.test redirect=a.test", "it has redirect= twice"),
            (b"v=spf1 exp=a.test -all EXP=b.test", "it has exp= twice"),
        ] {
            let error = parse(text).expect_err("a malformed record").to_string();
            assert!(error.starts_with("the SPF record of example.test "), "{error}");
            assert!(error.ends_with(expected), "{error}");
        }
    }
}
