//! Every scenario that the vectors hold: at least one for each reader rule.

use serde_json::json;

use super::object::Object;
use super::scenario::{Expect, SERVICE, Scenario, VAULT_SANDBOX, Vector, client_seeds, seed};
use super::{Sealed, sign, transcript};

const BINARY_FIELDS: [&str; 6] = ["ct_kem", "nonce", "aad", "ciphertext", "sig", "server_sig_pk"];

/// All vectors, in no particular order; their names differ.
pub fn vectors() -> Vec<Vector> {
    [
        successes(),
        versions(),
        algorithms(),
        shapes(),
        encodings(),
        sizes(),
        server_keys(),
        signatures(),
        decryptions(),
        stages(),
    ]
    .concat()
}

fn successes() -> Vec<Vector> {
    let mut vectors: Vec<_> = [SERVICE, VAULT_SANDBOX]
        .into_iter()
        .flat_map(|profile| ["metadata", "parsed", "raw"].map(|part| (profile, part)))
        .map(|(profile, part)| {
            let name = format!("success-{}-{part}", profile.name);
            Scenario::of(profile, part, &name, "a genuine payload opens").genuine()
        })
        .collect();
    vectors.extend([
        Scenario::new("success-empty-plaintext", "nothing but a tag is a ciphertext")
            .given(|scenario| scenario.plaintext.clear())
            .genuine(),
        Scenario::new(
            "success-non-ascii",
            "plaintext is bytes: UTF-8 and others come back as they were",
        )
        .given(|scenario| {
            scenario.plaintext = "Grüße, 世界 \u{1f4ee}\r\n\0\u{7f}"
                .bytes()
                .chain([0xff, 0xfe])
                .collect();
        })
        .genuine(),
        Scenario::new(
            "success-many-blocks",
            "a plaintext of many AES blocks and a part of one",
        )
        .given(|scenario| scenario.plaintext = (0..=255).cycle().take(1_501).collect())
        .genuine(),
        Scenario::new(
            "success-other-aad",
            "the reader takes the additional data in the payload and checks no value",
        )
        .given(|scenario| scenario.aad = b"something else".to_vec())
        .genuine(),
        Scenario::new("success-empty-aad", "additional data may be empty")
            .given(|scenario| scenario.aad.clear())
            .genuine(),
        Scenario::new(
            "success-unknown-field",
            "fields that version 1 does not know are ignored",
        )
        .genuine()
        .edited(|payload| payload.set("comment", "hello")),
        Scenario::new("success-unknown-algorithm-field", "so are those in algs")
            .genuine()
            .edited(|payload| payload.object("algs").set("hash", "SHA-256")),
    ]);
    vectors
}

fn versions() -> Vec<Vector> {
    [
        ("0", json!(0)),
        ("2", json!(2)),
        ("257", json!(257)),
        ("negative", json!(-1)),
        ("fraction", json!(1.5)),
        ("string", json!("1")),
        ("null", json!(null)),
    ]
    .map(|(name, value)| {
        malformed(&format!("version-{name}"), "v must be the integer 1", |payload| {
            payload.set("v", value);
        })
    })
    .to_vec()
}

fn algorithms() -> Vec<Vector> {
    let mut vectors = Vec::new();
    let others = [
        ("kem", "ML-KEM-1024", "ml-kem-768"),
        ("sig", "ML-DSA-87", "ml-dsa-65"),
        ("aead", "AES-128-GCM", "aes-256-gcm"),
        ("kdf", "HKDF-SHA-256", "hkdf-sha-512"),
    ];
    for (field, other, lowercase) in others {
        let about = "algorithm names must be the expected ones, to the letter";
        vectors.extend([
            malformed(&format!("algorithm-{field}-other"), about, |payload| {
                payload.object("algs").set(field, other);
            }),
            malformed(&format!("algorithm-{field}-lowercase"), about, |payload| {
                payload.object("algs").set(field, lowercase);
            }),
            malformed(&format!("algorithm-{field}-missing"), about, |payload| {
                payload.object("algs").remove(field);
            }),
        ]);
    }
    vectors.push(malformed(
        "algorithms-ciphersuite-string",
        "algs is an object",
        |payload| {
            payload.set("algs", "ML-KEM-768:ML-DSA-65:AES-256-GCM:HKDF-SHA-512");
        },
    ));
    vectors
}

