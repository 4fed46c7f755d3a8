//! Digests, authentication codes, constant-time comparison and random bytes for the other crates.
//!
//! They reach the one crypto library through here.

use aws_lc_rs::{constant_time, digest, hmac, rand};

/// SHA-256 of `bytes`.
///
/// Source: FIPS 180-4 section 6.2.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    array(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// SHA-256 of bytes that come in pieces.
///
/// A clone goes on from the same state, so a common beginning is hashed once.
///
/// Source: FIPS 180-4 section 6.2.
#[derive(Clone)]
pub struct Sha256(digest::Context);

impl Sha256 {
    /// The state before any byte.
    pub fn new() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes taken.
    pub fn finish(self) -> [u8; 32] {
        array(self.0.finish().as_ref())
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sha256").finish_non_exhaustive()
    }
}

/// HMAC-SHA-256 of `message` under a key of any length.
///
/// Compare with [`ct_eq`].
///
/// Source: RFC 2104; FIPS 198-1.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    array(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref())
}

/// Whether two byte strings are equal, in a time that depends on their lengths only.
pub fn ct_eq(left: &[u8], right: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(left, right).is_ok()
}

/// `N` bytes of the system's cryptographic random number generator.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::fill(&mut bytes).expect("the system's random number generator answers");
    bytes
}

fn array(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().expect("SHA-256 makes 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hash_like_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        for cut in [0, 1, 63, 64, 65, 999, 1_000] {
            let mut hasher = Sha256::new();
            hasher.update(&bytes[..cut]);
            hasher.update(&bytes[cut..]);
            assert_eq!(hasher.finish(), sha256(&bytes), "cut at {cut}");
        }
    }

    #[test]
    fn a_clone_goes_on_from_the_same_state() {
        let mut common = Sha256::new();
        common.update(b"msg_1,");
        for ending in [&b"msg_2"[..], b"msg_3"] {
            let mut hasher = common.clone();
            hasher.update(ending);
            assert_eq!(hasher.finish(), sha256(&[b"msg_1,", ending].concat()));
        }
    }

    /// FIPS 180-4 examples: the empty message and "abc".
    #[test]
    fn known_digests() {
        assert_eq!(sha256(b"")[..4], [0xe3, 0xb0, 0xc4, 0x42]);
        assert_eq!(Sha256::default().finish(), sha256(b""));
        assert_eq!(sha256(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    }

    #[test]
    fn equality_needs_equal_lengths_and_bytes() {
        assert!(ct_eq(b"", b"") && ct_eq(b"abc", b"abc"));
        assert!(!ct_eq(b"abc", b"abd") && !ct_eq(b"abc", b"ab") && !ct_eq(b"", b"a"));
    }

    #[test]
    fn random_bytes_differ() {
        assert_ne!(random_bytes::<32>(), random_bytes::<32>());
    }
}
