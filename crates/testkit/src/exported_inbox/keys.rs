//! Exports whose keys or times break a rule, or whose parts do not belong together.

use super::document::{Document, hash_of, key_hash, other_secret_key, quoted, secret_key, server_key, spelled};
use super::{Vector, broken};

/// At least one for each rule from the first of `secretKey` on.
pub(super) fn vectors() -> Vec<Vector> {
    [
        keys("secretKey", "secret-key", &secret_key()),
        keys("serverSigPk", "server-sig-pk", &server_key()),
        timestamps(),
        consistency(),
    ]
    .concat()
}

/// The three rules of a key.
fn keys(field: &'static str, rule: &'static str, key: &[u8]) -> Vec<Vector> {
    let (missing, encoding, size) = match rule {
        "secret-key" => ("secret-key-missing", "secret-key-encoding", "secret-key-size"),
        _ => ("server-sig-pk-missing", "server-sig-pk-encoding", "server-sig-pk-size"),
    };
    let vector = |kind: &str, rule, says: String, document: Document| {
        let name = format!("{field}-{kind}").to_lowercase();
        broken(
            &name,
            "the rules of the keys of an encrypted inbox",
            rule,
            &format!("{field}: {says}"),
            document.text(),
        )
    };
    let absent = |kind: &str, got: &str, document| {
        vector(
            kind,
            missing,
            format!("the export of an encrypted inbox has it, got {got}"),
            document,
        )
    };
    let encoded = |kind: &str, value: &str, got: &str| {
        let says = format!("expected base64url without padding, got {got}");
        vector(kind, encoding, says, Document::encrypted().with(field, value))
    };
    let sized = |kind: &str, bytes: &[u8]| {
        let says = format!("expected {} bytes, got {}", key.len(), bytes.len());
        vector(
            kind,
            size,
            says,
            Document::encrypted().with(field, &quoted(&spelled(bytes))),
        )
    };
    let text = spelled(key);
    // Other last characters spell the same bytes and bits that belong to none: both keys end within a group.
    let other_end = |end: &str| quoted(&format!("{}{end}", &text[..text.len() - 1]));
    let mut vectors = vec![
        absent("missing", "nothing", Document::encrypted().without(field)),
        absent("null", "null", Document::encrypted().with(field, "null")),
        encoded("number", "7", "a number"),
        encoded("padding", &quoted(&format!("{text}=")), "another text"),
        encoded("plus", &other_end("+"), "another text"),
        encoded("slash", &other_end("/"), "another text"),
        encoded("line-end", &quoted(&format!("{text}\\n")), "another text"),
        sized("empty", &[]),
        sized("short", &key[..key.len() - 1]),
        sized("long", &[key, &[0]].concat()),
    ];
    if !key.len().is_multiple_of(3) {
        vectors.push(encoded("trailing-bits", &other_end("_"), "another text"));
    }
    vectors
}

fn timestamps() -> Vec<Vector> {
    let moment = |name, field, value, got: &str| {
        let says = format!("{field}: expected an ISO 8601 date and time, got {got}");
        let document = Document::plain().with(field, value);
        broken(
            name,
            "a moment is a date and a time",
            "timestamp",
            &says,
            document.text(),
        )
    };
    vec![
        moment("timestamp-expires-at", "expiresAt", "\"soon\"", "\"soon\""),
        moment("timestamp-exported-at", "exportedAt", "\"soon\"", "\"soon\""),
        moment("timestamp-empty", "expiresAt", "\"\"", "\"\""),
        moment("timestamp-date", "expiresAt", "\"2026-01-25\"", "\"2026-01-25\""),
        moment(
            "timestamp-no-such-day",
            "expiresAt",
            "\"2026-02-30T12:00:00Z\"",
            "\"2026-02-30T12:00:00Z\"",
        ),
        moment("timestamp-number", "exportedAt", "1769341276", "a number"),
        moment(
            "timestamp-long",
            "expiresAt",
            &quoted(&"9".repeat(50)),
            "a text of 50 characters",
        ),
        moment("timestamp-terminal", "expiresAt", "\"\\u001b[2J\"", "\"\\u{1b}[2J\""),
        broken(
            "timestamp-both",
            "of both the first is named",
            "timestamp",
            "expiresAt: expected an ISO 8601 date and time, got \"a\"",
            Document::plain()
                .with("expiresAt", "\"a\"")
                .with("exportedAt", "\"b\"")
                .text(),
        ),
    ]
}

/// What belongs together, beyond the rules of the interface.
fn consistency() -> Vec<Vector> {
    let refused = |name, about, key: &[u8], says| {
        let document = Document::encrypted().with("secretKey", &quoted(&spelled(key)));
        broken(
            name,
            about,
            "secret-key-refused",
            &format!("secretKey: not an ML-KEM-768 decapsulation key: {says}"),
            document.text(),
        )
    };
    let form = "inboxHash: expected the 43 base64url characters of a SHA-256, got another text of 42";
    let (key, other) = (secret_key(), other_secret_key());
    let mut changed = key.clone();
    changed[2000] ^= 1;
    let mixed = [&other[..1152], &key[1152..]].concat();
    let swapped = Document::encrypted().with("secretKey", &quoted(&spelled(&other)));
    let other_hash = hash_of(&other[1152..2336]);
    vec![
        broken(
            "inbox-hash-form-short",
            "a hash is a SHA-256",
            "inbox-hash-form",
            form,
            Document::plain().with("inboxHash", &quoted(&"a".repeat(42))).text(),
        ),
        refused(
            "secret-key-refused-changed",
            "a changed byte of the public part",
            &changed,
            "it fails the FIPS 203 hash check",
        ),
        refused(
            "secret-key-refused-mixed",
            "the private part of another key",
            &mixed,
            "its private and public part do not belong together",
        ),
        broken(
            "inbox-hash-mismatch-swapped",
            "the key of another inbox",
            "inbox-hash-mismatch",
            &format!(
                "inboxHash: expected {other_hash}, which belongs to secretKey, got {}",
                key_hash()
            ),
            swapped.text(),
        ),
    ]
}
