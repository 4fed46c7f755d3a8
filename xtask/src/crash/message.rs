//! Messages that differ from all others.

use restante_testkit::digest::sha256;

use super::ledger::Digest;
use crate::probe::dice::Dice;

const LINE: usize = 64;

/// A message and its SHA-256.
pub(crate) struct Message {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
}

impl Message {
    /// One of 2, 75 or 1,000 KB in the mix of D6 (80, 18 and 2 of a hundred).
    pub(crate) fn mixed(dice: &mut Dice, name: &str) -> Self {
        let bytes = match dice.below(100) {
            0..80 => 2_000,
            80..98 => 75_000,
            _ => 1_000_000,
        };
        Self::of(dice, name, bytes)
    }

    /// One of about so many bytes; the name is its subject and must be used once.
    pub(crate) fn of(dice: &mut Dice, name: &str, bytes: usize) -> Self {
        let mut text = format!("Subject: {name}\r\n\r\n").into_bytes();
        let line: Vec<u8> = (0..LINE).map(|_| b'a' + dice.byte() % 26).collect();
        while text.len() < bytes {
            text.extend_from_slice(&line);
            text.extend_from_slice(b"\r\n");
        }
        let digest = sha256(&text);
        Self { bytes: text, digest }
    }
}
