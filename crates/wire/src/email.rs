//! Emails: records, sources, stream items.

use restante_envelope::SealedPayload;
use restante_model::{Base64, EmailId, InboxHash, Timestamp};
use serde::Serialize;

/// An email as listed or fetched.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmailRecord {
    /// Its id.
    pub id: EmailId,
    /// The hash of its inbox.
    pub inbox_id: InboxHash,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Whether it was marked as read.
    pub is_read: bool,
    /// Metadata, and content where it was asked for.
    #[serde(flatten)]
    pub content: RecordContent,
}

/// The fields that tell the modes apart: clients look for `encryptedMetadata`.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum RecordContent {
    /// Of a plain inbox: base64-encoded JSON.
    Plain {
        /// Sender, recipient, subject.
        metadata: Base64,
        /// The parsed content.
        #[serde(skip_serializing_if = "Option::is_none")]
        parsed: Option<Base64>,
    },
    /// Of an encrypted inbox.
    #[serde(rename_all = "camelCase")]
    Encrypted {
        /// Sender, recipient, subject.
        encrypted_metadata: SealedPayload,
        /// The parsed content.
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_parsed: Option<SealedPayload>,
    },
}

/// The answer to the creation of a test email.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestEmailResource {
    /// The id of the email.
    pub email_id: EmailId,
}

/// The source of an email.
#[derive(Debug, Clone, Serialize)]
pub struct RawRecord {
    /// The email's id.
    pub id: EmailId,
    /// The source.
    #[serde(flatten)]
    pub content: RawContent,
}

/// The source by mode.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum RawContent {
    /// Of a plain inbox: the message in base64.
    Plain {
        /// The message.
        raw: Base64,
    },
    /// Of an encrypted inbox: the plaintext is the base64 text of the message.
    #[serde(rename_all = "camelCase")]
    Encrypted {
        /// The sealed text.
        encrypted_raw: SealedPayload,
    },
}

/// One event of the notification stream.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamItem {
    /// The hash of the inbox.
    pub inbox_id: InboxHash,
    /// The email that arrived.
    pub email_id: EmailId,
    /// Its metadata; never its content.
    #[serde(flatten)]
    pub content: RecordContent,
}
