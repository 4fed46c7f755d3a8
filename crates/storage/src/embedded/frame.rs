//! How records are framed in the files of the segment log.
//!
//! A segment file is a header followed by records. All integers of headers and frames are little-endian.
//!
//! | Bytes | Header field | Meaning |
//! |---|---|---|
//! | 8 | magic | `rstSEGMT` |
//! | 4 | format | [`FORMAT`] |
//! | 4 | number | the number of the segment, which is also its name |
//! | 8 | sequence | the last commit sequence given before this segment: the mail that had it may be gone |
//! | 8 | salt | random; it goes into every checksum, so that no mail can hold what looks like a record of this file |
//! | 4 | crc | CRC-32 of the 32 bytes before |
//!
//! | Bytes | Frame field | Meaning |
//! |---|---|---|
//! | 4 | magic | `rstR` |
//! | 4 | head | length of the head |
//! | 4 | body | length of the body: the blobs that the head describes, one after the other |
//! | 4 | following | how many records of the same call follow this one |
//! | 8 | group | where in this file the group began that was synced with this record |
//! | 4 | crc | CRC-32 of the salt, the 24 bytes before, and the head |
//!
//! The head is a postcard [`Head`]; each blob has its own CRC-32 in it, so an index is rebuilt from heads alone.
//! `group` tells a torn tail from damage: a broken record that a later group follows was once synced.

use super::record::Head;

/// The version of the format that this build reads and writes; the stamp carries it too.
pub(super) const FORMAT: u32 = 5;
/// Bytes of the header of a segment file.
pub(super) const FILE_HEADER: usize = 36;
/// Bytes of a frame.
pub(super) const FRAME: usize = 28;
/// Bytes of the longest head that is written, and so of the longest that is believed.
pub(super) const HEAD_MAX: u32 = 5 * 1024;

const FRAME_MAGIC: [u8; 4] = *b"rstR";
const FILE_MAGIC: [u8; 8] = *b"rstSEGMT";

/// The fixed-size start of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) head: u32,
    pub(super) body: u32,
    pub(super) following: u32,
    pub(super) group: u64,
}

impl Frame {
    /// Bytes of the whole record.
    pub(super) fn record_len(&self) -> u64 {
        FRAME as u64 + u64::from(self.head) + u64::from(self.body)
    }

    /// The frame of a head, with its checksum.
    pub(super) fn encode(&self, salt: Salt, head: &[u8]) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..4].copy_from_slice(&FRAME_MAGIC);
        bytes[4..8].copy_from_slice(&self.head.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.body.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.following.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.group.to_le_bytes());
        let crc = checksum(salt, &bytes[..24], head);
        bytes[24..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a frame; `None` if these bytes cannot be one. Its checksum is judged by [`Frame::decode_head`].
    pub(super) fn decode(bytes: &[u8; FRAME]) -> Option<Self> {
        if bytes[..4] != FRAME_MAGIC {
            return None;
        }
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let frame = Self {
            head: u32_at(4),
            body: u32_at(8),
            following: u32_at(12),
            group: u64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i])),
        };
        (frame.head <= HEAD_MAX).then_some(frame)
    }

    /// Reads the head if it and the frame match the checksum, and the blobs fill the body.
    pub(super) fn decode_head(&self, salt: Salt, frame: &[u8; FRAME], head: &[u8]) -> Option<Head> {
        if frame[24..] != checksum(salt, &frame[..24], head).to_le_bytes() {
            return None;
        }
        let decoded: Head = postcard::from_bytes(head).ok()?;
        let body: u64 = decoded.blobs().iter().map(|blob| u64::from(blob.len)).sum();
        (body == u64::from(self.body)).then_some(decoded)
    }
}

fn checksum(Salt(salt): Salt, frame: &[u8], head: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt);
    hasher.update(frame);
    hasher.update(head);
    hasher.finalize()
}

/// What makes the checksums of one segment file its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Salt(pub(super) [u8; 8]);

/// What the header of a segment file says beside the number of the segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// The last commit sequence that was given before this segment.
    pub(super) sequence: u64,
    pub(super) salt: Salt,
}

impl FileHeader {
    /// The header of the segment file with this number.
    pub(super) fn encode(&self, segment: u32) -> [u8; FILE_HEADER] {
        let mut bytes = [0; FILE_HEADER];
        bytes[..8].copy_from_slice(&FILE_MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..16].copy_from_slice(&segment.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.salt.0);
        let crc = crc32fast::hash(&bytes[..32]);
        bytes[32..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header, if these bytes are that of the segment with this number.
    pub(super) fn decode(bytes: &[u8; FILE_HEADER], segment: u32) -> Option<Self> {
        let header = Self {
            sequence: u64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i])),
            salt: Salt(std::array::from_fn(|i| bytes[24 + i])),
        };
        (*bytes == header.encode(segment)).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::hex;
    use super::*;

    #[test]
    fn the_frame_is_pinned() {
        let (frame, head) = a_frame();
        let bytes = frame.encode(Salt(*b"saltsalt"), &head);
        assert_eq!(hex(&bytes), "727374521200000000000000010000001800000000000000fd547a6d");
        let header = a_header().encode(7);
        let expected = "7273745345474d540500000007000000090000000000000073616c7473616c74e43dcbf3";
        assert_eq!(hex(&header), expected);
    }

    #[test]
    fn a_frame_is_read_with_the_salt_of_its_file_only() {
        let (frame, head) = a_frame();
        let salt = Salt(*b"saltsalt");
        let bytes = frame.encode(salt, &head);
        assert_eq!(Frame::decode(&bytes), Some(frame));
        assert_eq!(frame.decode_head(salt, &bytes, &head), Some(reaped()));
        assert_eq!(frame.decode_head(Salt([0; 8]), &bytes, &head), None);
    }

    #[test]
    fn a_header_is_read_for_its_segment_only_and_with_every_bit_right() {
        let bytes = a_header().encode(7);
        assert_eq!(FileHeader::decode(&bytes, 7), Some(a_header()));
        assert_eq!(FileHeader::decode(&bytes, 8), None);
        for at in 0..bytes.len() {
            let mut spoiled = bytes;
            spoiled[at] ^= 1;
            assert_eq!(FileHeader::decode(&spoiled, 7), None, "{at}");
        }
    }

    fn a_header() -> FileHeader {
        FileHeader {
            sequence: 9,
            salt: Salt(*b"saltsalt"),
        }
    }

    fn reaped() -> Head {
        Head::InboxReaped {
            inbox: [1; 16],
            held_in: Vec::new(),
        }
    }

    fn a_frame() -> (Frame, Vec<u8>) {
        let head = postcard::to_stdvec(&reaped()).unwrap();
        let frame = Frame {
            head: u32::try_from(head.len()).unwrap(),
            body: 0,
            following: 1,
            group: 24,
        };
        (frame, head)
    }
}
