//! Bodies: transfer encodings, charsets, HTML to text, links.
//!
//! Head: a charset, a transfer encoding, a type, the length of encoded lines.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{head, promise};

/// Bytes of the head.
pub(crate) const HEAD: usize = 4;

/// Labels of charsets, one of them of none.
const CHARSETS: [&str; 16] = [
    "utf-8",
    "us-ascii",
    "iso-8859-1",
    "iso-8859-8-i",
    "windows-1252",
    "windows-1251",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "gb18030",
    "big5",
    "euc-kr",
    "utf-16le",
    "utf-7",
    "klingon",
];
const ENCODINGS: [&str; 6] = ["7bit", "8bit", "base64", "quoted-printable", "BINARY", "x-uuencode"];
const TYPES: [&str; 4] = [
    "text/html",
    "text/plain",
    "text/plain; format=flowed; delsp=yes",
    "application/x-any",
];

/// Parses bytes as a body that is declared in many ways, and as an attachment that was encoded.
///
/// # Panics
/// - What every message promises is broken.
/// - An attachment does not come out byte for byte as it went in.
pub fn run(input: &[u8]) {
    let (head, body) = head::split::<HEAD>(input);
    let choice = |list: &[&'static str], byte: u8| list[usize::from(byte) % list.len()];
    let declared = [
        choice(&TYPES, head[2]),
        choice(&ENCODINGS, head[1]),
        choice(&CHARSETS, head[0]),
    ];
    let [kind, encoding, charset] = declared;
    promise::kept(&message(&format!("{kind}; charset={charset}"), encoding, body));

    let line_length = usize::from(head[3]).clamp(4, 76);
    attached("base64", &in_base64(body, line_length), body);
    attached("quoted-printable", &in_quoted_printable(body, line_length), body);
    attached("8bit", body, body);
}

fn message(kind: &str, encoding: &str, body: &[u8]) -> Vec<u8> {
    let fields = format!("Content-Type: {kind}\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n");
    [fields.as_bytes(), body].concat()
}

/// An encoded attachment decodes to what it was, and nothing is wrong with it.
fn attached(encoding: &str, encoded: &[u8], content: &[u8]) {
    let parsed = promise::kept(&message("application/octet-stream", encoding, encoded));
    let [part] = &parsed.attachments[..] else {
        panic!("{} attachments", parsed.attachments.len());
    };
    assert!(
        part.content == content,
        "{encoding} does not decode to what was encoded"
    );
    let complains = parsed.defects.iter().any(|defect| defect.contains("damaged"));
    assert!(!complains, "{:?}", parsed.defects);
}

/// RFC 2045 section 6.8, in lines.
fn in_base64(content: &[u8], line_length: usize) -> Vec<u8> {
    let text = STANDARD.encode(content);
    let lines = text.as_bytes().chunks(line_length);
    lines.flat_map(|line| [line, b"\r\n"]).flatten().copied().collect()
}

/// RFC 2045 section 6.7, with every byte escaped that may need it.
fn in_quoted_printable(content: &[u8], line_length: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut column = 0;
    for &byte in content {
        if column + 4 > line_length {
            text.extend_from_slice(b"=\r\n");
            column = 0;
        }
        let length = text.len();
        match byte {
            b'=' | b' ' | b'\t' => text.extend_from_slice(format!("={byte:02X}").as_bytes()),
            _ if byte.is_ascii_graphic() => text.push(byte),
            _ => text.extend_from_slice(format!("={byte:02x}").as_bytes()),
        }
        column += text.len() - length;
    }
    text
}
