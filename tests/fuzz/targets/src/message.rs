//! The parser of messages: structure, headers, text, links.

use crate::promise;

/// Parses bytes as a message.
///
/// # Panics
/// If what every message promises is broken: see `promise`.
pub fn run(input: &[u8]) {
    promise::kept(input);
}
