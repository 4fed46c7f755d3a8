//! Which segments there must be: a file that is lost is told from one that compaction deleted.
//!
//! A small text file beside the segments, replaced as a whole and durably: before a segment is deleted, when one has
//! begun, at every start and at every clean close.
//!
//! | Line | Meaning |
//! |---|---|
//! | `restante-segments 1` | what it is |
//! | `synced SEGMENT BYTES` | up to here the log was synced once, so that nothing before may be cut; zeros at first |
//! | `gone FIRST LAST` | segments that were deleted on purpose, ascending; none, one or several lines |
//! | `crc HEX` | CRC-32 of the lines before |
//!
//! It costs no sync of a group: all of it is written by the thread of compaction, or while nobody calls.
//!
//! On a disk without any room not even this can be written, and deleting is how room comes back: then an empty file
//! `NUMBER.gone` says the same until the manifest does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::frame::FILE_HEADER;
use super::log::{numbered_files, segment_numbers, segment_path, sync_dir};
use super::replay::ReplayError;
use super::stamp::replace;
#[cfg(test)]
use super::tests::faults::{self, Fault};

const FILE: &str = "manifest";
const FIRST_LINE: &str = "restante-segments 1";
const GONE: &str = ".gone";

/// The manifest of a directory of segments.
#[derive(Debug)]
pub(super) struct Manifest {
    dir: PathBuf,
    known: Mutex<Known>,
}

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Known {
    /// A segment, and how much of it was synced.
    synced: (u32, u64),
    /// Deleted on purpose: the first and the last number of each run.
    gone: BTreeMap<u32, u32>,
    /// Damage that is passed by: a segment, and where in it.
    accepted: BTreeSet<(u32, u64)>,
}

impl Manifest {
    /// Reads the manifest of a directory, or makes one where there is no segment yet.
    ///
    /// # Errors
    /// [`ReplayError::Missing`] if there are segments without it, [`ReplayError::Spoiled`] if it cannot be read.
    pub(super) fn open(dir: &Path) -> Result<Self, ReplayError> {
        if !dir.join(FILE).exists() && segment_numbers(dir)?.is_empty() {
            Known::default().write(dir)?;
        }
        Self::read(dir)
    }

    /// Reads the manifest of a directory.
    ///
    /// # Errors
    /// As [`Manifest::open`], also where there is no segment.
    pub(super) fn read(dir: &Path) -> Result<Self, ReplayError> {
        let file = dir.join(FILE);
        let mut known = match fs::read(&file) {
            Ok(bytes) => Known::parse(&bytes).ok_or(ReplayError::Spoiled { file })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ReplayError::Missing { file }),
            Err(error) => return Err(error.into()),
        };
        for segment in numbered_files(dir, GONE)? {
            known.add_gone(segment);
        }
        Ok(Self {
            dir: dir.to_owned(),
            known: Mutex::new(known),
        })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The segments that are there, ascending. One that was deleted, but whose file came back with a power cut, is
    /// deleted again.
    ///
    /// # Errors
    /// [`ReplayError::Missing`] if one is not there that was not deleted.
    pub(super) fn segments(&self) -> Result<Vec<u32>, ReplayError> {
        let known = self.lock();
        let mut there = Vec::new();
        for segment in segment_numbers(&self.dir)? {
            if known.is_gone(segment) {
                fs::remove_file(segment_path(&self.dir, segment))?;
            } else {
                there.push(segment);
            }
        }
        let end = there.last().copied().unwrap_or(0).max(known.synced.0);
        let is_lost = |segment: &u32| !known.is_gone(*segment) && there.binary_search(segment).is_err();
        match (1..=end).find(is_lost) {
            Some(lost) => Err(ReplayError::Missing {
                file: segment_path(&self.dir, lost),
            }),
            None => Ok(there),
        }
    }

    /// Deletes segments at the end in which no record was ever synced: they were begun, and never used.
    ///
    /// # Errors
    /// As [`Manifest::segments`].
    pub(super) fn trim(&self) -> Result<(), ReplayError> {
        let mut segments = self.segments()?;
        while let [_, .., last] = segments[..] {
            let path = segment_path(&self.dir, last);
            if last <= self.lock().synced.0 || fs::metadata(&path)?.len() > FILE_HEADER as u64 {
                break;
            }
            fs::remove_file(path)?;
            segments.pop();
        }
        Ok(())
    }

