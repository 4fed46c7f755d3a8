//! Header fields: encoded words, parameters, dates, message ids.
//!
//! Head: which field the rest is put into as it stands.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_model::{SessionFacts, Timestamp, TlsFacts};

use crate::{head, promise};

/// Bytes of the head.
pub(crate) const HEAD: usize = 1;

/// What stands before the input, and after it.
const FIELDS: [(&str, &str); 16] = [
    ("Subject: ", ""),
    ("From: ", ""),
    ("To: ", ""),
    ("Cc: ", ""),
    ("Reply-To: ", ""),
    ("Date: ", ""),
    ("Message-ID: ", ""),
    ("In-Reply-To: ", ""),
    ("References: ", ""),
    ("X-Any: ", ""),
    ("Content-Type: ", ""),
    ("Content-Type: a/b; name=", ""),
    ("Content-Type: multipart/mixed; boundary=", ""),
    ("Content-Disposition: attachment; filename", ""),
    ("Subject: =?", "?="),
    ("Content-ID: <", ">"),
];

/// Characters of a text in one encoded word: with four bytes for each it stays within 75 (RFC 2047 section 2).
const WORD_CHARACTERS: usize = 10;

/// Puts bytes into a field as they stand, and what they say into fields as the standards write it.
///
/// # Panics
/// - What every message promises is broken, or a field reaches further than its folds.
/// - A text that was encoded as RFC 2047 or RFC 2231 has it does not come back.
/// - A date that was written as RFC 5322 has it is another moment.
/// - An id in angle brackets is another id.
/// - The trace field that is made of what a client said has a line of the client's, or one that is too long.
pub fn run(input: &[u8]) {
    let (head, value) = head::split::<HEAD>(input);
    as_it_stands(FIELDS[usize::from(head[0]) % FIELDS.len()], value);
    let text = String::from_utf8_lossy(value);
    encoded_words(&text);
    parameters(&text);
    date(value);
    id(&text);
    received(&text);
}

/// Each line after the first is folded, so that all of the value belongs to the field.
fn as_it_stands((before, after): (&str, &str), value: &[u8]) {
    let mut raw = before.as_bytes().to_vec();
    for &byte in value {
        raw.push(byte);
        if byte == b'\n' {
            raw.push(b' ');
        }
    }
    raw.extend_from_slice(after.as_bytes());
    raw.extend_from_slice(b"\r\nX-Next: here\r\n\r\nbody\r\n");
    let message = promise::kept(&raw);
    let next = message.headers.iter().find(|(name, _)| name == "x-next");
    assert_eq!(next.map(|(_, value)| value.as_str()), Some("here"));
    assert!(message.headers.len() == 2, "{:?}", message.headers);
}

/// What a decoded text shows: no space around it, and a space for each control character and line end; whether a tab
/// stays one is not promised.
fn shown(text: &str) -> String {
    let is_space = |c: char| c == '\t' || promise::is_unfit(c);
    text.replace(is_space, " ").trim().to_owned()
}

fn encoded_words(text: &str) {
    let characters: Vec<char> = text.chars().collect();
    let words = characters.chunks(WORD_CHARACTERS).map(String::from_iter);
    let b = |word: &String| format!("=?utf-8?b?{}?=", STANDARD.encode(word));
    let q = |word: &String| format!("=?UTF-8?Q?{}?=", escaped('=', word));
    let words: Vec<String> = words.collect();
    for encode in [&b as &dyn Fn(&String) -> String, &q] {
        let subject = words.iter().map(encode).collect::<Vec<_>>().join("\r\n ");
        let message = promise::kept(format!("Subject: {subject}\r\n\r\n").as_bytes());
        assert_eq!(message.subject.as_deref().map(shown), Some(shown(text)));
    }
}

fn parameters(text: &str) {
    // What was decoded once is decoded again, since mail has encoded words in parameters of every form.
    if text.contains("=?") || shown(text).is_empty() {
        return;
    }
    let extended = format!("filename*=utf-8'en'{}", escaped('%', text));
    let (start, end) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let continued = format!(
        "filename*1*={};\r\n filename*0*=utf-8''{}",
        escaped('%', end),
        escaped('%', start)
    );
    let quoted = format!("filename=\"{}\"", shown(text).replace('\\', r"\\").replace('"', "\\\""));
    for parameter in [extended, continued, quoted] {
        let message = promise::kept(format!("Content-Disposition: attachment; {parameter}\r\n\r\n").as_bytes());
        let names: Vec<String> = message.attachments.iter().map(|part| shown(&part.filename)).collect();
        assert_eq!(names, [shown(text)], "{parameter}");
    }
}

/// Every byte but letters and digits as two hexadecimal digits.
fn escaped(mark: char, text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        if byte.is_ascii_alphanumeric() {
            escaped.push(char::from(byte));
        } else {
            write!(escaped, "{mark}{byte:02X}").expect("writing to a String does not fail");
        }
        escaped
    })
}

fn date(value: &[u8]) {
    let (bytes, _) = head::split::<8>(value);
    let ms = u64::from_be_bytes(bytes) % Timestamp::MAX.unix_ms();
    let moment = Timestamp::from_unix_ms(ms / 1000 * 1000);
    let message = promise::kept(format!("Date: {}\r\n\r\n", moment.rfc5322()).as_bytes());
    assert_eq!(message.date, Some(moment));
}

fn id(text: &str) {
    let id: String = text
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace() && !"<>".contains(*c))
        .collect();
    if id.is_empty() {
        return;
    }
    let message = promise::kept(format!("Message-ID: <{id}>\r\nReferences: <{id}>\r\n <{id}>\r\n\r\n").as_bytes());
    assert_eq!(message.message_id.as_ref(), Some(&id));
    assert_eq!(message.references, [id.clone(), id]);
}

/// Octets of a line, at most, its CRLF included (RFC 5322 section 2.1.1).
const LINE_MAX: usize = 1_000;

/// All that the trace field shows is what a client may have chosen.
fn received(text: &str) {
    let tls = TlsFacts {
        version: text.into(),
        cipher: text.into(),
    };
    let facts = SessionFacts {
        peer: ([192, 0, 2, 7], 40_000).into(),
        helo: text.into(),
        protocol: text.into(),
        tls: Some(tls),
        reverse_path: text.into(),
        forward_path: text.into(),
        received_at: Timestamp::from_unix_ms(1_769_341_276_000),
    };
    let field = restante_message::trace(&facts, text, text);
    for (number, line) in field.split_inclusive("\r\n").enumerate() {
        let content = line.strip_suffix("\r\n").expect("a line ends with CRLF");
        let start = if number == 0 { "Received: " } else { "\t" };
        let said = content
            .strip_prefix(start)
            .unwrap_or_else(|| panic!("{content:?} begins a field of its own"));
        assert!(
            line.len() <= LINE_MAX && !said.contains(char::is_control),
            "{content:?}"
        );
    }
    let message = promise::kept(&[field.as_bytes(), b"\r\nbody"].concat());
    let names: Vec<&str> = message.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, message.text.as_deref()), (vec!["received"], Some("body")));
}
