//! The readers of DATA and BDAT: what comes out is what went in, up to the limit and not a byte further.
//!
//! Head: the limit of a message in two bytes (zero: the default), six sizes of pieces.

use restante_smtp::SessionConfig;

use crate::driver::{Outcome, Script};
use crate::framing::{in_lines, stuffed, unstuffed};
use crate::wire::Wire;
use crate::{head, replies, session};

/// Bytes of the head.
pub(crate) const HEAD: usize = 8;

/// What opens a transaction, and how it is answered, the greeting included.
const OPENING: &[u8] = b"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<bob@restante.test>\r\n";
const OPENING_CODES: [u16; 4] = [220, 250, 250, 250];

/// Sends bytes as a message in three ways.
///
/// # Panics
/// - A message that was stuffed, or cut into chunks, does not arrive byte for byte.
/// - Bytes after DATA end elsewhere than at the first CRLF.CRLF, or another message arrives than a reference reads.
/// - A message over the limit is taken, or one within it is not, or the command after it is not answered.
pub fn run(input: &[u8]) {
    let (head, message) = head::split::<HEAD>(input);
    let limit = match u16::from_be_bytes([head[0], head[1]]) {
        0 => SessionConfig::default().max_message_bytes,
        limit => usize::from(limit),
    };
    let sender = Sender {
        limit,
        cuts: &head[2..],
    };
    sender.stuffed(&in_lines(message));
    sender.as_they_are(message);
    sender.in_chunks(message);
}

struct Sender<'a> {
    limit: usize,
    cuts: &'a [u8],
}

impl Sender<'_> {
    fn stuffed(&self, message: &[u8]) {
        let outcome = self.send(&[b"DATA\r\n", &stuffed(message)[..]].concat());
        let expected: &[u16] = if message.len() <= self.limit {
            &[354, 250]
        } else {
            &[354, 552]
        };
        self.expect(&outcome, message, expected);
    }

    /// The bytes may end the data and go on with commands, or never end it.
    fn as_they_are(&self, bytes: &[u8]) {
        let outcome = self.send(&[b"DATA\r\n", bytes, b"\r\n.\r\n"].concat());
        let (message, _) = unstuffed(&[bytes, b"\r\n.\r\n"].concat()).expect("the data ends");
        let first = outcome.accepted.first().map(|transaction| &transaction.data[..]);
        assert_eq!(first == Some(&message[..]), message.len() <= self.limit);
    }

    fn in_chunks(&self, message: &[u8]) {
        let mut wire = Vec::new();
        let mut codes = Vec::new();
        let mut sent = 0;
        for chunk in head::pieces(message, self.cuts).chain([&b""[..]]) {
            let last = if chunk.is_empty() { " LAST" } else { "" };
            wire.extend_from_slice(format!("BDAT {}{last}\r\n", chunk.len()).as_bytes());
            wire.extend_from_slice(chunk);
            // The chunk that is one too many ends the transaction (RFC 3030 section 2).
            let was_within = sent <= self.limit;
            sent += chunk.len();
            codes.push(match (was_within, sent <= self.limit) {
                (true, true) => 250,
                (true, false) => 552,
                (false, _) => 503,
            });
        }
        self.expect(&self.send(&wire), message, &codes);
    }

    /// Sends a transaction with this message and then NOOP, in pieces, and as the onlooker wants it.
    fn send(&self, message: &[u8]) -> Outcome {
        let script = Script::of(SessionConfig {
            max_message_bytes: self.limit,
            ..SessionConfig::default()
        });
        let wire = Wire::plain([OPENING, message, b"NOOP\r\n"].concat());
        let outcome = session::check(&script, &wire);
        assert_eq!(script.run(&wire, self.cuts), outcome);
        outcome
    }

    fn expect(&self, outcome: &Outcome, message: &[u8], codes: &[u16]) {
        let said: Vec<u16> = replies::read(&outcome.output).iter().map(|reply| reply.code).collect();
        assert_eq!(said, [&OPENING_CODES[..], codes, &[250]].concat());
        let taken = outcome.accepted.iter().map(|transaction| &transaction.data[..]);
        let expected = (message.len() <= self.limit).then_some(message);
        assert!(taken.eq(expected), "another message was taken than was sent");
    }
}
