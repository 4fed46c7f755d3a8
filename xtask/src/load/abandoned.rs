//! R3: messages that break off leave nothing behind.

use anyhow::{Context, Result, ensure};

use crate::probe::target::Target;

const RESETS: usize = 1_000;
/// Resets before memory is looked at: they fill what an allocator keeps.
const FIRST: usize = 100;
const BYTES: usize = 1 << 20;
const RISE_MAX: u64 = 16_000_000;

pub(super) fn run(target: &Target) -> Result<String> {
    let inbox = target.inbox()?;
    let block = [&b"x".repeat(62)[..], b"\r\n"].concat().repeat(BYTES / 64);
    let break_off = || -> Result<()> {
        let mut peer = target.peer()?;
        peer.open(&inbox.address)?;
        // The 354 stays unread, which makes the close a reset.
        peer.send(b"DATA\r\n")?;
        peer.send(&block)?;
        peer.reset()
    };
    let memory = || target.memory("VmRSS")?.context("a local server");
    (0..FIRST).try_for_each(|_| break_off())?;
    let before = memory()?;
    (FIRST..RESETS).try_for_each(|_| break_off())?;
    let id = target.peer()?.deliver(&inbox.address, b"Subject: after\r\n\r\n")?;
    let after = memory()?;
    ensure!(inbox.ids()? == [id], "something was stored");
    let rise = after.saturating_sub(before);
    ensure!(rise < RISE_MAX, "VmRSS rose by {rise} bytes");
    Ok(format!(
        "VmRSS {:.1} MB after {FIRST}, {:.1} MB after {RESETS}; the next mail is taken",
        megabytes(before),
        megabytes(after)
    ))
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
