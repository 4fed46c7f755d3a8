//! The wire as an onlooker reads it, who knows only the bytes and what the replies said: another count of the messages.
//!
//! Mail is smuggled when two readers of one wire see different messages. The onlooker is the second reader: it knows the
//! order of commands (RFC 5321 section 4.1.4), and believes the replies.

use crate::driver::Outcome;
use crate::framing;
use crate::replies::Reply;
use crate::wire::Wire;

/// The messages that were taken.
///
/// # Panics
/// If the replies are not one for each command and each message, in order.
pub(crate) fn messages(wire: &Wire, replies: &[Reply], outcome: &Outcome) -> Vec<Vec<u8>> {
    let (greeting, replies) = replies.split_first().expect("the server speaks first");
    assert_eq!((greeting.code, greeting.lines.len()), (220, 1));
    let mut onlooker = Onlooker {
        wire,
        at: 0,
        replies,
        is_closed: outcome.closed.is_some(),
        order: Order::Connected,
        chunks: Vec::new(),
        messages: Vec::new(),
    };
    if wire.bytes().first() == Some(&TLS_HANDSHAKE) {
        onlooker.last_reply(421);
        return onlooker.messages;
    }
    while onlooker.command() {}
    assert_eq!(onlooker.replies, [], "a reply without a command");
    onlooker.messages
}

/// The first byte of a TLS record that carries a handshake (RFC 8446 section 5.1).
const TLS_HANDSHAKE: u8 = 0x16;

/// Octets of a command line, at most, its CRLF included.
const COMMAND_LINE_MAX: usize = 2048;

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Connected,
    Greeted,
    Mail,
    /// MAIL, and at least one recipient.
    Recipients,
}

struct Onlooker<'a> {
    wire: &'a Wire,
    at: usize,
    /// Those that are not accounted for.
    replies: &'a [Reply],
    is_closed: bool,
    order: Order,
    /// What BDAT has brought of a message.
    chunks: Vec<u8>,
    messages: Vec<Vec<u8>>,
}

