//! The bytes of a message on their way in, by DATA or BDAT: kept, or dropped once the message is refused.

use crate::chunk::{ChunkKind, ChunkReader};
use crate::data::DataReader;
use crate::reply::Reply;

/// How far a reader came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The input is used up.
    NeedInput,
    /// The next byte of the message has no room.
    Full,
    /// The data, or the chunk, has ended.
    End,
}

/// What tells where the bytes end.
#[derive(Debug)]
pub(crate) enum Framing {
    /// DATA: by CRLF.CRLF.
    Dots(DataReader),
    /// BDAT: by count.
    Chunk(ChunkReader, ChunkKind),
}

/// A message, or a chunk of one, that is being received.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) framing: Framing,
    /// Why the message is refused: said at its end, and until then its bytes are dropped.
    pub(crate) refusal: Option<Reply>,
    /// Bytes that were dropped.
    pub(crate) drained: u64,
}

impl Body {
    /// Reads the body of DATA.
    pub(crate) fn data() -> Self {
        Self {
            framing: Framing::Dots(DataReader::default()),
            refusal: None,
            drained: 0,
        }
    }

    /// Reads a chunk of BDAT, and drops it if there is a refusal.
    pub(crate) fn chunk(size: u64, kind: ChunkKind, refusal: Option<Reply>) -> Self {
        Self {
            framing: Framing::Chunk(ChunkReader::new(size), kind),
            refusal,
            drained: 0,
        }
    }

    /// Appends to the message, up to its room.
    pub(crate) fn keep(&mut self, input: &mut &[u8], room: usize, message: &mut Vec<u8>) -> Progress {
        self.read(input, room, |bytes| message.extend_from_slice(bytes))
    }

    /// Reads and drops, never more than one byte beyond the limit: however the input is cut, who sends too much is told so
    /// at the same byte.
    pub(crate) fn drain(&mut self, input: &mut &[u8], limit: u64) -> Progress {
        let left = limit.saturating_add(1).saturating_sub(self.drained);
        let length = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let mut window = &input[..length];
        let progress = self.read(&mut window, usize::MAX, |_| ());
        let dropped = length - window.len();
        self.drained = self.drained.saturating_add(dropped as u64);
        *input = &input[dropped..];
        progress
    }

    fn read(&mut self, input: &mut &[u8], room: usize, keep: impl FnMut(&[u8])) -> Progress {
        match &mut self.framing {
            Framing::Dots(reader) => reader.read(input, room, keep),
            Framing::Chunk(reader, _) => reader.read(input, room, keep),
        }
    }
}
