//! Emails for people: lists, pages, lines. Nothing that a mail holds reaches a terminal uncleaned.

mod auth;
mod page;
mod spam;

use restante_client::{AttachmentData, Email, EmailId, EmailSummary, Timestamp, UnreadableEmail};

pub(crate) use self::auth::{auth, verdict};
pub(crate) use self::page::{HeaderFields, page};
use self::spam::spam;
use super::table::{RowStyle, Table, columns, cut};
use super::time::relative;
use super::{clean, style};

/// The hex digits that a list shows of an id: those of its end differ, those of its beginning are the time.
const SHOWN_DIGITS: usize = 8;
/// The characters that `wait` shows of a text.
const SUMMARY_CHARACTERS: usize = 200;

/// A list; what is unread stands out.
pub(crate) fn list(emails: &[Result<EmailSummary, UnreadableEmail>], now: Timestamp) -> Table {
    let mut table = Table::new(["ID", "RECEIVED", "READ", "FROM", "SUBJECT"]);
    for email in emails {
        let (id, received_at, is_read, from, subject) = match email {
            Ok(email) => (
                email.id,
                email.received_at,
                email.is_read,
                email.from(),
                email.subject(),
            ),
            Err(email) => (email.id, email.received_at, email.is_read, "-", "(cannot be opened)"),
        };
        let style = if is_read { RowStyle::Normal } else { RowStyle::Strong };
        let read = if is_read { "yes" } else { "no" };
        let cells = [
            short_id(id),
            relative(received_at, now),
            read.into(),
            from.into(),
            subject.into(),
        ];
        table.row(style, cells);
    }
    table
}

/// One line of `watch`: when, at which inbox if there are several, from whom, about what. The last two are cut where
/// they would not fit into the columns of a terminal.
pub(crate) fn arrival(email: &EmailSummary, inbox: Option<&str>, width: Option<u16>) -> String {
    let inbox = inbox
        .map(|inbox| format!("{}  ", clean::line(inbox)))
        .unwrap_or_default();
    let time = time_of_day(email.received_at);
    let left = rest(width, &[&time, "  ", &inbox, "  "]);
    let from = cut(&clean::line(email.from()), left.map(|left| left / 2));
    let subject = cut(&clean::line(email.subject()), rest(left, &[&from]));
    format!("{}  {inbox}{from}  {}", style::dim(time), style::bold(subject))
}

/// What `wait` says of an email that it found; what does not fit into the columns of a terminal is cut.
pub(crate) fn found(email: &Email, width: Option<u16>) -> String {
    let id = email.id().to_string();
    let subject = cut(&clean::line(email.subject()), rest(width, &[&id, "  "]));
    let mut lines = vec![
        format!("{id}  {}", style::bold(subject)),
        cut(&format!("from {}", clean::line(email.from())), width),
    ];
    let summary = summary(&page::body(email));
    if !summary.is_empty() {
        lines.push(summary);
    }
    lines.extend(email.links().iter().map(|link| clean::line(link)));
    lines.join("\n")
}

/// The columns that are left behind texts.
fn rest(width: Option<u16>, texts: &[&str]) -> Option<u16> {
    let used: usize = texts.iter().map(|text| columns(text)).sum();
    let used = u16::try_from(used).unwrap_or(u16::MAX);
    width.map(|width| width.saturating_sub(used))
}

/// The attachments of an email.
pub(crate) fn attachments(attachments: &[AttachmentData]) -> Table {
    let mut table = Table::new(["NAME", "TYPE", "SIZE", "SHA-256"]);
    for attachment in attachments {
        let checksum = attachment.checksum.clone().unwrap_or_default();
        let cells = [
            attachment.filename.clone(),
            attachment.content_type.clone(),
            size(attachment.size),
            checksum,
        ];
        table.row(RowStyle::Normal, cells);
    }
    table
}

/// The end of an id: what one types to mean it.
fn short_id(id: EmailId) -> String {
    let id = id.to_string();
    id[id.len() - SHOWN_DIGITS..].to_owned()
}

/// `11:41:16Z`.
fn time_of_day(moment: Timestamp) -> String {
    // A timestamp is shown as `2026-01-25T11:41:16.000Z`.
    format!("{}Z", &moment.to_string()[11..19])
}

