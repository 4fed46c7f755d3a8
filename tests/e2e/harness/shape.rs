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

/// Fields of a moment.
const MOMENTS: [&str; 10] = [
    "completedAt",
    "createdAt",
    "deletedAt",
    "expiresAt",
    "lastDeliveryAt",
    "nextAttemptAt",
    "previousSecretValidUntil",
    "receivedAt",
    "storedAt",
    "updatedAt",
];

/// Fields of a number of seconds or milliseconds.
const NUMBERS: [&str; 3] = ["createdAt", "durationMs", "responseTime"];

/// Ids by their prefix, and what they are of.
const IDS: [(&str, &str); 4] = [
    ("msg_", "email"),
    ("whk_", "webhook"),
    ("evt_", "event"),
    ("dlv_", "delivery"),
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
            if NUMBERS.contains(&field) && literal.parse::<u64>().is_ok_and(|number| number > 0) {
                return "[number]".to_owned();
            }
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
    if let Some(kind) = kind_of_id(text) {
        format!("[{kind} id]")
    } else if field == "secret" && is_secret(text) {
        "[secret]".to_owned()
    } else if MOMENTS.contains(&field) && is_moment(text) {
        "[moment]".to_owned()
    } else if BYTES.contains(&field) && !matches!(text, "ML-DSA-65" | "test_inbox_hash") {
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

/// What an id of a known prefix and 32 lowercase hex digits is of.
fn kind_of_id(text: &str) -> Option<&'static str> {
    let is_hex = |hex: &str| hex.len() == 32 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let mut known = IDS
        .iter()
        .filter(|(prefix, _)| text.strip_prefix(prefix).is_some_and(is_hex));
    known.next().map(|(_, kind)| *kind)
}

/// `whsec_` and 44 letters and digits.
pub(crate) fn is_secret(text: &str) -> bool {
    text.strip_prefix("whsec_")
        .is_some_and(|random| random.len() == 44 && random.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// UTC with milliseconds and `Z`.
pub(crate) fn is_moment(text: &str) -> bool {
    let pattern = b"0000-00-00T00:00:00.000Z";
    text.len() == pattern.len()
        && text.bytes().zip(pattern).all(|(byte, like)| match like {
            b'0' => byte.is_ascii_digit(),
            other => byte == *other,
        })
}
