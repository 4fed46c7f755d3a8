//! Connections that break: reset, half-closed, abandoned.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::line::{Line, Seen};
use super::target::Target;

/// Connections that are reset in the middle of their message.
const ABORTS: usize = 50;
/// Bytes that each of them had sent.
const ABORTED_BYTES: usize = 1 << 20;
/// Memory that all of them together may leave behind.
const LEFT_MAX: u64 = 16 << 20;

pub(super) fn lines() -> Vec<Line> {
    vec![
        Line::new(
            "R3 50 resets in the middle of 1 MB: nothing stored, memory given back",
            aborted,
        ),
        Line::new(
            "S3 half-closed after the end of data: the reply arrives",
            half_closed_after,
        ),
        Line::new("S3 half-closed within a message: nothing is stored", half_closed_within),
    ]
}

fn aborted(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let body = [&b"x".repeat(70)[..], b"\r\n"].concat().repeat(ABORTED_BYTES / 72);
    let abort = || -> Result<()> {
        let mut peer = target.peer()?;
        peer.expect("MAIL FROM:<probe@sender.test>", 250)?;
        peer.expect(format!("RCPT TO:<{}>", inbox.address), 250)?;
        // The 354 stays unread, which makes the close a reset.
        peer.send(b"DATA\r\n")?;
        peer.send(&body)?;
        peer.reset()
    };
    for _ in 0..5 {
        abort()?;
    }
    let before = target.memory("VmRSS")?;
    for _ in 0..ABORTS {
        abort()?;
    }
    let mut peer = target.peer()?;
    let id = peer.deliver(&inbox.address, b"Subject: after\r\n\r\n")?;
    ensure!(inbox.ids()? == [id], "not the one message that was ended");
    let Some((before, after)) = before.zip(settled(target, before)?) else {
        return Ok(Seen::passed("nothing stored, the next mail is taken"));
    };
    let left = after.saturating_sub(before);
    ensure!(left < LEFT_MAX, "{left} bytes more than before");
    Ok(Seen::passed(format!(
        "nothing stored, {} KiB left behind, the next mail is taken",
        left / 1024
    )))
}

/// The memory once the last connections are gone, or what it still is after two seconds.
fn settled(target: &Target, before: Option<u64>) -> Result<Option<u64>> {
    let enough = before.map(|before| before + LEFT_MAX / 16);
    let mut now = target.memory("VmRSS")?;
    for _ in 0..40 {
        if now <= enough {
            break;
        }
        thread::sleep(Duration::from_millis(50));
        now = target.memory("VmRSS")?;
    }
    Ok(now)
}

fn half_closed_after(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.open_data(&inbox.address)?;
    peer.send(b"Subject: half closed\r\n\r\n.\r\n")?;
    peer.finish()?;
    let stored = peer.expect_reply(250)?;
    ensure!(peer.is_closed()?, "the server does not close");
    ensure!(inbox.ids()? == stored.ids(), "`{stored}`");
    Ok(Seen::passed("250, stored, closed"))
}

fn half_closed_within(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    for sent in [
        &b"DATA\r\nhalf a message\r\n"[..],
        b"DATA\r\nwhole but for its end\r\n.",
        b"DATA\r\nwhole but for its end\r\n.\r",
        b"BDAT 10 LAST\r\n012345678",
        b"BDAT 10\r\n0123456789",
    ] {
        let mut peer = target.peer()?;
        peer.open(&inbox.address)?;
        peer.send(sent)?;
        peer.finish()?;
        let replies = peer.rest()?;
        ensure!(replies.iter().all(|reply| reply.ids().is_empty()), "{replies:?}");
    }
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed("5 unfinished messages, closed, nothing stored"))
}
