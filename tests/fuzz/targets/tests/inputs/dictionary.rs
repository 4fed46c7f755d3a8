//! The dictionaries that libFuzzer reads, as pieces for proptest.

use restante_fuzz_targets::Target;

use crate::seeds::{read, tests};

/// The entries of a target's dictionary.
pub(crate) fn pieces(target: &Target) -> Vec<Vec<u8>> {
    let path = tests().join(format!("fuzz/dictionaries/{}.dict", target.name));
    let text = String::from_utf8(read(&path)).expect("a dictionary is text");
    let pieces: Vec<_> = text.lines().filter_map(entry).collect();
    assert!(!pieces.is_empty(), "{} is empty", path.display());
    pieces
}

/// `"text"`, with `\xAB`, `\\` and `\"` as escapes; nothing for comments and empty lines.
fn entry(line: &str) -> Option<Vec<u8>> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let quoted = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let mut rest = quoted.unwrap_or_else(|| panic!("{line} is no entry"));
    let mut piece = Vec::new();
    while let Some((before, after)) = rest.split_once('\\') {
        piece.extend_from_slice(before.as_bytes());
        let (value, length) = match after.as_bytes() {
            [b'x', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                (u8::from_str_radix(&after[1..3], 16).expect("two hexadecimal digits"), 3)
            }
            [escaped @ (b'\\' | b'"'), ..] => (*escaped, 1),
            _ => panic!("an unknown escape in {line}"),
        };
        piece.push(value);
        rest = &after[length..];
    }
    piece.extend_from_slice(rest.as_bytes());
    Some(piece)
}

#[test]
fn entries_are_read_as_libfuzzer_reads_them() {
    assert_eq!(entry(r#""a\x0D\x0a\\\"b""#).as_deref(), Some(&b"a\r\n\\\"b"[..]));
    assert_eq!((entry(""), entry("# a")), (None, None));
}
