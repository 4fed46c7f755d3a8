//! The document of an export, as its fields are spelled.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::payload::{client_secret_key, server_public_key};

pub(super) const ADDRESS: &str = "alice@restante.test";
pub(super) const EXPIRES_AT: &str = "2026-01-25T12:41:16.000Z";
pub(super) const EXPORTED_AT: &str = "2026-01-25T11:41:16.007Z";

/// Names of fields and their values, spelled in JSON.
#[derive(Debug, Clone)]
pub(super) struct Document {
    fields: Vec<(&'static str, String)>,
    /// What follows the closing brace.
    pub(super) tail: &'static str,
}

impl Document {
    /// A plain inbox: its hash is what a server likes.
    pub(super) fn plain() -> Self {
        Self::new(vec![
            ("version", "1".to_owned()),
            ("emailAddress", quoted(ADDRESS)),
            ("expiresAt", quoted(EXPIRES_AT)),
            ("inboxHash", quoted(&hash_of(b"a plain inbox"))),
            ("encrypted", "false".to_owned()),
            ("exportedAt", quoted(EXPORTED_AT)),
        ])
    }

    /// An encrypted inbox, with both keys before the time of its export.
    pub(super) fn encrypted() -> Self {
        let mut document = Self::plain();
        document
            .fields
            .insert(5, ("secretKey", quoted(&spelled(&secret_key()))));
        document
            .fields
            .insert(5, ("serverSigPk", quoted(&spelled(&server_key()))));
        document
            .with("encrypted", "true")
            .with("inboxHash", &quoted(&key_hash()))
    }

    pub(super) fn new(fields: Vec<(&'static str, String)>) -> Self {
        Self { fields, tail: "" }
    }

    /// With another value in the place of a field, or at the end if it has none.
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        match self.fields.iter_mut().find(|(field, _)| *field == name) {
            Some((_, old)) => value.clone_into(old),
            None => self.fields.push((name, value.to_owned())),
        }
        self
    }

    /// With one more field at the end, of a name that may be there already.
    pub(super) fn and(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(field, _)| *field != name);
        self
    }

    pub(super) fn reversed(mut self) -> Self {
        self.fields.reverse();
        self
    }

    /// The file.
    pub(super) fn text(&self) -> String {
        let lines: Vec<_> = self
            .fields
            .iter()
            .map(|(name, value)| format!("  \"{name}\": {value}"))
            .collect();
        format!("{{\n{}\n}}\n{}", lines.join(",\n"), self.tail)
    }
}

/// A text in JSON that needs no escape.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Base64url without padding.
pub(super) fn spelled(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The 2400 bytes of the inbox's key.
pub(super) fn secret_key() -> Vec<u8> {
    client_secret_key([3; 32], [4; 32])
}

/// The same of another inbox.
pub(super) fn other_secret_key() -> Vec<u8> {
    client_secret_key([5; 32], [6; 32])
}

/// The 1952 bytes of the key that the inbox pinned.
pub(super) fn server_key() -> Vec<u8> {
    server_public_key(&[7; 32])
}

/// The hash of the inbox: of bytes 1152 to 2335 of its key.
pub(super) fn key_hash() -> String {
    hash_of(&secret_key()[1152..2336])
}

pub(super) fn hash_of(bytes: &[u8]) -> String {
    spelled(digest::digest(&digest::SHA256, bytes).as_ref())
}
