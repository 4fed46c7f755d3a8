//! The author of a message: the domain that DMARC is about.

use restante_message::{MailboxList, RawMessage};

use crate::name::{DomainName, domain_part};
use crate::shown::shown;

/// Longest From field that is read, in bytes; enough for hundreds of authors.
const LONGEST_FIELD: usize = 64 * 1024;

/// Why no domain stands for the author (RFC 9989 section 5.3.1 leaves such messages out).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAuthor {
    /// There is no From field.
    #[error("the message has no From field")]
    NoFrom,
    /// The header is longer than what is read, and another From may stand in the rest.
    #[error("the message has more header fields than are read")]
    LongHeader,
    /// There is more than one From field, which RFC 5322 section 3.6 forbids.
    #[error("the message has several From fields")]
    SeveralFields,
    /// The field is too long to be read.
    #[error("the From field is longer than {LONGEST_FIELD} bytes")]
    LongFrom,
    /// The field has no address.
    #[error("the From field has no address with a domain")]
    NoAddress,
    /// One receiver may take another address out of the field than the next.
    #[error("the From field is not a list of addresses by RFC 5322, and can be read in several ways")]
    Doubtful,
    /// Addresses of different domains.
    #[error("the From field names several domains")]
    SeveralDomains,
    /// A bug of this server.
    #[error("not checked: this server failed")]
    Unread,
    /// The domain is no domain name.
    #[error("the domain of the From field is not a domain name: {0}")]
    NotAName(String),
}

/// The one domain of the From field.
pub(crate) fn author(source: &RawMessage<'_>) -> Result<DomainName, NoAuthor> {
    if source.has_surplus {
        return Err(NoAuthor::LongHeader);
    }
    let mut fields = source.named("From");
    let field = fields.next().ok_or(NoAuthor::NoFrom)?;
    if fields.next().is_some() {
        return Err(NoAuthor::SeveralFields);
    }
    if field.value.len() > LONGEST_FIELD {
        return Err(NoAuthor::LongFrom);
    }
    one_domain(&MailboxList::read(field.value))
}

/// The domain of the mailboxes that are shown, if nobody else can read others.
fn one_domain(list: &MailboxList) -> Result<DomainName, NoAuthor> {
    let addresses = list.mailboxes.iter();
    let mut domains = addresses.filter_map(|mailbox| domain_part(&mailbox.address));
    let domain = domains.next().ok_or(NoAuthor::NoAddress)?;
    if list.is_doubtful {
        return Err(NoAuthor::Doubtful);
    }
    if domains.any(|other| !other.eq_ignore_ascii_case(domain)) {
        return Err(NoAuthor::SeveralDomains);
    }
    DomainName::parse(domain).ok_or_else(|| NoAuthor::NotAName(shown(domain)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(raw: &str) -> Result<String, NoAuthor> {
        author(&RawMessage::split(raw.as_bytes())).map(|domain| domain.to_string())
    }

    #[test]
    fn one_domain_is_found_in_every_form_of_address() {
        for from in [
            "joe@Example.TEST",
            "Joe <joe@example.test>",
            "\"Joe, of <x@example.org>\" <joe@example.test>",
            "=?utf-8?q?J=C3=B6?= <joe@example.test>",
            "a@example.test,\r\n b@EXAMPLE.test",
            "authors: a@example.test;",
            "\"a@b\"@example.test",
            "joe@example.test (a@example.org)",
            "(c) joe (x) @ (y) example . test",
            "joe@\r\n example.test",
            "<@relay.example.org:joe@example.test>",
            "joe@example.test.",
        ] {
            assert_eq!(
                of(&format!("From: {from}\r\n\r\nbody")),
                Ok("example.test".to_owned()),
                "{from}"
            );
        }
    }

    #[test]
    fn without_one_domain_there_is_no_author() {
        let long = format!("From: a@example.test{}\r\n", ", a@example.test".repeat(5000));
        for (raw, expected) in [
            ("Subject: x\r\n\r\nFrom: a@example.test", NoAuthor::NoFrom),
            ("", NoAuthor::NoFrom),
            (
                "From: a@example.test\r\nfrom: a@example.test\r\n",
                NoAuthor::SeveralFields,
            ),
            ("From: a@example.test, b@example.org\r\n", NoAuthor::SeveralDomains),
            ("From: joe\r\n", NoAuthor::NoAddress),
            ("From:\r\n", NoAuthor::NoAddress),
            (long.as_str(), NoAuthor::LongFrom),
            ("From: a<b@example.org>c<j@example.test>\r\n", NoAuthor::Doubtful),
            ("From: j@example.test <x@example.org>\r\n", NoAuthor::Doubtful),
            ("From: a@example.org@example.test\r\n", NoAuthor::Doubtful),
            ("From: a@[192.0.2.1]\r\n", NoAuthor::NotAName("[192.0.2.1]".to_owned())),
        ] {
            assert_eq!(of(raw), Err(expected), "{}", &raw[..raw.len().min(60)]);
        }
    }
}
