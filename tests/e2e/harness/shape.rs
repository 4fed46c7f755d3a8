//! JSON as a snapshot: in the order of the bytes on the wire, with what differs from run to run replaced by what it is.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

/// Fields of a fixed number of bytes in strict base64url.
const BYTES: [&str; 9] = [
    "ct_kem",
    "emailsHash",
    "inboxHash",
    "inboxId",
    "next",
    "nonce",
    "serverSigPk",
    "server_sig_pk",
    "sig",
];

/// Lays out compact JSON text, one field a line.
///
/// Ids, moments, hashes and keys are checked and replaced by their kind; base64 documents are opened.
pub(crate) fn shape(json: &str) -> String {
    let mut rest = json;
    let text = value(&mut rest, "", 0);
    assert_eq!(rest, "", "one JSON value: {json}");
    text
}

fn value(rest: &mut &str, field: &str, depth: usize) -> String {
    match rest.as_bytes()[0] {
        b'{' => {
            let members = sequence(rest, '}', |rest| {
                let name = string(rest);
                *rest = rest.strip_prefix(':').expect("compact JSON has a colon after a name");
                let member = value(rest, &name, depth + 1);
                format!("{name:?}: {member}")
            });
            lay_out('{', &members, '}', depth)
        }
        b'[' => {
            let elements = sequence(rest, ']', |rest| value(rest, field, depth + 1));
            lay_out('[', &elements, ']', depth)
        }
        b'"' => text(field, &string(rest), depth),
        _ => {
            let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
            let (literal, after) = rest.split_at(end);
            *rest = after;
            literal.to_owned()
        }
    }
}

/// The members between brackets.
fn sequence(rest: &mut &str, close: char, mut member: impl FnMut(&mut &str) -> String) -> Vec<String> {
    let mut members = Vec::new();
    *rest = &rest[1..];
    while !rest.starts_with(close) {
        members.push(member(rest));
        *rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    *rest = &rest[1..];
    members
}

fn lay_out(open: char, members: &[String], close: char, depth: usize) -> String {
    if members.is_empty() {
        return format!("{open}{close}");
    }
    let indent = "  ".repeat(depth + 1);
    let lines = members.join(&format!(",\n{indent}"));
    format!("{open}\n{indent}{lines}\n{}{close}", "  ".repeat(depth))
}

/// Takes a string, with its escapes undone.
fn string(rest: &mut &str) -> String {
    let mut escaped = false;
    let end = rest[1..]
        .find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })
        .expect("a string ends");
    let (literal, after) = rest.split_at(end + 2);
    *rest = after;
    serde_json::from_str(literal).unwrap()
}

fn text(field: &str, text: &str, depth: usize) -> String {
    if is_email_id(text) {
        "[email id]".to_owned()
    } else if matches!(field, "expiresAt" | "receivedAt") && is_moment(text) {
        "[moment]".to_owned()
    } else if BYTES.contains(&field) && text != "ML-DSA-65" {
        format!("[base64url of {} bytes]", URL_SAFE_NO_PAD.decode(text).unwrap().len())
    } else if field == "aad" {
        let aad = String::from_utf8(URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        format!("[base64url of {aad:?}]")
    } else if field == "ciphertext" {
        assert!(URL_SAFE_NO_PAD.decode(text).unwrap().len() > 16);
        "[base64url]".to_owned()
    } else if matches!(field, "metadata" | "parsed") {
        let document = String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
        format!("base64 of {}", value(&mut document.as_str(), "", depth))
    } else if field == "raw" {
        assert!(!STANDARD.decode(text).unwrap().is_empty());
        "[base64]".to_owned()
    } else {
        format!("{text:?}")
    }
}

/// `msg_` and 32 lowercase hex digits.
fn is_email_id(text: &str) -> bool {
    text.strip_prefix("msg_")
        .is_some_and(|hex| hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// UTC with milliseconds and `Z`.
fn is_moment(text: &str) -> bool {
    let pattern = b"0000-00-00T00:00:00.000Z";
    text.len() == pattern.len()
        && text.bytes().zip(pattern).all(|(byte, like)| match like {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}
