//! Who sends a test email, and to whom it goes.

use std::net::{Ipv4Addr, Ipv6Addr};

use restante_message::MailboxList;
use restante_model::{Domain, ForwardPath};

use super::subject::is_unfit;

/// The text of a From header with one mailbox in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sender {
    header: String,
    address: String,
    domain: String,
}

/// Why a text is no sender. The text is what the sender of a request reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SenderError {
    /// It could not stand in a header.
    #[error("must not contain control characters")]
    Characters,
    /// No mailbox, a list or a group, no domain, or something that others may read otherwise.
    #[error("must be one email address, for example a@example.test or Name <a@example.test>")]
    Mailbox,
}

impl Sender {
    /// Reads an address, alone or with a name: `a@example.test` or `Name <a@example.test>`.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, SenderError> {
        if text.contains(is_unfit) {
            return Err(SenderError::Characters);
        }
        let list = MailboxList::read(text.as_bytes());
        let [mailbox] = list.mailboxes.as_slice() else {
            return Err(SenderError::Mailbox);
        };
        let domain = mailbox
            .address
            .rsplit_once('@')
            .map(|(_, domain)| domain.to_lowercase());
        match domain.filter(|domain| is_domain(domain)) {
            Some(domain) if !list.is_doubtful && !list.has_separators => Ok(Self {
                header: text.trim().to_owned(),
                address: mailbox.address.clone(),
                domain,
            }),
            _ => Err(SenderError::Mailbox),
        }
    }

    /// The value of the From header.
    pub(super) fn header(&self) -> &str {
        &self.header
    }

    /// The address alone.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The domain of the address, in lowercase.
    pub(super) fn domain(&self) -> &str {
        &self.domain
    }
}

/// Whether a sender may be at a domain: a name, in which international letters count as letters, or an address literal.
fn is_domain(domain: &str) -> bool {
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(literal) = literal {
        return match literal.strip_prefix("ipv6:") {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            None => literal.parse::<Ipv4Addr>().is_ok(),
        };
    }
    let in_ascii: String = domain.chars().map(|c| if c.is_ascii() { c } else { 'x' }).collect();
    Domain::parse(&in_ascii).is_ok()
}

/// A text that RCPT of SMTP would not take, or that no inbox could be reached at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an email address")]
pub struct PathError;

/// The forward-path that a text means: an address without quotes, brackets and blanks.
///
/// # Errors
/// [`PathError`].
pub fn forward_path(text: &str) -> Result<ForwardPath, PathError> {
    let is_special = |c: char| is_unfit(c) || c.is_whitespace() || r#"<>()[]\,;:@""#.contains(c);
    let is_atom = |part: &str| !part.is_empty() && !part.contains(is_special);
    match text.split_once('@') {
        Some((local, domain)) if is_atom(local) && is_atom(domain) => Ok(ForwardPath::Mailbox {
            local: local.to_owned(),
            domain: domain.to_owned(),
        }),
        _ => Err(PathError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_one_mailbox_as_a_header_says_it() {
        for (text, header, address, domain) in [
            ("a@x.test", "a@x.test", "a@x.test", "x.test"),
            (" a@X.Test ", "a@X.Test", "a@X.Test", "x.test"),
            ("Ann <a@x.test>", "Ann <a@x.test>", "a@x.test", "x.test"),
            ("\"B, A\" <a@x.test>", "\"B, A\" <a@x.test>", "a@x.test", "x.test"),
            (
                "Jürgen 😀 <ü@bücher.test>",
                "Jürgen 😀 <ü@bücher.test>",
                "ü@bücher.test",
                "bücher.test",
            ),
            ("\"a b\"@x.test", "\"a b\"@x.test", "\"a b\"@x.test", "x.test"),
            ("a@[192.0.2.1]", "a@[192.0.2.1]", "a@[192.0.2.1]", "[192.0.2.1]"),
            ("<a@[IPv6:::1]>", "<a@[IPv6:::1]>", "a@[IPv6:::1]", "[ipv6:::1]"),
            ("a@localhost", "a@localhost", "a@localhost", "localhost"),
            (
                "a@x-1.test (Ann, B: C;)",
                "a@x-1.test (Ann, B: C;)",
                "a@x-1.test",
                "x-1.test",
            ),
        ] {
            let sender = Sender::parse(text).ok().unwrap();
            assert_eq!(
                [sender.header(), sender.address(), sender.domain()],
                [header, address, domain]
            );
        }
    }

    #[test]
    fn what_is_no_sender_is_refused() {
        let error = |text: &str| Sender::parse(text).err();
        for text in [
            "",
            " ",
            "nonsense",
            "a@",
            "@x.test",
            "a@x.test, b@x.test",
            "a@x.test b@x.test",
            "Ann a@x.test",
            "Smith, Ann <a@x.test>",
            "<>",
            "Ann <a@x.test",
            "a@b@x.test",
            "undisclosed:;",
            "Team: a@x.test;",
            ", <a@x.test>",
            "a@x.test,",
            "a@x.test;",
            "a@x..test",
            "a@.x.test",
            "a@x.test.",
            "a@-x.test",
            "a@x-.test",
            "a@x_y.test",
            "a@bücher..test",
            "a@[nonsense]",
            "a@[192.0.2.256]",
            "<a@[IPv6:nonsense]>",
            &format!("a@{}.test", "x".repeat(64)),
        ] {
            assert_eq!(error(text), Some(SenderError::Mailbox), "{text:?}");
        }
        for text in [
            "a@x.test\r\nBcc: b@x.test",
            "A\tB <a@x.test>",
            "a\0@x.test",
            "A\u{2028} <a@x.test>",
        ] {
            assert_eq!(error(text), Some(SenderError::Characters), "{text:?}");
        }
    }

    #[test]
    fn a_forward_path_keeps_its_spelling_and_has_no_special_characters() {
        for (text, path) in [
            ("bob@x.test", Some(("bob", "x.test"))),
            ("Bob+Tag@X.Test", Some(("Bob+Tag", "X.Test"))),
            ("bob+ü@x.test", Some(("bob+ü", "x.test"))),
            ("", None),
            ("bob", None),
            ("@x.test", None),
            ("bob@", None),
            ("a@b@x.test", None),
            ("<bob@x.test>", None),
            ("bob@x.test ", None),
            ("b\rob@x.test", None),
            ("bob@x.test,eve@x.test", None),
            ("bob+a,b@x.test", None),
            ("\"bob\"@x.test", None),
        ] {
            let expected = path.map(|(local, domain)| ForwardPath::Mailbox {
                local: local.to_owned(),
                domain: domain.to_owned(),
            });
            assert_eq!(forward_path(text).ok(), expected, "{text:?}");
        }
    }
}
