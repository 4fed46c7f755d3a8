//! Domain names that DNS can be asked for.

use std::fmt;

use mail_auth::common::to_a_label;

/// Longest name, without the final dot (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 253;
/// Longest label (RFC 1035 section 2.3.4).
const LONGEST_LABEL: usize = 63;

/// A domain name in ASCII and lower case, without a final dot, made of letters, digits, hyphens and underscores.
///
/// Underscores are no letters of a host name, but names of records and careless selectors have them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DomainName(String);

impl DomainName {
    /// Reads a name as a message or a session shows it; labels in other scripts become A-labels (RFC 5890).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let ascii = to_a_label(text);
        is_name(&ascii).then(|| Self(ascii.into_owned()))
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name for a query: absolute, so that no search list applies.
    pub(crate) fn absolute(&self) -> String {
        format!("{}.", self.0)
    }

    /// Whether it has more than one label, which a name in the public DNS has.
    pub(crate) fn has_dot(&self) -> bool {
        self.0.contains('.')
    }

    /// Whether it is `other` or lies below it.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.0
            .strip_suffix(&other.0)
            .is_some_and(|above| above.is_empty() || above.ends_with('.'))
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The part after the last `@`, if there is an `@`.
pub(crate) fn domain_part(address: &str) -> Option<&str> {
    address.rsplit_once('@').map(|(_, domain)| domain)
}

fn is_name(ascii: &str) -> bool {
    !ascii.is_empty() && ascii.len() <= LONGEST_NAME && ascii.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=LONGEST_LABEL).contains(&label.len())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<String> {
        DomainName::parse(text).map(|name| name.0)
    }

    #[test]
    fn names_are_lowered_and_lose_the_final_dot() {
        assert_eq!(parsed("Mail.Example.TEST."), Some("mail.example.test".to_owned()));
        assert_eq!(
            parsed("sel_1._domainkey.example.test"),
            Some("sel_1._domainkey.example.test".to_owned())
        );
    }

    #[test]
    fn other_scripts_become_a_labels() {
        assert_eq!(parsed("bücher.example"), Some("xn--bcher-kva.example".to_owned()));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let long_label = format!("{}.test", "a".repeat(64));
        let long_name = "abc.".repeat(64);
        for text in [
            "",
            ".",
            "a..b",
            "[192.0.2.1]",
            "a b.test",
            "a\r\nb.test",
            "a\0.test",
            "a\\.test",
            "ä\0.test",
            &long_label,
            &long_name,
        ] {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }

    #[test]
    fn within_counts_whole_labels() {
        let name = |text| DomainName::parse(text).expect("a name");
        assert!(name("example.test").is_within(&name("example.test")));
        assert!(name("a.example.test").is_within(&name("example.test")));
        assert!(!name("anexample.test").is_within(&name("example.test")));
        assert!(!name("test").is_within(&name("example.test")));
    }
}
