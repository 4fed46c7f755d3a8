//! An inbox as data: all that another client needs to read its mail.
//!
//! Source: interface, "Exported inbox data".

use std::fmt;
use std::sync::Arc;

use base64::display::Base64Display;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use restante_envelope::{DecapsulationKey, VerifyingKey};
use restante_model::{InboxHash, Timestamp};
use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use crate::Inbox;
use crate::inbox::{InboxKeys, KnownInbox, shown_end};

/// The one version of the format that there is.
pub(crate) const VERSION: u8 = 1;

/// What the document takes beside its keys and its address, rounded up.
const FRAME_LEN: usize = 512;

/// An exported inbox: its name, its time and, for an encrypted one, its secret key.
///
/// Whoever has the export of an encrypted inbox reads its mail.
/// `Debug` shows no key; clones share the one copy of it, which is wiped with the last of them.
///
/// ```
/// use restante_client::ExportedInbox;
///
/// let plain = ExportedInbox::parse(
///     br#"{
///         "version": 1,
///         "emailAddress": "alice@restante.test",
///         "expiresAt": "2026-01-25T12:41:16.000Z",
///         "inboxHash": "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg",
///         "encrypted": false,
///         "exportedAt": "2026-01-25T11:41:16.000Z"
///     }"#,
/// )?;
/// assert_eq!(plain.address(), "alice@restante.test");
/// assert_eq!(plain.file_name(), "alice_at_restante.test.json");
/// # Ok::<(), restante_client::ImportError>(())
/// ```
#[derive(Clone)]
pub struct ExportedInbox {
    known: Arc<KnownInbox>,
    exported_at: Timestamp,
}

impl Inbox {
    /// The inbox as data, for a file or for another client.
    pub fn export(&self) -> ExportedInbox {
        ExportedInbox::new(self.shared_known(), self.client().clock().now())
    }
}

impl ExportedInbox {
    pub(crate) fn new(known: Arc<KnownInbox>, exported_at: Timestamp) -> Self {
        Self { known, exported_at }
    }

    /// Where the inbox takes mail.
    pub fn address(&self) -> &str {
        &self.known.facts.address
    }

    /// Its name in streams and records.
    pub fn hash(&self) -> InboxHash {
        self.known.facts.hash
    }

    /// From then on it is gone; `None` for one that does not end by itself.
    ///
    /// The format has no word for that: the document then holds the last moment of the year 9999.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.known.facts.expires_at
    }

    /// When it was exported.
    pub fn exported_at(&self) -> Timestamp {
        self.exported_at
    }

    /// Whether its mail is sealed, and a secret key is here.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.known.keys, InboxKeys::Encrypted { .. })
    }

    /// The document, indented, with a line end at its end; it has the fields of the interface and no others.
    pub fn to_json(&self) -> Zeroizing<String> {
        // A buffer that grew would leave the secret key behind, in the memory that it grew out of.
        let mut json = Zeroizing::new(Vec::with_capacity(self.json_capacity()));
        serde_json::to_writer_pretty(&mut *json, &Document::of(self)).expect("a vector takes plain data");
        json.push(b'\n');
        Zeroizing::new(String::from_utf8(std::mem::take(&mut *json)).expect("JSON is UTF-8"))
    }

    pub(crate) fn into_known(self) -> Arc<KnownInbox> {
        self.known
    }

    /// At least the bytes of the document.
    fn json_capacity(&self) -> usize {
        let base64 = |bytes: usize| bytes.div_ceil(3) * 4;
        // A character takes six bytes at most: \u001f.
        let address = self.address().len() * 6;
        FRAME_LEN + address + base64(DecapsulationKey::LEN) + base64(VerifyingKey::LEN)
    }
}

impl fmt::Debug for ExportedInbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportedInbox")
            .field("address", &self.address())
            .field("hash", &self.hash().to_string())
            .field("expires_at", &format_args!("{}", shown_end(self.expires_at())))
            .field("is_encrypted", &self.is_encrypted())
            .field("exported_at", &self.exported_at)
            .finish_non_exhaustive()
    }
}

/// The fields in the order of the interface.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    version: u8,
    email_address: &'a str,
    expires_at: Timestamp,
    inbox_hash: InboxHash,
    encrypted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_sig_pk: Option<Base64Url<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_key: Option<Base64Url<'a>>,
    exported_at: Timestamp,
}

impl<'a> Document<'a> {
    fn of(export: &'a ExportedInbox) -> Self {
        let (pinned, key) = match &export.known.keys {
            InboxKeys::Plain => (None, None),
            InboxKeys::Encrypted { key, pinned } => (Some(pinned), Some(key)),
        };
        Self {
            version: VERSION,
            email_address: export.address(),
            expires_at: export.expires_at().unwrap_or(Timestamp::MAX),
            inbox_hash: export.hash(),
            encrypted: export.is_encrypted(),
            server_sig_pk: pinned.map(|key| Base64Url(key.as_bytes())),
            secret_key: key.map(|key| Base64Url(key.expose())),
            exported_at: export.exported_at,
        }
    }
}

/// Bytes that are spelled straight into the document, without a text in between.
struct Base64Url<'a>(&'a [u8]);

impl Serialize for Base64Url<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &URL_SAFE_NO_PAD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::InboxFacts;
    use restante_envelope::SigningKey;

    fn export(address: &str, keys: InboxKeys) -> ExportedInbox {
        let known = KnownInbox {
            facts: InboxFacts {
                address: address.to_owned(),
                hash: InboxHash::from_bytes([7; 32]),
                expires_at: None,
                terms: None,
            },
            keys,
        };
        ExportedInbox::new(Arc::new(known), Timestamp::from_unix_ms(0))
    }

    fn encrypted(address: &str) -> ExportedInbox {
        let keys = InboxKeys::Encrypted {
            key: DecapsulationKey::generate(),
            pinned: SigningKey::generate().verifying_key().clone(),
        };
        export(address, keys)
    }

    #[test]
    fn a_plain_export_has_the_fields_of_the_interface_in_their_order() {
        let json = export("alice@restante.test", InboxKeys::Plain).to_json();
        let expected = r#"{
  "version": 1,
  "emailAddress": "alice@restante.test",
  "expiresAt": "9999-12-31T23:59:59.999Z",
  "inboxHash": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc",
  "encrypted": false,
  "exportedAt": "1970-01-01T00:00:00.000Z"
}
"#;
        assert_eq!(*json, expected);
    }

    #[test]
    fn an_encrypted_export_has_both_keys_between_them() {
        let json = encrypted("alice@restante.test").to_json();
        let names: Vec<_> = json.lines().filter_map(|line| line.trim().split('"').nth(1)).collect();
        let expected = [
            "version",
            "emailAddress",
            "expiresAt",
            "inboxHash",
            "encrypted",
            "serverSigPk",
            "secretKey",
            "exportedAt",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_buffer_with_the_key_never_grows() {
        for address in ["a@b", &"\u{1f}".repeat(5_000)] {
            let export = encrypted(address);
            let json = export.to_json();
            assert_eq!(json.capacity(), export.json_capacity());
            assert!(json.len() <= export.json_capacity(), "{address:.10}");
        }
    }

    #[test]
    fn debug_shows_no_key() {
        let export = encrypted("alice@restante.test");
        let shown = format!("{export:?}");
        assert!(shown.contains("alice@restante.test"), "{shown}");
        assert!(shown.len() < 300, "{shown}");
    }
}
