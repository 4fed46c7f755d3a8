//! ML-DSA-65 keys and signatures.
//!
//! The FIPS 204 context string is empty and signing is hedged (decisions, section 5).
//!
//! Source: FIPS 204.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::encoding::AsRawBytes as _;
use aws_lc_rs::signature::{KeyPair as _, ML_DSA_65, ML_DSA_65_SIGNING, PqdsaKeyPair, VerificationAlgorithm as _};
use zeroize::Zeroizing;

use crate::base64url;
use crate::digest::ct_eq;
use crate::key_error::{KeyError, check_length};

/// The server's ML-DSA-65 public key, which clients pin when they create an inbox.
///
/// Cloning it costs nothing: every payload carries the same one. Comparing takes constant time.
#[derive(Clone)]
pub struct VerifyingKey(Arc<[u8; Self::LEN]>);

impl VerifyingKey {
    /// Bytes of a key.
    pub const LEN: usize = 1952;

    /// A key of 1952 bytes; any such bytes are a key (FIPS 204 section 7.2, pkDecode).
    ///
    /// # Errors
    /// `Length`.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        check_length(bytes, Self::LEN)?;
        Ok(Self(Arc::new(bytes.try_into().expect("the length was checked"))))
    }

    /// A key in strict base64url, as `serverSigPk` carries it.
    ///
    /// # Errors
    /// `Encoding`, `Length`.
    pub fn from_base64url(text: &str) -> Result<Self, KeyError> {
        Self::parse(&base64url::decode(text)?)
    }

    /// The bytes of the key.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// Whether `signature` is one of `message` under this key.
    pub(crate) fn verifies(&self, message: &[u8], signature: &Signature) -> bool {
        ML_DSA_65
            .verify_sig(self.as_bytes(), message, signature.as_bytes())
            .is_ok()
    }
}

impl PartialEq for VerifyingKey {
    fn eq(&self, other: &Self) -> bool {
        ct_eq(self.as_bytes(), other.as_bytes())
    }
}

impl Eq for VerifyingKey {}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VerifyingKey")
            .field(&base64url::encode(&self.0[..8]))
            .finish()
    }
}

/// The server's ML-DSA-65 secret key.
pub struct SigningKey {
    pair: PqdsaKeyPair,
    verifying_key: VerifyingKey,
}

impl SigningKey {
    /// Bytes of the expanded secret key.
    pub const LEN: usize = 4032;

    /// A new key of the system's random number generator.
    pub fn generate() -> Self {
        let pair = PqdsaKeyPair::generate(&ML_DSA_65_SIGNING).expect("the system's random number generator answers");
        Self::from_pair(pair)
    }

    /// The key that [`expose`](Self::expose) wrote: 4032 bytes (FIPS 204 section 7.2, skEncode).
    ///
    /// # Errors
    /// `Length`; `Refused` when a part is out of range or does not belong to the others (of all parts only `K`, which
    /// feeds the randomness of signatures, may have any value).
    pub fn from_raw(bytes: &[u8]) -> Result<Self, KeyError> {
        check_length(bytes, Self::LEN)?;
        let pair = PqdsaKeyPair::from_raw_private_key(&ML_DSA_65_SIGNING, bytes).map_err(|_| KeyError::Refused)?;
        Ok(Self::from_pair(pair))
    }

    /// The public key.
    pub fn verifying_key(&self) -> &VerifyingKey {
        &self.verifying_key
    }

    /// The secret bytes, to be kept in a file that only the server reads.
    pub fn expose(&self) -> Zeroizing<Vec<u8>> {
        let raw = self
            .pair
            .private_key()
            .as_raw_bytes()
            .expect("a key pair has its private key");
        Zeroizing::new(raw.as_ref().to_vec())
    }

    /// A hedged signature of `message` with the empty context string.
    pub(crate) fn sign(&self, message: &[u8]) -> Signature {
        let mut signature = Box::new([0; Signature::LEN]);
        self.pair
            .sign(message, signature.as_mut_slice())
            .expect("the buffer has the length of a signature");
        Signature(signature)
    }

    fn from_pair(pair: PqdsaKeyPair) -> Self {
        let verifying_key = VerifyingKey::parse(pair.public_key().as_ref()).expect("an ML-DSA-65 key of 1952 bytes");
        Self { pair, verifying_key }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("verifying_key", &self.verifying_key)
            .finish_non_exhaustive()
    }
}

/// An ML-DSA-65 signature of 3309 bytes, valid or not.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature(Box<[u8; Self::LEN]>);

impl Signature {
    /// Bytes of a signature.
    pub const LEN: usize = 3309;

    /// A signature read back; `None` when its length is wrong.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self(Box::new(bytes.try_into().ok()?)))
    }

    /// The bytes of the signature.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signature")
            .field(&base64url::encode(&self.0[..8]))
            .finish()
    }
}
