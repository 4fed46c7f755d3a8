//! The body of DATA: where it ends, and dot-unstuffing (RFC 5321 section 4.5.2).

use memchr::memmem;

use crate::body::Progress;

/// Finds the end of DATA and takes the stuffed dots out, in bulk: between two lines that begin with a dot, bytes are
/// searched at once and copied once.
///
/// Only CRLF.CRLF ends the data, and a dot is stuffing only after CRLF: a bare CR or LF is a byte like any other, so
/// that no other server's idea of a line can make two messages out of one (SMTP smuggling).
#[derive(Debug, Default)]
pub(crate) struct DataReader {
    position: Position,
}

/// Where in a line the next byte stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// After CRLF, or at the beginning.
    #[default]
    LineStart,
    /// Within a line.
    Text,
    /// After a CR within a line.
    Cr,
    /// After a dot at the start of a line; the dot is held back.
    Dot,
    /// After such a dot and CR; both are held back.
    DotCr,
}

impl DataReader {
    /// Reads on and gives `keep` at most `room` bytes of the message.
    pub(crate) fn read(&mut self, input: &mut &[u8], mut room: usize, mut keep: impl FnMut(&[u8])) -> Progress {
        while let Some(&byte) = input.first() {
            match (self.position, byte) {
                (Position::LineStart, b'.') => self.step(input, Position::Dot),
                (Position::Dot, b'\r') => self.step(input, Position::DotCr),
                (Position::DotCr, b'\n') => {
                    *input = &input[1..];
                    return Progress::End;
                }
                _ if room == 0 => return Progress::Full,
                (Position::DotCr, _) => {
                    // The dot was stuffing; the CR after it is of the message.
                    keep(b"\r");
                    room -= 1;
                    self.position = Position::Cr;
                }
                (Position::Cr, b'\n') => {
                    keep(b"\n");
                    room -= 1;
                    self.step(input, Position::LineStart);
                }
                (Position::LineStart | Position::Dot | Position::Cr | Position::Text, _) => {
                    room -= self.text(input, room, &mut keep);
                }
            }
        }
        Progress::NeedInput
    }

    fn step(&mut self, input: &mut &[u8], next: Position) {
        *input = &input[1..];
        self.position = next;
    }

    /// Passes on all up to the next line that begins with a dot; returns how much that was.
    fn text(&mut self, input: &mut &[u8], room: usize, keep: &mut impl FnMut(&[u8])) -> usize {
        let window = &input[..input.len().min(room)];
        let (length, position) = match memmem::find(window, b"\r\n.") {
            Some(at) => (at + 2, Position::LineStart),
            None if window.ends_with(b"\r\n") => (window.len(), Position::LineStart),
            None if window.ends_with(b"\r") => (window.len(), Position::Cr),
            None => (window.len(), Position::Text),
        };
        keep(&window[..length]);
        *input = &input[length..];
        self.position = position;
        length
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The message and what follows its end, if it ended; the input is cut into chunks, the room grows in steps.
    fn read(wire: &[u8], chunk: usize, room_step: usize) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut reader = DataReader::default();
        let mut message = Vec::new();
        let mut position = 0;
        for part in wire.chunks(chunk) {
            let mut input = part;
            loop {
                match reader.read(&mut input, room_step, |bytes| message.extend_from_slice(bytes)) {
                    Progress::NeedInput => break,
                    Progress::Full => {}
                    Progress::End => return Some((message, wire[position + part.len() - input.len()..].to_vec())),
                }
            }
            position += part.len();
        }
        None
    }

    #[test]
    fn dots_are_stuffing_only_after_crlf() {
        for (wire, message) in [
            (&b".\r\n"[..], &b""[..]),
            (b"\r\n.\r\n", b"\r\n"),
            (b"a\r\n.\r\n", b"a\r\n"),
            (b"..\r\n.\r\n", b".\r\n"),
            (b"..a\r\n.b\r\n.\r\n", b".a\r\nb\r\n"),
            (b"a.\r\n...\r\n.\r\n", b"a.\r\n..\r\n"),
            (b".\ra\r\n.\r\n", b"\ra\r\n"),
            (b".\r\r\n.\r\n", b"\r\r\n"),
            (b"a\n.\nb\r\n.\r\n", b"a\n.\nb\r\n"),
            (b"a\r.\rb\r\n.\r\n", b"a\r.\rb\r\n"),
            (b"a\r\n\0.\r\n\xff\r\n.\r\n", b"a\r\n\0.\r\n\xff\r\n"),
        ] {
            let mut sent = wire.to_vec();
            sent.extend_from_slice(b"QUIT\r\n");
            for chunk in [1, 2, 3, 1000] {
                let (got, rest) = read(&sent, chunk, usize::MAX).unwrap();
                assert_eq!(got.escape_ascii().to_string(), message.escape_ascii().to_string());
                assert_eq!(rest, b"QUIT\r\n");
            }
        }
    }

    #[test]
    fn the_end_needs_no_room() {
        let mut input = &b"ab\r\n.\r\n"[..];
        let mut reader = DataReader::default();
        assert_eq!(reader.read(&mut input, 4, |_| ()), Progress::End);
        let mut input = &b"ab\r\n..\r\n"[..];
        assert_eq!(DataReader::default().read(&mut input, 4, |_| ()), Progress::Full);
    }

    /// Bytes that are likely to meet the end of data half way.
    fn tricky() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(
            prop_oneof![4 => Just(b'\r'), 4 => Just(b'\n'), 4 => Just(b'.'), 1 => Just(0), 2 => any::<u8>()],
            0..200,
        )
    }

    /// Dot-stuffing as RFC 5321 section 4.5.2 has it, written for clarity; the result includes the end of data.
    fn stuffed(message: &[u8]) -> Vec<u8> {
        let mut wire = Vec::new();
        for (at, &byte) in message.iter().enumerate() {
            if byte == b'.' && (at == 0 || message[..at].ends_with(b"\r\n")) {
                wire.push(b'.');
            }
            wire.push(byte);
        }
        wire.extend_from_slice(b".\r\n");
        wire
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn unstuffing_undoes_stuffing(mut message in tricky(), chunk in 1..40_usize, room in 1..40_usize) {
            if !message.is_empty() {
                message.extend_from_slice(b"\r\n");
            }
            let (got, rest) = read(&stuffed(&message), chunk, room).expect("the data has ended");
            prop_assert_eq!(got, message);
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_end_where_the_first_crlf_dot_crlf_ends(wire in tricky(), chunk in 1..40_usize) {
            let mut framed = b"\r\n".to_vec();
            framed.extend_from_slice(&wire);
            let end = memmem::find(&framed, b"\r\n.\r\n").map(|at| at + 3);
            let rest = read(&wire, chunk, usize::MAX).map(|(_, rest)| rest);
            prop_assert_eq!(rest, end.map(|end| wire[end..].to_vec()));
        }
    }
}
