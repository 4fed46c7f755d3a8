//! Content-Transfer-Encoding (RFC 2045 section 6): bytes out, whatever the content is.

use std::borrow::Cow;

use crate::defect::{Defect, Defects, shown};

/// Undoes the transfer encoding that a part declares. Damage costs only the damaged bytes.
pub(crate) fn decode<'x>(encoding: Option<&str>, body: &'x [u8], defects: &mut Defects) -> Cow<'x, [u8]> {
    let name = encoding.unwrap_or("7bit").trim();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if is("base64") {
        let (bytes, whole) = base64(body);
        if !whole {
            defects.note(Defect::Base64);
        }
        Cow::Owned(bytes)
    } else if is("quoted-printable") {
        let (bytes, whole) = quoted_printable(body);
        if !whole {
            defects.note(Defect::QuotedPrintable);
        }
        Cow::Owned(bytes)
    } else {
        if !["7bit", "8bit", "binary", ""].into_iter().any(is) {
            defects.note(Defect::UnknownEncoding(shown(name)));
        }
        Cow::Borrowed(body)
    }
}

/// Decodes base64 and tells whether it was whole; what is no base64 character is skipped (RFC 2045 section 6.8).
pub(crate) fn base64(encoded: &[u8]) -> (Vec<u8>, bool) {
    let mut decoded = Vec::with_capacity(encoded.len() / 4 * 3 + 3);
    let mut quantum = Quantum::default();
    let mut whole = true;
    for &byte in encoded {
        match base64_value(byte) {
            Some(value) => quantum.push(value, &mut decoded),
            None if byte == b'=' => whole &= quantum.pad(&mut decoded),
            None if byte.is_ascii_whitespace() => {}
            None => whole = false,
        }
    }
    whole &= quantum.end(&mut decoded);
    (decoded, whole)
}

/// Up to four base64 characters and the padding after them.
#[derive(Default)]
struct Quantum {
    bits: u32,
    characters: u8,
    /// Padding characters that may still follow the last, short quantum.
    padding: u8,
}

impl Quantum {
    fn push(&mut self, value: u8, decoded: &mut Vec<u8>) {
        self.bits = self.bits << 6 | u32::from(value);
        self.characters += 1;
        if self.characters == 4 {
            decoded.extend_from_slice(&self.bits.to_be_bytes()[1..]);
            *self = Self::default();
        }
    }

    /// Takes a `=`: the first one ends a short quantum. Tells whether it may stand here.
    fn pad(&mut self, decoded: &mut Vec<u8>) -> bool {
        if self.characters == 0 {
            let fits = self.padding > 0;
            self.padding = self.padding.saturating_sub(1);
            return fits;
        }
        let padding = 3_u8.saturating_sub(self.characters);
        let fits = self.characters > 1;
        self.end(decoded);
        self.padding = padding;
        fits
    }

    /// Writes the bytes of a short quantum; tells whether nothing was open.
    fn end(&mut self, decoded: &mut Vec<u8>) -> bool {
        let closed = self.characters == 0 && self.padding == 0;
        let [_, first, second, _] = (self.bits << (6 * (4 - u32::from(self.characters)))).to_be_bytes();
        match self.characters {
            2 => decoded.push(first),
            3 => decoded.extend([first, second]),
            _ => {}
        }
        *self = Self::default();
        closed
    }
}

fn base64_value(byte: u8) -> Option<u8> {
    let value = BASE64_VALUES[usize::from(byte)];
    (value < 64).then_some(value)
}

/// What each character stands for; 64 for those that are not in the alphabet.
const BASE64_VALUES: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [64; 256];
    let mut value = 0;
    while value < 64 {
        values[alphabet[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// Decodes quoted-printable and tells whether it was whole; a `=` that encodes nothing stays (RFC 2045 section 6.7).
///
/// Line ends stay as they are; white space before them is transport padding and goes.
fn quoted_printable(encoded: &[u8]) -> (Vec<u8>, bool) {
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut whole = true;
    for line in encoded.split_inclusive(|&b| b == b'\n') {
        let content = trim_line_end(line);
        let (content, line_end) = (content.trim_ascii_end(), &line[content.len()..]);
        let (content, soft) = content
            .strip_suffix(b"=")
            .map_or((content, false), |content| (content, true));
        whole &= unescape(b'=', content, &mut decoded);
        if !soft {
            decoded.extend_from_slice(line_end);
        }
    }
    (decoded, whole)
}

fn trim_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Replaces each `mark` with two hexadecimal digits by its byte; tells whether every `mark` had two.
pub(crate) fn unescape(mark: u8, mut encoded: &[u8], decoded: &mut Vec<u8>) -> bool {
    let mut whole = true;
    while let Some(at) = memchr::memchr(mark, encoded) {
        decoded.extend_from_slice(&encoded[..at]);
        let byte = encoded.get(at + 1..at + 3).and_then(hex_byte);
        decoded.push(byte.unwrap_or(mark));
        whole &= byte.is_some();
        encoded = &encoded[at + if byte.is_some() { 3 } else { 1 }..];
    }
    decoded.extend_from_slice(encoded);
    whole
}

/// The byte that two hexadecimal digits, in any case, stand for.
fn hex_byte(digits: &[u8]) -> Option<u8> {
    let [high, low] = *digits else { return None };
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|v| u8::try_from(v).ok());
    Some(value(high)? << 4 | value(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_through_damage() {
        for (encoded, decoded, whole) in [
            ("", "", true),
            ("aGk=", "hi", true),
            ("aA==\r\n", "h", true),
            ("aGVs\r\nbG8h", "hello!", true),
            ("aGk", "hi", false),       // padding is missing
            ("aA=", "h", false),        // half of it is
            ("a", "", false),           // six bits are no byte
            ("aGk==", "hi", false),     // too much of it
            ("aG*k=", "hi", false),     // not in the alphabet
            ("aGk=aGk=", "hihi", true), // two encodings one after the other
            ("=aGk=", "hi", false),
        ] {
            assert_eq!(
                base64(encoded.as_bytes()),
                (decoded.as_bytes().to_vec(), whole),
                "{encoded:?}"
            );
        }
    }

    #[test]
    fn quoted_printable_is_read_through_damage() {
        for (encoded, decoded, whole) in [
            ("a=3Db", "a=b", true),
            ("a=3db", "a=b", true),
            ("so=\r\nft", "soft", true),
            ("so= \t\r\nft", "soft", true),
            ("so=\nft", "soft", true),
            ("end=", "end", true),
            ("padded  \r\nkept=20\r\n", "padded\r\nkept \r\n", true),
            ("a=zz=", "a=zz", false),
            ("a=\r\r\n", "a", true),
            ("==41", "=A", false),
        ] {
            assert_eq!(
                quoted_printable(encoded.as_bytes()),
                (decoded.as_bytes().to_vec(), whole),
                "{encoded:?}"
            );
        }
    }

    #[test]
    fn an_unknown_encoding_leaves_the_bytes_and_is_named() {
        let mut defects = Defects::default();
        assert_eq!(decode(Some("x-uuencode"), b"a\r\n", &mut defects), b"a\r\n".as_slice());
        assert_eq!(
            decode(Some(" 8BIT "), b"\xff\r\n", &mut defects),
            b"\xff\r\n".as_slice()
        );
        assert_eq!(
            defects.sentences(),
            ["The transfer encoding \"x-uuencode\" is unknown: the part is left encoded."]
        );
    }
}
