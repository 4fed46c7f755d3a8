//! Addresses: what SMTP says (paths) and what an inbox is reached at.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Octets of a local part, at most (RFC 5321 section 4.5.3.1.1).
pub const LOCAL_PART_MAX: usize = 64;
/// Octets of a domain, at most (RFC 5321 section 4.5.3.1.2).
pub const DOMAIN_MAX: usize = 255;
/// Characters of an address in a request, at most (interface, Limits).
pub const ADDRESS_MAX: usize = 254;

/// Why a text is no address of an inbox. The text is what the sender of a request reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// More than 254 characters.
    #[error("must be at most {ADDRESS_MAX} characters")]
    TooLong,
    /// None or several `@`.
    #[error("must contain exactly one @")]
    At,
    /// The local part is empty or too long.
    #[error("local part must have 1 to {LOCAL_PART_MAX} characters")]
    LocalLength,
    /// A character that the local part of an inbox may not have.
    #[error("local part may contain only a-z, 0-9, '.', '_' and '-'")]
    LocalCharacter,
    /// First or last character is not a letter or digit.
    #[error("local part must start and end with a letter or digit")]
    LocalEdge,
    /// Two dots side by side.
    #[error("local part must not contain '..'")]
    LocalDots,
    /// Not a domain name.
    #[error("domain must be a valid domain name")]
    Domain,
}

/// A lowercase domain name of letters, digits, hyphens and dots (RFC 1123 section 2.1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Domain(String);

impl Domain {
    /// Reads a domain name without regard to case.
    ///
    /// # Errors
    /// [`AddressError::Domain`] for anything but dot-separated labels of 1 to 63 letters, digits and inner hyphens.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let name = text.to_ascii_lowercase();
        let label_fits = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if name.len() > DOMAIN_MAX || !name.split('.').all(label_fits) {
            return Err(AddressError::Domain);
        }
        Ok(Self(name))
    }

    /// The name in lowercase.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Domain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Domain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The address of an inbox: lowercase, without `+tag`, its local part within the characters that inboxes may use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxAddress {
    text: String,
    domain: Domain,
}

impl InboxAddress {
    /// Reads an address as a client asks for it: trimmed, lowercased, a `+tag` stripped.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if text.chars().count() > ADDRESS_MAX {
            return Err(AddressError::TooLong);
        }
        let (local, domain) = text.split_once('@').ok_or(AddressError::At)?;
        if domain.contains('@') {
            return Err(AddressError::At);
        }
        let (local, _tag) = local.split_once('+').unwrap_or((local, ""));
        Self::new(local, &Domain::parse(domain)?)
    }

    /// Reads the address of a path in a URL: as [`InboxAddress::parse`], but a `+tag` is not stripped and so never matches.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse_exact(text: &str) -> Result<Self, AddressError> {
        if text.contains('+') {
            return Err(AddressError::LocalCharacter);
        }
        Self::parse(text)
    }

    /// Joins a local part, in any case, and a domain.
    ///
    /// # Errors
    /// The rule that the local part breaks, or [`AddressError::TooLong`].
    pub fn new(local: &str, domain: &Domain) -> Result<Self, AddressError> {
        let local = local.to_ascii_lowercase();
        if !(1..=LOCAL_PART_MAX).contains(&local.len()) {
            return Err(AddressError::LocalLength);
        }
        if !local
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-'))
        {
            return Err(AddressError::LocalCharacter);
        }
        let alphanumeric = |c: Option<u8>| c.is_some_and(|b| b.is_ascii_alphanumeric());
        if !alphanumeric(local.bytes().next()) || !alphanumeric(local.bytes().last()) {
            return Err(AddressError::LocalEdge);
        }
        if local.contains("..") {
            return Err(AddressError::LocalDots);
        }
        let text = format!("{local}@{domain}");
        if text.len() > ADDRESS_MAX {
            return Err(AddressError::TooLong);
        }
        Ok(Self {
            text,
            domain: domain.clone(),
        })
    }

    /// The address, `local@domain`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The part after the `@`.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }
}

