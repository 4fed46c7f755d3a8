//! Emails as a client sees them: opened, decoded, parsed.

use std::fmt;

use restante_model::content::To;
use restante_model::spam::SpamScore;
use restante_model::{
    AttachmentData, AuthResults, EmailId, InboxHash, Metadata, ParsedContent, SpamAnalysis, Timestamp,
};
use serde::Serialize;

use crate::AuthSummary;

/// What a list shows of an email: who, to whom, about what.
///
/// Serialised as the record of the interface with its metadata opened. `Debug` shows ids only.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailSummary {
    /// Its id.
    pub id: EmailId,
    /// The hash of its inbox.
    pub inbox_id: InboxHash,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Whether it was marked as read when it was listed.
    pub is_read: bool,
    /// Sender, recipient, subject.
    pub metadata: Metadata,
}

/// An email with its content.
///
/// Serialised as the record of the interface with its metadata and its content opened. `Debug` shows ids only.
#[derive(Clone, PartialEq, Serialize)]
pub struct Email {
    /// What a list shows of it.
    #[serde(flatten)]
    pub summary: EmailSummary,
    /// Everything else.
    #[serde(rename = "parsed")]
    pub content: ParsedContent,
}

impl EmailSummary {
    /// The text of the From header, else the reverse-path, else `unknown`.
    pub fn from(&self) -> &str {
        &self.metadata.from
    }

    /// The recipients: this inbox's forward-path in lowercase.
    pub fn to(&self) -> &[String] {
        match &self.metadata.to {
            To::Many(addresses) => addresses,
            To::One(address) => std::slice::from_ref(address),
        }
    }

    /// The decoded subject, or `(no subject)`.
    pub fn subject(&self) -> &str {
        &self.metadata.subject
    }
}

impl Email {
    /// Its id.
    pub fn id(&self) -> EmailId {
        self.summary.id
    }

    /// When it arrived.
    pub fn received_at(&self) -> Timestamp {
        self.summary.received_at
    }

    /// Whether it was marked as read when it was fetched.
    pub fn is_read(&self) -> bool {
        self.summary.is_read
    }

    /// The text of the From header, else the reverse-path, else `unknown`.
    pub fn from(&self) -> &str {
        self.summary.from()
    }

    /// The recipients: this inbox's forward-path in lowercase.
    pub fn to(&self) -> &[String] {
        self.summary.to()
    }

    /// The decoded subject, or `(no subject)`.
    pub fn subject(&self) -> &str {
        self.summary.subject()
    }

    /// The plain body, or one made from the HTML body; lines end in LF.
    pub fn text(&self) -> Option<&str> {
        self.content.text.as_deref()
    }

    /// The HTML body; lines end in LF.
    pub fn html(&self) -> Option<&str> {
        self.content.html.as_deref()
    }

    /// The decoded value of a header, whatever the case of its name; values of a repeated one are joined by newlines.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.content.headers.0.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The URLs of the body, each once, in the order in which they stand.
    pub fn links(&self) -> &[String] {
        &self.content.links
    }

    /// The attachments in message order; `content.0` is the bytes of each.
    pub fn attachments(&self) -> &[AttachmentData] {
        &self.content.attachments
    }

    /// The first attachment of this file name.
    pub fn attachment(&self, filename: &str) -> Option<&AttachmentData> {
        let mut attachments = self.content.attachments.iter();
        attachments.find(|attachment| attachment.filename == filename)
    }

    /// SPF, DKIM, DMARC and reverse DNS.
    pub fn auth_results(&self) -> &AuthResults {
        &self.content.auth_results
    }

    /// Which of those passed.
    pub fn auth_summary(&self) -> AuthSummary {
        AuthSummary::of(&self.content.auth_results)
    }

    /// What the server's spam filter said; skipped where none was asked.
    pub fn spam_analysis(&self) -> &SpamAnalysis {
        &self.content.spam_analysis
    }

    /// Whether the filter takes it for spam; `None` where it was not asked or did not answer.
    pub fn is_spam(&self) -> Option<bool> {
        self.spam_score().map(|score| score.is_spam)
    }

    /// What the filter found, with the score; `None` where it was not asked or did not answer.
    pub fn spam_score(&self) -> Option<&SpamScore> {
        match self.spam_analysis() {
            SpamAnalysis::Analyzed(score) => Some(score),
            SpamAnalysis::Skipped { .. } | SpamAnalysis::Error { .. } => None,
        }
    }
}

