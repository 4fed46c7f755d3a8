//! The JSON form of a sealed part, written and strictly read.
//!
//! Source: interface, "Encrypted payload".

use std::borrow::Cow;

use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::payload_key::NONCE_LEN;
use crate::sealed::CT_KEM_LEN;
use crate::transcript::VERSION;
use crate::{OpenError, PayloadPart, Sealed, Signature, VerifyingKey, WireProfile, base64url};

/// The encrypted payload as the API hands it out: of the right shape, and not yet proven genuine.
///
/// It serialises in the key order `v, algs, ct_kem, nonce, aad, ciphertext, sig, server_sig_pk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedPayload {
    pub(crate) sealed: Sealed,
    pub(crate) aad: Cow<'static, [u8]>,
    pub(crate) signature: Signature,
    pub(crate) verifying_key: VerifyingKey,
}

impl SealedPayload {
    /// Puts together what [`seal`](crate::seal) and [`Sealed::sign`] made, with the same profile and part.
    pub fn new(
        sealed: Sealed,
        profile: WireProfile,
        part: PayloadPart,
        signature: Signature,
        verifying_key: VerifyingKey,
    ) -> Self {
        Self {
            sealed,
            aad: Cow::Borrowed(profile.aad(part)),
            signature,
            verifying_key,
        }
    }

    /// The bytes of the sealed part: about what the payload takes in memory, and three quarters of its JSON.
    pub fn sealed_bytes(&self) -> usize {
        self.sealed.as_bytes().len()
    }

    /// Reads a payload from JSON text.
    ///
    /// # Errors
    /// `Malformed` when it is not JSON, a field is missing, twice there or of the wrong type, `v` is not 1, an
    /// algorithm is another one, a field is not strict base64url, or a size is wrong.
    /// Other fields than those of version 1 are ignored: readers do not use them, and `v` announces what matters.
    pub fn from_json(json: &[u8]) -> Result<Self, OpenError> {
        serde_json::from_slice(json).map_err(|_| OpenError::Malformed)
    }
}

/// The names of the four algorithms, as payloads and the server's description of itself spell them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Algs<'a> {
    #[serde(borrow)]
    kem: Cow<'a, str>,
    #[serde(borrow)]
    sig: Cow<'a, str>,
    #[serde(borrow)]
    aead: Cow<'a, str>,
    #[serde(borrow)]
    kdf: Cow<'a, str>,
}

impl Algs<'static> {
    /// The only set of version 1.
    pub const V1: Self = Self {
        kem: Cow::Borrowed("ML-KEM-768"),
        sig: Cow::Borrowed("ML-DSA-65"),
        aead: Cow::Borrowed("AES-256-GCM"),
        kdf: Cow::Borrowed("HKDF-SHA-512"),
    };
}

impl Algs<'_> {
    /// The same names, kept by themselves.
    pub fn into_owned(self) -> Algs<'static> {
        let owned = |name: Cow<'_, str>| Cow::Owned(name.into_owned());
        Algs {
            kem: owned(self.kem),
            sig: owned(self.sig),
            aead: owned(self.aead),
            kdf: owned(self.kdf),
        }
    }
}

impl Serialize for SealedPayload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("SealedPayload", 8)?;
        object.serialize_field("v", &VERSION)?;
        object.serialize_field("algs", &Algs::V1)?;
        object.serialize_field("ct_kem", &Base64Url(self.sealed.ct_kem()))?;
        object.serialize_field("nonce", &Base64Url(self.sealed.nonce()))?;
        object.serialize_field("aad", &Base64Url(&self.aad))?;
        object.serialize_field("ciphertext", &Base64Url(self.sealed.ciphertext()))?;
        object.serialize_field("sig", &Base64Url(self.signature.as_bytes()))?;
        object.serialize_field("server_sig_pk", &Base64Url(self.verifying_key.as_bytes()))?;
        object.end()
    }
}

/// Bytes that are spelled out while they are written.
struct Base64Url<'a>(&'a [u8]);

impl Serialize for Base64Url<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        base64url::serialize(self.0, serializer)
    }
}

