//! ML-KEM-768 keys.
//!
//! Source: FIPS 203; interface, "Encrypted payload", rule 7.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::kem::{self, ML_KEM_768};
use zeroize::Zeroizing;

use crate::base64url;
use crate::digest::ct_eq;
use crate::key_error::{KeyError, check_length};

/// The private part at the beginning of a decapsulation key.
const PRIVATE_LEN: usize = 1152;
/// Where the hash of the public part begins.
const HASH_START: usize = PRIVATE_LEN + EncapsulationKey::LEN;
/// Where the implicit-rejection secret `z` begins.
const REJECTION_START: usize = HASH_START + 32;

/// A client's ML-KEM-768 public key that has passed the check of its input.
///
/// Cloning it costs nothing: inboxes share one copy.
///
/// Source: FIPS 203 section 7.2.
#[derive(Clone, PartialEq, Eq)]
pub struct EncapsulationKey(Arc<[u8; Self::LEN]>);

impl EncapsulationKey {
    /// Bytes of a key.
    pub const LEN: usize = 1184;

    /// A key of 1184 bytes that passes the FIPS 203 modulus check.
    ///
    /// # Errors
    /// `Length`, `Modulus`.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        check_length(bytes, Self::LEN)?;
        let key = Self(Arc::new(bytes.try_into().expect("the length was checked")));
        // The library takes any 1184 bytes for a key and makes the modulus check when it encapsulates.
        key.kem().encapsulate().map_err(|_| KeyError::Modulus)?;
        Ok(key)
    }

    /// A key in strict base64url, as `clientKemPk` carries it.
    ///
    /// # Errors
    /// `Encoding`, then as [`parse`](Self::parse).
    pub fn from_base64url(text: &str) -> Result<Self, KeyError> {
        Self::parse(&base64url::decode(text)?)
    }

    /// The bytes of the key.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// A fresh shared secret and the ciphertext that carries it.
    pub(crate) fn encapsulate(&self) -> (kem::Ciphertext<'static>, kem::SharedSecret) {
        self.kem().encapsulate().expect("parse() has encapsulated to this key")
    }

    fn kem(&self) -> kem::EncapsulationKey {
        kem::EncapsulationKey::new(&ML_KEM_768, self.as_bytes()).expect("the library checks the length only")
    }
}

impl fmt::Debug for EncapsulationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EncapsulationKey")
            .field(&base64url::encode(&self.0[..8]))
            .finish()
    }
}

/// A client's ML-KEM-768 secret key.
///
/// Layout: private part (1152), public part (1184), SHA3-256 of the public part (32), `z` (32).
pub struct DecapsulationKey {
    bytes: Zeroizing<Vec<u8>>,
    kem: kem::DecapsulationKey,
    encapsulation_key: EncapsulationKey,
}

impl DecapsulationKey {
    /// Bytes of a key.
    pub const LEN: usize = 2400;

    /// A new key of the system's random number generator.
    pub fn generate() -> Self {
        let key = kem::DecapsulationKey::generate(&ML_KEM_768).expect("the system's random number generator answers");
        let bytes = key.key_bytes().expect("a generated key has its bytes");
        Self::parse(bytes.as_ref()).expect("a generated key passes the check of imported ones")
    }

    /// An imported key of 2400 bytes whose parts belong together.
    ///
    /// Checked are the length, the hash of the public part, the modulus of the public part, and that the private part
    /// decapsulates what the public part encapsulated.
    /// A changed `z` cannot be found: it is 32 independent random bytes that only answer forged ciphertexts.
    ///
    /// Source: FIPS 203 section 7.3.
    ///
    /// # Errors
    /// `Length`, `Hash`, `Modulus`, `Mismatch`.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyError> {
        check_length(bytes, Self::LEN)?;
        let public = &bytes[PRIVATE_LEN..HASH_START];
        if !ct_eq(&sha3_256(public), &bytes[HASH_START..REJECTION_START]) {
            return Err(KeyError::Hash);
        }
        let encapsulation_key = EncapsulationKey::parse(public)?;
        let kem = kem::DecapsulationKey::new(&ML_KEM_768, bytes).map_err(|_| KeyError::Mismatch)?;
        check_pair(&encapsulation_key, &kem)?;
        Ok(Self {
            bytes: Zeroizing::new(bytes.to_vec()),
            kem,
            encapsulation_key,
        })
    }

    /// The public key, which is part of the secret one.
    pub fn encapsulation_key(&self) -> &EncapsulationKey {
        &self.encapsulation_key
    }

    /// The secret bytes, for export.
    pub fn expose(&self) -> &[u8] {
        &self.bytes
    }

    /// The shared secret that a ciphertext of 1088 bytes carries.
    ///
    /// A forged ciphertext gives another secret, not an error (FIPS 203, implicit rejection).
    pub(crate) fn decapsulate(&self, ct_kem: &[u8]) -> Option<kem::SharedSecret> {
        self.kem.decapsulate(ct_kem.into()).ok()
    }
}

impl fmt::Debug for DecapsulationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecapsulationKey").finish_non_exhaustive()
    }
}

/// One encapsulation and decapsulation: a changed private part shows only there.
fn check_pair(public: &EncapsulationKey, secret: &kem::DecapsulationKey) -> Result<(), KeyError> {
    let (ciphertext, sent) = public.encapsulate();
    let received = secret.decapsulate(ciphertext).map_err(|_| KeyError::Mismatch)?;
    if ct_eq(sent.as_ref(), received.as_ref()) {
        Ok(())
    } else {
        Err(KeyError::Mismatch)
    }
}

fn sha3_256(bytes: &[u8]) -> [u8; 32] {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA3_256, bytes);
    digest.as_ref().try_into().expect("SHA3-256 makes 32 bytes")
}
