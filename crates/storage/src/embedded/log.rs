//! The segment log, written: the committer appends groups of records and syncs them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use restante_envelope::digest::random_bytes;

use super::frame::{FILE_HEADER, FRAME, FileHeader, Frame, HEAD_MAX, Salt};
use super::record::{Head, Record};
use super::rows::Place;
#[cfg(test)]
use super::tests::faults::{self, Fault};

/// Blobs up to this size are copied into the buffer of the group; larger ones are written from where they are.
const COPY_MAX: usize = 16 * 1024;

/// Bytes that are written again at once.
const AGAIN_BYTES: usize = 1024 * 1024;

/// Room that a store has which takes mail: several times what most messages need.
pub(super) const ENOUGH_BYTES: u32 = 1024 * 1024;

/// Files and directories belong to the server alone: they hold mail.
pub(super) const FILE_MODE: u32 = 0o600;

/// The path of a segment.
pub(super) fn segment_path(dir: &Path, segment: u32) -> PathBuf {
    dir.join(format!("{segment:08}.log"))
}

/// The numbers of the segments in a directory, ascending.
pub(super) fn segment_numbers(dir: &Path) -> io::Result<Vec<u32>> {
    numbered_files(dir, ".log")
}

/// The numbers of the files in a directory whose names are a number and this suffix, ascending.
pub(super) fn numbered_files(dir: &Path, suffix: &str) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(suffix));
        numbers.extend(number.and_then(|digits| digits.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Makes the entries of a directory durable.
pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// The end of the log.
#[derive(Debug)]
pub(super) struct Log {
    dir: PathBuf,
    segment_bytes: u64,
    segment: u32,
    header: FileHeader,
    file: File,
    /// Everything before this offset is durable; the file is cut to it when a write or a sync fails.
    synced: u64,
    /// A write found no room, where the disk may say that there is some: a quota, or a limit of file sizes.
    is_full: bool,
    group: Group,
}

/// What waits to be written: small blobs and heads in one buffer, large blobs beside it.
#[derive(Debug, Default)]
struct Group {
    buffer: Vec<u8>,
    /// A large blob, and how much of the buffer goes before it.
    large: Vec<(usize, Bytes)>,
    len: u64,
}

impl Log {
    /// Goes on at the end of a segment, which is cut to `end`; an `end` within the header starts the segment anew,
    /// behind this commit sequence.
    ///
    /// What lies behind `synced` is made durable again, as nobody knows whether it is.
    pub(super) fn open(
        dir: &Path,
        segment: u32,
        (synced, end): (u64, u64),
        segment_bytes: u64,
        sequence: u64,
    ) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(FILE_MODE)
            .open(segment_path(dir, segment))?;
        let is_new = end <= FILE_HEADER as u64;
        let header = if is_new {
            begin(&file, segment, sequence)?
        } else {
            read_header(&file, segment)?
        };
        let end = end.max(FILE_HEADER as u64);
        file.set_len(end)?;
        write_again(&file, synced, end)?;
        file.sync_all()?;
        sync_dir(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
            segment_bytes,
            segment,
            header,
            file,
            synced: end,
            is_full: false,
            group: Group::default(),
        })
    }

    /// Opens the file again after a failure and cuts off what was not synced.
    ///
    /// A failed sync may have dropped pages that the file still shows: only what an earlier sync covered is kept.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        #[cfg(test)]
        faults::inject(&self.dir, Fault::Reopen)?;
        let sequence = self.header.sequence;
        let known = (self.synced, self.synced);
        let reopened = Self::open(&self.dir, self.segment, known, self.segment_bytes, sequence)?;
        let is_full = self.is_full;
        *self = Self { is_full, ..reopened };
        Ok(())
    }

    /// Where the next record goes.
    pub(super) fn end(&self) -> (u32, u64) {
        (self.segment, self.synced + self.group.len)
    }

    pub(super) fn salt(&self) -> Salt {
        self.header.salt
    }

    pub(super) fn staged_bytes(&self) -> u64 {
        self.group.len
    }

    /// Whether records of this size go into the current segment: a call is never split, and one larger than
    /// a segment gets a segment of its own.
    pub(super) fn fits(&self, records: &[Record]) -> bool {
        let (_, end) = self.end();
        let heads: u64 = records
            .iter()
            .map(|record| FRAME as u64 + 512 + record.body_bytes() as u64)
            .sum();
        end <= FILE_HEADER as u64 || end + heads <= self.segment_bytes
    }

    /// Adds the records of one call to the group and says where they will lie.
    pub(super) fn stage(&mut self, records: Vec<Record>) -> Vec<(Head, Place)> {
        let mut following = u32::try_from(records.len()).expect("a call writes a bounded number of records");
        let mut placed = Vec::with_capacity(records.len());
        for record in records {
            following -= 1;
            placed.push(self.stage_one(record, following));
        }
        placed
    }

    fn stage_one(&mut self, record: Record, following: u32) -> (Head, Place) {
        let head = postcard::to_stdvec(&record.head).expect("heads are plain data, which postcard always encodes");
        assert!(head.len() <= HEAD_MAX as usize, "calls split what would be longer");
        let length = |len: usize| u32::try_from(len).expect("heads and messages are far below 4 GiB");
        let frame = Frame {
            head: length(head.len()),
            body: length(record.body_bytes()),
            following,
            group: self.synced,
        };
        let (segment, offset) = self.end();
        self.group
            .buffer
            .extend_from_slice(&frame.encode(self.header.salt, &head));
        self.group.buffer.extend_from_slice(&head);
        for blob in record.blobs {
            if blob.len() <= COPY_MAX {
                self.group.buffer.extend_from_slice(&blob);
            } else {
                self.group.large.push((self.group.buffer.len(), blob));
            }
        }
        self.group.len += frame.record_len();
        let place = Place {
            segment,
            offset,
            len: frame.record_len(),
            body: length(FRAME + head.len()),
        };
        (record.head, place)
    }

    /// Writes the group and makes it durable.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        let group = std::mem::take(&mut self.group);
        if group.len == 0 {
            return Ok(());
        }
        let written = self.write(&group);
        self.is_full |= written.as_ref().is_err_and(is_for_want_of_room);
        written?;
        #[cfg(test)]
        faults::inject(&self.dir, Fault::Sync)?;
        self.file.sync_data()?;
        self.synced += group.len;
        self.keep_buffer(group.buffer);
        Ok(())
    }

    fn write(&self, group: &Group) -> io::Result<()> {
        let mut slices = Vec::with_capacity(2 * group.large.len() + 1);
        let mut from = 0;
        for (until, blob) in &group.large {
            slices.push(IoSlice::new(&group.buffer[from..*until]));
            slices.push(IoSlice::new(blob));
            from = *until;
        }
        slices.push(IoSlice::new(&group.buffer[from..]));
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.synced))?;
        #[cfg(test)]
        faults::inject(&self.dir, Fault::Write)
            .inspect_err(|_| drop(file.write_all(&group.buffer[..group.buffer.len() / 2])))?;
        write_all_vectored(&mut file, &mut slices)
    }

    /// Reuses the buffer of the last group, unless it grew large.
    fn keep_buffer(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= 1024 * 1024 {
            buffer.clear();
            self.group.buffer = buffer;
        }
    }

    /// Starts the next segment behind the last commit sequence; the group must be committed.
    pub(super) fn roll(&mut self, sequence: u64) -> io::Result<()> {
        debug_assert_eq!(self.group.len, 0, "a group lies in one segment");
        #[cfg(test)]
        faults::inject(&self.dir, Fault::Roll)?;
        let next = self.segment + 1;
        match Self::open(&self.dir, next, (0, 0), self.segment_bytes, sequence) {
            Ok(log) => {
                *self = log;
                Ok(())
            }
            Err(error) => {
                // Left behind, it would be the last segment while this one still grows.
                let _ = fs::remove_file(segment_path(&self.dir, next));
                Err(error)
            }
        }
    }

    /// Whether the file may grow; after a write that found no room this is tried by writing, of which nothing stays.
    pub(super) fn may_grow(&mut self) -> io::Result<bool> {
        if !self.is_full {
            return Ok(true);
        }
        let tried = self.file.write_all_at(&vec![0; ENOUGH_BYTES as usize], self.synced);
        self.file.set_len(self.synced)?;
        match tried {
            Err(error) if is_for_want_of_room(&error) => Ok(false),
            tried => {
                self.is_full = tried.is_err();
                tried.map(|()| true)
            }
        }
    }

    /// Forgets a group that was not written.
    pub(super) fn discard(&mut self) {
        self.group = Group::default();
    }
}

