//! Exports that are whole, in every spelling that readers take.

use super::document::{ADDRESS, Document, EXPIRES_AT, EXPORTED_AT, hash_of, key_hash, quoted, secret_key, spelled};
use super::{Reads, Vector};

/// All of them.
pub(super) fn vectors() -> Vec<Vector> {
    [ours_and_others(), lenient(), moments()].concat()
}

fn ours_and_others() -> Vec<Vector> {
    let by_python = |document: Document| {
        document
            .with("expiresAt", r#""2026-01-25T12:41:16Z""#)
            .with("exportedAt", r#""2026-01-25T11:41:16.007891Z""#)
            .and("emailAuth", "true")
            .and("persistent", "false")
    };
    let reads = Reads {
        expires_at: EXPIRES_AT,
        ..plain_reads()
    };
    vec![
        ok(
            "ok-ours-plain",
            "what we write of a plain inbox",
            &Document::plain(),
            plain_reads(),
        ),
        ok(
            "ok-ours-encrypted",
            "what we write of an encrypted inbox",
            &Document::encrypted(),
            encrypted_reads(),
        ),
        ok(
            "ok-python-plain",
            "another client has fields of its own and writes microseconds",
            &by_python(Document::plain()),
            reads,
        ),
        ok(
            "ok-python-encrypted",
            "another client has fields of its own and writes microseconds",
            &by_python(Document::encrypted()),
            encrypted_reads(),
        ),
    ]
}

/// Spellings that JSON and the interface leave open.
fn lenient() -> Vec<Vector> {
    let plain = |name, about, document: Document| ok(name, about, &document, plain_reads());
    let deep = "[".repeat(2_000) + &"]".repeat(2_000);
    vec![
        ok(
            "ok-any-order",
            "the order of fields means nothing",
            &Document::encrypted().reversed(),
            encrypted_reads(),
        ),
        plain(
            "ok-unknown-fields",
            "unknown fields are ignored, of whatever kind",
            Document::plain().and("color", "{\"version\": [null]}").and("", "1e400"),
        ),
        plain(
            "ok-unknown-twice",
            "an unknown field may stand twice",
            Document::plain().and("color", "1").and("color", "2"),
        ),
        plain(
            "ok-unknown-deep",
            "an unknown field may nest as deep as it likes",
            Document::plain().and("color", &deep),
        ),
        plain(
            "ok-plain-null-keys",
            "a plain inbox has no keys, and they may be null",
            Document::plain().and("secretKey", "null").and("serverSigPk", "null"),
        ),
        plain(
            "ok-plain-other-keys",
            "the keys of a plain inbox are ignored",
            Document::plain().and("secretKey", "\"=\"").and("serverSigPk", "7"),
        ),
        plain(
            "ok-escapes",
            "a character may be spelled as its escape",
            Document::plain()
                .without("emailAddress")
                .and("email\\u0041ddress", "\"\\u0061lice\\u0040restante.test\""),
        ),
        ok(
            "ok-escapes-encrypted",
            "the same in a key",
            &Document::encrypted().with("secretKey", &escaped(&spelled(&secret_key()))),
            encrypted_reads(),
        ),
        ok(
            "ok-odd-address",
            "an address is what another server took for one",
            &Document::plain().with("emailAddress", "\"../O'Hara + \\u00fc@[::1]\""),
            Reads {
                email_address: "../O'Hara + ü@[::1]",
                ..plain_reads()
            },
        ),
    ]
}

fn moments() -> Vec<Vector> {
    let expires = |name, about, text: &str, expires_at| {
        let document = Document::plain().with("expiresAt", &quoted(text));
        ok(
            name,
            about,
            &document,
            Reads {
                expires_at,
                ..plain_reads()
            },
        )
    };
    vec![
        expires(
            "ok-offset",
            "a moment may have an offset",
            "2026-01-25T13:41:16+01:00",
            EXPIRES_AT,
        ),
        expires(
            "ok-nanoseconds",
            "a moment may be finer than ours",
            "2026-01-25T12:41:16.000999999Z",
            EXPIRES_AT,
        ),
        expires(
            "ok-no-offset",
            "without an offset it is UTC",
            "2026-01-25T12:41:16",
            EXPIRES_AT,
        ),
        expires(
            "ok-no-seconds",
            "seconds may be left out",
            "2026-01-25T12:41Z",
            "2026-01-25T12:41:00.000Z",
        ),
        expires(
            "ok-basic",
            "the basic format is one too",
            "20260125T124116Z",
            EXPIRES_AT,
        ),
        expires(
            "ok-before-1970",
            "long ago is long ago",
            "0001-01-01T00:00:00Z",
            "1970-01-01T00:00:00.000Z",
        ),
    ]
}

/// Every character as its escape.
fn escaped(text: &str) -> String {
    let escapes: Vec<_> = text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    quoted(&escapes.concat())
}

fn plain_reads() -> Reads {
    Reads {
        email_address: ADDRESS,
        inbox_hash: hash_of(b"a plain inbox"),
        encrypted: false,
        expires_at: EXPIRES_AT,
        exported_at: EXPORTED_AT,
    }
}

fn encrypted_reads() -> Reads {
    Reads {
        inbox_hash: key_hash(),
        encrypted: true,
        ..plain_reads()
    }
}

fn ok(name: &str, about: &str, document: &Document, reads: Reads) -> Vector {
    Vector {
        name: name.to_owned(),
        about: about.to_owned(),
        expect: "ok",
        says: None,
        reads: Some(reads),
        text: document.text(),
    }
}
