//! S4 and S3 for BDAT: the arithmetic of chunks, and chunks that are refused (RFC 3030).

use anyhow::{Result, ensure};

use super::line::{Line, Seen};
use super::target::Target;

/// A size that cannot be read, or cannot be kept: the framing is lost, so the session must end.
const FATAL: [(&str, u16); 14] = [
    ("18446744073709551615 LAST", 552),
    ("18446744073709551615", 552),
    ("18446744073709551616 LAST", 552),
    ("18446744073709551626", 552),
    ("9223372036854775808 LAST", 552),
    ("99999999999999999999999999999999", 552),
    ("-1", 501),
    ("-1 LAST", 501),
    ("+5", 501),
    ("0x10", 501),
    ("1e3", 501),
    ("ff", 501),
    ("", 501),
    ("LAST", 501),
];

pub(super) fn lines() -> Vec<Line> {
    let fatal = |(size, code): (&'static str, u16)| {
        let shown = if size.is_empty() { "no size" } else { size };
        Line::new(format!("S4 BDAT arithmetic: {shown}"), move |target| {
            lost_framing(target, size, code)
        })
    };
    let mut lines: Vec<Line> = FATAL.into_iter().map(fatal).collect();
    lines.extend([
        Line::new("S4 BDAT sizes that would wrap are refused", wrapping),
        Line::new("S4 BDAT in chunks, empty ones among them, is one message", chunked),
        Line::new("S4 BDAT without LAST stores nothing", no_last),
        Line::new("S4 DATA after BDAT, and BDAT after DATA, keep their framing", mixed),
        Line::new("S3 a chunk that is too large is drained to its end", too_large),
        Line::new("S3 a chunk without transaction or recipient is drained", out_of_order),
    ]);
    lines
}

/// What follows a chunk; if it ever runs, it is answered.
const COMMANDS: &[u8] = b"NOOP\r\nMAIL FROM:<evil@sender.test>\r\nQUIT\r\n";

fn lost_framing(target: &Target, size: &str, code: u16) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.open(&inbox.address)?;
    peer.send([format!("BDAT {size}\r\n").as_bytes(), COMMANDS].concat())?;
    let replies = peer.rest()?;
    let [reply] = replies.as_slice() else {
        anyhow::bail!("not one reply and the end: {replies:?}");
    };
    ensure!(reply.code == code, "`{reply}`, not {code}");
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed(format!("`{reply}`, closed")))
}

fn wrapping(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    for second in ["18446744073709551606", "18446744073709551615", "9223372036854775807"] {
        let mut peer = target.peer()?;
        peer.open(&inbox.address)?;
        peer.send(b"BDAT 10\r\n0123456789")?;
        peer.expect_reply(250)?;
        peer.send([format!("BDAT {second} LAST\r\n").as_bytes(), COMMANDS].concat())?;
        let replies = peer.rest()?;
        ensure!(
            replies.len() == 1 && replies[0].code == 552,
            "10 + {second}: {replies:?}"
        );
    }
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed("10 bytes and 3 sizes that would wrap: 552, closed"))
}

fn chunked(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.open(&inbox.address)?;
    let message = b"Subject: chunks\r\n\r\n.\r\nQUIT\r\n\0\xff";
    for chunk in message.chunks(5) {
        peer.send([format!("BDAT {}\r\n", chunk.len()).as_bytes(), chunk, b"BDAT 0\r\n"].concat())?;
        peer.expect_reply(250)?;
        peer.expect_reply(250)?;
    }
    let stored = peer.expect("BDAT 0 LAST", 250)?;
    peer.open(&inbox.address)?;
    let empty = peer.expect("BDAT 0 LAST", 250)?;
    let (stored, empty) = (stored.ids().concat(), empty.ids().concat());
    ensure!(inbox.message(&stored)? == message, "other bytes");
    ensure!(inbox.message(&empty)?.is_empty(), "not empty");
    Ok(Seen::passed("stored whole; an empty message too"))
}

fn no_last(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    for end in [&b"QUIT\r\n"[..], b"RSET\r\nQUIT\r\n", b"EHLO again\r\nQUIT\r\n", b""] {
        let mut peer = target.peer()?;
        peer.open(&inbox.address)?;
        peer.send([b"BDAT 10\r\n0123456789", end].concat())?;
        peer.finish()?;
        let replies = peer.rest()?;
        ensure!(replies.iter().all(|reply| reply.ids().is_empty()), "{replies:?}");
    }
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed("4 ways to leave, nothing stored"))
}

fn mixed(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.open(&inbox.address)?;
    peer.send(b"BDAT 5\r\nNOOP\n")?;
    peer.expect_reply(250)?;
    peer.expect("DATA", 503)?;
    peer.expect(format!("RCPT TO:<{}>", inbox.address), 503)?;
    peer.expect("RSET", 250)?;
    peer.open_data(&inbox.address)?;
    // Within DATA a BDAT is text.
    let stored = peer.expect("BDAT 4 LAST\r\nQUIT\r\n.", 250)?;
    peer.send(b"BDAT 6 LAST\r\nQUIT\r\n")?;
    peer.expect_reply(503)?;
    peer.expect("NOOP", 250)?;
    let ids = inbox.ids()?;
    ensure!(ids == stored.ids(), "{ids:?}");
    ensure!(inbox.message(&ids[0])? == b"BDAT 4 LAST\r\nQUIT\r\n", "other bytes");
    Ok(Seen::passed("503 for each out of place, its bytes drained"))
}

fn too_large(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    let limit = size_limit(&peer.expect("EHLO probe.test", 250)?.text)?;
    let chunk = COMMANDS.repeat(limit / COMMANDS.len() + 2);
    peer.open(&inbox.address)?;
    peer.send([format!("BDAT {} LAST\r\n", chunk.len()).as_bytes(), &chunk].concat())?;
    peer.expect_reply(552)?;
    peer.expect("NOOP", 250)?;
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed(format!(
        "{} bytes of commands: one 552, and it goes on",
        chunk.len()
    )))
}

/// The limit that EHLO announces.
pub(super) fn size_limit(ehlo: &str) -> Result<usize> {
    let words: Vec<&str> = ehlo.split_whitespace().collect();
    let size = words.windows(2).find(|pair| pair[0].ends_with("SIZE"));
    let digits = size.map_or("", |pair| pair[1]);
    digits.parse().map_err(|_| anyhow::anyhow!("no SIZE in {ehlo}"))
}

fn out_of_order(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    let chunk = [format!("BDAT {} LAST\r\n", COMMANDS.len()).as_bytes(), COMMANDS].concat();
    peer.send(&chunk)?;
    peer.expect_reply(503)?;
    peer.expect("MAIL FROM:<probe@sender.test>", 250)?;
    peer.send(&chunk)?;
    peer.expect_reply(554)?;
    peer.expect("RCPT TO:<nobody@elsewhere.invalid>", 503)?;
    peer.expect("NOOP", 250)?;
    Ok(Seen::passed("503, 554, and no command of the bodies ran"))
}
