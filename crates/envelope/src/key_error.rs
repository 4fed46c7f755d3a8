//! Why bytes are not a key.

use thiserror::Error;

use crate::base64url::InvalidBase64Url;

/// Why bytes are not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The text is not strict base64url.
    #[error(transparent)]
    Encoding(#[from] InvalidBase64Url),
    /// The number of bytes is wrong.
    #[error("not a key of {expected} bytes: it has {actual}")]
    Length {
        /// What the algorithm has.
        expected: usize,
        /// What was given.
        actual: usize,
    },
    /// An encapsulation key has a coefficient of 3329 or more (FIPS 203 section 7.2, modulus check).
    #[error("not an ML-KEM-768 encapsulation key: it fails the FIPS 203 modulus check")]
    Modulus,
    /// A decapsulation key does not hold the hash of its own public part (FIPS 203 section 7.3, hash check).
    #[error("not an ML-KEM-768 decapsulation key: it fails the FIPS 203 hash check")]
    Hash,
    /// The private part of a decapsulation key does not open what was sealed to its public part.
    #[error("not an ML-KEM-768 decapsulation key: its private and public part do not belong together")]
    Mismatch,
    /// The parts of a signing key are out of range or do not belong together.
    #[error("not an ML-DSA-65 private key")]
    Refused,
}

/// Refuses any number of bytes but `expected`.
pub(crate) fn check_length(bytes: &[u8], expected: usize) -> Result<(), KeyError> {
    let actual = bytes.len();
    if actual == expected {
        Ok(())
    } else {
        Err(KeyError::Length { expected, actual })
    }
}
