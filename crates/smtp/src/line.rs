//! Framing of lines: only CRLF ends a line, and a line has a limit (RFC 5321 section 2.3.8).

use std::fmt;

use memchr::memchr;

/// Octets of a command line, at most, its CRLF included.
pub(crate) const COMMAND_LINE_MAX: usize = 2048;

/// What the reader made of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line, without its CRLF.
    Complete(&'a [u8]),
    /// A line over the limit has ended; it was dropped as it came.
    TooLong,
    /// The input is used up and no line has ended.
    NeedInput,
}

/// Gathers lines in constant memory: a line that arrives whole is not copied, and of one over the limit only
/// its last byte is remembered.
///
/// A line may be a password, so [`fmt::Debug`] does not show it.
#[derive(Default)]
pub(crate) struct LineReader {
    partial: Vec<u8>,
    /// The partial line was handed out and goes with the next call.
    stale: bool,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Gathering,
    Dropping {
        after_cr: bool,
    },
}

impl fmt::Debug for LineReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineReader")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl LineReader {
    /// Reads up to and including the next CRLF, or all of the input; a line has so many octets at most, its CRLF
    /// included.
    pub(crate) fn read<'r, 'i: 'r>(&'r mut self, input: &mut &'i [u8], limit: usize) -> Line<'r> {
        if std::mem::take(&mut self.stale) {
            self.partial.clear();
        }
        if let State::Dropping { after_cr } = self.state {
            return self.drop_rest(input, after_cr);
        }
        let Some(length) = end_of_line(&self.partial, input) else {
            self.keep(input, limit);
            return Line::NeedInput;
        };
        let (head, rest) = input.split_at(length);
        *input = rest;
        if self.partial.len() + head.len() > limit {
            self.partial.clear();
            return Line::TooLong;
        }
        if self.partial.is_empty() {
            return Line::Complete(&head[..head.len() - 2]);
        }
        self.partial.extend_from_slice(head);
        self.stale = true;
        Line::Complete(&self.partial[..self.partial.len() - 2])
    }

    /// Whether no line has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.state == State::Gathering && (self.stale || self.partial.is_empty())
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.partial.capacity()
    }

    /// Keeps an unfinished line, or begins to drop it when it is over the limit already.
    fn keep(&mut self, input: &mut &[u8], limit: usize) {
        if self.partial.len() + input.len() > limit {
            let after_cr = input.last() == Some(&b'\r');
            self.partial = Vec::new();
            self.state = State::Dropping { after_cr };
        } else {
            self.partial.extend_from_slice(input);
        }
        *input = &[];
    }

    fn drop_rest(&mut self, input: &mut &[u8], after_cr: bool) -> Line<'static> {
        let before: &[u8] = if after_cr { b"\r" } else { b"" };
        if let Some(length) = end_of_line(before, input) {
            *input = &input[length..];
            self.state = State::Gathering;
            return Line::TooLong;
        }
        if let Some(&last) = input.last() {
            self.state = State::Dropping {
                after_cr: last == b'\r',
            };
        }
        *input = &[];
        Line::NeedInput
    }
}

/// How many bytes of the input belong to the line that began with `before`, through its CRLF.
fn end_of_line(before: &[u8], input: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(offset) = memchr(b'\n', &input[from..]) {
        let lf = from + offset;
        let preceding = if lf == 0 { before.last() } else { Some(&input[lf - 1]) };
        if preceding == Some(&b'\r') {
            return Some(lf + 1);
        }
        from = lf + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader makes of the chunks: the lines, `None` for one that was too long.
    fn lines(chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut reader = LineReader::default();
        let mut out = Vec::new();
        for chunk in chunks {
            let mut input = *chunk;
            loop {
                match reader.read(&mut input, COMMAND_LINE_MAX) {
                    Line::Complete(line) => out.push(Some(line.to_vec())),
                    Line::TooLong => out.push(None),
                    Line::NeedInput => break,
                }
            }
            assert!(input.is_empty());
        }
        out
    }

    #[test]
    fn only_crlf_ends_a_line_however_it_is_cut() {
        let text: &[u8] = b"NOOP\r\n\r\na\nb\rc\r\r\nd\n\r\n";
        let expected = [&b"NOOP"[..], b"", b"a\nb\rc\r", b"d\n"]
            .map(|line| Some(line.to_vec()))
            .to_vec();
        assert_eq!(lines(&[text]), expected);
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(lines(&bytes), expected);
    }

    #[test]
    fn the_limit_counts_the_crlf() {
        let mut fits = vec![b'a'; COMMAND_LINE_MAX - 2];
        fits.extend_from_slice(b"\r\nNOOP\r\n");
        let mut long = vec![b'a'; COMMAND_LINE_MAX - 1];
        long.extend_from_slice(b"\r\nNOOP\r\n");
        for cut in [usize::MAX, 1, 7, 2047, 2048, 2049] {
            let cut = cut.min(long.len());
            let parts: Vec<&[u8]> = fits.chunks(cut).collect();
            assert_eq!(
                lines(&parts)[0].as_ref().map(Vec::len),
                Some(COMMAND_LINE_MAX - 2),
                "{cut}"
            );
            let parts: Vec<&[u8]> = long.chunks(cut).collect();
            assert_eq!(lines(&parts), [None, Some(b"NOOP".to_vec())], "{cut}");
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut reader = LineReader::default();
        let block = vec![b'x'; 65_536];
        for _ in 0..1024 {
            assert_eq!(reader.read(&mut &block[..], COMMAND_LINE_MAX), Line::NeedInput);
            assert!(reader.partial.capacity() <= 2 * COMMAND_LINE_MAX);
        }
        assert_eq!(reader.read(&mut &b"\r"[..], COMMAND_LINE_MAX), Line::NeedInput);
        assert_eq!(reader.read(&mut &b"\nNOOP"[..], COMMAND_LINE_MAX), Line::TooLong);
    }
}
