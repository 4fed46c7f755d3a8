//! A message as its signer saw it: header fields and body, byte for byte.

use memchr::memchr;

/// One header field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// What stands before the colon.
    pub(crate) name: &'a [u8],
    /// What follows the colon, folded lines and the line end included.
    pub(crate) value: &'a [u8],
}

impl Field<'_> {
    /// Whether the field has this name, in any case (RFC 5322 section 1.2.2).
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.trim_ascii_end().eq_ignore_ascii_case(name.as_bytes())
    }
}

/// A message cut into header fields and body.
#[derive(Debug, Default)]
pub(crate) struct Source<'a> {
    /// The fields in order.
    pub(crate) fields: Vec<Field<'a>>,
    /// What follows the empty line.
    pub(crate) body: &'a [u8],
}

impl<'a> Source<'a> {
    /// Cuts a message; never fails: a line that is no field is left out, and a message without an empty line has no body.
    ///
    /// A bare LF ends a line like CRLF does, because the program that signed such a message saw lines, too.
    pub(crate) fn split(raw: &'a [u8]) -> Self {
        let mut source = Self::default();
        let mut rest = raw;
        while !rest.is_empty() {
            let (line, after) = rest.split_at(logical_line(rest));
            if is_empty_line(line) {
                source.body = after;
                break;
            }
            if let Some(colon) = memchr(b':', line) {
                let (name, value) = (&line[..colon], &line[colon + 1..]);
                source.fields.push(Field { name, value });
            }
            rest = after;
        }
        source
    }

    /// The fields of a name, in order.
    pub(crate) fn named(&self, name: &'static str) -> impl Iterator<Item = &Field<'a>> {
        self.fields.iter().filter(move |field| field.is(name))
    }
}

/// Length of a line with the lines folded into it (RFC 5322 section 2.2.3), the line end included.
fn logical_line(text: &[u8]) -> usize {
    let mut end = 0;
    while let Some(newline) = memchr(b'\n', &text[end..]) {
        let starts_empty = end == 0 && is_empty_line(&text[..=newline]);
        end += newline + 1;
        if starts_empty || !matches!(text.get(end), Some(b' ' | b'\t')) {
            return end;
        }
    }
    text.len()
}

fn is_empty_line(line: &[u8]) -> bool {
    matches!(line, b"\r\n" | b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pair<'a> = (&'a [u8], &'a [u8]);

    fn cut(raw: &[u8]) -> (Vec<Pair<'_>>, &[u8]) {
        let source = Source::split(raw);
        (
            source.fields.iter().map(|field| (field.name, field.value)).collect(),
            source.body,
        )
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
    fn a_message_may_lack_anything() {
        assert_eq!(cut(b""), (vec![], &b""[..]));
        assert_eq!(cut(b"\r\n body"), (vec![], &b" body"[..]));
        assert_eq!(cut(b"no colon\r\nA: 1"), (vec![(&b"A"[..], &b" 1"[..])], &b""[..]));
        assert_eq!(cut(b"A: 1\r\n"), (vec![(&b"A"[..], &b" 1\r\n"[..])], &b""[..]));
    }

    #[test]
    fn names_are_compared_without_case_or_trailing_space() {
        let source = Source::split(b"from : a\r\nFROM: b\r\nX-From: c\r\n");
        assert_eq!(source.named("From").count(), 2);
    }
}
