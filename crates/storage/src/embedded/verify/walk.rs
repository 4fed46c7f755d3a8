//! One segment read from front to back, whatever is damaged in it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::super::frame::{FILE_HEADER, FRAME, FileHeader, Frame, HEAD_MAX, Salt};
use super::super::log::segment_path;
use super::super::record::{Blob, Head};
use super::super::rows::Place;
use super::super::tail::has_later_group;

/// Places that are looked at with one read when the next record is searched for.
const STEP: usize = 64 * 1024;
const WINDOW: usize = STEP + FRAME + HEAD_MAX as usize;

/// What stands at a position of a segment.
#[derive(Debug)]
pub(super) enum Walked {
    /// All records of one call.
    Call(Vec<Found>),
    /// No whole call: where this begins, and where the next record does, or the end of the file.
    Gap(u64, u64),
}

/// A record whose head is whole.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) head: Head,
    pub(super) place: Place,
    following: u32,
    /// Positions of blobs that do not match their checksums.
    pub(super) spoiled: Vec<usize>,
}

pub(super) struct Walk {
    file: BufReader<File>,
    segment: u32,
    salt: Salt,
    len: u64,
    offset: u64,
}

/// The header of a segment and the length of its file; no header if it is not that of this segment.
pub(super) fn header(dir: &Path, segment: u32) -> io::Result<(Option<FileHeader>, u64)> {
    let file = File::open(segment_path(dir, segment))?;
    let len = file.metadata()?.len();
    let mut bytes = [0; FILE_HEADER];
    if len < FILE_HEADER as u64 {
        return Ok((None, len));
    }
    file.read_exact_at(&mut bytes, 0)?;
    Ok((FileHeader::decode(&bytes, segment), len))
}

impl Walk {
    /// Starts behind the header, or at an offset behind it.
    pub(super) fn open(dir: &Path, segment: u32, salt: Salt, offset: u64) -> io::Result<Self> {
        let file = File::open(segment_path(dir, segment))?;
        let len = file.metadata()?.len();
        Ok(Self {
            file: BufReader::with_capacity(STEP, file),
            segment,
            salt,
            len,
            offset: offset.max(FILE_HEADER as u64),
        })
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The next call or gap; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Walked>> {
        let start = self.offset;
        if start >= self.len {
            return Ok(None);
        }
        self.file.seek(SeekFrom::Start(start))?;
        let mut call: Vec<Found> = Vec::new();
        let mut at = start;
        loop {
            let expected = call.last().map(|last| last.following - 1);
            let record = self.record(at)?;
            let is_next = |found: &Found| expected.is_none_or(|expected| found.following == expected);
            let Some(found) = record else {
                self.offset = self.next_record(at + 1)?;
                return Ok(Some(Walked::Gap(start, self.offset)));
            };
            if !is_next(&found) {
                self.offset = at;
                return Ok(Some(Walked::Gap(start, at)));
            }
            at += found.place.len;
            let is_last = found.following == 0;
            call.push(found);
            if is_last {
                self.offset = at;
                return Ok(Some(Walked::Call(call)));
            }
        }
    }

    /// Goes on behind the end of the file.
    pub(super) fn end(&mut self) {
        self.offset = self.len;
    }

    /// Whether what stands at an offset may be an unfinished write: no later group was written behind it.
    pub(super) fn is_torn_from(&self, offset: u64) -> io::Result<bool> {
        let file = self.file.get_ref();
        let read_at = |buffer: &mut [u8], at| read_up_to(file, buffer, at);
        Ok(!has_later_group(offset..self.len, self.salt, read_at)?)
    }

    /// The record at `at`, where the file stands, if its head is whole and its body in the file.
    fn record(&mut self, at: u64) -> io::Result<Option<Found>> {
        let mut bytes = [0; FRAME];
        if self.len - at < FRAME as u64 {
            return Ok(None);
        }
        self.file.read_exact(&mut bytes)?;
        let Some(frame) = Frame::decode(&bytes).filter(|frame| frame.record_len() <= self.len - at) else {
            return Ok(None);
        };
        let mut head = vec![0; frame.head as usize];
        self.file.read_exact(&mut head)?;
        let Some(head) = frame.decode_head(self.salt, &bytes, &head) else {
            return Ok(None);
        };
        let spoiled = self.spoiled(&head.blobs())?;
        let place = Place {
            segment: self.segment,
            offset: at,
            len: frame.record_len(),
            body: u32::try_from(FRAME).unwrap_or(u32::MAX) + frame.head,
        };
        Ok(Some(Found {
            head,
            place,
            following: frame.following,
            spoiled,
        }))
    }

    fn spoiled(&mut self, blobs: &[Blob]) -> io::Result<Vec<usize>> {
        let mut spoiled = Vec::new();
        let mut chunk = vec![0; 16 * 1024];
        for (position, blob) in blobs.iter().enumerate() {
            let mut hasher = crc32fast::Hasher::new();
            let mut left = blob.len as usize;
            while left > 0 {
                let part = left.min(chunk.len());
                self.file.read_exact(&mut chunk[..part])?;
                hasher.update(&chunk[..part]);
                left -= part;
            }
            if hasher.finalize() != blob.crc {
                spoiled.push(position);
            }
        }
        Ok(spoiled)
    }

    /// Where the first record at or behind an offset begins, or the end of the file.
    ///
    /// The salt is in its checksum: no mail can hold what looks like one.
    fn next_record(&self, from: u64) -> io::Result<u64> {
        let mut window = vec![0; WINDOW];
        for start in (from..self.len).step_by(STEP) {
            let read = read_up_to(self.file.get_ref(), &mut window, start)?;
            let found = (0..read.min(STEP)).find(|skip| is_head(&window[*skip..read], self.salt));
            if let Some(skip) = found {
                return Ok(start + skip as u64);
            }
        }
        Ok(self.len)
    }
}

/// Whether these bytes begin with the frame and the head of a record.
fn is_head(bytes: &[u8], salt: Salt) -> bool {
    let Some((frame_bytes, rest)) = bytes.split_first_chunk() else {
        return false;
    };
    let head = Frame::decode(frame_bytes).and_then(|frame| {
        let head = rest.get(..frame.head as usize)?;
        frame.decode_head(salt, frame_bytes, head)
    });
    head.is_some()
}

fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
