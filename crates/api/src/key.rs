//! Checking the API key without keeping it.

use restante_envelope::digest::{ct_eq, sha256};

/// The SHA-256 of the API key: enough to check one, not enough to leak it.
#[derive(Clone)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// The digest of a key.
    pub fn of(key: &str) -> Self {
        Self(sha256(key.as_bytes()))
    }

    /// Whether the presented bytes are the key; takes the same time whatever they are.
    pub fn matches(&self, presented: &[u8]) -> bool {
        ct_eq(&self.0, &sha256(presented))
    }
}

impl std::fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyDigest { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_matches() {
        let digest = KeyDigest::of("0123456789abcdef0123456789abcdef");
        assert!(digest.matches(b"0123456789abcdef0123456789abcdef"));
        assert!(!digest.matches(b"0123456789abcdef0123456789abcdeF"));
        assert!(!digest.matches(b""));
        assert_eq!(format!("{digest:?}"), "KeyDigest { .. }");
    }
}
