//! The AES-256-GCM key of one payload.
//!
//! Source: interface, "Encrypted payload", rules 4 and 5; RFC 5869; NIST SP 800-38D.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, Tag, UnboundKey};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA512, KeyType, Salt};
use aws_lc_rs::kem::SharedSecret;
use zeroize::Zeroizing;

use crate::digest::sha256;

/// Bytes of the key.
const KEY_LEN: usize = 32;
/// Bytes of the nonce.
pub(crate) const NONCE_LEN: usize = 12;
/// Bytes of the authentication tag that follows the ciphertext.
pub(crate) const TAG_LEN: usize = 16;

/// A key made for one payload, used once to seal or once to open.
pub(crate) struct PayloadKey(LessSafeKey);

impl PayloadKey {
    /// HKDF-SHA-512 of the shared secret, salted with SHA-256(`ct_kem`), bound to the context and the additional data.
    pub(crate) fn derive(shared_secret: &SharedSecret, ct_kem: &[u8], context: &str, aad: &[u8]) -> Self {
        let aad_len = u32::try_from(aad.len())
            .expect("additional data is shorter than 4 GiB")
            .to_be_bytes();
        let info = [context.as_bytes(), &aad_len, aad];
        let mut key = Zeroizing::new([0; KEY_LEN]);
        hkdf_sha512(&sha256(ct_kem), shared_secret.as_ref(), &info, key.as_mut_slice())
            .expect("32 bytes are within what HKDF-SHA-512 can make");
        Self::from_bytes(&key)
    }

    /// The key of these bytes.
    pub(crate) fn from_bytes(key: &[u8; KEY_LEN]) -> Self {
        Self(LessSafeKey::new(
            UnboundKey::new(&AES_256_GCM, key).expect("AES-256 keys have 32 bytes"),
        ))
    }

    /// Turns plaintext into ciphertext in place, and gives its tag.
    pub(crate) fn seal(&self, nonce: [u8; NONCE_LEN], aad: &[u8], in_out: &mut [u8]) -> Tag {
        self.0
            .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(aad), in_out)
            .expect("messages are far below the 64 GiB that AES-GCM can seal")
    }

    /// Turns ciphertext and tag into plaintext in place, followed by what is left of the tag.
    pub(crate) fn open(&self, nonce: [u8; NONCE_LEN], aad: &[u8], in_out: &mut [u8]) -> Option<()> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.0.open_in_place(nonce, Aad::from(aad), in_out).ok().map(drop)
    }
}

/// Fills `okm` with HKDF-SHA-512 of `ikm`; refused beyond 255 times 64 bytes.
///
/// Source: RFC 5869 sections 2.2 and 2.3.
pub(crate) fn hkdf_sha512(salt: &[u8], ikm: &[u8], info: &[&[u8]], okm: &mut [u8]) -> Result<(), Unspecified> {
    struct Length(usize);

    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }

    Salt::new(HKDF_SHA512, salt)
        .extract(ikm)
        .expand(info, Length(okm.len()))?
        .fill(okm)
}
