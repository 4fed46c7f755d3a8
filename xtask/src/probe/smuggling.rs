//! S1: only CRLF.CRLF ends DATA.

use anyhow::{Result, ensure};

use super::dice::Dice;
use super::line::{Line, Seen};
use super::model;
use super::target::Target;

/// What other servers have taken for the end of a message, or might.
const VARIANTS: [(&str, &[u8]); 19] = [
    ("LF.LF", b"\n.\n"),
    ("LF.CRLF", b"\n.\r\n"),
    ("CRLF.LF", b"\r\n.\n"),
    ("CR.CR", b"\r.\r"),
    ("CR.CRLF", b"\r.\r\n"),
    ("CRLF.CR", b"\r\n.\r"),
    ("CRLF.CRCRLF", b"\r\n.\r\r\n"),
    ("LF.CR", b"\n.\r"),
    ("CR.LF", b"\r.\n"),
    ("LFCR.LFCR", b"\n\r.\n\r"),
    ("CRCRLF.LF", b"\r\r\n.\n"),
    ("CRLF.NUL CRLF", b"\r\n.\0\r\n"),
    ("CRLF NUL.CRLF", b"\r\n\0.\r\n"),
    ("CR NUL LF.CRLF", b"\r\0\n.\r\n"),
    ("CRLF.CR NUL LF", b"\r\n.\r\0\n"),
    ("CRLF.SP CRLF", b"\r\n. \r\n"),
    ("CRLF..CRLF", b"\r\n..\r\n"),
    ("NEL.NEL", b"\xc2\x85.\xc2\x85"),
    ("VT.FF", b"\x0b.\x0c"),
];

/// Random byte strings of the property.
const STRINGS: u64 = 300;

pub(super) fn lines() -> Vec<Line> {
    let variant = |(name, end): (&str, &'static [u8])| {
        Line::new(format!("S1 smuggling: {name}"), move |target| smuggle(target, end))
    };
    let mut lines: Vec<Line> = VARIANTS.into_iter().map(variant).collect();
    lines.push(Line::new(
        "S1 random bytes make no more messages than were ended",
        property,
    ));
    lines
}

/// Hides a second message behind what is not the end of the first.
fn smuggle(target: &Target, end: &[u8]) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.open_data(&inbox.address)?;
    let hidden = format!(
        "MAIL FROM:<smuggled@sender.test>\r\nRCPT TO:<{}>\r\nDATA\r\nSubject: smuggled\r\n",
        inbox.address
    );
    let body = [b"Subject: one\r\n\r\nbefore", end, hidden.as_bytes(), b"after\r\n"].concat();
    peer.send([&body[..], b".\r\n"].concat())?;
    let stored = peer.expect_reply(250)?;
    peer.expect("NOOP", 250)?;
    let ids = inbox.ids()?;
    ensure!(
        ids.len() == 1 && stored.ids() == ids,
        "{} messages, reply `{stored}`",
        ids.len()
    );
    let message = inbox.message(&ids[0])?;
    ensure!(message == unstuffed(&body), "other bytes: {}", message.escape_ascii());
    Ok(Seen::passed("one message, bytes equal"))
}

/// The message that these bytes are on the wire (RFC 5321 section 4.5.2), written for clarity.
fn unstuffed(wire: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    for (at, &byte) in wire.iter().enumerate() {
        let is_stuffing = byte == b'.' && (at == 0 || wire[..at].ends_with(b"\r\n"));
        if !is_stuffing {
            message.push(byte);
        }
    }
    message
}

/// Sends random bytes after a 354 and compares every reply, and the number of emails, with a model of the protocol.
fn property(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let (mut ended, mut stored) = (0, 0);
    for seed in 0..STRINGS {
        let wire = random_wire(seed, &inbox.address);
        let expected = model::replies(&wire, &inbox.address);
        let mut peer = target.peer()?;
        peer.open_data(&inbox.address)?;
        // The server may close before all is written.
        let _ = peer.send(&wire).and_then(|()| peer.finish());
        let replies = peer.rest()?;
        let codes: Vec<u16> = replies.iter().map(|reply| reply.code).collect();
        ensure!(
            codes == expected.codes,
            "seed {seed}: {codes:?}, not {:?}",
            expected.codes
        );
        stored += replies.iter().map(|reply| reply.ids().len()).sum::<usize>();
        ended += expected.messages;
    }
    let present = inbox.ids()?.len();
    ensure!(
        present == ended && stored == ended,
        "{ended} messages were ended, {stored} acknowledged, {present} are there"
    );
    Ok(Seen::passed(format!(
        "{STRINGS} strings, {ended} messages ended, as many stored"
    )))
}

/// Bytes among which line ends, dots and commands are frequent.
fn random_wire(seed: u64, address: &str) -> Vec<u8> {
    let mut dice = Dice::seeded(seed);
    let recipient = format!("RCPT TO:<{address}>\r\n");
    let pieces: [&[u8]; 13] = [
        b"\r",
        b"\n",
        b".",
        b"\r\n",
        b"\r\n.",
        b"\r\n.\r\n",
        b"\0",
        b"a",
        b"\xff",
        b"MAIL FROM:<>\r\n",
        b"DATA\r\n",
        b"BDAT 4 LAST\r\n",
        recipient.as_bytes(),
    ];
    let count = 1 + dice.below(60);
    (0..count).flat_map(|_| dice.one_of(&pieces).to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_after_crlf_are_stuffing() {
        assert_eq!(unstuffed(b"..a\r\n.b\n.c\r\n..\r\n"), b".a\r\nb\n.c\r\n.\r\n");
    }
}
