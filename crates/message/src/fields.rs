//! Where header fields are, and where the body begins (RFC 5322 section 2.2): the one rule for all who read a message.
//!
//! Who shows a message and who verifies its signatures must see the same fields and the same body: what one of them
//! passes over, a stranger could put into signed mail.

use crate::limit::FIELDS_MAX;

/// A header field as it stands in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawField<'x> {
    /// What stands before the colon: printable ASCII, maybe with white space after it (RFC 5322 section 4.5.8).
    pub name: &'x [u8],
    /// What follows the colon, folded lines and the line end included.
    pub value: &'x [u8],
}

impl RawField<'_> {
    /// Whether the field has this name, in any case (RFC 5322 section 1.2.2).
    pub fn is(&self, name: &str) -> bool {
        self.name.trim_ascii_end().eq_ignore_ascii_case(name.as_bytes())
    }
}

/// A message cut into header fields and body, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawMessage<'x> {
    /// The first 1,000 fields, in order.
    pub fields: Vec<RawField<'x>>,
    /// Whether there are more fields, which nobody reads.
    pub has_surplus: bool,
    /// What follows the empty line, or the header if none follows it.
    pub body: &'x [u8],
}

impl<'x> RawMessage<'x> {
    /// Cuts a message where [`crate::parse`] cuts it; never fails.
    ///
    /// A line that is neither a field nor a fold ends the header and begins the body; a bare LF ends a line like CRLF does.
    pub fn split(raw: &'x [u8]) -> Self {
        let block = Block::read(raw, 0, |_| false);
        Self {
            fields: block.fields,
            has_surplus: block.has_surplus,
            body: &raw[block.end..],
        }
    }

    /// The fields of a name, in order.
    pub fn named(&self, name: &'static str) -> impl Iterator<Item = &RawField<'x>> {
        self.fields.iter().filter(move |field| field.is(name))
    }
}

/// Where a header block ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// At an empty line, at the end of the bytes, or at a line that the reader was told to stop at.
    Clean,
    /// At a line that is no header field and stands after some.
    Cut,
    /// There was no block: the first line is no header field.
    Missing,
}

/// A header block: of a message, or of a part.
pub(crate) struct Block<'x> {
    /// The first fields, up to the limit.
    pub(crate) fields: Vec<RawField<'x>>,
    /// Whether there are more.
    pub(crate) has_surplus: bool,
    /// Where the body starts.
    pub(crate) end: usize,
    /// What stands there.
    pub(crate) ending: Ending,
}

impl<'x> Block<'x> {
    /// Reads the block that starts at `from`; `stop` is asked about every line that could belong to it.
    pub(crate) fn read(raw: &'x [u8], from: usize, mut stop: impl FnMut(&[u8]) -> bool) -> Self {
        let mut fields: Vec<RawField<'x>> = Vec::new();
        let (mut has_surplus, mut value, mut at) = (false, from, from);
        let ending = loop {
            let line = line_at(raw, at);
            let content = trim_line_end(line);
            let next = at + line.len();
            if content.is_empty() {
                at = next;
                break Ending::Clean;
            }
            if stop(content) {
                break Ending::Clean;
            }
            let continues = content.starts_with(b" ") || content.starts_with(b"\t");
            match (continues, name_end(content)) {
                (true, _) if has_surplus => {}
                (true, _) if !fields.is_empty() => fold(&mut fields, &raw[value..next]),
                (false, Some(_)) if fields.len() == FIELDS_MAX => has_surplus = true,
                (false, Some(colon)) => {
                    value = at + colon + 1;
                    fields.push(RawField {
                        name: &raw[at..at + colon],
                        value: &raw[value..next],
                    });
                }
                (false, None) if is_mbox_line(content) && fields.is_empty() => {}
                _ if fields.is_empty() => break Ending::Missing,
                _ => break Ending::Cut,
            }
            at = next;
        };
        Self {
            fields,
            has_surplus,
            end: at,
            ending,
        }
    }
}

/// The line that starts at `at`, with its end; empty at the end of the bytes.
pub(crate) fn line_at(raw: &[u8], at: usize) -> &[u8] {
    let rest = &raw[at..];
    memchr::memchr(b'\n', rest).map_or(rest, |end| &rest[..=end])
}

