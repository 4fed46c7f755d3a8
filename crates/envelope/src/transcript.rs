//! What a signature covers.

use crate::{Sealed, VerifyingKey, WireProfile};

/// The version of the payload format.
pub(crate) const VERSION: u8 = 1;
/// The algorithms, as the transcript names them.
const CIPHERSUITE: &[u8] = b"ML-KEM-768:ML-DSA-65:AES-256-GCM:HKDF-SHA-512";

/// Everything that a reader relies on, in the order in which it is signed.
///
/// Source: interface, "Encrypted payload", rule 1.
pub(crate) struct Transcript<'a> {
    /// Whose context string.
    pub(crate) profile: WireProfile,
    /// KEM ciphertext, nonce, ciphertext.
    pub(crate) sealed: &'a Sealed,
    /// The additional data in the payload.
    pub(crate) aad: &'a [u8],
    /// The server's public key in the payload.
    pub(crate) verifying_key: &'a VerifyingKey,
}

impl Transcript<'_> {
    /// The signed bytes: ML-DSA takes its message in one piece.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        [
            &[VERSION],
            CIPHERSUITE,
            self.profile.context().as_bytes(),
            self.sealed.ct_kem(),
            self.sealed.nonce(),
            self.aad,
            self.sealed.ciphertext(),
            self.verifying_key.as_bytes(),
        ]
        .concat()
    }
}
