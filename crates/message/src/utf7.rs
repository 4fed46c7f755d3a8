//! UTF-7 (RFC 2152), which a few old programs still send.

use crate::transfer;

/// Decodes UTF-7; bytes that are no ASCII and broken surrogates become U+FFFD.
pub(crate) fn decode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(plus) = memchr::memchr(b'+', rest) {
        push_ascii(&mut text, &rest[..plus]);
        let shifted = &rest[plus + 1..];
        let is_shifted = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
        let (encoded, after) = shifted.split_at(shifted.iter().take_while(|b| is_shifted(b)).count());
        match after.strip_prefix(b"-") {
            Some(_) if encoded.is_empty() => text.push('+'),
            _ => push_utf16(&mut text, &transfer::base64(encoded).0),
        }
        rest = after.strip_prefix(b"-").unwrap_or(after);
    }
    push_ascii(&mut text, rest);
    text
}

fn push_ascii(text: &mut String, bytes: &[u8]) {
    let character = |b: &u8| {
        if b.is_ascii() {
            char::from(*b)
        } else {
            char::REPLACEMENT_CHARACTER
        }
    };
    text.extend(bytes.iter().map(character));
}

fn push_utf16(text: &mut String, bytes: &[u8]) {
    let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let characters = char::decode_utf16(units);
    text.extend(characters.map(|found| found.unwrap_or(char::REPLACEMENT_CHARACTER)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_and_damage() {
        for (encoded, text) in [
            ("A+ImIDkQ.", "A\u{2262}\u{391}."),
            ("Hi Mom -+Jjo--!", "Hi Mom -\u{263a}-!"),
            ("+ZeVnLIqe-", "日本語"),
            ("Item 3 is +AKM-1.", "Item 3 is £1."),
            ("1 +- 1 = 2", "1 + 1 = 2"),
            ("+AOk", "é"),
            ("+2D3eCg-", "😊"),
            ("+2D0-", "\u{fffd}"),
            ("a+ b", "a b"),
            ("+", ""),
        ] {
            assert_eq!(decode(encoded.as_bytes()), text, "{encoded:?}");
        }
        assert_eq!(decode(b"a\xe9"), "a\u{fffd}");
    }
}