/// Whether a write failed because the disk, a quota or a limit of file sizes leaves no room.
fn is_for_want_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Writes what lies between these offsets again, and the rest of the block in which it begins.
///
/// The system counts what a failed sync could not write as written: the next sync would skip it and succeed.
/// So nothing is believed of that sync, nor of one that a process which is gone may have seen fail. Of what was
/// acknowledged before, only the first block can be among it, because the group behind it began there.
fn write_again(file: &File, from: u64, end: u64) -> io::Result<()> {
    let mut at = from.min(end);
    at -= at % file.metadata()?.blksize().max(4096);
    let mut bytes = vec![0; AGAIN_BYTES];
    while at < end {
        let len = (end - at).min(AGAIN_BYTES as u64);
        let chunk = &mut bytes[..usize::try_from(len).expect("chunks are small")];
        file.read_exact_at(chunk, at)?;
        file.write_all_at(chunk, at)?;
        at += len;
    }
    Ok(())
}

/// Writes the header of a segment without records.
fn begin(file: &File, segment: u32, sequence: u64) -> io::Result<FileHeader> {
    let salt = Salt(random_bytes());
    let header = FileHeader { sequence, salt };
    file.write_all_at(&header.encode(segment), 0)?;
    Ok(header)
}

fn read_header(file: &File, segment: u32) -> io::Result<FileHeader> {
    let mut bytes = [0; FILE_HEADER];
    file.read_exact_at(&mut bytes, 0)?;
    FileHeader::decode(&bytes, segment).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn write_all_vectored(file: &mut &File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
