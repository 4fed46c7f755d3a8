//! From bytes to content.

use crate::address;
use crate::content;
use crate::date;
use crate::defect::{Defect, Defects};
use crate::fields;
use crate::header::Headers;
use crate::limit::LINE_MAX;
use crate::links;
use crate::message_id;
use crate::mime;
use crate::parsed::{Mailbox, ParsedMessage, Summary};

/// Reads a message. It never fails: what is wrong is named in the defects.
///
/// Pure, and linear in the size of the message. Whoever reads mail of others still guards against a panic in a library
/// that it calls, with [`ParsedMessage::unparsable`].
///
/// Source: RFC 5322, RFC 2045 to 2047, RFC 2183, RFC 2231, RFC 6532; docs/spec/decisions.md section 4.
pub fn parse(raw: &[u8]) -> ParsedMessage {
    let mut defects = Defects::default();
    note_bytes(raw, &mut defects);
    let mime::Structure { headers, parts } = mime::read(raw, &mut defects);
    let all_headers = headers.decode_all(&mut defects);
    if !all_headers.is_empty() {
        note_fields(&headers, &mut defects);
    }
    let content = content::assemble(parts, &mut defects);
    let links = links::extract(content.html.as_deref(), content.text.as_deref());
    let Summary { from, subject } = summarise(&headers);
    let mailboxes = |name| {
        headers
            .sources(name)
            .flat_map(|source| address::parse(&source))
            .collect::<Vec<_>>()
    };
    let ids = |name| {
        headers
            .sources(name)
            .flat_map(|source| message_id::parse(&source))
            .collect::<Vec<_>>()
    };
    let (to_mailboxes, cc_mailboxes) = (mailboxes("to"), mailboxes("cc"));
    ParsedMessage {
        text: content.text,
        html: content.html,
        headers: all_headers,
        attachments: content.attachments,
        links,
        subject,
        from,
        from_mailbox: mailboxes("from").into_iter().next(),
        to: shown(&to_mailboxes),
        to_mailboxes,
        cc: shown(&cc_mailboxes),
        cc_mailboxes,
        reply_to: shown(&mailboxes("reply-to")),
        message_id: headers.source("message-id").as_deref().and_then(message_id::first),
        date: headers.source("date").and_then(|source| date::parse(&source)),
        in_reply_to: ids("in-reply-to").into_iter().next(),
        references: ids("references"),
        defects: defects.sentences(),
    }
}

/// Reads the header block only, for the two fields that a list of emails shows: as [`parse`] reads them.
pub fn summary(raw: &[u8]) -> Summary {
    let (headers, _, _) = Headers::read(raw, 0, |_| false, &mut Defects::default());
    summarise(&headers)
}

fn summarise(headers: &Headers<'_>) -> Summary {
    Summary {
        from: headers.text("from").filter(|text| !text.is_empty()),
        subject: headers.text("subject"),
    }
}

fn shown(mailboxes: &[Mailbox]) -> Vec<String> {
    mailboxes.iter().map(Mailbox::to_string).collect()
}

/// Notes what is wrong with the bytes as such (RFC 5321 section 2.3.8, RFC 5322 section 2.1.1).
fn note_bytes(raw: &[u8], defects: &mut Defects) {
    if raw.is_empty() {
        defects.note(Defect::Empty);
    }
    if memchr::memchr_iter(b'\n', raw).any(|at| at == 0 || raw[at - 1] != b'\r') {
        defects.note(Defect::BareLf);
    }
    if memchr::memchr_iter(b'\r', raw).any(|at| raw.get(at + 1) != Some(&b'\n')) {
        defects.note(Defect::BareCr);
    }
    if memchr::memchr(0, raw).is_some() {
        defects.note(Defect::Nul);
    }
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', raw).chain([raw.len()]) {
        if fields::trim_line_end(&raw[start.min(end)..end]).len() > LINE_MAX {
            defects.note(Defect::LongLine);
        }
        start = end + 1;
    }
}

/// Fields that may occur once (RFC 5322 section 3.6).
const SINGLE: [&str; 10] = [
    "From",
    "Sender",
    "Reply-To",
    "To",
    "Cc",
    "Bcc",
    "Subject",
    "Date",
    "Message-ID",
    "Content-Type",
];

/// Notes what is wrong with the number of fields, and with the date.
fn note_fields(headers: &Headers<'_>, defects: &mut Defects) {
    for name in SINGLE.into_iter().filter(|name| headers.count(name) > 1) {
        defects.note(Defect::Repeated(name));
    }
    if headers.count("from") == 0 {
        defects.note(Defect::NoFrom);
    }
    match headers.source("date") {
        None => defects.note(Defect::NoDate),
        Some(source) if date::parse(&source).is_none() => defects.note(Defect::BadDate),
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_have_998_characters() {
        let told = |raw: String| {
            let mut defects = Defects::default();
            note_bytes(raw.as_bytes(), &mut defects);
            defects.sentences()
        };
        let (longest, longer) = ("a".repeat(LINE_MAX), "a".repeat(LINE_MAX + 1));
        assert_eq!(
            told(format!("{longest}\r\n{longest}\r\n{longest}")),
            Vec::<String>::new()
        );
        let sentence = ["There is a line of more than 998 characters."];
        assert_eq!(told(format!("a\r\n{longer}\r\na")), sentence);
        assert_eq!(told(format!("a\r\n{longer}")), sentence);
    }
}