/// A number of bytes in a unit that people read.
pub(super) fn size(bytes: usize) -> String {
    let tenths = |unit: usize| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => format!("{} KB", tenths(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

/// The beginning of a text on one line.
fn summary(text: &str) -> String {
    let line = clean::line(text.trim());
    let mut start: String = line.chars().take(SUMMARY_CHARACTERS).collect();
    if start.len() < line.len() {
        start.push('…');
    }
    start
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// An email whose every text tries to reach the terminal.
    pub(crate) fn hostile() -> Email {
        let evil = "a\u{1b}[2J\u{9b}31m\u{202e}b\r\nc";
        let id = "msg_0198c3e1f00070008000000012345678";
        let skipped = json!({ "result": "skipped", "details": evil });
        let email = json!({
            "summary": {
                "id": id, "inbox_id": "A".repeat(43),
            },
            "parsed": {
                "text": format!("{evil}\nsecond line\n"), "html": null,
                "headers": { "x-evil": evil, evil: "x" },
                "attachments": [{
                    "filename": evil, "contentType": evil, "size": 1234, "contentDisposition": "attachment",
                    "content": "YWJj", "checksum": evil,
                }],
                "links": [format!("https://example.test/{evil}")],
                "authResults": { "spf": skipped, "dkim": [skipped], "dmarc": skipped, "reverseDns": skipped },
                "spamAnalysis": { "status": "error", "info": evil, "processingTimeMs": 1 },
                "metadata": {}, "to": [evil], "cc": [evil], "replyTo": [evil], "references": [], "defects": [evil],
            },
            "metadata": { "id": id, "from": evil, "to": [evil], "subject": evil, "receivedAt": "2026-01-25T11:41:16.000Z" },
        });
        let metadata: restante_model::Metadata = serde_json::from_value(email["metadata"].clone()).unwrap();
        Email {
            summary: EmailSummary {
                id: metadata.id,
                inbox_id: "A".repeat(43).parse().unwrap(),
                received_at: metadata.received_at,
                is_read: false,
                metadata,
            },
            content: serde_json::from_value(email["parsed"].clone()).unwrap(),
        }
    }

    /// Whether only our own colours and line breaks are left of what a terminal obeys.
    pub(crate) fn is_clean(shown: &str) -> bool {
        let ours = [
            "\u{1b}[0m",
            "\u{1b}[1m",
            "\u{1b}[2m",
            "\u{1b}[31m",
            "\u{1b}[32m",
            "\u{1b}[33m",
        ];
        let plain = ours
            .iter()
            .fold(shown.to_owned(), |text, colour| text.replace(colour, ""));
        plain
            .chars()
            .all(|c| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)))
    }

    #[test]
    fn nothing_of_a_mail_commands_the_terminal() {
        let email = hostile();
        let now = email.received_at();
        let listed = [Ok(email.summary.clone())];
        for shown in [
            list(&listed, now).render(None),
            arrival(&email.summary, Some("bob@restante.test\u{1b}[2J"), None),
            found(&email, None),
            attachments(email.attachments()).render(None),
            arrival(&email.summary, None, Some(30)),
            page(&email, HeaderFields::Known, now, None),
            page(&email, HeaderFields::All, now, None),
            auth(email.auth_results()).render(None),
        ] {
            assert!(is_clean(&shown), "{shown:?}");
            assert!(shown.contains('a'), "{shown:?}");
        }
    }

    #[test]
    fn a_line_of_watch_says_when_where_from_whom_and_about_what() {
        let mut email = hostile().summary;
        email.metadata.from = "Alice <alice@sender.test>".into();
        email.metadata.subject = "Hello".into();
        let plain = |inbox| {
            arrival(&email, inbox, None)
                .replace("\u{1b}[0m", "")
                .replace("\u{1b}[1m", "")
                .replace("\u{1b}[2m", "")
        };
        assert_eq!(plain(None), "11:41:16Z  Alice <alice@sender.test>  Hello");
        assert_eq!(
            plain(Some("b@x.test")),
            "11:41:16Z  b@x.test  Alice <alice@sender.test>  Hello"
        );
    }

    #[test]
    fn a_long_subject_stays_on_its_line_of_a_terminal() {
        let mut email = hostile();
        email.summary.metadata.subject = "long ".repeat(10_000);
        email.summary.metadata.from = "Alice ".repeat(1000);
        let plain = |text: &str| anstream::adapter::strip_str(text).to_string();
        for width in [20, 60, 100] {
            let shown = plain(&arrival(&email.summary, None, Some(width)));
            assert!(shown.chars().count() <= width.into(), "{shown}");
            assert!(shown.starts_with("11:41:16Z  Alice") || width == 20, "{shown}");
        }
        for shown in [
            found(&email, Some(100)),
            page(&email, HeaderFields::Known, email.received_at(), Some(100)),
        ] {
            let shown = plain(&shown);
            let line = shown.lines().find(|line| line.contains("long")).unwrap();
            assert!(line.chars().count() <= 100 && line.ends_with('…'), "{line}");
        }
        let piped = plain(&arrival(&email.summary, None, None));
        assert!(piped.len() > 50_000);
    }

    #[test]
    fn sizes_are_in_units_of_people() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 KB"),
            (1999, "1.9 KB"),
            (25_000_000, "25.0 MB"),
            (7_250_000_000, "7.2 GB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }

    #[test]
    fn a_summary_is_one_line_that_ends() {
        assert_eq!(summary("  a\nb \n"), "a b");
        let long = summary(&"ü".repeat(300));
        assert_eq!(long.chars().count(), SUMMARY_CHARACTERS + 1);
        assert!(long.ends_with('…'));
    }
}