/// A line without the CRLF or LF that ends it.
pub(crate) fn trim_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Where the colon of a field line is: after at least one printable character (RFC 5322 section 3.6.8), maybe with
/// white space before it (section 4.5.8).
fn name_end(line: &[u8]) -> Option<usize> {
    let name_len = line.iter().take_while(|b| b.is_ascii_graphic() && **b != b':').count();
    let space = line[name_len..]
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    (name_len > 0 && line.get(name_len + space) == Some(&b':')).then_some(name_len + space)
}

/// Gives the last field the value that it has with one more line: one stretch of the message.
fn fold<'x>(fields: &mut [RawField<'x>], value: &'x [u8]) {
    if let Some(last) = fields.last_mut() {
        last.value = value;
    }
}

/// The line that mailbox files have before a message.
fn is_mbox_line(line: &[u8]) -> bool {
    line.starts_with(b"From ") || line.starts_with(b">From ")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair<'a> = (&'a [u8], &'a [u8]);

    fn cut(raw: &[u8]) -> (Vec<Pair<'_>>, &[u8]) {
        let message = RawMessage::split(raw);
        let pairs = message.fields.iter().map(|field| (field.name, field.value));
        (pairs.collect(), message.body)
    }

    #[test]
    fn fields_keep_their_bytes() {
        let (fields, body) = cut(b"A: one\r\n two\r\nB :3\r\n\r\nbody\r\n");
        assert_eq!(fields, [(&b"A"[..], &b" one\r\n two\r\n"[..]), (b"B ", b"3\r\n")]);
        assert_eq!(body, b"body\r\n");
    }

    #[test]
    fn bare_line_feeds_end_lines() {
        let (fields, body) = cut(b"A: 1\n\tx\nB: 2\n\nbody");
        assert_eq!(fields, [(&b"A"[..], &b" 1\n\tx\n"[..]), (b"B", b" 2\n")]);
        assert_eq!(body, b"body");
    }

    #[test]
    fn a_line_that_is_no_field_begins_the_body() {
        let a: Vec<Pair<'_>> = vec![(b"A", b" 1\r\n")];
        for (raw, fields, body) in [
            (&b""[..], vec![], &b""[..]),
            (b"A: 1\r\n", a.clone(), b""),
            (
                b"A: 1\r\nno field\r\nB: 2\r\n\r\nx",
                a.clone(),
                b"no field\r\nB: 2\r\n\r\nx",
            ),
            (b"A: 1\r\nB\0: 2\r\n\r\nx", a.clone(), b"B\0: 2\r\n\r\nx"),
            (b"A: 1\r\n\rB: 2\r\n", a.clone(), b"\rB: 2\r\n"),
            (b" From: a@x.test\r\nA: 1\r\n", vec![], b" From: a@x.test\r\nA: 1\r\n"),
            (b"Fr\0om: a@x.test\r\nA: 1\r\n", vec![], b"Fr\0om: a@x.test\r\nA: 1\r\n"),
            (b"From a@x.test Mon\r\nA: 1\r\n\r\nx", a.clone(), b"x"),
            (b"A: 1\r\nFrom a@x.test Mon\r\n\r\nx", a, b"From a@x.test Mon\r\n\r\nx"),
        ] {
            assert_eq!(cut(raw), (fields, body), "{raw:?}");
        }
    }

    #[test]
    fn fields_beyond_the_limit_belong_to_the_header_and_are_told() {
        let raw = [b"A: 1\r\n 2\r\n".repeat(FIELDS_MAX), b"B: 3\r\n 4\r\n\r\nbody".to_vec()].concat();
        let message = RawMessage::split(&raw);
        assert_eq!(message.fields.len(), FIELDS_MAX);
        assert_eq!(
            message.fields.last().map(|field| field.value),
            Some(&b" 1\r\n 2\r\n"[..])
        );
        assert!(message.has_surplus);
        assert_eq!(message.body, b"body");
    }

    #[test]
    fn names_are_compared_without_case_or_trailing_space() {
        let message = RawMessage::split(b"from : a\r\nFROM: b\r\nX-From: c\r\n");
        assert_eq!(message.named("From").count(), 2);
    }
}
