//! `cargo xtask fixtures`: writes the messages under tests/fixtures/messages that no editor should write by hand,
//! because they are large or hold bytes that are no text.
//!
//! The other messages there are written by hand. Beside each `name.eml` stands `name.json`, what it must parse to; see
//! tests/fixtures/messages/README.md.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::repository;

/// A generated message: its file name without extension, and its bytes.
type Fixture = (&'static str, fn() -> Vec<u8>);

const FIXTURES: [Fixture; 12] = [
    ("address-list-huge", address_list_huge),
    ("attachment-binary", attachment_binary),
    ("body-huge-line", body_huge_line),
    ("charset-undeclared", charset_undeclared),
    ("empty", Vec::new),
    ("headers-iso-2022-jp", headers_iso_2022_jp),
    ("headers-latin-1", headers_latin_1),
    ("headers-many", headers_many),
    ("links-galore", links_galore),
    ("nested-deep", nested_deep),
    ("nul-bytes", nul_bytes),
    ("parts-many", parts_many),
];

/// Writes the generated messages; with `check` compares them, byte by byte, and writes nothing.
pub(crate) fn run(check: bool) -> Result<()> {
    let folder = repository::root().join("tests/fixtures/messages");
    let mut stale = Vec::new();
    for (name, generate) in FIXTURES {
        let path = folder.join(name).with_extension("eml");
        let message = generate();
        if fs::read(&path).is_ok_and(|present| present == message) {
            continue;
        }
        if !check {
            fs::write(&path, message).with_context(|| format!("cannot write {}", path.display()))?;
        }
        stale.push(name);
    }
    ensure!(
        !check || stale.is_empty(),
        "run `cargo xtask fixtures` and look at the difference: {stale:?}"
    );
    println!("{} messages generated, {} of them changed", FIXTURES.len(), stale.len());
    Ok(())
}

/// A header block with this subject and these further fields, and the empty line.
fn headers(subject: &str, fields: &str) -> Vec<u8> {
    format!(
        "From: App <app@example.test>\r\nTo: bob@restante.test\r\nDate: Sun, 25 Jan 2026 12:41:16 +0100\r\n\
         Subject: {subject}\r\n{fields}\r\n"
    )
    .into_bytes()
}

/// 300 recipients over 100 folded lines.
fn address_list_huge() -> Vec<u8> {
    let mut fields = "Cc: first@example.test".to_owned();
    for n in 0..100 {
        write!(
            fields,
            ",\r\n a{n}@example.test, \"Last, First {n}\" <b{n}@example.test>,\r\n\tc{n}@example.test (C {n})"
        )
        .expect("a String takes everything");
    }
    fields.push_str("\r\n");
    [headers("Many recipients", &fields), b"x\r\n".to_vec()].concat()
}

/// Every byte value in an attachment that is not encoded, line ends and a false boundary among them.
fn attachment_binary() -> Vec<u8> {
    let mut raw = headers(
        "Binary",
        "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n",
    );
    raw.extend(b"--b\r\n\r\nSee the file.\r\n--b\r\nContent-Type: application/octet-stream; name=all.bin\r\n");
    raw.extend(b"Content-Transfer-Encoding: binary\r\n\r\n");
    raw.extend(0..=u8::MAX);
    raw.extend(b"\r\n--bb\n\r\r\n\r\n--b--\r\n");
    raw
}

/// One line of 20,000 characters, far over the 998 of RFC 5322.
fn body_huge_line() -> Vec<u8> {
    [
        headers("A long line", ""),
        "word ".repeat(4000).into_bytes(),
        b"\r\n".to_vec(),
    ]
    .concat()
}

/// 8-bit text that names no charset.
fn charset_undeclared() -> Vec<u8> {
    [headers("No charset", ""), b"Gr\xfc\xdfe, 5 \x80\r\n".to_vec()].concat()
}

/// Latin 1 in header fields.
fn headers_latin_1() -> Vec<u8> {
    let mut raw = b"From: J\xf6rg <joerg@example.test>\r\nTo: bob@restante.test\r\n".to_vec();
    raw.extend(b"Date: Sun, 25 Jan 2026 12:41:16 +0100\r\nSubject: Gr\xfc\xdfe\r\n\r\nx\r\n");
    raw
}

/// ISO-2022-JP in header fields without encoded words, escapes and all.
fn headers_iso_2022_jp() -> Vec<u8> {
    [headers("\x1b$BF|K\\\x1b(B", ""), b"x\r\n".to_vec()].concat()
}

/// 1,006 header fields, of which 1,000 are read: a Cc that comes later is not seen, nor is the type.
fn headers_many() -> Vec<u8> {
    let mut fields = String::new();
    for n in 0..996 {
        write!(fields, "X-{n}: {n}\r\n").expect("a String takes everything");
    }
    fields.push_str("Cc: late@example.test\r\nContent-Type: text/html\r\n");
    [headers("Many header fields", &fields), b"<p>x</p>\r\n".to_vec()].concat()
}

/// 100 links in HTML, each also in the plain text, and 100 more there.
fn links_galore() -> Vec<u8> {
    let mut raw = headers(
        "Links",
        "MIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary=b\r\n",
    );
    let (mut plain, mut html) = (String::new(), String::new());
    for n in 0..200 {
        write!(plain, "https://example.test/{n}?a=1&b=2 ").expect("a String takes everything");
    }
    for n in 0..100 {
        write!(html, "<a href='https://example.test/{n}?a=1&amp;b=2'>{n}</a>").expect("a String takes everything");
    }
    raw.extend(format!("--b\r\n\r\n{plain}\r\n--b\r\nContent-Type: text/html\r\n\r\n{html}\r\n--b--\r\n").into_bytes());
    raw
}

/// 103 multiparts inside each other, each with a text before the next one; the deepest are left unparsed.
fn nested_deep() -> Vec<u8> {
    let mut raw = headers(
        "A deep message",
        "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b0\r\n",
    );
    for n in 0..102 {
        raw.extend(format!("--b{n}\r\n\r\n{n}\r\n--b{n}\r\n").into_bytes());
        raw.extend(format!("Content-Type: multipart/mixed; boundary=b{}\r\n\r\n", n + 1).into_bytes());
    }
    raw.extend(b"--b102\r\n\r\ndeepest\r\n");
    for n in (0..=102).rev() {
        raw.extend(format!("--b{n}--\r\n").into_bytes());
    }
    raw
}

/// NUL bytes in a header field, in the text and in a file name.
fn nul_bytes() -> Vec<u8> {
    let mut raw = headers(
        "Nul\0Nul",
        "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n",
    );
    raw.extend(b"--b\r\n\r\nA\0B\r\n--b\r\nContent-Type: image/png; name=\"a\0b.png\"\r\n\r\n\0\r\n--b--\r\n");
    raw
}

/// 1,005 parts, of which the multipart itself and 999 more are read.
fn parts_many() -> Vec<u8> {
    let mut raw = headers(
        "Many parts",
        "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n",
    );
    for n in 0..1004 {
        raw.extend(format!("--b\r\n\r\n{n}\r\n").into_bytes());
    }
    raw.extend(b"--b--\r\n");
    raw
}
