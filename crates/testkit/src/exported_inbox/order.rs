//! Exports that break two rules: the earlier one is named.

use super::Vector;
use super::document::{Document, hash_of, key_hash, quoted, secret_key, server_key, spelled};

/// One rule, broken.
struct Break {
    rule: &'static str,
    /// The field that is spoilt: two breaks of one field cannot be in one document.
    field: &'static str,
    says: String,
    /// The field's new value; none takes it out.
    value: Option<String>,
}

/// For each rule, a document that breaks it and the next one that can be broken beside it, and a document that breaks it
/// and the last such one.
pub(super) fn vectors() -> Vec<Vector> {
    let breaks = breaks();
    let mut vectors = Vec::new();
    for (place, earlier) in breaks.iter().enumerate() {
        let mut later = breaks[place + 1..].iter().filter(|later| later.field != earlier.field);
        let next = later.next();
        vectors.extend(
            next.into_iter()
                .chain(later.next_back())
                .map(|later| both(earlier, later)),
        );
    }
    vectors
}

fn both(earlier: &Break, later: &Break) -> Vector {
    let document = earlier.on(later.on(Document::encrypted()));
    Vector {
        name: format!("order-{}-before-{}", earlier.rule, later.rule),
        about: format!(
            "of two broken rules the first is named: {} and {}",
            earlier.rule, later.rule
        ),
        expect: earlier.rule,
        says: Some(earlier.says.clone()),
        reads: None,
        text: document.text(),
    }
}

impl Break {
    fn on(&self, mut document: Document) -> Document {
        if self.field.is_empty() {
            document.tail = "}";
            return document;
        }
        match &self.value {
            Some(value) => document.with(self.field, value),
            None => document.without(self.field),
        }
    }
}

/// One break of each rule, in the order in which they are checked.
fn breaks() -> Vec<Break> {
    let mut refused = secret_key();
    refused[2336] ^= 1;
    let mismatch = format!(
        "inboxHash: expected {}, which belongs to secretKey, got {}",
        key_hash(),
        hash_of(b"another")
    );
    let short = |key: Vec<u8>| quoted(&spelled(&key[..key.len() - 1]));
    let padded = |key: Vec<u8>| quoted(&(spelled(&key) + "="));
    vec![
        one(
            "json",
            "",
            "the export is not a JSON object: trailing characters at line 11 column 1",
            "",
        ),
        one("version", "version", "version: expected 1, got 2", "2"),
        gone("required", "exportedAt", "exportedAt: every export has it, got nothing"),
        one(
            "email-address",
            "emailAddress",
            "emailAddress: expected a text with exactly one @, got one with 2",
            r#""a@b@c""#,
        ),
        one(
            "inbox-hash",
            "inboxHash",
            "inboxHash: expected a text that is not empty, got an empty one",
            r#""""#,
        ),
        one(
            "encrypted",
            "encrypted",
            "encrypted: expected true or false, got a text",
            r#""true""#,
        ),
        gone(
            "secret-key-missing",
            "secretKey",
            "secretKey: the export of an encrypted inbox has it, got nothing",
        ),
        one(
            "secret-key-encoding",
            "secretKey",
            "secretKey: expected base64url without padding, got another text",
            &padded(secret_key()),
        ),
        one(
            "secret-key-size",
            "secretKey",
            "secretKey: expected 2400 bytes, got 2399",
            &short(secret_key()),
        ),
        gone(
            "server-sig-pk-missing",
            "serverSigPk",
            "serverSigPk: the export of an encrypted inbox has it, got nothing",
        ),
        one(
            "server-sig-pk-encoding",
            "serverSigPk",
            "serverSigPk: expected base64url without padding, got another text",
            &padded(server_key()),
        ),
        one(
            "server-sig-pk-size",
            "serverSigPk",
            "serverSigPk: expected 1952 bytes, got 1951",
            &short(server_key()),
        ),
        one(
            "timestamp",
            "expiresAt",
            r#"expiresAt: expected an ISO 8601 date and time, got "soon""#,
            r#""soon""#,
        ),
        one(
            "inbox-hash-form",
            "inboxHash",
            "inboxHash: expected the 43 base64url characters of a SHA-256, got another text of 5",
            r#""alice""#,
        ),
        one(
            "secret-key-refused",
            "secretKey",
            "secretKey: not an ML-KEM-768 decapsulation key: it fails the FIPS 203 hash check",
            &quoted(&spelled(&refused)),
        ),
        one(
            "inbox-hash-mismatch",
            "inboxHash",
            &mismatch,
            &quoted(&hash_of(b"another")),
        ),
    ]
}

fn one(rule: &'static str, field: &'static str, says: &str, value: &str) -> Break {
    Break {
        value: Some(value.to_owned()),
        ..gone(rule, field, says)
    }
}

fn gone(rule: &'static str, field: &'static str, says: &str) -> Break {
    Break {
        rule,
        field,
        says: says.to_owned(),
        value: None,
    }
}
