//! Foreign text made fit to be shown: in a result, and wherever that result is printed.

/// Longest foreign text in a result, in characters; longer than any domain name.
const LONGEST: usize = 300;

/// The text without control characters, cut at [`LONGEST`] characters.
///
/// Domains and records come from strangers, and none of their CR, LF or NUL may reach a log line or a header.
pub(crate) fn shown(text: &str) -> String {
    let mut kept: String = text.chars().take(LONGEST).map(printable).collect();
    if text.chars().nth(LONGEST).is_some() {
        kept.push('…');
    }
    kept
}

/// [`shown`] of bytes that ought to be text.
pub(crate) fn shown_bytes(bytes: &[u8]) -> String {
    // A character takes up to four bytes, so nothing that is shown is cut off here.
    let head = &bytes[..bytes.len().min(4 * (LONGEST + 1))];
    shown(&String::from_utf8_lossy(head))
}

/// All of `bytes` as printable ASCII without white space.
pub(crate) fn compact(bytes: &[u8]) -> String {
    bytes
        .iter()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|&byte| if byte.is_ascii_graphic() { char::from(byte) } else { '?' })
        .collect()
}

/// Line ends of Unicode and marks that turn the direction of text are no control characters by name, but act as such.
fn printable(character: char) -> char {
    match character {
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '?',
        character if character.is_control() => '?',
        character => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(shown("a\r\nX: b\0c"), "a??X: b?c");
        assert_eq!(shown("a\u{202e}b\u{2028}c\u{2066}d"), "a?b?c?d");
        assert_eq!(shown_bytes(b"\xff\n"), "\u{fffd}?");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let text = "ä".repeat(LONGEST + 5);
        assert_eq!(shown(&text).chars().count(), LONGEST + 1);
        assert_eq!(shown_bytes(text.as_bytes()), shown(&text));
        let fits = "ä".repeat(LONGEST);
        assert_eq!(shown(&fits), fits);
    }

    #[test]
    fn a_signature_value_has_no_white_space() {
        assert_eq!(compact(b" ab\r\n\tc=\x80"), "abc=?");
    }
}
