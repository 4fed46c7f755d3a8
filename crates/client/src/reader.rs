//! From a document as it came to its bytes: decoded, or verified and then opened.
//!
//! Source: interface, "Encrypted payload", rule 6.

use std::ops::Deref;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::{DecapsulationKey, Plaintext, SealedPayload, VerifyingKey, WireProfile};

use crate::inbox::InboxKeys;
use crate::record::Part;
use crate::{Error, SignatureError};

/// Reads the documents of one inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reader<'a> {
    /// There is nothing to open.
    Plain,
    /// Nothing is opened that the pinned key has not signed.
    Encrypted {
        key: &'a DecapsulationKey,
        pinned: &'a VerifyingKey,
        profile: WireProfile,
    },
}

/// The bytes of a document; what was sealed is wiped when dropped. `Debug` shows none of it.
pub(crate) enum Document {
    /// What the server knows too.
    Decoded(Vec<u8>),
    /// What only this client knows.
    Opened(Plaintext),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(keys: &'a InboxKeys, profile: WireProfile) -> Self {
        match keys {
            InboxKeys::Plain => Self::Plain,
            InboxKeys::Encrypted { key, pinned } => Self::Encrypted { key, pinned, profile },
        }
    }

    /// The bytes of a document.
    ///
    /// In this order: version, algorithms and sizes; the server key against the pinned one, in constant time; the
    /// signature; decapsulation and decryption.
    ///
    /// # Errors
    /// [`Error::SignatureVerification`] and [`Error::Decryption`].
    /// A document in clear that came for an encrypted inbox is refused like one without a signature: whoever stands
    /// between could have written it.
    pub(crate) fn read(self, part: Part<'_>) -> Result<Document, Error> {
        match (self, part) {
            (Self::Plain, Part::Plain(json)) => decoded(json).map(Document::Decoded),
            (Self::Encrypted { key, pinned, profile }, Part::Sealed(json)) => {
                let payload = SealedPayload::from_json(json.as_bytes())?;
                Ok(Document::Opened(payload.verify(pinned, profile)?.open(key)?))
            }
            (Self::Encrypted { .. }, Part::Plain(_)) => Err(Error::SignatureVerification(SignatureError::Invalid)),
            (Self::Plain, Part::Sealed(_)) => Err(Error::Decryption),
        }
    }
}

/// The bytes that a JSON string of standard base64 spells.
fn decoded(json: &str) -> Result<Vec<u8>, Error> {
    let text: String = serde_json::from_str(json).map_err(|_| Error::Decryption)?;
    STANDARD.decode(text).map_err(|_| Error::Decryption)
}

impl Deref for Document {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Decoded(bytes) => bytes,
            Self::Opened(plaintext) => plaintext.expose(),
        }
    }
}

impl std::fmt::Debug for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Document(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use restante_envelope::base64url;
    use serde_json::{Value, json};

    use super::*;

    /// A payload of `tests/vectors/envelope`, which another implementation made.
    struct Vector {
        expect: String,
        keys: InboxKeys,
        profile: WireProfile,
        plaintext: Vec<u8>,
        payload: String,
    }

    fn vector(text: &str) -> Vector {
        let json: Value = serde_json::from_str(text).unwrap();
        let field = |name: &str| json[name].as_str().unwrap();
        let bytes = |name| base64url::decode(field(name)).unwrap();
        Vector {
            expect: field("expect").to_owned(),
            keys: InboxKeys::Encrypted {
                key: DecapsulationKey::parse(&bytes("clientSecretKey")).unwrap(),
                pinned: VerifyingKey::from_base64url(field("pinnedServerKey")).unwrap(),
            },
            profile: field("profile").parse().unwrap(),
            plaintext: bytes("plaintext"),
            payload: json["payload"].to_string(),
        }
    }

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/envelope")
    }

    fn named(name: &str) -> Vector {
        vector(&std::fs::read_to_string(folder().join(name)).unwrap())
    }

    fn read(vector: &Vector) -> Result<Vec<u8>, Error> {
        let reader = Reader::new(&vector.keys, vector.profile);
        reader.read(Part::Sealed(&vector.payload)).map(|bytes| bytes.to_vec())
    }

    /// What the vectors call the error.
    fn stage(error: &Error) -> &'static [&'static str] {
        match error {
            Error::SignatureVerification(SignatureError::ServerKeyMismatch) => &["key-mismatch"],
            Error::SignatureVerification(SignatureError::Invalid) => &["signature"],
            Error::Decryption => &["malformed", "decryption"],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_vector_of_another_implementation_opens_or_is_refused_with_its_kind() {
        let mut counts = BTreeMap::<String, usize>::new();
        for entry in std::fs::read_dir(folder()).unwrap() {
            let path = entry.unwrap().path();
            let vector = vector(&std::fs::read_to_string(&path).unwrap());
            match read(&vector) {
                Ok(bytes) => {
                    assert_eq!(vector.expect, "success", "{path:?}");
                    assert_eq!(bytes, vector.plaintext, "{path:?}");
                }
                Err(error) => assert!(stage(&error).contains(&vector.expect.as_str()), "{path:?}: {error:?}"),
            }
            *counts.entry(vector.expect).or_default() += 1;
        }
        for expect in ["success", "malformed", "key-mismatch", "signature", "decryption"] {
            assert!(counts[expect] > 3, "{counts:?}");
        }
    }

    #[test]
    fn a_failure_does_not_tell_whether_signature_or_decryption_failed() {
        let text = |name| read(&named(name)).unwrap_err().to_string();
        let texts = [
            "signature-ciphertext-flipped.json",
            "decryption-ciphertext-flipped.json",
            "missing-sig.json",
        ];
        let texts = texts.map(text);
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[1], texts[2]);
    }

    #[test]
    fn a_document_in_clear_is_none_of_an_encrypted_inbox() {
        let vector = named("success-service-metadata.json");
        let clear = json!(STANDARD.encode(&vector.plaintext)).to_string();
        let result = Reader::new(&vector.keys, vector.profile).read(Part::Plain(&clear));
        let invalid = matches!(result, Err(Error::SignatureVerification(SignatureError::Invalid)));
        assert!(invalid, "{result:?}");
        let result = Reader::Plain.read(Part::Sealed(&vector.payload));
        assert!(matches!(result, Err(Error::Decryption)), "{result:?}");
    }

    #[test]
    fn a_plain_document_is_standard_base64_in_a_string() {
        let read = |json| Reader::Plain.read(Part::Plain(json)).map(|bytes| bytes.to_vec());
        assert_eq!(read(r#""_w==""#).ok(), None);
        assert_eq!(read(r#""\/w==""#).ok(), Some(vec![0xff]));
        for damaged in [r#""/w""#, r#""/w=""#, "7", "null", "{}", r#"" ""#] {
            assert!(matches!(read(damaged), Err(Error::Decryption)), "{damaged}");
        }
    }

    #[test]
    fn no_document_is_shown() {
        let vector = named("success-service-metadata.json");
        let opened = Reader::new(&vector.keys, vector.profile)
            .read(Part::Sealed(&vector.payload))
            .unwrap();
        let decoded = Reader::Plain.read(Part::Plain(r#""YWJj""#)).unwrap();
        assert_eq!(format!("{opened:?}{decoded:?}"), "Document(..)Document(..)");
    }
}
