//! The segment log, read from front to back: to apply it to the index, and to find where it ends.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::frame::{FILE_HEADER, FRAME, FileHeader, Frame};
use super::log::segment_path;
use super::record::{Blob, Head};
use super::rows::Place;
use super::tail::{has_later_group, next_record};

/// What stands at a position of a segment.
#[derive(Debug)]
pub(super) enum Step {
    /// All records of one call.
    Call(Vec<(Head, Place)>),
    /// The same, but a body does not match its checksum: the scanner stands before it until [`Scanner::pass`].
    Spoiled(Vec<(Head, Place)>),
    /// Nothing more.
    End,
    /// Not a whole call: the segment is good up to here. With the whole records that it begins with.
    Broken(Vec<(Head, Place)>),
}

/// Whether bodies are compared with their checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bodies {
    /// They are in calls from this offset on, as they must be where a power cut may have torn the file.
    VerifiedFrom(u64),
    /// They are not: a rebuild reads heads alone, and every read of a part verifies it.
    Skipped,
}

/// Reads one segment call by call.
#[derive(Debug)]
pub(super) struct Scanner {
    file: BufReader<File>,
    segment: u32,
    header: FileHeader,
    len: u64,
    offset: u64,
    /// Where the record begins, or the call ends, that was looked at last.
    looked_at: u64,
    bodies: Bodies,
}

impl Scanner {
    /// Starts at `offset`, or behind the header; `None` if the file's header is not that of this segment.
    pub(super) fn open(dir: &Path, segment: u32, offset: u64, bodies: Bodies) -> io::Result<Option<Self>> {
        let mut file = File::open(segment_path(dir, segment))?;
        let len = file.metadata()?.len();
        let mut bytes = [0; FILE_HEADER];
        if len < FILE_HEADER as u64 {
            return Ok(None);
        }
        file.read_exact(&mut bytes)?;
        let Some(header) = FileHeader::decode(&bytes, segment) else {
            return Ok(None);
        };
        let offset = offset.max(FILE_HEADER as u64);
        file.seek(SeekFrom::Start(offset))?;
        Ok(Some(Self {
            file: BufReader::with_capacity(64 * 1024, file),
            segment,
            header,
            len,
            offset,
            looked_at: offset,
            bodies,
        }))
    }

    /// The end of the last whole call.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn header(&self) -> FileHeader {
        self.header
    }

    /// The length of the file.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The next call.
    pub(super) fn next_call(&mut self) -> io::Result<Step> {
        if self.offset >= self.len {
            return Ok(if self.offset == self.len {
                Step::End
            } else {
                Step::Broken(Vec::new())
            });
        }
        let mut records = Vec::new();
        let mut at = self.offset;
        let mut is_whole = true;
        loop {
            self.looked_at = at;
            let Some((head, frame, is_whole_body)) = self.record(at)? else {
                return Ok(Step::Broken(records));
            };
            is_whole &= is_whole_body;
            let place = Place {
                segment: self.segment,
                offset: at,
                len: frame.record_len(),
                body: u32::try_from(FRAME).unwrap_or(u32::MAX) + frame.head,
            };
            at += frame.record_len();
            records.push((head, place));
            if frame.following == 0 {
                self.looked_at = at;
                if !is_whole {
                    return Ok(Step::Spoiled(records));
                }
                self.offset = at;
                return Ok(Step::Call(records));
            }
        }
    }

    /// Goes on behind a call that is [`Step::Spoiled`].
    pub(super) fn pass(&mut self) {
        self.offset = self.looked_at;
    }

    /// Goes on behind what is [`Step::Broken`]: at the next record, if there is one, or at the end of the file.
    ///
    /// The salt is in the checksum of a record: no mail can hold what looks like one.
    pub(super) fn pass_broken(&mut self) -> io::Result<bool> {
        let behind = self.looked_at..self.len;
        let file = self.file.get_ref();
        let next = next_record(behind, self.header.salt, |buffer, at| read_up_to(file, buffer, at))?;
        self.offset = next.unwrap_or(self.len);
        self.file.seek(SeekFrom::Start(self.offset))?;
        Ok(next.is_some())
    }

    /// The record at `at`, where the file stands, if its frame and head are whole, and whether its body is.
    fn record(&mut self, at: u64) -> io::Result<Option<(Head, Frame, bool)>> {
        let mut bytes = [0; FRAME];
        if self.len - at < FRAME as u64 {
            return Ok(None);
        }
        self.file.read_exact(&mut bytes)?;
        let Some(frame) = Frame::decode(&bytes) else {
            return Ok(None);
        };
        if self.len - at < frame.record_len() {
            return Ok(None);
        }
        let mut head = vec![0; frame.head as usize];
        self.file.read_exact(&mut head)?;
        let Some(head) = frame.decode_head(self.header.salt, &bytes, &head) else {
            return Ok(None);
        };
        let is_whole = match self.bodies {
            Bodies::VerifiedFrom(from) if self.offset >= from => self.verify(&head.blobs())?,
            Bodies::VerifiedFrom(_) | Bodies::Skipped => {
                self.file.seek_relative(i64::from(frame.body))?;
                true
            }
        };
        Ok(Some((head, frame, is_whole)))
    }

    /// Reads all blobs, and says whether they match their checksums.
    fn verify(&mut self, blobs: &[Blob]) -> io::Result<bool> {
        let mut is_whole = true;
        let mut chunk = [0; 8 * 1024];
        for blob in blobs {
            let mut hasher = crc32fast::Hasher::new();
            let mut left = blob.len as usize;
            while left > 0 {
                let part = left.min(chunk.len());
                self.file.read_exact(&mut chunk[..part])?;
                hasher.update(&chunk[..part]);
                left -= part;
            }
            is_whole &= hasher.finalize() == blob.crc;
        }
        Ok(is_whole)
    }

    /// Whether what is broken at [`Scanner::offset`] was never synced, so that nobody was told that it is kept.
    ///
    /// A record behind it whose group began behind it as well was written after it had been synced:
    /// then this is damage, and cutting the file here would lose mail that was acknowledged.
    pub(super) fn is_torn_tail(&self) -> io::Result<bool> {
        let file = self.file.get_ref();
        let read_at = |buffer: &mut [u8], offset| read_up_to(file, buffer, offset);
        Ok(!has_later_group(self.offset..self.len, self.header.salt, read_at)?)
    }
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
