//! What a server must make of the bytes of one client, for the few commands that the property of S1 uses.
//!
//! It is written for clarity, byte by byte, and knows nothing of how the server does it.

/// Unknown commands after which a session ends.
const UNKNOWN_MAX: usize = 10;
/// Octets of a command line, at most.
const LINE_MAX: usize = 2048;

/// What the server must answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// The codes of the replies, in order.
    pub(super) codes: Vec<u16>,
    /// How many messages were ended.
    pub(super) messages: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    WithRecipient,
}

/// The replies to the bytes that follow a 354, until the client closes.
pub(super) fn replies(mut wire: &[u8], address: &str) -> Expected {
    let mut expected = Expected::default();
    if !take_data(&mut wire) {
        return expected;
    }
    expected.stored();
    let recipient = format!("RCPT TO:<{address}>");
    let (mut transaction, mut unknown) = (Transaction::None, 0);
    while let Some(line) = take_line(&mut wire) {
        match (line, transaction) {
            (b"MAIL FROM:<>", Transaction::None) => {
                transaction = Transaction::Open;
                expected.codes.push(250);
            }
            (b"DATA", Transaction::WithRecipient) => {
                expected.codes.push(354);
                if !take_data(&mut wire) {
                    return expected;
                }
                transaction = Transaction::None;
                expected.stored();
            }
            (b"BDAT 4 LAST", _) => {
                if wire.len() < 4 {
                    return expected;
                }
                wire = &wire[4..];
                match transaction {
                    Transaction::WithRecipient => expected.stored(),
                    Transaction::Open => expected.codes.push(554),
                    Transaction::None => expected.codes.push(503),
                }
                transaction = Transaction::None;
            }
            (b"DATA", Transaction::Open) => expected.codes.push(554),
            (b"MAIL FROM:<>", _) | (b"DATA", Transaction::None) => expected.codes.push(503),
            (line, Transaction::None) if line == recipient.as_bytes() => expected.codes.push(503),
            (line, _) if line == recipient.as_bytes() => {
                transaction = Transaction::WithRecipient;
                expected.codes.push(250);
            }
            (_, _) => {
                unknown += 1;
                if unknown == UNKNOWN_MAX {
                    expected.codes.push(421);
                    return expected;
                }
                expected.codes.push(500);
            }
        }
    }
    expected
}

impl Expected {
    fn stored(&mut self) {
        self.messages += 1;
        self.codes.push(250);
    }
}

/// Takes a message and its end; `false` if it does not end.
fn take_data(wire: &mut &[u8]) -> bool {
    let framed = [b"\r\n", *wire].concat();
    let Some(end) = framed.windows(5).position(|window| window == b"\r\n.\r\n") else {
        return false;
    };
    *wire = &wire[end + 3..];
    true
}

/// Takes a line through its CRLF and gives back what stands before that.
fn take_line<'a>(wire: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = wire.windows(2).position(|window| window == b"\r\n")?;
    let line = &wire[..end];
    debug_assert!(line.len() <= LINE_MAX - 2, "the strings are short");
    *wire = &wire[end + 2..];
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_counts_messages_and_replies() {
        let of = |wire: &[u8]| {
            let expected = replies(wire, "a@b");
            (expected.codes, expected.messages)
        };
        assert_eq!(of(b"never\n.\n"), (vec![], 0));
        assert_eq!(of(b".\r\nDATA\r\n"), (vec![250, 503], 1));
        let twice = b"x\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nDATA\r\n.\r\n\n\r\n";
        assert_eq!(of(twice), (vec![250, 250, 250, 354, 250, 500], 2));
        let chunk = b".\r\nMAIL FROM:<>\r\nRCPT TO:<a@b>\r\nBDAT 4 LAST\r\nDATA\r\n";
        assert_eq!(of(chunk), (vec![250, 250, 250, 250, 500], 2));
        let junk = [&b".\r\n"[..], &b"\r\n".repeat(12)].concat();
        assert_eq!(of(&junk).0.last(), Some(&421));
    }
}