impl fmt::Debug for EmailSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmailSummary")
            .field("id", &format_args!("{}", self.id))
            .field("received_at", &format_args!("{}", self.received_at))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Email")
            .field("id", &format_args!("{}", self.summary.id))
            .field("received_at", &format_args!("{}", self.summary.received_at))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "msg_0198c3e1f00070008000000000000001";

    /// The record of an email, opened.
    fn record() -> Value {
        json!({
            "id": ID,
            "inboxId": "A".repeat(43),
            "receivedAt": "2026-01-25T11:41:16.000Z",
            "isRead": false,
            "metadata": {
                "id": ID,
                "from": "Alice <alice@sender.test>",
                "to": ["bob+tag@restante.test"],
                "subject": "Grüße aus Köln",
                "receivedAt": "2026-01-25T11:41:16.000Z",
            },
            "parsed": parsed(),
        })
    }

    fn parsed() -> Value {
        let skipped = json!({ "result": "skipped" });
        json!({
            "text": "first line\nsecond line\n",
            "html": null,
            "headers": { "subject": "Grüße aus Köln", "x-campaign": "Spring" },
            "attachments": [{
                "filename": "a.txt", "contentType": "text/plain", "size": 3, "contentDisposition": "attachment",
                "content": "YWJj",
            }],
            "links": ["https://shop.test/confirm"],
            "authResults": { "spf": skipped, "dkim": [skipped], "dmarc": skipped, "reverseDns": skipped },
            "spamAnalysis": { "status": "skipped", "info": "off" },
            "metadata": {},
            "to": [], "cc": [], "replyTo": [], "references": [], "defects": [],
        })
    }

    /// An email from `Alice <alice@sender.test>` to `bob+tag@restante.test` about `Grüße aus Köln`.
    pub(crate) fn email() -> Email {
        Email {
            summary: summary(),
            content: serde_json::from_value(parsed()).unwrap(),
        }
    }

    fn summary() -> EmailSummary {
        numbered(1, "Grüße aus Köln")
    }

    /// The summary of an email of this number and subject.
    pub(crate) fn numbered(number: u32, subject: &str) -> EmailSummary {
        let record = record();
        let mut metadata: Metadata = serde_json::from_value(record["metadata"].clone()).unwrap();
        let id: EmailId = format!("{}{number:08x}", &ID[..ID.len() - 8]).parse().unwrap();
        metadata.id = id;
        subject.clone_into(&mut metadata.subject);
        EmailSummary {
            id,
            inbox_id: record["inboxId"].as_str().unwrap().parse().unwrap(),
            received_at: metadata.received_at,
            is_read: false,
            metadata,
        }
    }

    #[test]
    fn it_is_serialised_as_the_record_with_its_documents_opened() {
        assert_eq!(serde_json::to_value(email()).unwrap(), record());
        let mut without_content = record();
        without_content.as_object_mut().unwrap().remove("parsed");
        assert_eq!(serde_json::to_value(summary()).unwrap(), without_content);
    }

    #[test]
    fn recipients_are_a_list_in_both_shapes() {
        let mut email = email();
        assert_eq!(email.to(), ["bob+tag@restante.test"]);
        email.summary.metadata.to = To::One("bob@restante.test".into());
        assert_eq!(email.to(), ["bob@restante.test"]);
        assert_eq!(
            serde_json::to_value(&email).unwrap()["metadata"]["to"],
            "bob@restante.test"
        );
    }

    #[test]
    fn parts_are_found_by_their_names() {
        let email = email();
        assert_eq!(email.header("X-CAMPAIGN"), Some("Spring"));
        assert_eq!(email.header("x-other"), None);
        assert_eq!(&email.attachment("a.txt").unwrap().content.0[..], b"abc");
        assert_eq!(email.attachment("A.TXT"), None);
    }

    #[test]
    fn only_a_filter_that_answered_has_a_verdict() {
        let analysed = json!({
            "status": "analyzed", "score": 15.5, "requiredScore": 15.0, "action": "reject", "isSpam": true,
            "symbols": [{ "name": "GTUBE", "score": 15.5 }], "processingTimeMs": 3,
        });
        let away = json!({ "status": "error", "info": "away", "processingTimeMs": 5000 });
        for (said, is_spam, score) in [
            (Some(analysed), Some(true), Some(15.5)),
            (Some(away), None, None),
            (Some(json!({ "status": "skipped", "info": "off" })), None, None),
            // Of a server that knows nothing of spam.
            (None, None, None),
        ] {
            let mut content = parsed();
            match said {
                Some(said) => content["spamAnalysis"] = said,
                None => assert!(content.as_object_mut().unwrap().remove("spamAnalysis").is_some()),
            }
            let email = Email {
                summary: summary(),
                content: serde_json::from_value(content).unwrap(),
            };
            assert_eq!(email.is_spam(), is_spam);
            assert_eq!(email.spam_score().map(|found| found.score), score);
        }
    }

    #[test]
    fn debug_shows_nothing_of_the_content() {
        let shown = format!("{:?} {:?}", email(), summary());
        assert_eq!(shown.matches(ID).count(), 2, "{shown}");
        for part in ["alice", "bob", "Köln", "line", "a.txt", "shop"] {
            assert!(!shown.contains(part), "{part}: {shown}");
        }
    }
}
