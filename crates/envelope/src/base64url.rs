//! Strict unpadded base64url.
//!
//! `+`, `/`, `=`, white space and non-zero trailing bits are refused, so every byte string has exactly one spelling.
//!
//! Source: RFC 4648 sections 3.5 and 5; interface, "Encrypted payload".

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use thiserror::Error;

/// The text is not unpadded base64url.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not base64url without padding (RFC 4648 section 5)")]
pub struct InvalidBase64Url;

/// The unpadded base64url spelling of `bytes`.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes that `text` spells.
pub fn decode(text: impl AsRef<[u8]>) -> Result<Vec<u8>, InvalidBase64Url> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidBase64Url)
}

/// Exactly `N` bytes; `None` when the text spells another number of them, or none.
pub fn decode_array<const N: usize>(text: impl AsRef<[u8]>) -> Option<[u8; N]> {
    decode(text).ok()?.try_into().ok()
}

/// Appends the bytes that `text` spells.
pub(crate) fn decode_onto(text: impl AsRef<[u8]>, bytes: &mut Vec<u8>) -> Result<(), InvalidBase64Url> {
    URL_SAFE_NO_PAD.decode_vec(text, bytes).map_err(|_| InvalidBase64Url)
}

/// Writes the spelling of `bytes` into a serializer without building the string first.
pub(crate) fn serialize<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&base64::display::Base64Display::new(bytes, &URL_SAFE_NO_PAD))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 4648 section 10, without padding, and both symbols that the URL alphabet changes.
    #[test]
    fn known_spellings() {
        let known: [(&[u8], &str); 7] = [
            (b"", ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg"),
            (b"fooba", "Zm9vYmE"),
            (b"\xfb\xff", "-_8"),
        ];
        for (bytes, text) in known {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Ok(bytes));
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in [
            "+_8", "-/8", "-_8=", "Zg==", "Zg=", "=", "-_8\n", " -_8", "-_9", "Zh", "Z", "Zm9vY", "\u{e9}",
        ] {
            assert_eq!(decode(text), Err(InvalidBase64Url), "{text:?}");
        }
    }

    #[test]
    fn arrays_have_their_length() {
        assert_eq!(decode_array(encode([1, 2, 3])), Some([1, 2, 3]));
        assert_eq!(decode_array::<4>(encode([1, 2, 3])), None);
        assert_eq!(decode_array::<2>(encode([1, 2, 3])), None);
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode(encode(&bytes)), Ok(bytes));
        }

        #[test]
        fn what_decodes_is_the_one_spelling(text in "[A-Za-z0-9+/=_-]{0,12}") {
            if let Ok(bytes) = decode(&text) {
                prop_assert_eq!(encode(bytes), text);
            }
        }
    }
}
