//! Emails as a client sees them: opened, decoded, parsed.

use std::fmt;

use restante_model::content::To;
use restante_model::{AttachmentData, AuthResults, EmailId, InboxHash, Metadata, ParsedContent, Timestamp};
use serde::{Serialize, Serializer};

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
#[derive(Clone, PartialEq, Eq)]
pub struct Email {
    /// What a list shows of it.
    pub summary: EmailSummary,
    /// Everything else.
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

    /// The attachments in message order; `content.0` is their bytes.
    pub fn attachments(&self) -> &[AttachmentData] {
        &self.content.attachments
    }

    /// SPF, DKIM, DMARC and reverse DNS.
    pub fn auth_results(&self) -> &AuthResults {
        &self.content.auth_results
    }

    /// Which of those passed.
    pub fn auth_summary(&self) -> AuthSummary {
        AuthSummary::of(&self.content.auth_results)
    }
}

impl fmt::Debug for EmailSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmailSummary")
            .field("id", &self.id)
            .field("received_at", &self.received_at)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Email")
            .field("id", &self.summary.id)
            .field("received_at", &self.summary.received_at)
            .finish_non_exhaustive()
    }
}

impl Serialize for Email {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Record<'a> {
            #[serde(flatten)]
            summary: &'a EmailSummary,
            parsed: &'a ParsedContent,
        }
        let record = Record {
            summary: &self.summary,
            parsed: &self.content,
        };
        record.serialize(serializer)
    }
}
