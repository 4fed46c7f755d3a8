//! S3 and S4 for DATA: what is refused is read to its end, and none of it is a command.

use anyhow::{Result, ensure};

use super::chunks::size_limit;
use super::line::{Line, Seen};
use super::target::Target;

pub(super) fn lines() -> Vec<Line> {
    vec![
        Line::new(
            "S4 SIZE= over the limit is refused at MAIL, junk is a syntax error",
            declared,
        ),
        Line::new(
            "S3 a body of commands that is too large gets one 552 at its end",
            too_large,
        ),
        Line::new(
            "S3 a header block that is too large gets one 552 at its end",
            header_too_large,
        ),
        Line::new(
            "S3 a body of commands after a refused DATA is never a message",
            refused_state,
        ),
    ]
}

fn declared(target: &Target) -> Result<Seen> {
    let mut peer = target.peer()?;
    let limit = size_limit(&peer.expect("EHLO probe.test", 250)?.text)?;
    for size in [
        limit as u128 + 1,
        u128::from(u64::MAX),
        u128::from(u64::MAX) + 2,
        u128::MAX,
    ] {
        peer.expect(format!("MAIL FROM:<probe@sender.test> SIZE={size}"), 552)?;
    }
    for junk in ["x", "-1", "0x10", "1e3", "", " 5", "5 5"] {
        let reply = peer.say(format!("MAIL FROM:<probe@sender.test> SIZE={junk}"))?;
        ensure!(matches!(reply.code, 501 | 555), "SIZE={junk}: `{reply}`");
    }
    peer.expect(format!("MAIL FROM:<probe@sender.test> SIZE={limit}"), 250)?;
    Ok(Seen::passed("4 sizes 552, 7 words refused, the limit itself 250"))
}

fn too_large(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    let limit = size_limit(&peer.expect("EHLO probe.test", 250)?.text)?;
    let commands = format!(
        "RSET\r\nMAIL FROM:<evil@sender.test>\r\nRCPT TO:<{}>\r\nDATA\r\nx\r\n",
        inbox.address
    );
    // The second declares less than it sends.
    for declared in ["", " SIZE=10"] {
        peer.expect(format!("MAIL FROM:<probe@sender.test>{declared}"), 250)?;
        peer.expect(format!("RCPT TO:<{}>", inbox.address), 250)?;
        peer.expect("DATA", 354)?;
        peer.send(commands.repeat(limit / commands.len() + 2))?;
        peer.expect(".", 552)?;
        peer.expect("NOOP", 250)?;
    }
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed(
        "552 at the end of each, NOOP is answered next, nothing stored",
    ))
}

fn header_too_large(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    for field in ["X-A: b\r\n", "NOOP: QUIT\r\n\tQUIT\r\n"] {
        peer.open_data(&inbox.address)?;
        peer.send(field.repeat(300 * 1024 / field.len()))?;
        let reply = peer.expect("\r\nbody\r\n.", 552)?;
        ensure!(reply.text.starts_with("552 5.3.4 "), "`{reply}`");
        peer.expect("NOOP", 250)?;
    }
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed("300 KiB of fields: 552 5.3.4, nothing stored"))
}

/// Without a 354 there is no body: what a careless client sends then are commands, and no message comes of them.
fn refused_state(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.expect("MAIL FROM:<probe@sender.test>", 250)?;
    peer.expect("RCPT TO:<nobody@elsewhere.invalid>", 550)?;
    peer.expect("DATA", 554)?;
    peer.send(b"Subject: x\r\n\r\nbody\r\n.\r\n")?;
    for _ in 0..4 {
        peer.expect_reply(500)?;
    }
    peer.expect("NOOP", 250)?;
    ensure!(inbox.ids()?.is_empty(), "something was stored");
    Ok(Seen::passed("554, then a 500 for each line, nothing stored"))
}