    /// Whether a segment was deleted on purpose.
    pub(super) fn is_gone(&self, segment: u32) -> bool {
        self.lock().is_gone(segment)
    }

    /// The first segment behind all that were deleted: from here on the log is whole.
    ///
    /// Before it, a record may be there and the one that ended what it says may be gone (ADR 0017).
    pub(super) fn floor(&self) -> u32 {
        let known = self.lock();
        known
            .gone
            .last_key_value()
            .map_or(0, |(_, last)| last.saturating_add(1))
    }

    /// A segment, and how much of it was synced once, and of all before it.
    pub(super) fn synced(&self) -> (u32, u64) {
        self.lock().synced
    }

    /// How much of a segment is known to have been synced; 0 if that is not known.
    pub(super) fn synced_bytes(&self, segment: u32) -> u64 {
        match self.lock().synced {
            (known, bytes) if known == segment => bytes,
            _ => 0,
        }
    }

    /// Whether a later segment has begun since the end of the log was noted.
    pub(super) fn is_behind(&self, (segment, _): (u32, u64)) -> bool {
        self.lock().synced.0 < segment
    }

    /// Notes durably that the log was synced up to this end. One that is within a header is no end: such a file may
    /// be deleted again.
    pub(super) fn note_synced(&self, end: (u32, u64)) -> io::Result<()> {
        let mut known = self.lock();
        if end <= known.synced || end.1 <= FILE_HEADER as u64 {
            return Ok(());
        }
        let next = Known {
            synced: end,
            ..known.clone()
        };
        next.write(&self.dir)?;
        *known = next;
        self.tidy()
    }

    /// Notes durably that a segment is deleted on purpose: to be called before it is.
    ///
    /// `end` is up to where the log is synced: what was moved out of the segment lies before it. So a copy of the
    /// directory whose files are older than its manifest is missing something, and is not opened without it.
    pub(super) fn note_gone(&self, segment: u32, end: Option<(u32, u64)>) -> io::Result<()> {
        let mut known = self.lock();
        if known.is_gone(segment) {
            return Ok(());
        }
        let mut next = known.clone();
        next.add_gone(segment);
        let end = end.filter(|(_, bytes)| *bytes > FILE_HEADER as u64);
        next.synced = known.synced.max(end.unwrap_or_default());
        next.accepted.retain(|(damaged, _)| *damaged != segment);
        match next.write(&self.dir) {
            Ok(()) => self.tidy()?,
            Err(error) if is_full(&error) => {
                File::create(self.dir.join(format!("{segment:08}{GONE}")))?;
                sync_dir(&self.dir)?;
            }
            Err(error) => return Err(error),
        }
        *known = next;
        Ok(())
    }

    /// Notes durably that the log is damaged at these places, of a segment and an offset, and read on behind them; and
    /// that it ends before what was synced, if it does so now.
    pub(super) fn note_accepted(
        &self,
        places: impl Iterator<Item = (u32, u64)>,
        end: Option<(u32, u64)>,
    ) -> io::Result<()> {
        let mut known = self.lock();
        let mut next = known.clone();
        next.synced = known.synced.min(end.unwrap_or(known.synced));
        next.accepted.extend(places);
        if next != *known {
            next.write(&self.dir)?;
            *known = next;
        }
        Ok(())
    }

    /// Whether somebody has accepted that the log is damaged there.
    pub(super) fn is_accepted(&self, segment: u32, offset: u64) -> bool {
        self.lock().accepted.contains(&(segment, offset))
    }