fn shapes() -> Vec<Vector> {
    let fields = ["v", "algs"].into_iter().chain(BINARY_FIELDS);
    let mut vectors: Vec<_> = fields
        .map(|field| {
            malformed(
                &format!("missing-{}", dashed(field)),
                "every field is required",
                |payload| payload.remove(field),
            )
        })
        .collect();
    vectors.extend(BINARY_FIELDS.map(|field| {
        malformed(&format!("null-{}", dashed(field)), "no field may be null", |payload| {
            payload.set(field, json!(null));
        })
    }));
    vectors
}

fn encodings() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for field in BINARY_FIELDS {
        let name = |rule| format!("base64-{}-{rule}", dashed(field));
        vectors.extend([
            spelled(&name("plus"), "the alphabet has - where base64 has +", field, |text| {
                text.replacen('-', "+", 1)
            }),
            spelled(&name("slash"), "the alphabet has _ where base64 has /", field, |text| {
                text.replacen('_', "/", 1)
            }),
            spelled(&name("padding"), "no padding", field, padded),
            spelled(&name("newline"), "no white space", field, |text| format!("{text}\n")),
        ]);
    }
    // The other fields have a multiple of three bytes: all bits of their last character count.
    for field in ["ct_kem", "server_sig_pk"] {
        let name = format!("base64-{}-trailing-bits", dashed(field));
        vectors.push(spelled(
            &name,
            "the bits of the last character that carry nothing are zero",
            field,
            trailing_bit,
        ));
    }
    vectors
}

/// A payload in which one field is spelled in a way that a lax decoder would take for the same bytes.
fn spelled(name: &str, about: &str, field: &str, change: impl FnOnce(&str) -> String) -> Vector {
    Scenario::new(name, about)
        .given(|scenario| {
            // Bytes whose spelling has both `-` and `_`.
            scenario.aad = vec![0xfb, 0xff, 0xbf, 0xfe];
            scenario.seeds.nonce[..3].copy_from_slice(&[0xfb, 0xff, 0xbf]);
            scenario.plaintext = vec![b'x'; 300];
        })
        .genuine()
        .edited(|payload| {
            let text = change(payload.text(field));
            assert_ne!(text, payload.text(field), "{name} changes nothing");
            payload.set(field, text);
        })
        .expect(Expect::Malformed)
}

/// Padded to a multiple of four characters, and by one character where that changes nothing.
fn padded(text: &str) -> String {
    let missing = (4 - text.len() % 4) % 4;
    format!("{text}{}", "=".repeat(missing.max(1)))
}

/// Sets the last bit of the last character, which carries nothing.
fn trailing_bit(text: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (head, last) = text.split_at(text.len() - 1);
    let value = ALPHABET
        .iter()
        .position(|&symbol| symbol == last.as_bytes()[0])
        .expect("base64url");
    format!("{head}{}", char::from(ALPHABET[value + 1]))
}

fn sizes() -> Vec<Vector> {
    let about = "sizes are exact; the signature covers the wrong one, so nothing else can refuse it";
    let unsigned = "sizes are exact";
    vec![
        size("size-ct-kem-1087", about, |sealed| sealed.ct_kem.truncate(1087)),
        size("size-ct-kem-1089", about, |sealed| sealed.ct_kem.push(0)),
        size("size-ct-kem-empty", about, |sealed| sealed.ct_kem.clear()),
        size("size-nonce-11", about, |sealed| sealed.nonce.truncate(11)),
        size("size-nonce-13", about, |sealed| sealed.nonce.push(0)),
        size("size-ciphertext-15", "a ciphertext has at least its tag", |sealed| {
            sealed.ciphertext.truncate(15);
        }),
        size("size-ciphertext-empty", "a ciphertext has at least its tag", |sealed| {
            sealed.ciphertext.clear();
        }),
        size("size-server-sig-pk-1951", about, |sealed| {
            sealed.server_sig_pk.truncate(1951);
        }),
        size("size-server-sig-pk-1953", about, |sealed| sealed.server_sig_pk.push(0)),
        Scenario::new("size-sig-3308", unsigned)
            .spoiled_after_signing(|_, signature| signature.truncate(3308))
            .expect(Expect::Malformed),
        Scenario::new("size-sig-3310", unsigned)
            .spoiled_after_signing(|_, signature| signature.push(0))
            .expect(Expect::Malformed),
    ]
}

