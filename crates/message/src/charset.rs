//! Bytes of a declared charset to text.

use std::borrow::Cow;

use mail_parser::decoders::charsets::map::charset_decoder;

use crate::defect::{Defect, Defects, shown};
use crate::utf7;

/// Decodes body text. UTF-8 is what no charset, and the charset US-ASCII, are taken to mean.
///
/// A label that is not true does not lose text: bytes that are not UTF-8 are read as windows-1252 where nothing,
/// or US-ASCII, was declared (as mail programs do), and as U+FFFD where a charset was.
pub(crate) fn decode<'x>(bytes: Cow<'x, [u8]>, label: Option<&str>, defects: &mut Defects) -> Cow<'x, str> {
    let is_around = |c: char| c.is_whitespace() || c == '\'';
    let name = label.unwrap_or("us-ascii").trim_matches(is_around);
    if is_utf8(name) {
        return utf8_or(bytes, |bytes| {
            defects.note(Defect::UndecodableText(shown(name)));
            String::from_utf8_lossy(bytes).into_owned()
        });
    }
    if let Some(decode) = decoder(name) {
        let text = decode(&bytes);
        if text.contains(char::REPLACEMENT_CHARACTER) {
            defects.note(Defect::UndecodableText(shown(name)));
        }
        return Cow::Owned(text);
    }
    let ascii = is_ascii(name);
    if !ascii {
        defects.note(Defect::UnknownCharset(shown(name)));
    }
    utf8_or(bytes, |bytes| {
        if ascii {
            defects.note(Defect::UndecodableText(shown(name)));
        }
        windows_1252(bytes)
    })
}

/// Decodes the bytes of an encoded word; nothing if its charset is unknown.
pub(crate) fn decode_word(bytes: &[u8], label: &str) -> Option<String> {
    if is_utf8(label) || is_ascii(label) {
        return Some(String::from_utf8_lossy(bytes).into_owned());
    }
    decoder(label).map(|decode| decode(bytes))
}

/// Decodes as windows-1252, which has a character for every byte.
pub(crate) fn windows_1252(bytes: &[u8]) -> String {
    match charset_decoder(b"windows-1252") {
        Some(decode) => decode(bytes),
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn utf8_or(bytes: Cow<'_, [u8]>, otherwise: impl FnOnce(&[u8]) -> String) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(otherwise(bytes)),
        },
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|e| otherwise(e.as_bytes()))),
    }
}

fn is_utf8(label: &str) -> bool {
    label.eq_ignore_ascii_case("utf-8") || label.eq_ignore_ascii_case("utf8")
}

fn is_ascii(label: &str) -> bool {
    ["us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit"]
        .iter()
        .any(|name| label.eq_ignore_ascii_case(name))
}

/// The decoder of a charset that is not UTF-8 or a guess at it.
fn decoder(label: &str) -> Option<fn(&[u8]) -> String> {
    let is = |known: &[&str]| known.iter().any(|name| label.eq_ignore_ascii_case(name));
    if label.is_empty() || is_ascii(label) || is(&UNDECODED) {
        return None;
    }
    if is(&["utf-7", "csutf7", "unicode-1-1-utf-7"]) {
        return Some(utf7::decode);
    }
    let alias = ALIASES.iter().find(|(names, _)| is(names));
    charset_decoder(alias.map_or(label, |(_, name)| name).as_bytes())
}

/// Names that mail has and the table of mail-parser lacks, with those that it knows.
const ALIASES: [(&[&str], &str); 6] = [
    (&["latin-1", "iso8859_1", "iso-8859-1-unicode"], "iso-8859-1"),
    (&["cp932", "x-ms-cp932"], "shift_jis"),
    (&["eucjp", "euc_jp"], "euc-jp"),
    (
        &["iso-2022-jp-1", "iso-2022-jp-2", "iso-2022-jp-ms", "cp50220"],
        "iso-2022-jp",
    ),
    (&["cp949", "uhc", "euckr", "x-windows-949"], "euc-kr"),
    (&["cp950", "x-big5", "big-5"], "big5"),
];

/// Charsets that mail-parser knows but makes a single U+FFFD of: better their bytes as they are, as of unknown ones.
const UNDECODED: [&str; 8] = [
    "iso-2022-kr",
    "csiso2022kr",
    "iso-2022-cn",
    "iso-2022-cn-ext",
    "hz-gb-2312",
    "replacement",
    "x-user-defined",
    "unicode-1-1",
];

/// Whether what a byte means depends on escapes before it: each encoded word then begins anew (RFC 2047 section 3).
pub(crate) fn is_stateful(label: &str) -> bool {
    let starts = |name: &str| {
        label
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    };
    [
        "iso-2022-",
        "csiso2022",
        "cp5022",
        "utf-7",
        "csutf7",
        "unicode-1-1-utf-7",
    ]
    .into_iter()
    .any(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], label: Option<&str>) -> (String, Vec<String>) {
        let mut defects = Defects::default();
        let text = decode(Cow::Borrowed(bytes), label, &mut defects).into_owned();
        (text, defects.sentences())
    }

    #[test]
    fn charsets_are_known_by_their_names() {
        for (label, bytes, text) in [
            (None, "é".as_bytes(), "é"),
            (Some("US-ASCII"), "é".as_bytes(), "é"),
            (Some(" UTF-8 "), "é".as_bytes(), "é"),
            (Some("'utf-8'"), "é".as_bytes(), "é"),
            (Some("iso-8859-1"), b"\xe9".as_slice(), "é"),
            (Some("Windows-1252"), b"\x80".as_slice(), "€"),
            (Some("shift_jis"), b"\x93\xfa\x96\x7b".as_slice(), "日本"),
            (Some("iso-2022-jp"), b"\x1b$BF|K\\\x1b(B".as_slice(), "日本"),
            (Some("gb18030"), b"\xd6\xd0\xce\xc4".as_slice(), "中文"),
            (Some("koi8-r"), b"\xf0\xd2\xc9\xd7\xc5\xd4".as_slice(), "Привет"),
            (Some("latin-1"), b"\xe9".as_slice(), "é"),
            (Some("CP932"), b"\x93\xfa".as_slice(), "日"),
            (Some("UTF-7"), b"Hi +AOk-!".as_slice(), "Hi é!"),
        ] {
            assert_eq!(decoded(bytes, label), (text.into(), vec![]), "{label:?}");
        }
    }

    #[test]
    fn a_false_label_keeps_what_can_be_read_and_is_named() {
        for (label, text, defect) in [
            (
                None,
                "aé",
                "There are bytes that the charset \"us-ascii\" does not have.",
            ),
            (
                Some("utf-8"),
                "a\u{fffd}",
                "There are bytes that the charset \"utf-8\" does not have.",
            ),
            (Some("x-klingon"), "aé", "The charset \"x-klingon\" is unknown."),
            (Some("iso-2022-kr"), "aé", "The charset \"iso-2022-kr\" is unknown."),
            (Some(""), "aé", "The charset \"\" is unknown."),
        ] {
            assert_eq!(
                decoded(b"a\xe9", label),
                (text.into(), vec![defect.into()]),
                "{label:?}"
            );
        }
    }
}
