//! Records as a client reads them: both modes in one shape, told apart by the presence of `encryptedMetadata`.
//!
//! Documents stay text until they are read, so that a damaged one is the error of its email alone.

use restante_model::{EmailId, InboxHash, Timestamp};
use serde::Deserialize;
use serde_json::value::RawValue;

/// An email as listed or fetched.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EmailRecord {
    pub(crate) id: EmailId,
    pub(crate) inbox_id: InboxHash,
    pub(crate) received_at: Timestamp,
    pub(crate) is_read: bool,
    metadata: Option<Box<RawValue>>,
    encrypted_metadata: Option<Box<RawValue>>,
    parsed: Option<Box<RawValue>>,
    encrypted_parsed: Option<Box<RawValue>>,
}

/// The source of an email.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawRecord {
    raw: Option<Box<RawValue>>,
    encrypted_raw: Option<Box<RawValue>>,
}

/// One event of the stream.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StreamRecord {
    pub(crate) inbox_id: InboxHash,
    pub(crate) email_id: EmailId,
    metadata: Option<Box<RawValue>>,
    encrypted_metadata: Option<Box<RawValue>>,
}

/// One document of an email as it came.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    /// Of a plain inbox: a JSON string of base64.
    Plain(&'a str),
    /// Of an encrypted inbox: the JSON of a payload.
    Sealed(&'a str),
}

impl EmailRecord {
    /// The metadata; `None` if the record has none.
    pub(crate) fn metadata(&self) -> Option<Part<'_>> {
        part(self.metadata.as_deref(), self.encrypted_metadata.as_deref())
    }

    /// The content; `None` if it was not asked for.
    pub(crate) fn parsed(&self) -> Option<Part<'_>> {
        part(self.parsed.as_deref(), self.encrypted_parsed.as_deref())
    }
}

impl RawRecord {
    pub(crate) fn raw(&self) -> Option<Part<'_>> {
        part(self.raw.as_deref(), self.encrypted_raw.as_deref())
    }
}

impl StreamRecord {
    pub(crate) fn metadata(&self) -> Option<Part<'_>> {
        part(self.metadata.as_deref(), self.encrypted_metadata.as_deref())
    }
}

fn part<'a>(plain: Option<&'a RawValue>, sealed: Option<&'a RawValue>) -> Option<Part<'a>> {
    match sealed {
        Some(payload) => Some(Part::Sealed(payload.get())),
        None => plain.map(|text| Part::Plain(text.get())),
    }
}
