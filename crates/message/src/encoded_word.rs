//! Encoded words in header fields (RFC 2047).

use std::borrow::Cow;

use memchr::memmem;

use crate::charset;
use crate::transfer;

/// Characters that a charset name may have here; a bound on how far a false start is read.
const CHARSET_MAX: usize = 64;

/// Decodes every encoded word of an unfolded text and tells whether all could be.
///
/// More is accepted than RFC 2047 section 2 allows, since mail has it: spaces inside a word, words inside a quoted
/// string, words longer than 75 characters, and characters cut in two by adjacent words.
/// Each byte is looked at a bounded number of times.
pub(crate) fn decode(text: &str) -> (Cow<'_, str>, bool) {
    if memmem::find(text.as_bytes(), b"=?").is_none() {
        return (Cow::Borrowed(text), true);
    }
    let mut decoder = Decoder {
        decoded: String::with_capacity(text.len()),
        pending: None,
        whole: true,
    };
    let mut rest = text;
    while let Some(start) = rest.find("=?") {
        let Some((word, after)) = Word::read(&rest[start..]) else {
            decoder.plain(&rest[..start + 2]);
            rest = &rest[start + 2..];
            continue;
        };
        decoder.between(&rest[..start]);
        decoder.word(word, &rest[start..rest.len() - after.len()]);
        rest = after;
    }
    decoder.plain(rest);
    (Cow::Owned(decoder.decoded), decoder.whole)
}

/// One encoded word with its transfer encoding undone.
struct Word<'x> {
    charset: &'x str,
    bytes: Vec<u8>,
}

impl<'x> Word<'x> {
    /// Reads the word that `text` starts with; also returns what follows it.
    ///
    /// Looking for the end costs no more than the text that is then used up: without an end there is no further word
    /// in the text at all, and [`Word::read`] is not asked twice about it (see the check for `?=`).
    fn read(text: &'x str) -> Option<(Self, &'x str)> {
        let head = &text.as_bytes()[2..text.len().min(2 + CHARSET_MAX)];
        let charset_end = 2 + memchr::memchr(b'?', head)?;
        let label = text.get(2..charset_end)?;
        let encoding = *text.as_bytes().get(charset_end + 1)?;
        if label.is_empty() || !label.bytes().all(|b| b.is_ascii_graphic()) {
            return None;
        }
        let payload = text.get(charset_end + 2..)?.strip_prefix('?')?;
        let encoded = &payload[..end(payload)?];
        let bytes = match encoding {
            b'q' | b'Q' => q(encoded),
            b'b' | b'B' => transfer::base64(encoded.as_bytes()).0,
            _ => return None,
        };
        // RFC 2231 section 5: a language may follow the charset
        let charset = label.split('*').next().unwrap_or(label);
        Some((Self { charset, bytes }, &payload[encoded.len() + 2..]))
    }
}

/// Where a word's payload ends: at the first `?=`, unless another word starts before it.
fn end(payload: &str) -> Option<usize> {
    let bytes = payload.as_bytes();
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'?', &bytes[from..]).map(|at| from + at) {
        if bytes.get(at + 1) == Some(&b'=') {
            return Some(at);
        }
        if at > 0 && bytes[at - 1] == b'=' {
            return None;
        }
        from = at + 1;
    }
    None
}

fn q(encoded: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(encoded.len());
    transfer::unescape(b'=', encoded.replace('_', "=20").as_bytes(), &mut bytes);
    bytes
}

struct Decoder<'x> {
    decoded: String,
    /// Bytes of adjacent words in one charset, decoded together, and their source.
    pending: Option<(&'x str, Vec<u8>, String)>,
    whole: bool,
}

impl<'x> Decoder<'x> {
    fn plain(&mut self, text: &str) {
        self.flush();
        self.decoded.push_str(text);
    }

    /// What stands before a word: white space between two words is not shown (RFC 2047 section 6.2).
    fn between(&mut self, text: &str) {
        if self.pending.is_none() || !text.trim_ascii().is_empty() {
            self.plain(text);
        }
    }

    fn word(&mut self, word: Word<'x>, source: &str) {
        match &mut self.pending {
            Some((charset, bytes, sources))
                if charset.eq_ignore_ascii_case(word.charset) && !charset::is_stateful(charset) =>
            {
                bytes.extend(word.bytes);
                sources.push_str(source);
            }
            _ => {
                self.flush();
                self.pending = Some((word.charset, word.bytes, source.to_owned()));
            }
        }
    }

    fn flush(&mut self) {
        let Some((charset, bytes, source)) = self.pending.take() else {
            return;
        };
        if let Some(text) = charset::decode_word(&bytes, charset) {
            self.decoded.push_str(&text);
        } else {
            self.whole = false;
            self.decoded.push_str(&source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_decoded_where_they_stand() {
        for (text, decoded) in [
            ("plain", "plain"),
            ("=?UTF-8?Q?J=C3=B6rg?= <j@x>", "Jörg <j@x>"),
            ("=?iso-8859-1?q?a_b=20c?=", "a b c"),
            ("=?utf-8?B?w6k=?=", "é"),
            ("=?utf-8*fr?q?=C3=A9?=", "é"),
            ("a =?utf-8?q?b?=  =?utf-8?q?c?= d", "a bc d"),
            ("=?utf-8?q?a?= =?iso-8859-1?q?=E9?=", "aé"),
            ("=?utf-8?b?w6?= =?utf-8?b?k?=", "\u{fffd}"), // cut inside base64: not to be saved
            ("=?utf-8?q?=C3?= =?utf-8?q?=A9?=", "é"),     // cut inside a character: saved
            ("=?utf-8?q?with spaces?=", "with spaces"),
            ("=?utf-8?q??=", ""),
            ("=?utf-8?q?really??=", "really?"),
            ("=?koi8-r?B?8NLJ18XU?=", "Привет"),
            (
                "=?ISO-2022-JP?B?GyRCJDMkcxsoQg==?= =?ISO-2022-JP?B?GyRCJEskQSRPGyhC?=",
                "こんにちは",
            ),
            ("=?utf-7?q?+AOk?= =?utf-7?q?+AOk?=", "éé"),
        ] {
            assert_eq!(decode(text), (decoded.into(), true), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_word_stays() {
        for text in [
            "=?",
            "=??",
            "=?utf-8?",
            "=?utf-8?q",
            "=?utf-8?q?open",
            "=?utf-8?x?a?=",
            "=? ?q?a?=",
            "a =?= b",
            "=?é?q?a?=",
        ] {
            assert_eq!(decode(text).0, text);
        }
        assert_eq!(decode("=?a?q?open =?utf-8?q?ok?=").0, "=?a?q?open ok");
    }

    #[test]
    fn an_unknown_charset_is_told() {
        assert_eq!(decode("a =?klingon?q?b?= c"), ("a =?klingon?q?b?= c".into(), false));
    }
}