impl<'a> Onlooker<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.wire.bytes()[self.at..]
    }

    fn reply(&mut self) -> Option<&'a Reply> {
        let (reply, rest) = self.replies.split_first()?;
        self.replies = rest;
        Some(reply)
    }

    /// Whether the session has said its last word.
    fn is_over(&self) -> bool {
        self.is_closed && self.replies.is_empty()
    }

    /// The last word of a session that is over.
    fn last_reply(&mut self, code: u16) {
        assert!(self.is_closed, "the session goes on");
        assert_eq!(self.reply().map(|reply| reply.code), Some(code));
        assert_eq!(self.replies, [], "a reply after the last one");
    }

    /// The next line, without its CRLF.
    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest.windows(2).position(|pair| pair == b"\r\n")?;
        self.at += length + 2;
        Some(&rest[..length])
    }

    /// Reads a command line and what belongs to it; false when there is none, or the session is over.
    fn command(&mut self) -> bool {
        let Some(line) = self.line() else {
            return false;
        };
        let words = words(line);
        let verb = words.first().map_or("", String::as_str);
        let is_too_long = line.len() + 2 > COMMAND_LINE_MAX;
        if verb == "BDAT" && !is_too_long {
            return self.chunk(&words);
        }
        let reply = self
            .reply()
            .unwrap_or_else(|| panic!("no answer to {}", line.escape_ascii()));
        let needs_none = matches!(verb, "HELO" | "EHLO") || matches!(reply.code, 334 | 354);
        assert!(needs_none || reply.is_enhanced(), "{reply:?} has no enhanced code");
        match reply.code {
            _ if is_too_long => assert!(matches!(reply.code, 500 | 421), "{reply:?} to a line that is too long"),
            354 => return self.data(),
            334 => return self.responses(),
            220 => return self.handshake(),
            250 => self.obeyed(verb),
            _ => {}
        }
        !self.is_over()
    }

    /// A command was taken: it must have been in order.
    fn obeyed(&mut self, verb: &str) {
        match verb {
            "HELO" | "EHLO" => self.order = Order::Greeted,
            "RSET" if self.order != Order::Connected => self.order = Order::Greeted,
            "MAIL" => {
                assert_eq!(self.order, Order::Greeted, "MAIL was taken out of order");
                self.order = Order::Mail;
                self.chunks.clear();
            }
            "RCPT" => {
                let in_order = matches!(self.order, Order::Mail | Order::Recipients);
                assert!(in_order, "RCPT was taken after {:?}", self.order);
                self.order = Order::Recipients;
            }
            _ => {}
        }
    }

    /// After 354: the message up to CRLF.CRLF, and its answer.
    fn data(&mut self) -> bool {
        assert_eq!(self.order, Order::Recipients, "DATA was taken out of order");
        self.order = Order::Greeted;
        let found = framing::unstuffed(self.rest());
        match (found, self.reply()) {
            (None, None) => return false,
            (Some((message, length)), Some(reply)) => {
                assert!(reply.is_enhanced());
                self.at += length;
                if reply.code == 250 {
                    self.messages.push(message);
                }
            }
            (None, Some(reply)) => {
                let gave_up = self.is_over() && matches!(reply.code, 452 | 552);
                assert!(gave_up, "{reply:?} to a message without end");
            }
            (Some(_), None) => panic!("no answer to a message that ended"),
        }
        !self.is_over()
    }

    /// After 334: lines that are no commands, until another answer comes (RFC 4954 section 4).
    fn responses(&mut self) -> bool {
        while let Some(line) = self.line() {
            let reply = self
                .reply()
                .unwrap_or_else(|| panic!("no answer to {}", line.escape_ascii()));
            if reply.code != 334 {
                assert!(reply.is_enhanced(), "{reply:?} has no enhanced code");
                return !self.is_over();
            }
        }
        false
    }

    /// BDAT, and the bytes of its chunk whatever they are.
    fn chunk(&mut self, words: &[String]) -> bool {
        let size = words
            .get(1)
            .filter(|size| size.bytes().all(|digit| digit.is_ascii_digit()));
        let Some(size) = size else {
            self.last_reply(501);
            return false;
        };
        // More digits than this are more bytes than any wire has.
        let size = size.parse().unwrap_or(u128::MAX);
        let Some(chunk) = usize::try_from(size).ok().and_then(|size| self.rest().get(..size)) else {
            // It is under way, or so large that the server gave up.
            assert_eq!(
                self.replies.len(),
                usize::from(self.is_closed),
                "an answer before the chunk has come"
            );
            self.replies = &[];
            return false;
        };
        if self.is_closed && self.replies.len() == 1 {
            // Nobody reads so much to drop it: the last word comes before the chunk.
            self.last_reply(self.replies[0].code);
            return false;
        }
        self.at += chunk.len();
        let reply = self.reply().expect("a chunk is answered when it is complete");
        assert!(reply.is_enhanced());
        let is_last = words.get(2).is_some_and(|last| last == "LAST");
        if reply.code == 250 {
            self.chunk_taken(chunk, is_last);
        }
        // A chunk that fails ends its transaction, as the last one does.
        if (reply.code != 250 || is_last) && self.order != Order::Connected {
            self.order = Order::Greeted;
        }
        !self.is_over()
    }

    fn chunk_taken(&mut self, chunk: &[u8], is_last: bool) {
        assert_eq!(self.order, Order::Recipients, "BDAT was taken out of order");
        self.chunks.extend_from_slice(chunk);
        if is_last {
            self.messages.push(std::mem::take(&mut self.chunks));
        }
    }

    /// After 220: what came in clear is gone.
    fn handshake(&mut self) -> bool {
        match self.wire.next_flight(self.at) {
            Some(start) if !self.is_over() => {
                self.at = start;
                // RFC 3207 section 4.2: all that was said before is forgotten.
                self.order = Order::Connected;
                true
            }
            _ => {
                assert!(self.is_over(), "the handshake failed, and the session goes on");
                false
            }
        }
    }
}

/// The words of a command line in upper case; none if it begins with a space, which no command does.
fn words(line: &[u8]) -> Vec<String> {
    if line.starts_with(b" ") {
        return Vec::new();
    }
    let words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    words
        .map(|word| String::from_utf8_lossy(word).to_ascii_uppercase())
        .collect()
}
