//! Names that a record asks for: any bytes that fit into labels, for the local part of an address may be one.

use mail_auth::hickory_resolver::proto::rr::Name;

use crate::name::DomainName;
use crate::shown::shown;

/// Longest name, without the final dot (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 253;

/// A `target-name` (RFC 7208 section 4.8) that fits into a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Without a final dot.
    text: String,
    name: Name,
}

impl Target {
    /// Reads an expanded `domain-spec`; None if no query can carry it (an empty or an overlong label).
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = cut(text.strip_suffix('.').unwrap_or(text))?;
        let name = Name::from_labels(text.split('.').map(str::as_bytes)).ok()?;
        Some(Self {
            text: text.to_owned(),
            name,
        })
    }

    /// The name as it was written, without a final dot.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// The name for a query.
    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    /// The name, fit to be shown.
    pub(super) fn shown(&self) -> String {
        shown(&self.text)
    }

    /// The name, if it could be one of a host.
    pub(super) fn domain(&self) -> Option<DomainName> {
        DomainName::parse(&self.text)
    }

    /// Whether it has more than one label, without which it has no record (RFC 7208 section 4.3).
    pub(super) fn has_dot(&self) -> bool {
        self.text.contains('.')
    }
}

/// Labels go from the left until the name is short enough (RFC 7208 section 7.3).
fn cut(mut text: &str) -> Option<&str> {
    while text.len() > LONGEST_NAME {
        text = text.split_once('.')?.1;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_fit_into_a_label() {
        for (text, kept) in [
            ("Mail.Example.TEST", "Mail.Example.TEST"),
            ("example.test.", "example.test"),
            ("a=b@c \"d\".example.test", "a=b@c \"d\".example.test"),
            ("jörg.example.test", "jörg.example.test"),
        ] {
            assert_eq!(Target::parse(text).as_ref().map(Target::as_str), Some(kept));
        }
    }

    #[test]
    fn labels_are_neither_empty_nor_overlong() {
        let overlong = format!("{}.test", "a".repeat(64));
        for text in ["", ".", "a..test", ".a.test", "a.test..", &overlong, &"a".repeat(300)] {
            assert_eq!(Target::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_name_loses_its_first_labels() {
        let long = format!("first.{}example.test", "abcdefghi.".repeat(24));
        let expected = format!("{}example.test", "abcdefghi.".repeat(24));
        assert_eq!(
            Target::parse(&long).as_ref().map(Target::as_str),
            Some(expected.as_str())
        );
    }
}
