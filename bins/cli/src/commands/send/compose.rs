//! A mail from flags: headers, bodies, attachments (RFC 5322, RFC 2045 to 2049, written by lettre).

use std::time::SystemTime;

use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue, Headers};
use lettre::message::{Attachment, Body, Mailbox, Message, MultiPart, SinglePart};

use super::content_type::content_type;

/// What the body says if nobody says anything.
const DEFAULT_TEXT: &str = "This is a test mail.\n";
const LINE_END: &[u8] = b"\r\n";

/// What a mail is made of.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    /// The From header: an address, with a name if it has one.
    pub(super) from: String,
    /// The To header.
    pub(super) to: Vec<String>,
    /// The subject.
    pub(super) subject: String,
    /// The plain body.
    pub(super) text: Option<String>,
    /// The HTML body.
    pub(super) html: Option<String>,
    /// More headers, name and value; one that the mail has anyway is replaced.
    pub(super) headers: Vec<(String, String)>,
    /// The attachments.
    pub(super) files: Vec<AttachedFile>,
}

/// A file that goes with a mail.
#[derive(Debug, Clone)]
pub(super) struct AttachedFile {
    /// Its name, without folders.
    pub(super) name: String,
    /// What is in it.
    pub(super) bytes: Vec<u8>,
}

/// Why there is no mail.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum ComposeError {
    #[error("{0:?} is no address of a mail: write name@domain, or 'Name <name@domain>'; --raw sends any header")]
    Address(String),
    #[error("{0:?} is no header: write 'Name: value' on one line")]
    Header(String),
    #[error(
        "the header {0} follows from the body and the attachments; --raw sends a message with a header of your own"
    )]
    MimeHeader(String),
    #[error("the message cannot be made: {0}")]
    Message(String),
}

/// The bytes of the message, lines ending in CRLF.
pub(super) fn compose(draft: &Draft, date: SystemTime) -> Result<Vec<u8>, ComposeError> {
    let mut builder = Message::builder().date(date).message_id(None).subject(&draft.subject);
    builder = builder.from(mailbox(&draft.from)?);
    for to in &draft.to {
        builder = builder.to(mailbox(to)?);
    }
    let content = body(draft);
    let ended = content.is_ended();
    let made = match content {
        Content::One(part) => builder.singlepart(part),
        Content::Several(parts) => builder.multipart(parts),
    };
    let mut message = made.map_err(|error| ComposeError::Message(error.to_string()))?;
    let mut added = Vec::new();
    for (name, value) in &draft.headers {
        message.headers_mut().remove_raw(name);
        added.extend_from_slice(header_line(name, value)?.as_bytes());
    }
    added.extend(message.formatted());
    if ended {
        added.truncate(added.len() - LINE_END.len());
    }
    Ok(added)
}

/// The address alone of a flag, for the envelope.
pub(super) fn address(flag: &str) -> Result<String, ComposeError> {
    mailbox(flag).map(|mailbox| mailbox.email.to_string())
}

fn mailbox(flag: &str) -> Result<Mailbox, ComposeError> {
    flag.parse().map_err(|_| ComposeError::Address(flag.to_owned()))
}

fn header_line(name: &str, value: &str) -> Result<String, ComposeError> {
    let mime = [
        "MIME-Version",
        "Content-Type",
        "Content-Transfer-Encoding",
        "Content-Disposition",
    ];
    if mime.iter().any(|mime| mime.eq_ignore_ascii_case(name)) {
        return Err(ComposeError::MimeHeader(name.to_owned()));
    }
    let refused = || ComposeError::Header(format!("{name}: {value}"));
    if value.contains(['\r', '\n', '\0']) {
        return Err(refused());
    }
    let valid = HeaderName::new_from_ascii(name.to_owned()).map_err(|_| refused())?;
    let mut one = Headers::new();
    one.insert_raw(HeaderValue::new(valid, value.to_owned()));
    Ok(one.to_string())
}

enum Content {
    One(SinglePart),
    Several(MultiPart),
}

impl Content {
    /// Whether the CRLF that lettre writes after every body is one too many: between parts it is the boundary's, at the
    /// end it would be an empty line.
    fn is_ended(&self) -> bool {
        match self {
            Self::One(part) => part.raw_body().is_empty() || part.raw_body().ends_with(LINE_END),
            Self::Several(_) => false,
        }
    }
}

fn body(draft: &Draft) -> Content {
    let shown = shown(draft);
    if draft.files.is_empty() {
        return shown;
    }
    let mixed = MultiPart::mixed();
    let start = match shown {
        Content::One(part) => mixed.singlepart(part),
        Content::Several(parts) => mixed.multipart(parts),
    };
    Content::Several(draft.files.iter().map(attachment).fold(start, MultiPart::singlepart))
}

/// What a reader shows: text, HTML, or both for it to choose.
fn shown(draft: &Draft) -> Content {
    let html = |html: &str| SinglePart::html(with_crlf(html));
    match (&draft.text, &draft.html) {
        (Some(text), Some(page)) => Content::Several(
            MultiPart::alternative()
                .singlepart(SinglePart::plain(with_crlf(text)))
                .singlepart(html(page)),
        ),
        (None, Some(page)) => Content::One(html(page)),
        (text, None) => Content::One(SinglePart::plain(with_crlf(text.as_deref().unwrap_or(DEFAULT_TEXT)))),
    }
}

