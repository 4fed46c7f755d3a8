//! Header blocks: fields to text (RFC 5322 section 2.2).

use std::collections::HashMap;

use crate::charset;
use crate::defect::{Defect, Defects};
use crate::encoded_word;
use crate::fields::{Block, Ending, RawField};

/// The fields of one header block in message order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Headers<'x>(Vec<RawField<'x>>);

impl<'x> Headers<'x> {
    /// Reads the block that starts at `from`; also returns where the body starts.
    ///
    /// `stop` is asked about every line that could belong to the block.
    pub(crate) fn read(
        raw: &'x [u8],
        from: usize,
        stop: impl FnMut(&[u8]) -> bool,
        defects: &mut Defects,
    ) -> (Self, usize, Ending) {
        let block = Block::read(raw, from, stop);
        if block.has_surplus {
            defects.note(Defect::TooManyFields);
        }
        (Self(block.fields), block.end, block.ending)
    }

    /// The undecoded, unfolded text of the first field of this name, for fields with a grammar.
    pub(crate) fn source(&self, name: &str) -> Option<String> {
        self.sources(name).next()
    }

    /// The undecoded, unfolded texts of every field of this name.
    pub(crate) fn sources(&self, name: &str) -> impl Iterator<Item = String> {
        self.0
            .iter()
            .filter(move |field| field.is(name))
            .map(|field| unfold(field.value).0)
    }

    /// The decoded text of the first field of this name.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.source(name).map(|source| decoded(&source).0)
    }

    /// How many fields have this name.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.0.iter().filter(|field| field.is(name)).count()
    }

    /// Lowercase names and decoded values, repeated ones joined with a newline, in order of the first occurrence.
    pub(crate) fn decode_all(&self, defects: &mut Defects) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::with_capacity(self.0.len());
        let mut places: HashMap<String, usize> = HashMap::with_capacity(self.0.len());
        for field in &self.0 {
            let (source, is_utf8) = unfold(field.value);
            let (value, whole) = decoded(&source);
            if !is_utf8 {
                defects.note(Defect::HeaderBytes);
            }
            if !whole {
                defects.note(Defect::EncodedWord);
            }
            let name = String::from_utf8_lossy(field.name.trim_ascii_end()).to_ascii_lowercase();
            if let Some(&place) = places.get(&name) {
                let joined = &mut all[place].1;
                joined.push('\n');
                joined.push_str(&value);
            } else {
                places.insert(name.clone(), all.len());
                all.push((name, value));
            }
        }
        all
    }
}

/// Decodes the encoded words of an unfolded text; tells whether all could be.
///
/// What a word decodes to may not bring line ends or NUL into a header value: they become spaces.
pub(crate) fn decoded(source: &str) -> (String, bool) {
    let (text, whole) = encoded_word::decode(source);
    (single_line(&text), whole)
}

/// The text trimmed, with a space for each control character but the tab, and for the line ends of Unicode.
fn single_line(text: &str) -> String {
    let is_unfit = |c: char| c != '\t' && (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
    text.trim().replace(is_unfit, " ").trim().to_owned()
}

/// Joins the lines of a value and trims it: a fold, with the white space after it, is one space.
///
/// Bytes that are not UTF-8 (RFC 6532) are read as windows-1252; the flag tells whether all were.
pub(crate) fn unfold(value: &[u8]) -> (String, bool) {
    let mut joined = Vec::with_capacity(value.len());
    for (index, line) in value.split(|&b| b == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = if index > 0 { line.trim_ascii_start() } else { line };
        if index > 0 && !line.is_empty() {
            joined.push(b' ');
        }
        joined.extend_from_slice(line);
    }
    let (text, is_utf8) = match String::from_utf8(joined) {
        Ok(text) => (text, true),
        Err(error) => (charset::windows_1252(error.as_bytes()), false),
    };
    (single_line(&text), is_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &str) -> (Vec<(String, String)>, &str, Ending) {
        let (headers, body, ending) = Headers::read(raw.as_bytes(), 0, |_| false, &mut Defects::default());
        (headers.decode_all(&mut Defects::default()), &raw[body..], ending)
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn fields_are_unfolded_decoded_and_joined() {
        let (headers, body, ending) = read(
            "Subject: =?utf-8?q?caf=C3=A9?=\r\n =?utf-8?q?_au_lait?=\r\nX-A : one\r\nTo: a@x,\r\n\t b@x\r\nx-a: two\r\nEmpty:\r\n\r\nbody\r\n",
        );
        assert_eq!(
            headers,
            pairs(&[
                ("subject", "café au lait"),
                ("x-a", "one\ntwo"),
                ("to", "a@x, b@x"),
                ("empty", "")
            ])
        );
        assert_eq!((body, ending), ("body\r\n", Ending::Clean));
    }

    #[test]
    fn a_block_may_end_without_an_empty_line() {
        for (raw, body, ending) in [
            ("A: b", "", Ending::Clean),
            ("A: b\r\nno field\r\nC: d\r\n", "no field\r\nC: d\r\n", Ending::Cut),
            ("no field\r\nA: b\r\n", "no field\r\nA: b\r\n", Ending::Missing),
            (": b\r\n", ": b\r\n", Ending::Missing),
            (" b\r\n", " b\r\n", Ending::Missing),
            ("\r\nbody", "body", Ending::Clean),
            ("From x Mon\r\nA: b\r\n\r\nbody", "body", Ending::Clean),
            ("A: b\n\nbody", "body", Ending::Clean),
            ("", "", Ending::Clean),
        ] {
            let (_, found, how) = read(raw);
            assert_eq!((found, how), (body, ending), "{raw:?}");
        }
    }

    #[test]
    fn nothing_in_a_value_can_end_a_line() {
        let (headers, _, _) = read("Subject: a\rX: b\0 =?utf-8?q?c=0D=0AX:_d=00?=\r\n\r\n");
        assert_eq!(headers, pairs(&[("subject", "a X: b  c  X: d")]));
        let (headers, _, _) = read("Subject: \x1b[31ma\x7f\tb =?utf-8?q?=1B]0;c=07=C2=85=E2=80=A8d?=\r\n\r\n");
        assert_eq!(headers, pairs(&[("subject", "[31ma \tb  ]0;c   d")]));
    }

    #[test]
    fn the_first_thousand_fields_are_read() {
        use std::fmt::Write;
        let mut raw = String::new();
        for n in 0..1001 {
            write!(raw, "X-{n}: v\r\n folded\r\n").unwrap();
        }
        raw.push_str("\r\nbody");
        let mut defects = Defects::default();
        let (headers, body, _) = Headers::read(raw.as_bytes(), 0, |_| false, &mut defects);
        assert_eq!(headers.0.len(), 1000);
        assert_eq!(headers.text("x-999").as_deref(), Some("v folded"));
        assert_eq!(&raw[body..], "body");
        assert_eq!(
            defects.sentences(),
            ["Header fields beyond the first 1000 are left unparsed."]
        );
    }

    #[test]
    fn eight_bit_bytes_are_utf8_or_windows_1252() {
        for (raw, text, told) in [
            (b"A: \xc3\xa9\r\n".as_slice(), "é", 0),
            (b"A: \xe9 \x80\r\n".as_slice(), "é €", 1),
        ] {
            let mut defects = Defects::default();
            let (headers, _, _) = Headers::read(raw, 0, |_| false, &mut Defects::default());
            assert_eq!(headers.decode_all(&mut defects), pairs(&[("a", text)]));
            assert_eq!(defects.sentences().len(), told);
        }
    }
}
