//! A test email as a message (RFC 5322, RFC 2045, RFC 2046).
//!
//! It is written here and not by a library, so that every text comes back as it was given: lettre lets a subject pass that
//! looks like an encoded word, and mail-builder chooses itself how bodies are encoded. Base64 leaves no question.
//! Addresses stand as they were given, in UTF-8 (RFC 6532).

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_model::{EmailId, Timestamp};

use super::TestEmail;

/// Bytes of a body in a line of base64, which has 76 characters (RFC 2045 section 6.8).
const LINE_BYTES: usize = 57;
/// No line of base64 looks like it.
const BOUNDARY: &str = "=_bodies";

/// The message of a test email that is composed at this time.
pub(super) fn message(email: &TestEmail, now: Timestamp, hostname: &str) -> String {
    let bodies = email.text.len() + email.html.as_ref().map_or(0, String::len);
    let mut out = String::with_capacity(bodies / 2 * 3 + 8 * 1024);
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = write!(out, "{line}\r\n");
    };
    line(format_args!("From: {}", email.from.header()));
    line(format_args!("To: {}", email.to));
    line(format_args!("Subject: {}", email.subject.header()));
    line(format_args!("Date: {}", now.rfc5322()));
    line(format_args!("Message-ID: <{}@{hostname}>", unique(now)));
    line(format_args!("MIME-Version: 1.0"));
    match &email.html {
        None => part(&mut out, "text/plain", &email.text),
        Some(html) => {
            line(format_args!(
                "Content-Type: multipart/alternative; boundary=\"{BOUNDARY}\""
            ));
            line(format_args!("\r\n--{BOUNDARY}"));
            part(&mut out, "text/plain", &email.text);
            let _ = write!(out, "--{BOUNDARY}\r\n");
            part(&mut out, "text/html", html);
            let _ = write!(out, "--{BOUNDARY}--\r\n");
        }
    }
    out
}

/// Time and randomness, as ids of emails have them.
fn unique(now: Timestamp) -> String {
    format!("{:032x}", u128::from_be_bytes(*EmailId::new(now).as_bytes()))
}

/// The fields and the body of a part, up to the end of a line.
fn part(out: &mut String, kind: &str, body: &str) {
    let _ = write!(
        out,
        "Content-Type: {kind}; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    );
    for line in body.as_bytes().chunks(LINE_BYTES) {
        STANDARD.encode_string(line, out);
        out.push_str("\r\n");
    }
}
