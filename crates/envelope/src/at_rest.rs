//! Sealing what the server itself reads again: queued webhook events, webhook configurations (decisions, section 5).

use std::fmt;

use zeroize::Zeroizing;

use crate::digest::{hmac_sha256, random_bytes};
use crate::payload_key::{NONCE_LEN, PayloadKey, TAG_LEN};

/// Random bytes at the start of what is sealed: those that the key is made of, then the nonce.
const SALT_LEN: usize = 12;
const START: usize = SALT_LEN + NONCE_LEN;

/// A key of the server's own, for bytes at rest.
///
/// Each text gets an AES-256-GCM key of its own, made with HMAC-SHA-256 of 12 random bytes, and a random nonce: 24
/// random bytes together, so that no number of texts under one key brings two alike.
pub struct AtRestKey(Zeroizing<[u8; 32]>);

impl AtRestKey {
    /// The key of these bytes.
    pub fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self(key)
    }

    /// Seals a text for one place: it opens under the same `context` only.
    pub fn seal(&self, context: &[u8], plaintext: &[u8]) -> Vec<u8> {
        let (salt, nonce) = (random_bytes::<SALT_LEN>(), random_bytes::<NONCE_LEN>());
        let mut bytes = Vec::with_capacity(START + plaintext.len() + TAG_LEN);
        bytes.extend_from_slice(&salt);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(plaintext);
        let tag = self.text_key(&salt).seal(nonce, context, &mut bytes[START..]);
        bytes.extend_from_slice(tag.as_ref());
        bytes
    }

    /// Opens what [`AtRestKey::seal`] gave; `None` if it is not that, or of another key or context.
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (salt, rest) = sealed.split_first_chunk::<SALT_LEN>()?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LEN>()?;
        let len = ciphertext.len().checked_sub(TAG_LEN)?;
        let mut text = Zeroizing::new(ciphertext.to_vec());
        self.text_key(salt).open(*nonce, context, &mut text)?;
        text.truncate(len);
        Some(text)
    }

    fn text_key(&self, salt: &[u8]) -> PayloadKey {
        let key = Zeroizing::new(hmac_sha256(self.0.as_slice(), &[b"at rest", salt].concat()));
        PayloadKey::from_bytes(&key)
    }
}

impl fmt::Debug for AtRestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtRestKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> AtRestKey {
        AtRestKey::new(Zeroizing::new([byte; 32]))
    }

    #[test]
    fn what_is_sealed_opens_under_the_same_key_and_context_only() {
        let sealed = key(1).seal(b"event", b"text");
        assert_eq!(key(1).open(b"event", &sealed).unwrap().as_slice(), b"text");
        assert_eq!(key(1).open(b"config", &sealed), None);
        assert_eq!(key(2).open(b"event", &sealed), None);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(key(1).open(b"event", &changed), None, "byte {at}");
            assert_eq!(key(1).open(b"event", &sealed[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn the_same_text_never_looks_the_same() {
        assert_ne!(key(1).seal(b"", b"text"), key(1).seal(b"", b"text"));
        assert_eq!(key(1).seal(b"", b"").len(), START + TAG_LEN);
    }
}
