//! An independent, obvious builder of the headers that sign a webhook.
//!
//! It follows the interface header by header and shares no code with the server: what it makes tests the `webhook` crate.
//!
//! Source: interface, "Delivery"; decisions, section 7; Standard Webhooks.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

const SECRET: &str = "whsec_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789aBcDeFgH";
const FORMER_SECRET: &str = "whsec_000000000000000000000000000000000000000000zz";

/// One attempt and the headers that it must carry.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Vector {
    #[serde(skip)]
    name: &'static str,
    about: &'static str,
    secret: &'static str,
    /// The former secret, while both are valid.
    previous_secret: Option<&'static str>,
    event_id: &'static str,
    event_type: &'static str,
    delivery_id: &'static str,
    attempt: u32,
    timestamp: u64,
    body: String,
    /// Names and values, in their order.
    headers: Vec<(&'static str, String)>,
}

impl Vector {
    /// The name of its file.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The contents of its file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a vector is plain data") + "\n"
    }

    /// With the headers that belong to it.
    fn signed(mut self) -> Self {
        self.headers = vec![
            ("X-Vault-Signature", vault_signature(self.secret, &self)),
            ("X-Vault-Event", self.event_type.to_owned()),
            ("X-Vault-Delivery", self.delivery_id.to_owned()),
            ("X-Vault-Timestamp", self.timestamp.to_string()),
            ("X-Vault-Attempt", self.attempt.to_string()),
            ("webhook-id", self.event_id.to_owned()),
            ("webhook-timestamp", self.timestamp.to_string()),
            ("webhook-signature", standard_signature(self.secret, &self)),
        ];
        if let Some(previous) = self.previous_secret {
            let vault = vault_signature(previous, &self);
            let both = format!("{} {}", self.headers[7].1, standard_signature(previous, &self));
            self.headers[7].1 = both;
            self.headers.insert(1, ("X-Vault-Signature-Previous", vault));
        }
        self
    }
}

/// All vectors.
pub fn vectors() -> Vec<Vector> {
    let vectors = [bodies(), attempts(), secrets()].concat();
    vectors.into_iter().map(Vector::signed).collect()
}

fn bodies() -> Vec<Vector> {
    let body = |name, about, body: &str| Vector {
        body: body.to_owned(),
        ..vector(name, about)
    };
    vec![
        body(
            "body-json",
            "the event as it is sent",
            r#"{"id":"evt_0","object":"event"}"#,
        ),
        body("body-empty", "a message may end with its last dot", ""),
        body("body-dots", "dots of the body are the body's", ".1737806400.."),
        body(
            "body-line-ends",
            "bytes are signed as they are",
            "{\r\n\t\"a\": 1\n}\r\n",
        ),
        body(
            "body-non-ascii",
            "UTF-8 is signed byte by byte",
            r#"{"subject":"Grüße, 日本語"}"#,
        ),
        body(
            "body-emoji",
            "characters of four bytes, joined ones too",
            r#"{"subject":"🎉👩‍👩‍👧"}"#,
        ),
        body(
            "body-escaped",
            "escapes are signed as they are written",
            r#"{"a":"\u0000\ud83c\udf89\\"}"#,
        ),
        body("body-nul", "a byte 0 ends nothing", "a\0b"),
        body(
            "body-large",
            "more than one block of the hash",
            &"0123456789abcdef".repeat(700),
        ),
    ]
}

fn attempts() -> Vec<Vector> {
    vec![
        Vector {
            attempt: 5,
            timestamp: 1_737_822_730,
            ..vector("attempt-last", "a later attempt has its own time and the same ids")
        },
        Vector {
            event_type: "email.stored",
            ..vector("event-stored", "the type is in the header")
        },
        Vector {
            event_type: "email.deleted",
            ..vector("event-deleted", "the type is in the header")
        },
        Vector {
            event_id: "evt_test_000000000000000000000000000000",
            delivery_id: "dlv_test_000000000000000000000000000000",
            ..vector("event-test", "a test is signed like any event")
        },
        Vector {
            timestamp: 0,
            ..vector("timestamp-zero", "a clock may be wrong")
        },
        Vector {
            timestamp: 253_402_300_799,
            ..vector("timestamp-last", "the end of the year 9999")
        },
    ]
}

fn secrets() -> Vec<Vector> {
    let rotation = vector(
        "rotation",
        "both secrets are valid: the new one first, the former one beside it",
    );
    vec![
        Vector {
            secret: FORMER_SECRET,
            ..vector("secret-other", "another secret, other signatures")
        },
        Vector {
            previous_secret: Some(FORMER_SECRET),
            ..rotation.clone()
        },
        Vector {
            name: "rotation-back",
            secret: FORMER_SECRET,
            previous_secret: Some(SECRET),
            ..rotation
        },
    ]
}

fn vector(name: &'static str, about: &'static str) -> Vector {
    Vector {
        name,
        about,
        secret: SECRET,
        previous_secret: None,
        event_id: "evt_0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        event_type: "email.received",
        delivery_id: "dlv_00112233445566778899aabbccddeeff",
        attempt: 1,
        timestamp: 1_737_806_400,
        body: r#"{"a":1}"#.to_owned(),
        headers: Vec::new(),
    }
}

/// `sha256=` and the hex digits of the code under the whole secret.
fn vault_signature(secret: &str, vector: &Vector) -> String {
    let message = format!("{}.{}", vector.timestamp, vector.body);
    let code = hmac_sha256(secret.as_bytes(), &message);
    let digits: Vec<String> = code.iter().map(|byte| format!("{byte:02x}")).collect();
    "sha256=".to_owned() + &digits.concat()
}

/// `v1,` and the base64 of the code under the bytes that the secret encodes.
fn standard_signature(secret: &str, vector: &Vector) -> String {
    let message = format!("{}.{}.{}", vector.event_id, vector.timestamp, vector.body);
    let key = STANDARD
        .decode(secret.trim_start_matches("whsec_"))
        .expect("a secret is base64");
    assert_eq!(key.len(), 33, "44 characters of base64");
    "v1,".to_owned() + &STANDARD.encode(hmac_sha256(&key, &message))
}

fn hmac_sha256(key: &[u8], message: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, message.as_bytes()).as_ref().to_vec()
}
