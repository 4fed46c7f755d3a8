//! R1: clients that take their time, and clients that stop.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::line::{Line, Needs, Seen};
use super::peer::Peer;
use super::target::Target;
use crate::stopwatch;

pub(super) fn lines() -> Vec<Line> {
    vec![
        Line::new("R1 a byte a second, within the deadlines, is served", byte_a_second).with(Needs::Time),
        Line::new("R1 an idle client is told to leave", idle).with(Needs::ShortDeadlines),
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

/// The deadline between commands of the server for this line.
pub(super) const IDLE_MS: u64 = 1_500;

fn idle(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    let (took, reply) = stopwatch::time(|| peer.expect_reply(421));
    let reply = reply?;
    ensure!(peer.is_closed()?, "not closed");
    let took = took.as_millis();
    ensure!((1_000..10_000).contains(&took), "after {took} ms");
    Ok(Seen::passed(format!("`{reply}` after {took} ms, closed")))
}
