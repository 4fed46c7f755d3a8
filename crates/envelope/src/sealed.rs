//! The compact form of a sealed part: what the store keeps.

use std::fmt;

use thiserror::Error;

use crate::payload_key::{NONCE_LEN, TAG_LEN};
use crate::transcript::Transcript;
use crate::{PayloadPart, Signature, SigningKey, WireProfile};

/// Bytes of the KEM ciphertext.
pub(crate) const CT_KEM_LEN: usize = 1088;
/// Where the ciphertext begins.
pub(crate) const CIPHERTEXT_START: usize = CT_KEM_LEN + NONCE_LEN;

/// One part of an email, sealed and not yet signed.
///
/// One buffer: KEM ciphertext (1088), nonce (12), AES-GCM ciphertext with its tag.
/// What is the same for all parts (algorithms, server key, additional data) is not in it.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(Vec<u8>);

/// The bytes are too few to be a [`Sealed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a sealed part has at least {} bytes", Sealed::OVERHEAD)]
pub struct SealedTooShort;

impl Sealed {
    /// By how many bytes the sealed form is longer than its plaintext.
    pub const OVERHEAD: usize = CIPHERTEXT_START + TAG_LEN;

    /// The form that [`as_bytes`](Self::as_bytes) gave.
    ///
    /// # Errors
    /// [`SealedTooShort`] when there is no room for KEM ciphertext, nonce and tag.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, SealedTooShort> {
        let bytes = bytes.into();
        if bytes.len() < Self::OVERHEAD {
            Err(SealedTooShort)
        } else {
            Ok(Self(bytes))
        }
    }

    /// The compact binary form.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The compact binary form, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The KEM ciphertext.
    pub fn ct_kem(&self) -> &[u8] {
        &self.0[..CT_KEM_LEN]
    }

    /// The nonce.
    pub fn nonce(&self) -> &[u8] {
        &self.0[CT_KEM_LEN..CIPHERTEXT_START]
    }

    /// The AES-GCM ciphertext followed by its tag of 16 bytes.
    pub fn ciphertext(&self) -> &[u8] {
        &self.0[CIPHERTEXT_START..]
    }

    /// The server's signature over this part, made at arrival or at first read.
    ///
    /// Source: interface, "Encrypted payload", rules 1 and 2.
    pub fn sign(&self, profile: WireProfile, part: PayloadPart, key: &SigningKey) -> Signature {
        let aad = profile.aad(part);
        key.sign(
            &Transcript {
                profile,
                sealed: self,
                aad,
                verifying_key: key.verifying_key(),
            }
            .to_bytes(),
        )
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("bytes", &self.0.len()).finish()
    }
}
