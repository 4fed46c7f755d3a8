//! The AES-256-GCM key of one payload.
//!
//! Source: interface, "Encrypted payload", rules 4 and 5; RFC 5869; NIST SP 800-38D.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA512, Salt};
use aws_lc_rs::kem::SharedSecret;
use zeroize::Zeroizing;

use crate::digest::sha256;

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
        let prk = Salt::new(HKDF_SHA512, &sha256(ct_kem)).extract(shared_secret.as_ref());
        let okm = prk
            .expand(&info, &AES_256_GCM)
            .expect("32 bytes are within what HKDF can make");
        let mut key = Zeroizing::new([0; 32]);
        okm.fill(key.as_mut_slice()).expect("AES-256 keys have 32 bytes");
        Self(LessSafeKey::new(
            UnboundKey::new(&AES_256_GCM, key.as_slice()).expect("AES-256 keys have 32 bytes"),
        ))
    }

    /// Writes the ciphertext of `plaintext` and its tag into `out`, which is 16 bytes longer.
    pub(crate) fn seal(&self, nonce: [u8; NONCE_LEN], aad: &[u8], plaintext: &[u8], out: &mut [u8]) {
        let (ciphertext, tag) = out.split_at_mut(plaintext.len());
        self.0
            .seal_out_of_place_scatter(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(aad),
                plaintext,
                ciphertext,
                &[],
                tag,
            )
            .expect("messages are far below the 64 GiB that AES-GCM can seal");
    }

    /// Turns ciphertext and tag into plaintext in place, followed by what is left of the tag.
    pub(crate) fn open(&self, nonce: [u8; NONCE_LEN], aad: &[u8], in_out: &mut [u8]) -> Option<()> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.0.open_in_place(nonce, Aad::from(aad), in_out).ok().map(drop)
    }
}
