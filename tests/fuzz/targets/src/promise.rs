//! What every parsed message promises, whatever it was made of.

use std::collections::HashSet;

use restante_message::{Mailbox, ParsedMessage, parse, summary};

/// Characters of a link, at most.
const LINK_MAX: usize = 2_048;
/// Header fields, at most.
const FIELDS_MAX: usize = 1_000;
/// Defects, at most.
const DEFECTS_MAX: usize = 100;
/// Schemes of links.
const SCHEMES: [&str; 4] = ["https://", "http://", "ftp://", "mailto:"];

/// Bytes of content for each byte of a message, at most.
///
/// A byte may become three of UTF-8, and stand in the HTML, in the text made of it, and in a link of each; the rest is
/// room to spare. A quadratic step would need hundreds.
const GROWTH: usize = 16;
/// Bytes of content that no message is too short for: types and names that parts have without saying so, and defects.
const GROWTH_BASE: usize = 65_536;

/// Parses a message and checks all that is promised of it.
///
/// # Panics
/// If a promise is broken.
pub(crate) fn kept(raw: &[u8]) -> ParsedMessage {
    let message = parse(raw);
    let panicked = message
        .defects
        .iter()
        .any(|defect| defect == "The message cannot be parsed.");
    assert!(!panicked, "a panic was caught");
    assert_eq!(parse(raw), message, "parsing again gives another content");
    let summary = summary(raw);
    assert_eq!(
        (summary.from, &summary.subject),
        (message.from.clone(), &message.subject)
    );
    single_values(&message);
    headers(&message);
    mailboxes(&message);
    links(&message);
    attachments(raw, &message);
    defects(&message);
    body(raw, &message);
    let bytes = size(&message);
    assert!(
        bytes <= GROWTH * raw.len() + GROWTH_BASE,
        "{} bytes became {bytes}",
        raw.len()
    );
    message
}

/// Whether a character has no place in what a header says: it could add a line, or spoil a terminal.
pub(crate) fn is_unfit(c: char) -> bool {
    c != '\t' && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Nothing that a header says can add a line to what shows it.
fn single_values(message: &ParsedMessage) {
    let lists = [&message.to, &message.cc, &message.reply_to, &message.references];
    let options = [
        &message.subject,
        &message.from,
        &message.message_id,
        &message.in_reply_to,
    ];
    let parts = message.attachments.iter();
    let parts = parts.flat_map(|part| [&part.filename, &part.content_type].into_iter().chain(&part.content_id));
    let values = lists
        .into_iter()
        .flatten()
        .chain(options.into_iter().flatten())
        .chain(parts);
    for value in values {
        assert!(!value.contains(is_unfit), "a control character in {value:?}");
    }
}

fn headers(message: &ParsedMessage) {
    let mut names = HashSet::new();
    let mut fields = 0;
    for (name, value) in &message.headers {
        assert!(names.insert(name), "{name} stands twice");
        assert!(
            name.bytes()
                .all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && byte != b':')
        );
        // The only line end is the one that joins the values of two fields.
        let values = value.split('\n').inspect(|_| fields += 1);
        assert!(
            !values.fold(false, |found, value| found | value.contains(is_unfit)),
            "a control character in {value:?}"
        );
    }
    assert!(fields <= FIELDS_MAX, "{fields} header fields");
}

fn mailboxes(message: &ParsedMessage) {
    let shown = |mailboxes: &[Mailbox]| mailboxes.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(shown(&message.to_mailboxes), message.to);
    assert_eq!(shown(&message.cc_mailboxes), message.cc);
    let all = message
        .to_mailboxes
        .iter()
        .chain(&message.cc_mailboxes)
        .chain(&message.from_mailbox);
    for Mailbox { name, address } in all {
        assert!(!address.is_empty() && !address.contains(is_unfit), "{address:?}");
        let is_well = |name: &String| !name.is_empty() && !name.contains(is_unfit);
        assert!(name.as_ref().is_none_or(is_well), "{name:?}");
    }
}

fn links(message: &ParsedMessage) {
    let mut seen = HashSet::new();
    for link in &message.links {
        assert!(seen.insert(link), "{link:?} stands twice");
        assert!(link.chars().count() <= LINK_MAX, "a link of {} bytes", link.len());
        assert!(!link.contains(char::is_control) && link.trim() == link, "{link:?}");
        let scheme = SCHEMES.iter().find(|scheme| {
            let start = link.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        assert!(
            scheme.is_some_and(|scheme| link.len() > scheme.len()),
            "{link:?} leads nowhere"
        );
    }
}

/// Transfer decoding never makes more of a part than it was.
fn attachments(raw: &[u8], message: &ParsedMessage) {
    let content: usize = message.attachments.iter().map(|part| part.content.len()).sum();
    assert!(
        content <= raw.len(),
        "{} bytes hold attachments of {content}",
        raw.len()
    );
    for part in &message.attachments {
        assert!(!part.filename.is_empty());
        assert!(matches!(part.content_disposition.as_str(), "attachment" | "inline"));
        let (kind, subtype) = part.content_type.split_once('/').expect("a type and a subtype");
        assert!(!kind.is_empty() && !subtype.is_empty(), "{}", part.content_type);
        assert!(
            !part.content_type.contains(|c: char| c.is_ascii_uppercase()),
            "{}",
            part.content_type
        );
    }
}

/// A body has three bytes for each that it was made of, at most; `room` is for its joints.
fn body(raw: &[u8], message: &ParsedMessage) {
    let room = 64;
    for text in message.text.iter().chain(&message.html) {
        assert!(
            text.len() <= 3 * raw.len() + room,
            "{} bytes became a body of {}",
            raw.len(),
            text.len()
        );
    }
}

fn defects(message: &ParsedMessage) {
    assert!(message.defects.len() <= DEFECTS_MAX);
    let mut seen = HashSet::new();
    for defect in &message.defects {
        assert!(seen.insert(defect), "{defect:?} is told twice");
        assert!(
            defect.ends_with('.') && !defect.contains(char::is_control),
            "{defect:?} is no sentence"
        );
        assert!(defect.chars().count() <= 200, "{defect:?} is long");
    }
}

/// Bytes of all texts and contents.
fn size(message: &ParsedMessage) -> usize {
    let lists = [
        &message.links,
        &message.to,
        &message.cc,
        &message.reply_to,
        &message.references,
        &message.defects,
    ];
    let options = [
        &message.text,
        &message.html,
        &message.subject,
        &message.from,
        &message.message_id,
        &message.in_reply_to,
    ];
    let texts: usize = lists
        .into_iter()
        .flatten()
        .chain(options.into_iter().flatten())
        .map(String::len)
        .sum();
    let headers: usize = message
        .headers
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    let mailboxes = message
        .to_mailboxes
        .iter()
        .chain(&message.cc_mailboxes)
        .chain(&message.from_mailbox);
    let mailboxes: usize = mailboxes
        .map(|it| it.address.len() + it.name.as_ref().map_or(0, String::len))
        .sum();
    let attachments = message.attachments.iter().map(|part| {
        let id = part.content_id.as_ref().map_or(0, String::len);
        part.filename.len() + part.content_type.len() + part.content_disposition.len() + id + part.content.len()
    });
    texts + headers + mailboxes + attachments.sum::<usize>()
}
