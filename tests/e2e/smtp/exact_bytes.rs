//! What was sent is what is read, whatever the bytes.

use restante_envelope::DecapsulationKey;

use crate::dice::Dice;
use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids, stuffed, without_trace};
use crate::stored;

const PLAIN: &str = "plain@restante.test";
const SEALED: &str = "sealed@restante.test";

/// Bytes among which line ends, dots and NUL are frequent.
fn random_message(dice: &mut Dice) -> Vec<u8> {
    let length = dice.below(4_000);
    let frequent = b"\r\n.\r\n.\0 :-\t\xff";
    let mut message: Vec<u8> = (0..length)
        .map(|_| match dice.below(3) {
            0 => frequent[dice.below(frequent.len())],
            1 => b'a',
            _ => dice.byte(),
        })
        .collect();
    if message.first().is_some_and(|byte| matches!(byte, b' ' | b'\t')) {
        // It would continue the trace field before it: then nobody could tell the two apart.
        message[0] = b'x';
    }
    message
}

/// The bytes cut into pieces of random lengths, each of at least one byte.
fn pieces<'a>(dice: &mut Dice, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at(1 + dice.below(bytes.len().min(1_500)));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

/// DATA in random writes.
fn send_data(peer: &mut Peer, dice: &mut Dice, message: &[u8]) -> String {
    assert!(peer.say("DATA").starts_with("354 "));
    for piece in pieces(dice, &stuffed(message)) {
        peer.send(piece).unwrap();
    }
    peer.reply().unwrap()
}

/// BDAT in random chunks.
fn send_chunks(peer: &mut Peer, dice: &mut Dice, message: &[u8]) -> String {
    for chunk in pieces(dice, message) {
        peer.send(format!("BDAT {}\r\n", chunk.len()).as_bytes()).unwrap();
        peer.send(chunk).unwrap();
        let reply = peer.reply().unwrap();
        assert!(reply.starts_with("250 2.0.0 "), "{reply}");
    }
    peer.say("BDAT 0 LAST")
}

#[test]
fn random_messages_come_back_byte_for_byte() {
    let mut dice = Dice::thrown();
    let server = TestServer::start(&[]);
    server.create_plain(PLAIN);
    let key = DecapsulationKey::generate();
    let _ = server.create_encrypted(SEALED, &key);
    let mut peer = Peer::greeted(server.smtp);
    for round in 0..200 {
        let mut message = random_message(&mut dice);
        peer.open_transaction(if round % 4 == 0 { &[PLAIN, SEALED] } else { &[PLAIN] });
        let reply = if round % 2 == 0 {
            message.extend_from_slice(b"\r\n");
            send_data(&mut peer, &mut dice, &message)
        } else {
            send_chunks(&mut peer, &mut dice, &message)
        };
        let acknowledged = stored_ids(&reply);
        let id = stored::ids(&server, PLAIN).pop().unwrap();
        assert!(acknowledged.contains(&id), "{reply}");
        let raw = stored::raw(&server, PLAIN, &id);
        assert!(
            without_trace(&raw) == message,
            "round {round}: {}",
            message.escape_ascii()
        );
        if let Some(id) = acknowledged.iter().find(|other| **other != id) {
            let raw = stored::sealed_raw(&server, SEALED, id, &key);
            assert!(
                without_trace(&raw) == message,
                "round {round}: {}",
                message.escape_ascii()
            );
        }
    }
    assert_eq!(stored::ids(&server, PLAIN).len(), 200);
}

#[test]
fn a_message_whose_end_never_comes_is_not_stored() {
    let server = TestServer::start(&[]);
    server.create_plain(PLAIN);
    for sent in [
        &b"DATA\r\nhalf a message\r\n"[..],
        b"DATA\r\nwhole but for its end\r\n.",
        b"DATA\r\nwhole but for its end\r\n.\r",
        b"DATA\r\nhalf an end\n.\n",
        b"BDAT 10\r\n0123456789",
        b"BDAT 10 LAST\r\n012345678",
        b"BDAT 10\r\n0123456789BDAT 0 LAST",
    ] {
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(&[PLAIN]);
        peer.send(sent).unwrap();
        peer.finish();
        let said = peer.rest();
        assert!(!said.contains("msg_"), "{}: {said}", sent.escape_ascii());
        // The server has closed, so whatever it wanted to store is stored.
        assert_eq!(stored::ids(&server, PLAIN), [""; 0], "{}", sent.escape_ascii());
    }
}

#[test]
fn line_ends_and_nul_in_addresses_and_names_reach_no_trace_field() {
    let server = TestServer::start(&[]);
    server.create_plain(PLAIN);
    for bad in ["\0", "\r", "\n", "\n X-Injected: 1", "\u{7f}", "\u{1b}[31m"] {
        let mut peer = Peer::greeted(server.smtp);
        let commands = [
            format!("EHLO evil{bad}name"),
            format!("MAIL FROM:<evil{bad}name@sender.test>"),
            format!("MAIL FROM:<\"evil{bad}name\"@sender.test>"),
            format!("MAIL FROM:<a@sender.test> SIZE=1{bad}2"),
        ];
        for command in commands {
            let reply = peer.say(&command);
            assert!(reply.starts_with("50"), "{command:?}: {reply}");
        }
        let id = peer.deliver(&[PLAIN], b"hi\r\n").remove(0);
        let raw = stored::raw(&server, PLAIN, &id);
        let (trace, _) = raw.split_at(raw.len() - b"hi\r\n".len());
        let trace = String::from_utf8(trace.to_vec()).unwrap();
        assert!(!trace.contains("evil") && !trace.contains("Injected"), "{trace}");
    }
}
