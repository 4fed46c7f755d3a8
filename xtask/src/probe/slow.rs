//! R1: clients that take their time, and clients that stop.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::line::{Line, Needs, Seen};
use super::peer::Peer;
use super::target::Target;
use crate::stopwatch;

pub(super) fn lines() -> Vec<Line> {
    let short = |name: &str, check: fn(&Target) -> Result<Seen>| Line::new(name, check).with(Needs::ShortDeadlines);
    vec![
        Line::new("R1 a byte a second, within the deadlines, is served", byte_a_second).with(Needs::Time),
        short("R1 a client that never says a command is told to leave", silent),
        short("R1 an idle client is told to leave", idle),
        short("R1 a message that stalls is cut, and nothing of it is stored", stalled),
        short("R1 a session that never ends is ended", endless),
        Line::new("R1 a TLS handshake that stalls is cut", no_handshake).with(Needs::Certificate),
    ]
}

/// Pause between the bytes of a slow client.
const PAUSE: Duration = Duration::from_secs(1);

fn byte_a_second(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    trickle(&mut peer, b"NOOP\r\n")?;
    peer.expect_reply(250)?;
    peer.open_data(&inbox.address)?;
    trickle(&mut peer, b"slow\r\n.\r\n")?;
    let stored = peer.expect_reply(250)?;
    let message = inbox.message(&stored.ids().concat())?;
    ensure!(message == b"slow\r\n", "other bytes: {}", message.escape_ascii());
    Ok(Seen::passed("a command and a message, stored"))
}

fn trickle(peer: &mut Peer, bytes: &[u8]) -> Result<()> {
    for byte in bytes {
        peer.send([*byte])?;
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// The deadlines of the server for these lines; only a session as a whole may take longer.
const DEADLINE_MS: u128 = 1_500;
const SESSION_MS: u128 = 4_000;
pub(super) const SHORT_DEADLINES: [(&str, &str); 4] = [
    ("SVC_SMTP_FIRST_COMMAND_TIMEOUT", "1500"),
    ("SVC_SMTP_SESSION_TIMEOUT", "1500"),
    ("SVC_SMTP_DATA_TIMEOUT", "1500"),
    ("SVC_SMTP_MAX_SESSION_DURATION", "4000"),
];
/// The same deadline for the handshake.
pub(super) const SHORT_HANDSHAKE: (&str, &str) = ("SVC_TLS_HANDSHAKE_TIMEOUT", "1500");
/// A deadline may be met so much later on a busy machine.
const LATE_MS: u128 = 8_000;

fn silent(target: &Target) -> Result<Seen> {
    let mut peer = Peer::connected(&target.smtp)?;
    peer.expect_reply(220)?;
    // Bytes that are no command do not prolong it.
    peer.send(b"EHL")?;
    told_to_leave(peer, DEADLINE_MS)
}

fn idle(target: &Target) -> Result<Seen> {
    told_to_leave(target.peer()?, DEADLINE_MS)
}

fn stalled(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    for begun in ["DATA\r\nhalf a mess", "BDAT 100 LAST\r\nhalf a mess"] {
        let mut peer = target.peer()?;
        peer.open(&inbox.address)?;
        peer.send(begun)?;
        if begun.starts_with("DATA") {
            peer.expect_reply(354)?;
        }
        told_to_leave(peer, DEADLINE_MS)?;
    }
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed("DATA and BDAT: 421, closed, nothing stored"))
}

/// Sends commands well within their deadline until the server has had enough.
fn endless(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    let (took, said) = stopwatch::time(|| -> Result<usize> {
        for number in 0.. {
            let reply = peer.say("NOOP")?;
            if reply.code == 421 {
                return Ok(number);
            }
            thread::sleep(Duration::from_millis(100));
            if peer.has_more()? {
                peer.expect_reply(421)?;
                return Ok(number);
            }
        }
        Ok(0)
    });
    let (took, commands) = (took.as_millis(), said?);
    ensure!(
        (SESSION_MS - 500..SESSION_MS + LATE_MS).contains(&took),
        "after {took} ms"
    );
    Ok(Seen::passed(format!("421 after {commands} commands and {took} ms")))
}

/// Waits for a 421 and the end, which come at the deadline.
fn told_to_leave(mut peer: Peer, deadline: u128) -> Result<Seen> {
    let (took, reply) = stopwatch::time(|| peer.expect_reply(421));
    let reply = reply?;
    ensure!(peer.is_closed()?, "not closed");
    let took = took.as_millis();
    ensure!((deadline - 500..deadline + LATE_MS).contains(&took), "after {took} ms");
    Ok(Seen::passed(format!("`{reply}` after {took} ms, closed")))
}

fn no_handshake(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    peer.expect("STARTTLS", 220)?;
    let (took, closed) = stopwatch::time(|| peer.is_closed());
    ensure!(closed?, "something is said in clear after 220");
    let took = took.as_millis();
    ensure!(
        (DEADLINE_MS - 500..DEADLINE_MS + LATE_MS).contains(&took),
        "after {took} ms"
    );
    Ok(Seen::passed(format!("closed after {took} ms")))
}