    /// Deletes the files that said what the manifest, just written, says now.
    fn tidy(&self) -> io::Result<()> {
        for segment in numbered_files(&self.dir, GONE)? {
            fs::remove_file(self.dir.join(format!("{segment:08}{GONE}")))?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn is_gone(&self, segment: u32) -> bool {
        let run = self.gone.range(..=segment).next_back();
        run.is_some_and(|(_, last)| segment <= *last)
    }

    fn add_gone(&mut self, segment: u32) {
        if self.is_gone(segment) {
            return;
        }
        let before = self.gone.range(..segment).next_back();
        let first = match before {
            Some((first, last)) if last.checked_add(1) == Some(segment) => *first,
            _ => segment,
        };
        let next = segment.checked_add(1);
        let last = next.and_then(|next| self.gone.remove(&next)).unwrap_or(segment);
        self.gone.insert(first, last);
    }

    fn text(&self) -> String {
        let (segment, bytes) = self.synced;
        let mut text = format!("{FIRST_LINE}\nsynced {segment} {bytes}\n");
        for (first, last) in &self.gone {
            let _ = writeln!(text, "gone {first} {last}");
        }
        for (segment, offset) in &self.accepted {
            let _ = writeln!(text, "accepted {segment} {offset}");
        }
        let crc = crc32fast::hash(text.as_bytes());
        let _ = writeln!(text, "crc {crc:08x}");
        text
    }

    fn write(&self, dir: &Path) -> io::Result<()> {
        #[cfg(test)]
        faults::inject(dir, Fault::Manifest)?;
        replace(dir, FILE, self.text().as_bytes())
    }

    /// Reads the text back; `None` unless every byte is what would be written.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut known = Self::default();
        for line in text.lines() {
            let mut words = line.split(' ');
            let (name, first, second) = (words.next()?, words.next()?, words.next());
            match (name, second) {
                ("synced", Some(bytes)) => known.synced = (first.parse().ok()?, bytes.parse().ok()?),
                ("gone", Some(last)) => {
                    known.gone.insert(first.parse().ok()?, last.parse().ok()?);
                }
                ("accepted", Some(offset)) => {
                    known.accepted.insert((first.parse().ok()?, offset.parse().ok()?));
                }
                _ => {}
            }
        }
        (known.text() == text).then_some(known)
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_gone_reads_back(numbers in proptest::collection::vec(1..40_u32, 0..40), synced in any::<(u32, u64)>()) {
            let mut known = Known { synced, ..Known::default() };
            let mut expected = BTreeSet::new();
            for number in numbers {
                expected.insert(number);
                known.add_gone(number);
            }
            for number in 0..42 {
                prop_assert_eq!(known.is_gone(number), expected.contains(&number), "{}", number);
            }
            let runs = expected.iter().filter(|number| !expected.contains(&(**number + 1))).count();
            prop_assert_eq!(known.gone.len(), runs);
            prop_assert_eq!(Known::parse(known.text().as_bytes()), Some(known));
        }
    }

    #[test]
    fn what_is_gone_is_noted_with_the_end_that_its_records_were_moved_before() {
        let dir = tempfile::tempdir().unwrap();
        let manifest = Manifest::open(dir.path()).unwrap();
        let header = FILE_HEADER as u64;
        let cases = [
            (1, Some((4, 5_000)), (4, 5_000)),
            (2, Some((4, 4_000)), (4, 5_000)),
            (3, Some((5, header)), (4, 5_000)),
            (5, None, (4, 5_000)),
            (6, Some((7, header + 1)), (7, header + 1)),
        ];
        for (gone, end, synced) in cases {
            manifest.note_gone(gone, end).unwrap();
            let read = Manifest::read(dir.path()).unwrap();
            assert!(read.is_gone(gone), "{gone}");
            assert_eq!(read.synced(), synced, "{gone}");
        }
    }

    #[test]
    fn a_manifest_with_any_byte_changed_is_not_believed() {
        let known = Known {
            synced: (17, 4_096),
            gone: [(1, 3), (5, 5)].into(),
            accepted: [(17, 512)].into(),
        };
        let text = known.text().into_bytes();
        assert_eq!(
            String::from_utf8_lossy(&text),
            "restante-segments 1\nsynced 17 4096\ngone 1 3\ngone 5 5\naccepted 17 512\ncrc 3269e160\n"
        );
        for at in 0..text.len() {
            let mut spoiled = text.clone();
            spoiled[at] ^= 1;
            assert_eq!(Known::parse(&spoiled), None, "{at}");
            assert_eq!(Known::parse(&text[..at]), None, "{at}");
        }
    }
}
