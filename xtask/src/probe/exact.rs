//! S2: what is read is what was sent.

use std::collections::HashMap;
use std::thread;

use anyhow::{Context, Result, ensure};

use super::dice::Dice;
use super::line::{Line, Seen};
use super::target::{Inbox, Target};

/// Messages in all, and connections that send them.
const MESSAGES: usize = 10_000;
const CONNECTIONS: usize = 4;
/// Every so many messages one goes by BDAT.
const CHUNKED: usize = 5;

pub(super) fn lines() -> Vec<Line> {
    vec![Line::new(
        "S2 10,000 random messages come back byte for byte",
        round_trip,
    )]
}

fn round_trip(target: &Target) -> Result<Seen> {
    let sums: Vec<usize> = thread::scope(|scope| {
        let senders: Vec<_> = (0..CONNECTIONS)
            .map(|seed| scope.spawn(move || send_and_compare(target, seed as u64)))
            .collect();
        let joined = senders
            .into_iter()
            .map(|sender| sender.join().expect("a sender does not panic"));
        joined.collect::<Result<_>>()
    })?;
    let bytes: usize = sums.iter().sum();
    Ok(Seen::passed(format!(
        "{MESSAGES} messages of {} KiB in all over {CONNECTIONS} connections, all equal",
        bytes / 1024
    )))
}

/// Sends the messages of one connection into an inbox of its own and reads them back; how many bytes that were.
fn send_and_compare(target: &Target, seed: u64) -> Result<usize> {
    let inbox = target.inbox()?;
    let mut dice = Dice::seeded(seed);
    let messages: Vec<Vec<u8>> = (0..MESSAGES / CONNECTIONS)
        .map(|number| random_message(&mut dice, number))
        .collect();
    let acknowledged = send(target, &inbox.address, &messages)?;
    ensure!(
        inbox.ids()?.len() == messages.len(),
        "{} of {}",
        inbox.ids()?.len(),
        messages.len()
    );
    compare(&inbox, &acknowledged, &messages)?;
    Ok(messages.iter().map(Vec::len).sum())
}

/// Sends all, each with the commands of the next in the same write (RFC 2920); the ids in order.
fn send(target: &Target, address: &str, messages: &[Vec<u8>]) -> Result<Vec<String>> {
    let mut peer = target.peer()?;
    let mut ids = Vec::with_capacity(messages.len());
    let envelope = format!("MAIL FROM:<probe@sender.test>\r\nRCPT TO:<{address}>\r\n");
    for (number, message) in messages.iter().enumerate() {
        let is_chunked = number.is_multiple_of(CHUNKED);
        if is_chunked {
            let command = format!("{envelope}BDAT {} LAST\r\n", message.len());
            peer.send([command.as_bytes(), message].concat())?;
        } else {
            peer.send(format!("{envelope}DATA\r\n"))?;
        }
        peer.expect_reply(250)?;
        peer.expect_reply(250)?;
        if !is_chunked {
            peer.expect_reply(354)?;
            peer.send(stuffed(message))?;
        }
        ids.extend(peer.expect_reply(250)?.ids());
    }
    peer.expect("QUIT", 221)?;
    Ok(ids)
}

fn compare(inbox: &Inbox<'_>, acknowledged: &[String], messages: &[Vec<u8>]) -> Result<()> {
    let listed = inbox.ids()?;
    let positions: HashMap<&str, usize> = acknowledged
        .iter()
        .enumerate()
        .map(|(at, id)| (id.as_str(), at))
        .collect();
    for id in &listed {
        let at = positions
            .get(id.as_str())
            .with_context(|| format!("{id} was never acknowledged"))?;
        let (_, message) = inbox.source(id)?;
        ensure!(
            message == messages[*at],
            "message {at} ({id}): {}",
            messages[*at].escape_ascii()
        );
    }
    Ok(())
}

/// A message in which line ends, dots, NUL and 8-bit bytes are frequent.
fn random_message(dice: &mut Dice, number: usize) -> Vec<u8> {
    let frequent = b"\r\n.\r\n.\0 :-\t\xff\xc3";
    let length = dice.below(600);
    let mut message: Vec<u8> = (0..length)
        .map(|_| match dice.below(3) {
            0 => frequent[dice.below(frequent.len())],
            1 => b'a',
            _ => dice.byte(),
        })
        .collect();
    if !number.is_multiple_of(CHUNKED) {
        message.extend_from_slice(b"\r\n");
    }
    message
}

/// The bytes of DATA for a message (RFC 5321 section 4.5.2), with their end.
fn stuffed(message: &[u8]) -> Vec<u8> {
    let mut wire = Vec::with_capacity(message.len() + 8);
    for (at, &byte) in message.iter().enumerate() {
        if byte == b'.' && (at == 0 || message[..at].ends_with(b"\r\n")) {
            wire.push(b'.');
        }
        wire.push(byte);
    }
    wire.extend_from_slice(b".\r\n");
    wire
}
