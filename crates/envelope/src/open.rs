//! Verify, then open.
//!
//! Source: interface, "Encrypted payload", rule 6.

use std::fmt;

use thiserror::Error;
use zeroize::Zeroizing;

use crate::payload_key::{NONCE_LEN, PayloadKey, TAG_LEN};
use crate::sealed::CIPHERTEXT_START;
use crate::transcript::Transcript;
use crate::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile};

/// At which stage a payload was refused.
///
/// The text is the same for all: a message that reached a log or a peer must not tell whether signature or decryption
/// failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the payload cannot be opened")]
pub enum OpenError {
    /// Its shape, version, algorithms or sizes are wrong.
    Malformed,
    /// Its server key is not the pinned one: a possible key substitution.
    KeyMismatch,
    /// Its signature does not verify under the pinned key.
    Signature,
    /// It does not decrypt under the client's key.
    Decryption,
}

/// A payload that the pinned server key has signed.
#[derive(Debug)]
pub struct VerifiedPayload {
    payload: SealedPayload,
    profile: WireProfile,
}

/// What was sealed; wiped when dropped.
pub struct Plaintext(Zeroizing<Vec<u8>>);

impl SealedPayload {
    /// Proves that the server whose key the client pinned has signed the payload.
    ///
    /// The additional data is taken as it stands in the payload; its value is never checked.
    ///
    /// # Errors
    /// `KeyMismatch`, compared in constant time and first; then `Signature`.
    pub fn verify(self, pinned: &VerifyingKey, profile: WireProfile) -> Result<VerifiedPayload, OpenError> {
        if self.verifying_key != *pinned {
            return Err(OpenError::KeyMismatch);
        }
        let transcript = Transcript {
            profile,
            sealed: &self.sealed,
            aad: &self.aad,
            verifying_key: pinned,
        };
        if !pinned.verifies(&transcript.to_bytes(), &self.signature) {
            return Err(OpenError::Signature);
        }
        Ok(VerifiedPayload { payload: self, profile })
    }
}

impl VerifiedPayload {
    /// Decapsulates and decrypts, in the buffer of the payload.
    ///
    /// # Errors
    /// `Decryption`.
    pub fn open(self, key: &DecapsulationKey) -> Result<Plaintext, OpenError> {
        let SealedPayload { sealed, aad, .. } = self.payload;
        let shared_secret = key.decapsulate(sealed.ct_kem()).ok_or(OpenError::Decryption)?;
        let payload_key = PayloadKey::derive(&shared_secret, sealed.ct_kem(), self.profile.context(), &aad);
        let nonce: [u8; NONCE_LEN] = sealed.nonce().try_into().expect("a sealed part has its nonce");

        let mut bytes = Zeroizing::new(sealed.into_bytes());
        payload_key
            .open(nonce, &aad, &mut bytes[CIPHERTEXT_START..])
            .ok_or(OpenError::Decryption)?;
        let plaintext_end = bytes.len() - TAG_LEN;
        bytes.truncate(plaintext_end);
        Ok(Plaintext(bytes))
    }
}

impl Plaintext {
    /// The bytes that were sealed.
    pub fn expose(&self) -> &[u8] {
        &self.0[CIPHERTEXT_START..]
    }
}

impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plaintext").finish_non_exhaustive()
    }
}
