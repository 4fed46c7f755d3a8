//! The two JSON documents that make up the readable content of an email (interface, "Email record").
//!
//! They are sealed in encrypted inboxes and base64-encoded in plain ones; client and server share their shape.
//! Field order is the order of the JSON.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AuthResults, EmailId, SpamAnalysis, Timestamp};

/// What a list shows of an email.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The email's id.
    pub id: EmailId,
    /// Text of the From header, else the reverse-path, else `unknown`.
    pub from: String,
    /// The forward-path of this inbox in lowercase; see [`To`] for its two shapes.
    pub to: To,
    /// The decoded subject, or `(no subject)`.
    pub subject: String,
    /// When it arrived.
    pub received_at: Timestamp,
}

/// The recipients in [`Metadata`]: an array in the `service` profile, one string in the `vaultsandbox` profile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum To {
    /// `["bob@restante.test"]`
    Many(Vec<String>),
    /// `"bob@restante.test"`
    One(String),
}

/// The content of an email. `text` and `html` may be `null`; other fields that do not apply are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParsedContent {
    /// The plain body, or one made from the HTML body; lines end in LF.
    pub text: Option<String>,
    /// The HTML body; lines end in LF.
    pub html: Option<String>,
    /// Lowercase name to decoded, unfolded value; values of a repeated header are joined by a newline.
    pub headers: Headers,
    /// The attachments in message order.
    pub attachments: Vec<AttachmentData>,
    /// URLs of the body, each once, in order of first occurrence.
    pub links: Vec<String>,
    /// Results of email authentication.
    pub auth_results: AuthResults,
    /// What a spam filter said; of mail stored by earlier versions nothing is known.
    #[serde(default)]
    pub spam_analysis: SpamAnalysis,
    /// Reserved for extensions: an empty object.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// The decoded subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Text of the From header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Mailboxes of the To header.
    #[serde(default)]
    pub to: Vec<String>,
    /// Mailboxes of the Cc header.
    #[serde(default)]
    pub cc: Vec<String>,
    /// Mailboxes of the Reply-To header.
    #[serde(default)]
    pub reply_to: Vec<String>,
    /// The Message-ID without angle brackets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The Date header in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<Timestamp>,
    /// The first In-Reply-To id without angle brackets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<String>,
    /// The ids of the References header without angle brackets.
    #[serde(default)]
    pub references: Vec<String>,
    /// What is wrong with the message, for a person.
    #[serde(default)]
    pub defects: Vec<String>,
}

/// Headers in message order; serialised as a JSON object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder)
    }
}

/// Reads an object without a change of its order.
struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Headers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Headers, A::Error> {
        let mut headers = Vec::new();
        while let Some(header) = object.next_entry()? {
            headers.push(header);
        }
        Ok(Headers(headers))
    }
}

/// One attachment (interface, `AttachmentData`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentData {
    /// The decoded file name, or `unnamed`.
    pub filename: String,
    /// For example `application/pdf`.
    pub content_type: String,
    /// Decoded bytes.
    pub size: usize,
    /// `attachment` or `inline`.
    pub content_disposition: String,
    /// The Content-ID without angle brackets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_id: Option<String>,
    /// The decoded bytes.
    pub content: Base64,
    /// SHA-256 of the decoded bytes in lowercase hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

/// Bytes that are shown in standard, padded base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base64(pub Bytes);

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(&self.0, &STANDARD))
    }
}

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(serde::de::Error::custom)?;
        Ok(Self(bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_keep_their_order() {
        let json = r#"{"to":"a","from":"b","cc":"c"}"#;
        let headers: Headers = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&headers).unwrap(), json);
        assert!(serde_json::from_str::<Headers>(r#"{"to":["a"]}"#).is_err());
    }

    #[test]
    fn base64_reads_what_it_shows() {
        for bytes in [b"".as_slice(), b"a", b"ab", b"abc", &[0xff, 0xfe, 0x3f]] {
            let shown = serde_json::to_string(&Base64(bytes.into())).unwrap();
            assert_eq!(serde_json::from_str::<Base64>(&shown).unwrap().0, bytes);
        }
        assert_eq!(
            serde_json::to_string(&Base64(b"a?".as_slice().into())).unwrap(),
            r#""YT8=""#
        );
        assert!(serde_json::from_str::<Base64>(r#""YT8""#).is_err());
    }
}
