//! S5: a command line has 2,048 octets, and a longer one costs nothing.

use anyhow::{Result, ensure};

use super::line::{Line, Seen};
use super::target::Target;

/// A line without end, in blocks of this size.
const BLOCK: usize = 1 << 20;
const BLOCKS: usize = 64;
/// What such a line may cost.
const RISE_MAX: u64 = 1 << 20;

pub(super) fn lines() -> Vec<Line> {
    vec![
        Line::new("S5 a line of 2,048 octets is a command, one more is not", edge),
        Line::new("S5 64 MB without a line end cost nothing", endless),
    ]
}

fn edge(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    let help = |octets: usize| format!("HELP {}", "x".repeat(octets - "HELP \r\n".len()));
    peer.expect(help(2048), 214)?;
    peer.expect(help(2049), 500)?;
    peer.expect("NOOP", 250)?;
    // In pieces, the line end cut in two.
    for (octets, code) in [(2048, 214), (2049, 500)] {
        let line = help(octets);
        for piece in line.as_bytes().chunks(500) {
            peer.send(piece)?;
        }
        peer.send(b"\r")?;
        peer.send(b"\n")?;
        peer.expect_reply(code)?;
    }
    peer.expect("NOOP", 250)?;
    Ok(Seen::passed("214, then one 500, and it goes on"))
}

pub(super) fn endless(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    let block = vec![b'x'; BLOCK];
    let mut rise = None;
    // The first one warms up whatever a line may touch.
    for _ in 0..2 {
        let before = target.memory("VmHWM")?;
        for _ in 0..BLOCKS {
            peer.send(&block)?;
        }
        peer.expect("", 500)?;
        peer.expect("NOOP", 250)?;
        rise = before
            .zip(target.memory("VmHWM")?)
            .map(|(before, after)| after - before);
    }
    let Some(rise) = rise else {
        return Ok(Seen::passed("one 500; the memory of a server elsewhere is unknown"));
    };
    ensure!(rise < RISE_MAX, "{rise} bytes more");
    Ok(Seen::passed(format!(
        "one 500, peak memory rose by {} KiB",
        rise / 1024
    )))
}
