//! A chunk of BDAT: so many bytes, whatever they are (RFC 3030 section 2).

use crate::body::Progress;

/// Whether more chunks follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// More of the message follows.
    Inner,
    /// `LAST`: the message ends with this chunk.
    Last,
}

/// Counts a chunk down; its size is what the client said, up to `u64::MAX`, and is never added to anything.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    left: u64,
}

impl ChunkReader {
    pub(crate) fn new(size: u64) -> Self {
        Self { left: size }
    }

    /// Reads on and gives `keep` at most `room` bytes of the message.
    pub(crate) fn read(&mut self, input: &mut &[u8], room: usize, mut keep: impl FnMut(&[u8])) -> Progress {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let length = input.len().min(left).min(room);
        let (bytes, rest) = input.split_at(length);
        if length > 0 {
            keep(bytes);
        }
        *input = rest;
        self.left -= length as u64;
        match (self.left, rest.is_empty()) {
            (0, _) => Progress::End,
            (_, true) => Progress::NeedInput,
            (_, false) => Progress::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_ends_after_its_bytes_and_leaves_the_rest() {
        let mut reader = ChunkReader::new(5);
        let mut kept = Vec::new();
        let mut input = &b"ab"[..];
        assert_eq!(
            reader.read(&mut input, 9, |bytes| kept.extend_from_slice(bytes)),
            Progress::NeedInput
        );
        let mut input = &b"cdefg"[..];
        assert_eq!(
            reader.read(&mut input, 1, |bytes| kept.extend_from_slice(bytes)),
            Progress::Full
        );
        assert_eq!(
            reader.read(&mut input, 9, |bytes| kept.extend_from_slice(bytes)),
            Progress::End
        );
        assert_eq!((kept.as_slice(), input), (&b"abcde"[..], &b"fg"[..]));
    }

    #[test]
    fn an_empty_chunk_ends_at_once_and_a_huge_one_never() {
        assert_eq!(ChunkReader::new(0).read(&mut &b""[..], 0, |_| ()), Progress::End);
        assert_eq!(
            ChunkReader::new(u64::MAX).read(&mut &b"abc"[..], usize::MAX, |_| ()),
            Progress::NeedInput
        );
    }
}
