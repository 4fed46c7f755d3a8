//! The path of MAIL FROM and RCPT TO (RFC 5321 section 4.1.2), with the spelling kept.

use restante_model::address::{DOMAIN_MAX, LOCAL_PART_MAX};

/// A path between its angle brackets, without a source route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Path<'a> {
    /// `<>`
    Null,
    /// `<Postmaster>`, in any case.
    Postmaster,
    /// `<local@domain>`; a quoted local part keeps its quotes, an address literal its brackets.
    Mailbox { local: &'a str, domain: &'a str },
}

/// Why there is no path; the text follows "address is".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    #[error("invalid: it must stand in angle brackets")]
    Brackets,
    #[error("invalid: it has a control character or is not UTF-8")]
    Characters,
    #[error("invalid: it has no @")]
    At,
    #[error("invalid: its source route does not end")]
    Route,
    #[error("invalid: local part")]
    Local,
    #[error("invalid: domain")]
    Domain,
    #[error("too long: the local part has more than {LOCAL_PART_MAX} octets")]
    LongLocal,
    #[error("too long: the domain has more than {DOMAIN_MAX} octets")]
    LongDomain,
}

impl<'a> Path<'a> {
    /// Reads a path; returns it with what follows its closing bracket.
    pub(crate) fn parse(text: &'a [u8]) -> Result<(Self, &'a [u8]), PathError> {
        let inner = text.strip_prefix(b"<").ok_or(PathError::Brackets)?;
        let length = closing_bracket(inner).ok_or(PathError::Brackets)?;
        let path = std::str::from_utf8(&inner[..length]).map_err(|_| PathError::Characters)?;
        // A line separator is no control character, yet must not reach a log.
        if path.chars().any(|c| c.is_control() || (c != ' ' && c.is_whitespace())) {
            return Err(PathError::Characters);
        }
        Ok((Self::parse_inner(path)?, &inner[length + 1..]))
    }

    fn parse_inner(path: &'a str) -> Result<Self, PathError> {
        if path.is_empty() {
            return Ok(Self::Null);
        }
        if path.eq_ignore_ascii_case("postmaster") {
            return Ok(Self::Postmaster);
        }
        let mailbox = without_source_route(path)?;
        let at = end_of_local_part(mailbox)?;
        let (local, domain) = (&mailbox[..at], &mailbox[at + 1..]);
        if local.len() > LOCAL_PART_MAX {
            return Err(PathError::LongLocal);
        }
        if domain.len() > DOMAIN_MAX {
            return Err(PathError::LongDomain);
        }
        if !is_domain(domain) {
            return Err(PathError::Domain);
        }
        Ok(Self::Mailbox { local, domain })
    }
}

/// The position of the first `>` outside quotes.
fn closing_bracket(text: &[u8]) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'>' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// `@one,@two:bob@three` is `bob@three`: source routes are accepted and ignored (RFC 5321 appendix C).
fn without_source_route(path: &str) -> Result<&str, PathError> {
    match path.strip_prefix('@') {
        None => Ok(path),
        Some(route) => route
            .split_once(':')
            .map(|(_, mailbox)| mailbox)
            .ok_or(PathError::Route),
    }
}

/// The position of the `@` after a local part that is well formed.
///
/// Dots may stand anywhere in it: senders with `a..b@` exist, and what a recipient may be is decided by the inboxes.
fn end_of_local_part(mailbox: &str) -> Result<usize, PathError> {
    let Some(quoted) = mailbox.strip_prefix('"') else {
        let at = mailbox.find('@').ok_or(PathError::At)?;
        let well_formed = at > 0 && !mailbox[..at].contains(|c| " <>()[]\\,;:\"".contains(c));
        return if well_formed { Ok(at) } else { Err(PathError::Local) };
    };
    let mut escaped = false;
    let closing = quoted.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    });
    let at = closing.ok_or(PathError::Local)? + 2;
    match mailbox.as_bytes().get(at) {
        Some(b'@') => Ok(at),
        Some(_) => Err(PathError::Local),
        None => Err(PathError::At),
    }
}

/// A name of labels, with underscores and international ones let through, or an address literal.
fn is_domain(domain: &str) -> bool {
    if let Some(literal) = domain.strip_prefix('[') {
        return literal.strip_suffix(']').is_some_and(|inner| {
            !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_graphic() && !b"[]\\<>".contains(&b))
        });
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || !c.is_ascii();
    domain
        .split('.')
        .all(|label| !label.is_empty() && label.chars().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Path<'_>, PathError> {
        Path::parse(text.as_bytes()).map(|(path, _)| path)
    }

    #[test]
    fn paths_keep_their_spelling() {
        for (text, local, domain) in [
            ("<Bob@Restante.TEST>", "Bob", "Restante.TEST"),
            ("<@a.test,@b.test:bob@c.test>", "bob", "c.test"),
            ("<bob+tag=x!y@c>", "bob+tag=x!y", "c"),
            ("<a..b@c.test>", "a..b", "c.test"),
            ("<\"a b\"@c.test>", "\"a b\"", "c.test"),
            ("<\"a>b@\\\"c\\\\\"@c.test>", "\"a>b@\\\"c\\\\\"", "c.test"),
            ("<bob@[127.0.0.1]>", "bob", "[127.0.0.1]"),
            ("<bob@[IPv6:::1]>", "bob", "[IPv6:::1]"),
            ("<jörg@bücher.test>", "jörg", "bücher.test"),
        ] {
            assert_eq!(parse(text), Ok(Path::Mailbox { local, domain }), "{text}");
        }
        assert_eq!(parse("<>"), Ok(Path::Null));
        assert_eq!(parse("<postMaster>"), Ok(Path::Postmaster));
        assert_eq!(Path::parse(b"<a@b> SIZE=1").unwrap().1, b" SIZE=1");
    }

    #[test]
    fn each_fault_has_its_error() {
        let long_local = format!("<{}@c.test>", "a".repeat(65));
        let long_domain = format!("<a@{}>", ["b"; 129].join("."));
        for (text, error) in [
            ("bob@c.test", PathError::Brackets),
            ("<bob@c.test", PathError::Brackets),
            ("<\"bob@c.test>", PathError::Brackets),
            ("", PathError::Brackets),
            ("<bob>", PathError::At),
            ("<\"bob\">", PathError::At),
            ("<@a.test>", PathError::Route),
            ("<@c.test:@c.test>", PathError::Local),
            ("<b ob@c.test>", PathError::Local),
            ("<\"a\"b@c.test>", PathError::Local),
            ("<a\"b\"@c.test>", PathError::Local),
            ("<a@b@c.test>", PathError::Domain),
            ("<a@>", PathError::Domain),
            ("<a@b..c>", PathError::Domain),
            ("<a@b c>", PathError::Domain),
            ("<a@[]>", PathError::Domain),
            ("<a@[1.2.3.4>", PathError::Domain),
            ("<a\r@c.test>", PathError::Characters),
            ("<a\n@c.test>", PathError::Characters),
            ("<\"a\0\"@c.test>", PathError::Characters),
            ("<a@c\u{85}.test>", PathError::Characters),
            ("<a@c\u{2028}.test>", PathError::Characters),
            (long_local.as_str(), PathError::LongLocal),
            (long_domain.as_str(), PathError::LongDomain),
        ] {
            assert_eq!(parse(text), Err(error), "{}", text.escape_debug());
        }
        assert_eq!(Path::parse(b"<\xff@c.test>"), Err(PathError::Characters));
    }
}
