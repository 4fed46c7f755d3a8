//! Records as a client reads them: both modes in one shape, told apart by the presence of `encryptedMetadata`.
//!
//! Payloads stay text until they are opened, so that a damaged one is the error of its email alone.

use restante_model::{Base64, EmailId, InboxHash, Timestamp};
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
    metadata: Option<Base64>,
    encrypted_metadata: Option<Box<RawValue>>,
    parsed: Option<Base64>,
    encrypted_parsed: Option<Box<RawValue>>,
}

/// The source of an email.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawRecord {
    raw: Option<Base64>,
    encrypted_raw: Option<Box<RawValue>>,
}

/// One event of the stream.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StreamRecord {
    pub(crate) inbox_id: InboxHash,
    pub(crate) email_id: EmailId,
    metadata: Option<Base64>,
    encrypted_metadata: Option<Box<RawValue>>,
}

/// One document of an email as it came.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    /// Of a plain inbox: decoded.
    Plain(&'a [u8]),
    /// Of an encrypted inbox: the JSON of a payload.
    Sealed(&'a str),
}

impl EmailRecord {
    /// The metadata; `None` if the record has none.
    pub(crate) fn metadata(&self) -> Option<Part<'_>> {
        part(self.metadata.as_ref(), self.encrypted_metadata.as_deref())
    }

    /// The content; `None` if it was not asked for.
    pub(crate) fn parsed(&self) -> Option<Part<'_>> {
        part(self.parsed.as_ref(), self.encrypted_parsed.as_deref())
    }
}

impl RawRecord {
    pub(crate) fn raw(&self) -> Option<Part<'_>> {
        part(self.raw.as_ref(), self.encrypted_raw.as_deref())
    }
}

impl StreamRecord {
    pub(crate) fn metadata(&self) -> Option<Part<'_>> {
        part(self.metadata.as_ref(), self.encrypted_metadata.as_deref())
    }
}

fn part<'a>(plain: Option<&'a Base64>, sealed: Option<&'a RawValue>) -> Option<Part<'a>> {
    match sealed {
        Some(payload) => Some(Part::Sealed(payload.get())),
        None => plain.map(|bytes| Part::Plain(&bytes.0)),
    }
}