/// With the line ends of mail; lettre forgets the first line and takes its time for the others.
fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn attachment(file: &AttachedFile) -> SinglePart {
    let octets = || ContentType::parse("application/octet-stream").expect("a content type");
    let kind = ContentType::parse(content_type(&file.name)).unwrap_or_else(|_| octets());
    // Other encodings change the line ends of what looks like text.
    let body = Body::new_with_encoding(file.bytes.clone(), ContentTransferEncoding::Base64).unwrap_or_else(Body::new);
    Attachment::new(file.name.clone()).body(body, kind)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn draft() -> Draft {
        Draft {
            from: "App <app@example.test>".to_owned(),
            to: vec!["bob@restante.test".to_owned()],
            subject: "Grüße".to_owned(),
            ..Draft::default()
        }
    }

    fn headers(named: &[(&str, &str)]) -> Vec<(String, String)> {
        named
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn composed(draft: &Draft) -> restante_message::ParsedMessage {
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_661);
        let bytes = compose(draft, date).unwrap();
        let lines = bytes.split(|byte| *byte == b'\n');
        assert!(lines.rev().skip(1).all(|line| line.ends_with(b"\r")), "a bare LF");
        restante_message::parse(&bytes)
    }

    #[test]
    fn a_mail_without_a_word_has_a_text() {
        let mail = composed(&draft());
        assert_eq!(mail.subject.as_deref(), Some("Grüße"));
        assert_eq!(mail.text.as_deref(), Some("This is a test mail.\n"));
        assert_eq!(mail.html, None);
        assert!(mail.defects.is_empty(), "{:?}", mail.defects);
    }

    #[test]
    fn texts_arrive_as_they_are() {
        let long = "x".repeat(2000);
        for text in [
            "",
            "a",
            "a\n",
            "a\n\n",
            "\na\n.\n..b\n",
            "ü",
            "ü\n",
            "日本語日本語\n",
            &long,
        ] {
            let plain = Draft {
                text: Some(text.to_owned()),
                ..draft()
            };
            let html = Draft {
                html: Some(text.to_owned()),
                ..plain.clone()
            };
            // SMTP knows no message whose last line does not end.
            let ended = |arrived: Option<String>| arrived.unwrap_or_default().trim_end_matches('\n').to_owned();
            let lines = |arrived: &Option<String>| arrived.as_ref().map_or(0, |text| text.matches('\n').count());
            let arrived = composed(&plain).text;
            assert_eq!(ended(arrived.clone()), text.trim_end_matches('\n'), "{text:?}");
            assert!(
                lines(&arrived) <= text.matches('\n').count().max(1),
                "{text:?}: {arrived:?}"
            );
            let both = composed(&html);
            assert_eq!(both.html.unwrap_or_default(), text, "{text:?}");
        }
    }

    #[test]
    fn text_and_html_are_alternatives() {
        let mail = composed(&Draft {
            text: Some("Grüße\nund mehr".to_owned()),
            html: Some("<p>Grüße</p>".to_owned()),
            ..draft()
        });
        assert_eq!(mail.text.as_deref().map(str::trim_end), Some("Grüße\nund mehr"));
        assert_eq!(mail.html.as_deref().map(str::trim_end), Some("<p>Grüße</p>"));
        assert!(mail.attachments.is_empty());
    }

    #[test]
    fn attachments_arrive_byte_for_byte_under_their_names() {
        let files = [
            ("Grüße.txt", &b"a\nb\r\n.\n"[..]),
            ("x.bin", &[0, 255, 13, 10]),
            ("empty.pdf", b""),
        ];
        let mail = composed(&Draft {
            html: Some("<p>x</p>".to_owned()),
            files: files
                .map(|(name, bytes)| AttachedFile {
                    name: name.to_owned(),
                    bytes: bytes.to_vec(),
                })
                .into(),
            ..draft()
        });
        assert_eq!(mail.html.as_deref().map(str::trim_end), Some("<p>x</p>"));
        let arrived: Vec<_> = mail
            .attachments
            .iter()
            .map(|file| (&*file.filename, &file.content[..]))
            .collect();
        assert_eq!(arrived, files);
        let types: Vec<_> = mail.attachments.iter().map(|file| &*file.content_type).collect();
        assert_eq!(types, ["text/plain", "application/octet-stream", "application/pdf"]);
    }

    #[test]
    fn headers_are_added_or_replaced() {
        let mail = composed(&Draft {
            headers: headers(&[
                ("X-Campaign", "früh"),
                ("subject", "other"),
                ("X-Tag", "1"),
                ("X-Tag", "2"),
            ]),
            ..draft()
        });
        let values = |name: &str| {
            let named = mail
                .headers
                .iter()
                .filter(|(known, _)| known.eq_ignore_ascii_case(name));
            named.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(values("X-Campaign"), ["früh"]);
        assert_eq!(mail.subject.as_deref(), Some("other"));
        assert_eq!(values("X-Tag").join("\n"), "1\n2");
    }

    #[test]
    fn what_cannot_stand_in_a_mail_is_refused() {
        let refusal = |name: &str, value: &str| {
            let own = Draft {
                headers: headers(&[(name, value)]),
                ..draft()
            };
            compose(&own, SystemTime::UNIX_EPOCH).unwrap_err()
        };
        for (name, value) in [("A b", "c"), ("A", "b\r\nBcc: c"), ("Ä", "b"), ("", "b")] {
            assert_eq!(refusal(name, value), ComposeError::Header(format!("{name}: {value}")));
        }
        assert_eq!(
            refusal("content-type", "text/x"),
            ComposeError::MimeHeader("content-type".to_owned())
        );
        for flag in ["bob", "bob@", "a@b@c", "bob@restante.test\r\nBcc: x@y.test", ""] {
            assert_eq!(address(flag), Err(ComposeError::Address(flag.to_owned())), "{flag:?}");
        }
        assert_eq!(address("Bob <bob@restante.test>").as_deref(), Ok("bob@restante.test"));
    }
}
