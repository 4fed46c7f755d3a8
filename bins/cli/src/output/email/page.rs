//! One email as a page: its headers, then its text.

use restante_client::{Email, Timestamp};

use crate::output::table::cut;
use crate::output::time::relative;
use crate::output::{clean, style};

/// The columns before the value of a field.
const NAME_WIDTH: u16 = 14;

/// Which headers a page begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderFields {
    /// Those that readers show.
    Known,
    /// All of the message.
    All,
}

/// The page; the subject is cut where it would not fit into the columns of a terminal.
pub(crate) fn page(email: &Email, fields: HeaderFields, now: Timestamp, width: Option<u16>) -> String {
    let mut page = String::new();
    match fields {
        HeaderFields::Known => known_fields(&mut page, email, width),
        HeaderFields::All => {
            for (name, value) in &email.content.headers.0 {
                // A repeated header's values are joined by newlines.
                for value in value.split('\n') {
                    field(&mut page, name, value);
                }
            }
        }
    }
    let received = format!("{} ({})", relative(email.received_at(), now), email.received_at());
    field(&mut page, "Received", &received);
    field(&mut page, "Id", &email.id().to_string());
    if let Some(verdict) = super::spam(email.spam_analysis()) {
        line(&mut page, "Spam", &verdict);
    }
    for defect in &email.content.defects {
        line(&mut page, "Defect", &style::warning(clean::line(defect)));
    }
    page.push('\n');
    match body(email) {
        text if text.is_empty() => page.push_str(&style::dim("(no text)")),
        text => page.push_str(&clean::block(&text)),
    }
    page.push('\n');
    page
}

/// The text of an email, or of its HTML where there is no text; without white space around it.
pub(super) fn body(email: &Email) -> String {
    let text = email.text().map(str::trim).filter(|text| !text.is_empty());
    let text = text.map(str::to_owned);
    text.or_else(|| Some(restante_message::html_to_text(email.html()?)))
        .unwrap_or_default()
}

fn known_fields(page: &mut String, email: &Email, width: Option<u16>) {
    let content = &email.content;
    field(page, "From", email.from());
    let to = if content.to.is_empty() { email.to() } else { &content.to };
    list(page, "To", to);
    list(page, "Cc", &content.cc);
    list(page, "Reply-To", &content.reply_to);
    let left = width.map(|width| width.saturating_sub(NAME_WIDTH));
    line(page, "Subject", &cut(&clean::line(email.subject()), left));
    if let Some(date) = content.date {
        field(page, "Date", &date.to_string());
    }
    list(page, "Delivered to", email.to());
    let names: Vec<_> = content
        .attachments
        .iter()
        .map(|file| format!("{} ({})", file.filename, super::size(file.size)))
        .collect();
    list(page, "Attachments", &names);
}

fn list(page: &mut String, name: &str, values: &[String]) {
    if !values.is_empty() {
        field(page, name, &values.join(", "));
    }
}

fn field(page: &mut String, name: &str, value: &str) {
    line(page, name, &clean::line(value));
}

/// A line; the value has been cleaned.
fn line(page: &mut String, name: &str, value: &str) {
    let name = format!("{}:", clean::line(name));
    page.push_str(&style::dim(format!("{name:<width$}", width = usize::from(NAME_WIDTH))));
    page.push_str(value);
    page.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::tests::hostile;
    use super::*;

    fn plain(text: &str) -> String {
        text.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "")
    }

    #[test]
    fn a_page_is_headers_then_text() {
        let mut email = hostile();
        email.summary.metadata.from = "Alice <alice@sender.test>".into();
        email.summary.metadata.subject = "Grüße".into();
        email.content.to = vec!["bob@x.test".into(), "carol@x.test".into()];
        email.content.cc.clear();
        email.content.reply_to.clear();
        email.content.defects.clear();
        let shown = plain(&page(&email, HeaderFields::Known, email.received_at(), None));
        assert!(shown.contains("\nSpam:         "), "{shown}");
        email.content.spam_analysis = restante_client::SpamAnalysis::default();
        email.content.attachments[0].filename = "a.pdf".into();
        email.summary.metadata.to = restante_model::content::To::One("bob@x.test".into());
        email.content.text = Some("first\n\nlast\n".into());
        assert_eq!(
            plain(&page(&email, HeaderFields::Known, email.received_at(), None)),
            "From:         Alice <alice@sender.test>\n\
             To:           bob@x.test, carol@x.test\n\
             Subject:      Grüße\n\
             Delivered to: bob@x.test\n\
             Attachments:  a.pdf (1.2 KB)\n\
             Received:     0 s ago (2026-01-25T11:41:16.000Z)\n\
             Id:           msg_0198c3e1f00070008000000012345678\n\
             \n\
             first\n\nlast\n"
        );
    }

    #[test]
    fn html_stands_in_where_there_is_no_text() {
        let mut email = hostile();
        email.content.html = Some("<p>One</p><p>Two</p>".into());
        for empty in [None, Some(" \n".to_owned())] {
            email.content.text = empty;
            assert_eq!(body(&email), "One\n\nTwo");
        }
        email.content.html = None;
        assert_eq!(body(&email), "");
        assert!(plain(&page(&email, HeaderFields::Known, email.received_at(), None)).ends_with("\n\n(no text)\n"));
    }
}
