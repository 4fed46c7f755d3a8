//! The subject of a test email, in a form that any reader decodes to the same text (RFC 2047).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes of an encoded word's text: with its base64 and its frame it has 72 characters of the 75 that it may have.
const WORD_BYTES: usize = 45;
/// Characters of a subject that stands as it is, behind the name of its field on a line of 78.
const PLAIN_MAX: usize = 69;

/// A text without control characters.
#[derive(Clone, PartialEq, Eq)]
pub struct Subject(String);

/// A text that no header can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must not contain control characters")]
pub struct SubjectError;

impl Subject {
    /// Takes a text of any length.
    ///
    /// # Errors
    /// [`SubjectError`] for one with control characters, those that end a line among them.
    pub fn parse(text: String) -> Result<Self, SubjectError> {
        if text.contains(is_unfit) {
            return Err(SubjectError);
        }
        Ok(Self(text))
    }

    /// The value of the Subject header: as it is if no reader could take it otherwise, else in encoded words, one a line.
    pub(super) fn header(&self) -> String {
        let text = self.0.trim();
        let is_plain = text.bytes().all(|b| matches!(b, b' '..=b'~')) && !text.contains("=?");
        if is_plain && text.len() <= PLAIN_MAX {
            return text.to_owned();
        }
        let (mut rest, mut words) = (text, Vec::new());
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.floor_char_boundary(WORD_BYTES));
            words.push(format!("=?utf-8?B?{}?=", STANDARD.encode(word)));
            rest = after;
        }
        words.join("\r\n ")
    }
}

/// Whether a character ends a line for somebody, or does not show at all.
pub(super) fn is_unfit(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_all_read_alike_stands_as_it_is() {
        for (subject, header) in [
            ("", ""),
            ("Test Email", "Test Email"),
            (" a  b ", "a  b"),
            ("Grüße", "=?utf-8?B?R3LDvMOfZQ==?="),
            ("=?utf-8?q?x?=", "=?utf-8?B?PT91dGYtOD9xP3g/PQ==?="),
        ] {
            assert_eq!(Subject::parse(subject.into()).ok().unwrap().header(), header);
        }
        let plain = "x".repeat(PLAIN_MAX);
        assert_eq!(Subject::parse(plain.clone()).ok().unwrap().header(), plain);
        let long = Subject::parse(format!("{plain}x")).ok().unwrap().header();
        assert!(
            long.lines().all(|line| line.trim().len() <= 75 && line.ends_with("?=")),
            "{long}"
        );
    }

    #[test]
    fn control_characters_are_refused() {
        for text in ["a\r\nBcc: b@x.test", "a\tb", "a\u{7f}", "a\u{85}b", "a\u{2028}b", "\0"] {
            assert!(Subject::parse(text.into()).is_err(), "{text:?}");
        }
    }
}