impl fmt::Display for InboxAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for InboxAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for InboxAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse_exact(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Where bounces would go: the address of MAIL FROM, or null (RFC 5321 section 4.1.1.2).
///
/// The text is as the client spelled it, without angle brackets and source route; it has no CR, LF or NUL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReversePath {
    /// `MAIL FROM:<>`, as bounces have it.
    Null,
    /// An address with one `@` that ends its local part.
    Address(String),
}

impl ReversePath {
    /// The address, empty for the null path.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Null => "",
            Self::Address(address) => address,
        }
    }
}

/// Who a transaction is for: the address of RCPT TO (RFC 5321 section 4.1.1.3), as the client spelled it.
///
/// It has no angle brackets, no source route and no CR, LF or NUL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ForwardPath {
    /// `<Postmaster>` without a domain.
    Postmaster,
    /// An address: the local part as spelled, and the domain as spelled.
    Mailbox {
        /// What stands before the last `@`.
        local: String,
        /// What stands after it; an address literal keeps its brackets.
        domain: String,
    },
}

impl ForwardPath {
    /// The inbox that the path reaches, if it can reach one: case and `+tag` make no difference.
    ///
    /// `Postmaster` reaches the inbox `postmaster` of the default domain.
    pub fn inbox_address(&self, default_domain: &Domain) -> Option<InboxAddress> {
        match self {
            Self::Postmaster => InboxAddress::new("postmaster", default_domain).ok(),
            Self::Mailbox { local, domain } => {
                let (base, _tag) = local.split_once('+').unwrap_or((local, ""));
                InboxAddress::new(base, &Domain::parse(domain).ok()?).ok()
            }
        }
    }
}

impl fmt::Display for ForwardPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Postmaster => f.write_str("Postmaster"),
            Self::Mailbox { local, domain } => write!(f, "{local}@{domain}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inbox_address_is_trimmed_lowercased_and_loses_its_tag() {
        let parsed = InboxAddress::parse("  Bob.Smith_1+tag+more@Restante.TEST ").unwrap();
        assert_eq!(parsed.as_str(), "bob.smith_1@restante.test");
    }

    #[test]
    fn each_rule_has_its_own_error() {
        let long_local = format!("{}@x.test", "a".repeat(65));
        let long = format!("{}@{}.test", "a".repeat(60), "b".repeat(63).repeat(4));
        for (text, error) in [
            ("bob", AddressError::At),
            ("a@b@c.test", AddressError::At),
            ("@x.test", AddressError::LocalLength),
            ("+tag@x.test", AddressError::LocalLength),
            (long_local.as_str(), AddressError::LocalLength),
            ("a b@x.test", AddressError::LocalCharacter),
            ("é@x.test", AddressError::LocalCharacter),
            // The Kelvin sign, whose lowercase is an ASCII letter.
            ("\u{212a}@x.test", AddressError::LocalCharacter),
            (".a@x.test", AddressError::LocalEdge),
            ("a-@x.test", AddressError::LocalEdge),
            ("a..b@x.test", AddressError::LocalDots),
            ("a@", AddressError::Domain),
            ("a@-x.test", AddressError::Domain),
            ("a@x..test", AddressError::Domain),
            (long.as_str(), AddressError::TooLong),
        ] {
            assert_eq!(InboxAddress::parse(text), Err(error), "{text}");
        }
        assert!(InboxAddress::parse(&format!("{}@x.test", "a".repeat(64))).is_ok());
    }

    #[test]
    fn a_path_of_the_api_keeps_its_tag_and_so_matches_nothing() {
        assert!(InboxAddress::parse_exact("Bob@x.test").is_ok());
        assert!(InboxAddress::parse_exact("bob+a@x.test").is_err());
    }

    #[test]
    fn forward_paths_reach_the_base_inbox() {
        let default = Domain::parse("restante.test").unwrap();
        let path = ForwardPath::Mailbox {
            local: "Bob+x".into(),
            domain: "Restante.Test".into(),
        };
        assert_eq!(path.inbox_address(&default).unwrap().as_str(), "bob@restante.test");
        assert_eq!(
            ForwardPath::Postmaster.inbox_address(&default).unwrap().as_str(),
            "postmaster@restante.test"
        );
        let literal = ForwardPath::Mailbox {
            local: "bob".into(),
            domain: "[127.0.0.1]".into(),
        };
        assert_eq!(literal.inbox_address(&default), None);
    }
}