fn size(name: &str, about: &str, change: impl FnOnce(&mut Sealed)) -> Vector {
    Scenario::new(name, about)
        .spoiled_before_signing(change)
        .expect(Expect::Malformed)
}

fn server_keys() -> Vec<Vector> {
    vec![
        Scenario::new(
            "key-substituted",
            "another server's key, with its valid signature, is not the pinned one",
        )
        .given(|scenario| scenario.seeds.server = seed("attacker: xi"))
        .genuine()
        .expect(Expect::KeyMismatch),
        Scenario::new("key-first-byte-flipped", "the comparison covers the first byte")
            .spoiled_after_signing(|sealed, _| sealed.server_sig_pk[0] ^= 1)
            .expect(Expect::KeyMismatch),
        Scenario::new("key-last-byte-flipped", "the comparison covers the last byte")
            .spoiled_after_signing(|sealed, _| sealed.server_sig_pk[1951] ^= 1)
            .expect(Expect::KeyMismatch),
        Scenario::new(
            "key-pinned-is-another",
            "a reader that pinned another key refuses a genuine payload",
        )
        .given(|scenario| scenario.seeds.pinned = seed("another server: xi"))
        .genuine()
        .expect(Expect::KeyMismatch),
    ]
}

fn signatures() -> Vec<Vector> {
    let flipped = "the signature covers this field";
    let signed_otherwise = "the signature is of another transcript";
    vec![
        flipped_after_signing("signature-ct-kem-flipped", flipped, |sealed, _| {
            flip(&mut sealed.ct_kem);
        }),
        flipped_after_signing("signature-nonce-flipped", flipped, |sealed, _| flip(&mut sealed.nonce)),
        flipped_after_signing("signature-aad-flipped", flipped, |sealed, _| flip(&mut sealed.aad)),
        flipped_after_signing("signature-ciphertext-flipped", flipped, |sealed, _| {
            flip(&mut sealed.ciphertext);
        }),
        flipped_after_signing("signature-tag-flipped", flipped, |sealed, _| {
            flip_last(&mut sealed.ciphertext);
        }),
        flipped_after_signing("signature-sig-flipped", "a changed signature", |_, signature| {
            flip(signature);
        }),
        flipped_after_signing(
            "signature-sig-last-byte-flipped",
            "a changed signature",
            |_, signature| {
                flip_last(signature);
            },
        ),
        flipped_after_signing("signature-zero", "no signature at all", |_, signature| {
            signature.fill(0);
        }),
        flipped_after_signing(
            "signature-byte-moved",
            "fields of variable length end where they end",
            |sealed, _| {
                let byte = sealed.ciphertext.remove(0);
                sealed.aad.push(byte);
                sealed.aad.rotate_right(1);
            },
        ),
        Scenario::new("signature-other-context", signed_otherwise)
            .given(|scenario| scenario.signed_context = VAULT_SANDBOX.context)
            .genuine()
            .expect(Expect::Signature),
        Scenario::of(VAULT_SANDBOX, "metadata", "signature-other-profile", signed_otherwise)
            .given(|scenario| {
                scenario.signed_context = SERVICE.context;
                scenario.kdf_context = SERVICE.context;
            })
            .genuine()
            .expect(Expect::Signature),
        Scenario::new(
            "signature-fips-context",
            "the FIPS 204 context string is empty, not the scheme's context",
        )
        .given(|scenario| scenario.fips_context = SERVICE.context.as_bytes())
        .genuine()
        .expect(Expect::Signature),
        Scenario::new(
            "signature-other-key",
            "signed by another key than the one that the payload names",
        )
        .spoiled_after_signing(|sealed, signature| {
            let message = transcript(SERVICE.context, sealed);
            *signature = sign(&seed("attacker: xi"), &seed("attacker: signature"), &message, b"");
        })
        .expect(Expect::Signature),
    ]
}

