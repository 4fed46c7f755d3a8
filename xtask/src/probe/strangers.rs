//! S7 and S8: who speaks another protocol, or none.

use anyhow::{Result, ensure};

use super::line::{Line, Seen};
use super::peer::Peer;
use super::target::Target;

const VERBS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

/// The first bytes of a TLS 1.3 `ClientHello` (RFC 8446 section 5.1).
const TLS_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\nNOOP\r\n";

pub(super) fn lines() -> Vec<Line> {
    vec![
        Line::new("S7 HTTP on the plain port: one answer, closed, one log line", http),
        Line::new(
            "S7 a TLS hello on the plain port: one answer, closed, one log line",
            tls,
        ),
        Line::new("S8 ten unknown commands: 421 and closed", unknown),
    ]
}

fn http(target: &Target) -> Result<Seen> {
    let before = logged(target, "HTTP on the SMTP port")?;
    for verb in VERBS {
        let request = format!("{verb} / HTTP/1.1\r\nHost: probe.test\r\nContent-Length: 6\r\n\r\nNOOP\r\n");
        refused(target, request.as_bytes())?;
    }
    let log = told(before, logged(target, "HTTP on the SMTP port")?, VERBS.len())?;
    Ok(Seen::passed(format!("{} verbs: 421, closed; {log}", VERBS.len())))
}

fn tls(target: &Target) -> Result<Seen> {
    let before = logged(target, "TLS on the plain SMTP port")?;
    refused(target, TLS_HELLO)?;
    let log = told(before, logged(target, "TLS on the plain SMTP port")?, 1)?;
    Ok(Seen::passed(format!("421, closed; {log}")))
}

/// Says it at once and hears the greeting, one 421, and nothing more.
fn refused(target: &Target, words: &[u8]) -> Result<()> {
    let mut peer = Peer::connected(&target.smtp)?;
    peer.send(words)?;
    peer.expect_reply(220)?;
    let replies = peer.rest()?;
    let is_refusal = matches!(replies.as_slice(), [only] if only.code == 421);
    ensure!(is_refusal, "`{}`: {replies:?}", words.escape_ascii());
    Ok(())
}

/// How many lines of the log have the text.
fn logged(target: &Target, text: &str) -> Result<Option<usize>> {
    Ok(target
        .log()?
        .map(|log| log.lines().filter(|line| line.contains(text)).count()))
}

fn told(before: Option<usize>, after: Option<usize>, expected: usize) -> Result<String> {
    let Some((before, after)) = before.zip(after) else {
        return Ok("its log is elsewhere".to_owned());
    };
    ensure!(
        after - before == expected,
        "{} log lines, not {expected}",
        after - before
    );
    Ok(format!("{expected} log line(s)"))
}

fn unknown(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    for (number, word) in ["XYZZY", "", "\0", "helo\0", "RCP", "MAILFROM:<>", "é", "QUI T", "."]
        .iter()
        .enumerate()
    {
        let reply = peer.say(word)?;
        ensure!(
            matches!(reply.code, 500 | 501),
            "{number}: `{}` is answered `{reply}`",
            word.escape_debug()
        );
    }
    let mut peer = target.peer()?;
    for number in 1..10 {
        peer.expect(format!("XYZZY {number}"), 500)?;
    }
    peer.send(b"XYZZY 10\r\nNOOP\r\nMAIL FROM:<>\r\n")?;
    let replies = peer.rest()?;
    ensure!(matches!(replies.as_slice(), [only] if only.code == 421), "{replies:?}");
    Ok(Seen::passed("nine times 500, then 421, closed"))
}
