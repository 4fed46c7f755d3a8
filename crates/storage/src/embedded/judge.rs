//! What a start makes of a segment: which calls count, where the log ends, and what is damage.
//!
//! A call counts once its frames and heads are whole. A body that is not harms its own mail alone, which says so when
//! it is read, unless nothing shows that the call was ever synced: then it is the end of an unfinished write.

use std::fs;
use std::io;
use std::path::Path;

use super::frame::FileHeader;
use super::log::segment_path;
use super::manifest::Manifest;
use super::record::Head;
use super::replay::ReplayError;
use super::rows::Place;
use super::scan::{Bodies, Scanner, Step};

/// Records, and where they lie.
pub(super) type Records = Vec<(Head, Place)>;

/// Whether a segment may end with an unfinished write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Not: others follow it.
    Sealed,
    /// It may, behind what is known to have been synced.
    Last { synced: u64 },
}

impl Standing {
    /// What is known of one of these segments.
    pub(super) fn of(segment: u32, segments: &[u32], manifest: &Manifest) -> Self {
        if segments.last() == Some(&segment) {
            let synced = manifest.synced_bytes(segment);
            Self::Last { synced }
        } else {
            Self::Sealed
        }
    }
}

/// What comes next in a segment.
#[derive(Debug)]
pub(super) enum Found {
    /// A call that counts.
    Call(Records),
    /// The end of what counts, and how many bytes of an unfinished write lie behind it.
    End { torn_bytes: u64 },
    /// What was synced once is not there, or no frame with its head. With the whole records that the call begins with.
    Damage(Records),
}

/// Reads a segment and judges what it reads.
#[derive(Debug)]
pub(super) struct Judge {
    scanner: Scanner,
    is_last: bool,
    synced: u64,
}

impl Judge {
    /// Starts at `offset`, or behind the header; `None` if the file's header is not that of this segment.
    pub(super) fn open(dir: &Path, segment: u32, offset: u64, standing: Standing) -> io::Result<Option<Self>> {
        let (bodies, synced, is_last) = match standing {
            Standing::Sealed => (Bodies::Skipped, 0, false),
            Standing::Last { synced } => (Bodies::VerifiedFrom(synced), synced, true),
        };
        let scanner = Scanner::open(dir, segment, offset, bodies)?;
        Ok(scanner.map(|scanner| Self {
            scanner,
            is_last,
            synced,
        }))
    }

    pub(super) fn header(&self) -> FileHeader {
        self.scanner.header()
    }

    /// The length of the file.
    pub(super) fn len(&self) -> u64 {
        self.scanner.len()
    }

    /// Where what was found last begins; behind it if it was a call.
    pub(super) fn offset(&self) -> u64 {
        self.scanner.offset()
    }

    /// What comes next. Behind damage only once [`Judge::pass`] was called.
    pub(super) fn next(&mut self) -> io::Result<Found> {
        let step = self.scanner.next_call()?;
        let is_known = self.scanner.offset() < self.synced;
        Ok(match step {
            Step::Call(records) => Found::Call(records),
            Step::End if !is_known => Found::End { torn_bytes: 0 },
            Step::End => Found::Damage(Vec::new()),
            Step::Broken(records) if is_known || !self.is_torn()? => Found::Damage(records),
            Step::Spoiled(records) if is_known || !self.is_torn()? => {
                self.scanner.pass();
                Found::Call(records)
            }
            Step::Broken(_) | Step::Spoiled(_) => Found::End {
                torn_bytes: self.scanner.len() - self.scanner.offset(),
            },
        })
    }

    fn is_torn(&self) -> io::Result<bool> {
        Ok(self.is_last && self.scanner.is_torn_tail()?)
    }

    /// Goes on behind damage, at the next record or at the end of the file, and says how many bytes that is.
    ///
    /// `None` if no record follows in the last segment: there the log ends, as the next record must not become part of
    /// one that was cut short.
    pub(super) fn pass(&mut self) -> io::Result<Option<u64>> {
        let from = self.scanner.offset();
        let is_followed = self.scanner.pass_broken()?;
        Ok((is_followed || !self.is_last).then_some(self.scanner.offset() - from))
    }
}

/// Damage in the log that a start passes by, because somebody accepted what is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// The number of the segment file.
    pub segment: u32,
    /// Where in it the damaged call begins.
    pub offset: u64,
    /// Bytes up to the next record, or to the end of the file; those of the whole file if it is its header.
    pub bytes: u64,
}

/// Notes durably all damage that keeps a store from starting without its index: from then on it does start.
///
/// # Errors
/// [`ReplayError::Damaged`] if the header of the last segment is damaged: nothing can be read without it, and nothing
/// written behind it. The rest as a start.
pub(super) fn accept_damage(manifest: &Manifest) -> Result<Vec<Accepted>, ReplayError> {
    let segments = manifest.segments()?;
    let mut survey = Survey::default();
    for segment in segments.iter().copied() {
        let standing = Standing::of(segment, &segments, manifest);
        survey.look_at(manifest.dir(), segment, standing)?;
    }
    let Survey { mut passed, end } = survey;
    let places = passed.iter().map(|damage| (damage.segment, damage.offset));
    let synced = end.map(|damage| (damage.segment, damage.offset));
    manifest.note_accepted(places, synced)?;
    passed.extend(end);
    Ok(passed)
}

/// What is found to be damaged.
#[derive(Debug, Default)]
struct Survey {
    /// With records behind it.
    passed: Vec<Accepted>,
    /// Where the log ends from now on: what stands there is cut, as an unfinished write is.
    end: Option<Accepted>,
}

impl Survey {
    fn look_at(&mut self, dir: &Path, segment: u32, standing: Standing) -> Result<(), ReplayError> {
        let len = fs::metadata(segment_path(dir, segment))?.len();
        let damage = |offset, bytes| Accepted { segment, offset, bytes };
        let Some(mut judge) = Judge::open(dir, segment, 0, standing)? else {
            match standing {
                Standing::Sealed => self.passed.push(damage(0, len)),
                Standing::Last { synced: 0 } if segment == 1 => {}
                Standing::Last { .. } => return Err(ReplayError::Damaged { segment, offset: 0 }),
            }
            return Ok(());
        };
        loop {
            match judge.next()? {
                Found::Call(_) => {}
                Found::End { .. } => return Ok(()),
                Found::Damage(_) => {
                    let offset = judge.offset();
                    let Some(bytes) = judge.pass()? else {
                        self.end = Some(damage(offset, len - offset));
                        return Ok(());
                    };
                    self.passed.push(damage(offset, bytes));
                }
            }
        }
    }
}