fn flipped_after_signing(name: &str, about: &str, change: impl FnOnce(&mut Sealed, &mut Vec<u8>)) -> Vector {
    Scenario::new(name, about)
        .spoiled_after_signing(change)
        .expect(Expect::Signature)
}

fn decryptions() -> Vec<Vector> {
    let signed = "signed by the server as it stands, and yet it does not decrypt";
    vec![
        flipped_before_signing("decryption-ct-kem-flipped", signed, |sealed| flip(&mut sealed.ct_kem)),
        flipped_before_signing("decryption-nonce-flipped", signed, |sealed| flip(&mut sealed.nonce)),
        flipped_before_signing("decryption-aad-flipped", signed, |sealed| flip(&mut sealed.aad)),
        flipped_before_signing("decryption-aad-dropped", signed, |sealed| sealed.aad.clear()),
        flipped_before_signing("decryption-ciphertext-flipped", signed, |sealed| {
            flip(&mut sealed.ciphertext);
        }),
        flipped_before_signing("decryption-ciphertext-cut", signed, |sealed| {
            sealed.ciphertext.remove(0);
        }),
        flipped_before_signing("decryption-tag-flipped", signed, |sealed| {
            flip_last(&mut sealed.ciphertext);
        }),
        flipped_before_signing(
            "decryption-tag-only",
            "a ciphertext of 16 bytes is complete, and its tag is wrong",
            |sealed| {
                sealed.ciphertext = vec![0; 16];
            },
        ),
        Scenario::new("decryption-other-context", "the AES key depends on the context")
            .given(|scenario| scenario.kdf_context = VAULT_SANDBOX.context)
            .genuine()
            .expect(Expect::Decryption),
        Scenario::new("decryption-other-client", "sealed for another client")
            .given(|scenario| scenario.seeds.recipient = client_seeds("another client"))
            .genuine()
            .expect(Expect::Decryption),
    ]
}

fn flipped_before_signing(name: &str, about: &str, change: impl FnOnce(&mut Sealed)) -> Vector {
    Scenario::new(name, about)
        .spoiled_before_signing(change)
        .expect(Expect::Decryption)
}

/// Payloads that fail in two ways: the earlier stage answers.
fn stages() -> Vec<Vector> {
    vec![
        Scenario::new(
            "stage-malformed-before-key",
            "sizes are checked before the server key is compared",
        )
        .given(|scenario| scenario.seeds.server = seed("attacker: xi"))
        .spoiled_before_signing(|sealed| sealed.nonce.truncate(11))
        .expect(Expect::Malformed),
        Scenario::new("stage-version-before-key", "so is the version")
            .given(|scenario| scenario.seeds.server = seed("attacker: xi"))
            .genuine()
            .edited(|payload| payload.set("v", 2))
            .expect(Expect::Malformed),
        Scenario::new(
            "stage-key-before-signature",
            "the server key is compared before the signature is verified",
        )
        .given(|scenario| scenario.seeds.server = seed("attacker: xi"))
        .spoiled_after_signing(|_, signature| flip(signature))
        .expect(Expect::KeyMismatch),
        Scenario::new(
            "stage-signature-before-decryption",
            "the signature is verified before anything is decapsulated",
        )
        .given(|scenario| scenario.seeds.recipient = client_seeds("another client"))
        .spoiled_after_signing(|_, signature| flip(signature))
        .expect(Expect::Signature),
    ]
}

fn malformed(name: &str, about: &str, change: impl FnOnce(&mut Object)) -> Vector {
    Scenario::new(name, about)
        .genuine()
        .edited(change)
        .expect(Expect::Malformed)
}

fn dashed(field: &str) -> String {
    field.replace('_', "-")
}

fn flip(bytes: &mut [u8]) {
    bytes[0] ^= 1;
}

fn flip_last(bytes: &mut [u8]) {
    if let Some(byte) = bytes.last_mut() {
        *byte ^= 1;
    }
}
