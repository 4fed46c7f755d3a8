//! R2 and S6: recipients in floods, and a whole transaction in one packet.

use anyhow::{Result, ensure};

use super::line::{Line, Seen};
use super::target::Target;

/// Recipients of a transaction, at most, as the server says in LIMITS RCPTMAX.
const RECIPIENTS_MAX: usize = 100;
/// Reads that the replies to one packet may take.
const PIECES_MAX: usize = 5;

pub(super) fn lines() -> Vec<Line> {
    vec![
        Line::new(
            "R2 the 101st of 1,000 recipients, and all after it, are 452 4.5.3",
            flood,
        ),
        Line::new("R2 1,000 times the same recipient is one recipient", repeated),
        Line::new(
            "S6 MAIL, 100 RCPT and DATA in one packet get 102 ordered replies",
            one_packet,
        ),
    ]
}

/// An address of the inbox that differs from all others.
fn tagged(address: &str, tag: usize) -> String {
    address.replacen('@', &format!("+{tag}@"), 1)
}

fn flood(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.expect("MAIL FROM:<probe@sender.test>", 250)?;
    for tag in 0..1000 {
        let reply = peer.say(format!("RCPT TO:<{}>", tagged(&inbox.address, tag)))?;
        let is_right = if tag < RECIPIENTS_MAX {
            reply.code == 250
        } else {
            reply.text.starts_with("452 4.5.3 ")
        };
        ensure!(is_right, "recipient {} is answered `{reply}`", tag + 1);
    }
    peer.expect("DATA", 354)?;
    let stored = peer.expect("Subject: flood\r\n\r\n.", 250)?;
    ensure!(
        inbox.ids()? == stored.ids() && stored.ids().len() == 1,
        "one inbox, one email: `{stored}`"
    );
    Ok(Seen::passed("100 times 250, 900 times 452 4.5.3, then stored once"))
}

fn repeated(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut peer = target.peer()?;
    peer.expect("MAIL FROM:<probe@sender.test>", 250)?;
    for _ in 0..1000 {
        peer.expect(format!("RCPT TO:<{}>", inbox.address), 250)?;
    }
    peer.expect("DATA", 354)?;
    peer.expect(".", 250)?;
    let count = inbox.ids()?.len();
    ensure!(count == 1, "{count} emails");
    Ok(Seen::passed("1,000 times 250, one email"))
}

fn one_packet(target: &Target) -> Result<Seen> {
    let inbox = target.inbox()?;
    let mut packet = "MAIL FROM:<probe@sender.test>\r\n".to_owned();
    for tag in 0..RECIPIENTS_MAX {
        // Every tenth is refused, so that the order of the replies shows.
        let address = if tag % 10 == 9 {
            "nobody@elsewhere.invalid".into()
        } else {
            tagged(&inbox.address, tag)
        };
        packet.extend(["RCPT TO:<", &address, ">\r\n"]);
    }
    packet.push_str("DATA\r\n");
    let mut peer = target.peer()?;
    peer.send(&packet)?;
    let (replies, pieces) = peer.replies_in_pieces(RECIPIENTS_MAX + 2)?;
    let recipients = (0..RECIPIENTS_MAX).map(|tag| if tag % 10 == 9 { 550 } else { 250 });
    let expected: Vec<u16> = [250].into_iter().chain(recipients).chain([354]).collect();
    let codes: Vec<u16> = replies.iter().map(|reply| reply.code).collect();
    ensure!(codes == expected, "{codes:?}");
    ensure!(pieces <= PIECES_MAX, "the replies came in {pieces} pieces");
    peer.expect(".", 250)?;
    Ok(Seen::passed(format!(
        "{} replies in order, in {pieces} piece(s)",
        codes.len()
    )))
}
