//! S9: CR, LF and NUL in an address or header reach no output header, no document and no line of the log.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::line::{Line, Seen};
use super::target::Target;

/// What would be seen at the start of a line if a line end got through.
const FORGED: &str = "X-Forged";

/// What an attacker puts before it.
const BREAKS: [&str; 6] = ["\r", "\n", "\0", "\r\u{0b}", "\n\t", "\u{85}"];

pub(super) fn lines() -> Vec<Line> {
    vec![
        Line::new("S9 control characters in commands reach nothing", commands),
        Line::new("S9 control characters in headers reach no document", headers),
    ]
}

/// Commands with a hole for the break and what it would forge.
const COMMANDS: [&str; 8] = [
    "EHLO a{}",
    "HELO a{}",
    "MAIL FROM:<a{}@sender.test>",
    "MAIL FROM:<\"a{}\"@sender.test>",
    "MAIL FROM:<a@sender.test> SIZE=1{}",
    "MAIL FROM:<a@sender.test> BODY=8BITMIME{}",
    "MAIL FROM:<a@sender.test>{}",
    "VRFY a{}",
];

fn commands(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut sent = 0;
    for command in COMMANDS {
        for line_break in BREAKS {
            let mut peer = target.peer()?;
            let injected = format!("{line_break}{FORGED}: 1{line_break}");
            // Whatever it is answered, it is one reply without a control character, which the peer checks.
            let reply = peer.say(command.replacen("{}", &injected, 1))?;
            ensure!(
                !reply.text.contains(FORGED) || reply.code >= 500,
                "`{reply}` repeats it"
            );
            peer.expect("RSET", 250)?;
            for recipient in [
                inbox.address.replacen('@', &format!("+{injected}@"), 1),
                format!("{}{injected}", inbox.address),
            ] {
                peer.expect("MAIL FROM:<probe@sender.test>", 250)?;
                let reply = peer.say(format!("RCPT TO:<{recipient}>"))?;
                ensure!(reply.code >= 500, "RCPT TO:<{}>: `{reply}`", recipient.escape_debug());
                peer.expect("RSET", 250)?;
                sent += 1;
            }
            let id = peer.deliver(&inbox.address, b"Subject: after\r\n\r\n")?;
            let (trace, _) = inbox.source(&id)?;
            ensure!(is_one_field(&trace), "{}", trace.escape_ascii());
            sent += 1;
        }
    }
    no_forged_log_line(target)?;
    Ok(Seen::passed(format!(
        "{sent} lines, none repeated in a trace field or the log"
    )))
}

fn headers(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    let base64 = "=?utf-8?b?YQ0KWC1Gb3JnZWQ6IDENCgAK?=";
    let quoted = "=?utf-8?q?a=0D=0AX-Forged:_1=0A=00?=";
    let raw = "a\rX-Forged: 1\nX\0";
    for value in [base64, quoted, raw] {
        let message = format!(
            "From: {value} <a@sender.test>\r\nTo: {value} <b@sender.test>\r\nSubject: {value}\r\n\
             Message-ID: <{value}@sender.test>\r\nReply-To: \"{value}\" <c@sender.test>\r\n\
             Content-Type: text/plain; name*=utf-8''a%0D%0AX-Forged%3A%201%00\r\n\
             Content-Disposition: attachment; filename=\"{value}\"\r\nX-{value}: {value}\r\n\r\nbody\r\n"
        );
        let id = peer.deliver(&inbox.address, message.as_bytes())?;
        ensure!(inbox.message(&id)? == message.as_bytes(), "other bytes");
        let (trace, _) = inbox.source(&id)?;
        ensure!(is_one_field(&trace), "{}", trace.escape_ascii());
        for name in ["metadata", "parsed"] {
            let document = inbox.document(&id, name)?;
            no_control("", &document)?;
        }
    }
    no_forged_log_line(target)?;
    Ok(Seen::passed(
        "3 encodings in 8 places: no control character in metadata, names or headers",
    ))
}

/// Whether each line but the first is folded, and no line has a control character or what was forged.
fn is_one_field(trace: &[u8]) -> bool {
    let text = String::from_utf8_lossy(trace);
    let Some(text) = text.strip_suffix("\r\n") else {
        return false;
    };
    text.split("\r\n").enumerate().all(|(number, line)| {
        let rest = if number == 0 {
            line.strip_prefix("Received: ")
        } else {
            line.strip_prefix('\t')
        };
        rest.is_some_and(|rest| !rest.contains(char::is_control) && !rest.contains(FORGED))
    })
}

/// No string of the document but the body has CR, LF or NUL.
fn no_control(place: &str, value: &Value) -> Result<()> {
    match value {
        // The body is shown as it was sent.
        Value::String(_) if matches!(place, "text" | "html") => {}
        Value::String(text) => ensure!(!text.contains(['\r', '\n', '\0']), "{place}: {}", text.escape_debug()),
        Value::Array(values) => {
            for value in values {
                no_control(place, value)?;
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                no_control(name, &Value::String(name.clone()))?;
                no_control(name, value)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn no_forged_log_line(target: &Target) -> Result<()> {
    let Some(log) = target.log()? else { return Ok(()) };
    // The log's own lines begin with a time or a place.
    let forged = log
        .split(['\r', '\n'])
        .find(|line| line.trim_start().starts_with(FORGED));
    ensure!(forged.is_none(), "the log has a forged line: {forged:?}");
    ensure!(!log.contains('\0') && !log.contains('\r'), "the log has a CR or NUL");
    Ok(())
}