/// The JSON object before anything but its field types has been checked.
#[derive(Deserialize)]
struct Fields<'a> {
    v: u64,
    #[serde(borrow)]
    algs: Algs<'a>,
    #[serde(borrow)]
    ct_kem: Cow<'a, str>,
    #[serde(borrow)]
    nonce: Cow<'a, str>,
    #[serde(borrow)]
    aad: Cow<'a, str>,
    #[serde(borrow)]
    ciphertext: Cow<'a, str>,
    #[serde(borrow)]
    sig: Cow<'a, str>,
    #[serde(borrow)]
    server_sig_pk: Cow<'a, str>,
}

impl Fields<'_> {
    /// The reader rules on version, algorithms and sizes (interface, "Encrypted payload", rule 6).
    fn check(&self) -> Option<SealedPayload> {
        (self.v == u64::from(VERSION) && self.algs == Algs::V1).then_some(())?;
        Some(SealedPayload {
            sealed: self.sealed()?,
            aad: Cow::Owned(base64url::decode(&*self.aad).ok()?),
            signature: Signature::parse(&base64url::decode(&*self.sig).ok()?)?,
            verifying_key: VerifyingKey::from_base64url(&self.server_sig_pk).ok()?,
        })
    }

    /// The three sealed fields, decoded into one buffer.
    fn sealed(&self) -> Option<Sealed> {
        let mut bytes = base64url::decode_array::<CT_KEM_LEN>(&*self.ct_kem)?.to_vec();
        bytes.extend(base64url::decode_array::<NONCE_LEN>(&*self.nonce)?);
        base64url::decode_onto(&*self.ciphertext, &mut bytes).ok()?;
        // A ciphertext without room for its tag is malformed too.
        Sealed::from_bytes(bytes).ok()
    }
}

impl<'de> Deserialize<'de> for SealedPayload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::deserialize(deserializer)?
            .check()
            .ok_or_else(|| D::Error::custom(OpenError::Malformed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload_key::TAG_LEN;

    fn payload() -> SealedPayload {
        let sealed = Sealed::from_bytes(vec![0xfb; CT_KEM_LEN + NONCE_LEN + TAG_LEN + 5]).unwrap();
        let signature = Signature::parse(&[0xff; Signature::LEN]).unwrap();
        let key = VerifyingKey::parse(&[7; VerifyingKey::LEN]).unwrap();
        SealedPayload::new(sealed, WireProfile::Service, PayloadPart::Parsed, signature, key)
    }

    #[test]
    fn keys_are_written_in_their_order() {
        let text = serde_json::to_string(&payload()).unwrap();
        let algs = r#"{"kem":"ML-KEM-768","sig":"ML-DSA-65","aead":"AES-256-GCM","kdf":"HKDF-SHA-512"}"#;
        let spelled = |byte, len| base64url::encode(vec![byte; len]);
        let expected = format!(
            r#"{{"v":1,"algs":{algs},"ct_kem":"{}","nonce":"{}","aad":"{}","ciphertext":"{}","sig":"{}","server_sig_pk":"{}"}}"#,
            spelled(0xfb, 1088),
            spelled(0xfb, 12),
            base64url::encode("service:parsed"),
            spelled(0xfb, 21),
            spelled(0xff, 3309),
            spelled(7, 1952),
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn what_was_written_is_read() {
        let json = serde_json::to_vec(&payload()).unwrap();
        assert_eq!(SealedPayload::from_json(&json), Ok(payload()));
        // Through a value, as part of a larger response, with owned strings.
        let value = serde_json::to_value(payload()).unwrap();
        assert_eq!(serde_json::from_value::<SealedPayload>(value).unwrap(), payload());
    }

    #[test]
    fn text_that_is_not_one_object_is_malformed() {
        let json = serde_json::to_string(&payload()).unwrap();
        let twice = json.replacen("\"v\":1", "\"v\":1,\"v\":1", 1);
        let algorithm_twice = json.replacen("\"kem\":", "\"kem\":\"ML-KEM-768\",\"kem\":", 1);
        let trailing = format!("{json}x");
        let array = format!("[{json}]");
        for text in [
            "",
            "null",
            "{}",
            "[]",
            "1",
            &json[..json.len() - 1],
            &twice,
            &algorithm_twice,
            &trailing,
            &array,
        ] {
            assert_eq!(
                SealedPayload::from_json(text.as_bytes()),
                Err(OpenError::Malformed),
                "{text:.40}"
            );
        }
        assert_eq!(SealedPayload::from_json(b"\xff"), Err(OpenError::Malformed));
    }
}
