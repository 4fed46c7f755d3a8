//! A reply: what the server says to one command (RFC 5321 section 4.2).

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::{BufMut, Bytes, BytesMut};

/// Octets of a reply line, at most, its CRLF included (RFC 5321 section 4.5.3.1.5).
pub const REPLY_LINE_MAX: usize = 512;

/// Ids of stored emails in one reply line, at most: ten of 36 characters stay well within [`REPLY_LINE_MAX`].
const IDS_PER_LINE: usize = 10;

/// An enhanced status code: class, subject, detail (RFC 3463, RFC 2034).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enhanced(pub u8, pub u8, pub u8);

/// One reply of one or several lines.
///
/// Its text has no control character, whatever it was made from: what a client sent cannot add a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    code: u16,
    enhanced: Option<Enhanced>,
    /// The lines, with LF between them.
    text: Cow<'static, str>,
}

impl Reply {
    /// A reply of one fixed line; the text is the author's, without control characters.
    pub const fn fixed(code: u16, enhanced: Enhanced, text: &'static str) -> Self {
        Self {
            code,
            enhanced: Some(enhanced),
            text: Cow::Borrowed(text),
        }
    }

    /// A fixed line without an enhanced code.
    pub(crate) const fn bare(code: u16, text: &'static str) -> Self {
        Self {
            code,
            enhanced: None,
            text: Cow::Borrowed(text),
        }
    }

    /// A reply of one line; control characters of the text become `?`.
    pub fn new(code: u16, enhanced: Enhanced, text: &str) -> Self {
        Self {
            code,
            enhanced: Some(enhanced),
            text: Cow::Owned(printable(text)),
        }
    }

    /// A reply of several lines, with the code on each (RFC 2034 section 4); without a line, it has an empty one.
    pub fn multiline<S: AsRef<str>>(code: u16, enhanced: Enhanced, lines: impl IntoIterator<Item = S>) -> Self {
        Self {
            code,
            enhanced: Some(enhanced),
            text: Cow::Owned(joined(lines)),
        }
    }

    /// The answer to a message that is stored: `250 2.0.0 Ok: <email id>`, ten ids a line.
    pub fn stored(ids: &[String]) -> Self {
        Self::multiline(
            250,
            Enhanced(2, 0, 0),
            ids.chunks(IDS_PER_LINE).map(|ids| format!("Ok: {}", ids.join(" "))),
        )
    }

    /// The greeting and the answers to HELO and EHLO, which have no enhanced code (RFC 2034 section 3).
    pub(crate) fn plain<S: AsRef<str>>(code: u16, lines: impl IntoIterator<Item = S>) -> Self {
        Self {
            code,
            enhanced: None,
            text: Cow::Owned(joined(lines)),
        }
    }

    /// The three-digit code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The enhanced status code, if the reply has one.
    pub fn enhanced(&self) -> Option<Enhanced> {
        self.enhanced
    }

    /// The text of each line, without codes.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.split('\n')
    }

    /// The reply as it goes over the wire.
    pub fn to_bytes(&self) -> Bytes {
        let mut out = BytesMut::new();
        self.write_to(&mut out);
        out.freeze()
    }

    /// Appends the reply as it goes over the wire; a line that would be too long is cut.
    pub(crate) fn write_to(&self, out: &mut BytesMut) {
        let mut lines = self.lines().peekable();
        while let Some(line) = lines.next() {
            let start = out.len();
            let separator = if lines.peek().is_some() { '-' } else { ' ' };
            // Writing to BytesMut grows it and cannot fail.
            let _ = write!(out, "{:03}{separator}", self.code);
            if let Some(Enhanced(class, subject, detail)) = self.enhanced {
                let _ = write!(out, "{class}.{subject}.{detail} ");
            }
            let room = REPLY_LINE_MAX - 2 - (out.len() - start);
            out.put_slice(&line.as_bytes()[..line.floor_char_boundary(room)]);
            out.put_slice(b"\r\n");
        }
    }
}

/// The text with a `?` for each control character.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn joined<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> String {
    let lines: Vec<String> = lines.into_iter().map(|line| printable(line.as_ref())).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(reply: &Reply) -> String {
        String::from_utf8(reply.to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn one_line_has_a_space_after_its_code_and_several_have_hyphens() {
        assert_eq!(wire(&Reply::fixed(250, Enhanced(2, 0, 0), "Ok")), "250 2.0.0 Ok\r\n");
        assert_eq!(
            wire(&Reply::multiline(550, Enhanced(5, 7, 1), ["a", "b", "c"])),
            "550-5.7.1 a\r\n550-5.7.1 b\r\n550 5.7.1 c\r\n"
        );
        assert_eq!(
            wire(&Reply::plain(250, ["host", "SIZE 1"])),
            "250-host\r\n250 SIZE 1\r\n"
        );
    }

    #[test]
    fn no_text_can_add_a_line() {
        assert_eq!(
            wire(&Reply::new(550, Enhanced(5, 1, 1), "a\r\n250 b\0")),
            "550 5.1.1 a??250 b?\r\n"
        );
        assert_eq!(wire(&Reply::plain(250, ["a\nb", "c"])), "250-a?b\r\n250 c\r\n");
    }

    #[test]
    fn a_long_line_is_cut_at_a_character() {
        let line = wire(&Reply::new(550, Enhanced(5, 1, 1), &"é".repeat(400)));
        assert!(line.ends_with("é\r\n"));
        assert!(
            (REPLY_LINE_MAX - 1..=REPLY_LINE_MAX).contains(&line.len()),
            "{}",
            line.len()
        );
    }

    #[test]
    fn stored_ids_stand_ten_a_line() {
        let ids: Vec<String> = (0..21).map(|n| format!("msg_{n:032x}")).collect();
        let text = wire(&Reply::stored(&ids));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.len() <= REPLY_LINE_MAX - 2));
        assert_eq!(lines[0].split(' ').count(), 12);
        assert_eq!(lines[2], format!("250 2.0.0 Ok: {}", ids[20]));
        assert_eq!(wire(&Reply::stored(&ids[..1])), format!("250 2.0.0 Ok: {}\r\n", ids[0]));
    }
}
