//! Checking a store without changing it: every byte of the log, and the index against the log, both ways.
//!
//! The log is read from front to back, every checksum is compared, and an index is made from it in a directory of its
//! own. The index of the store is copied and brought to the end of the log in the same way as by a start. Then each row
//! of one must be in the other: a row says where its record lies and what it says, so one that no record makes, or that
//! says something else, is found, as are a record without its row and totals that are not those of the log.
//!
//! Modules, in reading order: `walk` (one segment), `survey` (the log), `compare` (the index), `finding`.

mod compare;
mod finding;
mod scratch;
mod survey;
mod walk;

use std::io;
use std::path::Path;

pub use finding::{Finding, Problem};

use super::index::{Index, IndexError, Rows};
use super::marker;
use super::replay::ReplayError;
use super::rows::Meta;
use super::shared::segments_dir;
use compare::Comparison;
use scratch::Scratch;
use survey::{Files, SegmentFile, Survey, make_index};

/// How far a tool has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done: a word or two.
    pub step: &'static str,
    /// How much of it.
    pub done: u64,
    /// Of how much.
    pub total: u64,
}

/// What a verification has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// Inboxes that are not retired.
    pub inboxes: u64,
    /// Their emails.
    pub emails: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Files of the log.
    pub segments: u64,
    /// What is wrong; what is merely worth knowing is not counted.
    pub findings: u64,
}

/// Why a verification cannot go on.
#[derive(Debug)]
pub(super) enum VerifyError {
    /// The store cannot be read.
    Store(ReplayError),
    /// The indexes for comparison cannot be made.
    Scratch(String),
}

impl VerifyError {
    fn scratch(error: &io::Error) -> Self {
        Self::Scratch(error.to_string())
    }
}

impl From<io::Error> for VerifyError {
    fn from(error: io::Error) -> Self {
        Self::Store(error.into())
    }
}

impl From<ReplayError> for VerifyError {
    fn from(error: ReplayError) -> Self {
        match error {
            // The store's own index is copied before it is opened.
            ReplayError::Index(error) => error.into(),
            error => Self::Store(error),
        }
    }
}

impl From<IndexError> for VerifyError {
    fn from(error: IndexError) -> Self {
        Self::Scratch(error.to_string())
    }
}

/// Verifies the store in `path`, which nobody may use meanwhile, with room for two indexes in `scratch`.
pub(super) fn verify(
    path: &Path,
    scratch: &Path,
    mut watch: impl FnMut(Progress),
    mut tell: impl FnMut(&Finding),
) -> Result<Verified, VerifyError> {
    let mut findings = 0;
    let mut tell = |finding: Finding| {
        findings += u64::from(finding.problem.is_wrong());
        tell(&finding);
    };
    let scratch = Scratch::new(scratch)?;
    let files = Files::list(&segments_dir(path), &mut tell)?;
    let stored = stored_index(path, &scratch, &files, &mut tell)?;
    let applied = stored.as_ref().map(Rows::meta).transpose()?.unwrap_or_default();
    let fresh = Index::open(&scratch.dir("fresh")?)?;
    Survey {
        files: &files,
        applied,
        into: &fresh,
    }
    .run(&mut watch, &mut tell)?;
    if let Some(stored) = &stored {
        compare(stored, &fresh, &files, &mut watch, &mut tell)?;
    }
    let totals = fresh.meta()?;
    Ok(Verified {
        inboxes: totals.inboxes,
        emails: totals.emails,
        bytes: files.bytes(),
        segments: files.count(),
        findings,
    })
}

/// Brings the index of the store to the end of the log and compares it with one that is made from the log alone.
fn compare(
    stored: &Index,
    fresh: &Index,
    files: &Files,
    watch: &mut impl FnMut(Progress),
    tell: &mut impl FnMut(Finding),
) -> Result<(), VerifyError> {
    // What it has not applied yet was told of by the survey.
    let compared = match make_index(stored, files, watch) {
        Ok(()) => Comparison { stored, fresh }.run(watch, tell),
        Err(ReplayError::Index(error)) if !is_for_want_of_room(&error) => Err(error),
        Err(error) => return Err(error.into()),
    };
    if let Err(error) = compared {
        tell(Finding::of(Problem::IndexUnreadable(error.to_string())));
    }
    Ok(())
}

fn is_for_want_of_room(error: &IndexError) -> bool {
    match error {
        IndexError::Io(error) | IndexError::Tree(lsm_tree::Error::Io(error)) => is_full(error),
        _ => false,
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// A copy of the index that the next start would believe, if there is one.
fn stored_index(
    path: &Path,
    scratch: &Scratch,
    files: &Files,
    tell: &mut impl FnMut(Finding),
) -> Result<Option<Index>, VerifyError> {
    let Some(dir) = marker::trusted(path)? else {
        tell(Finding::of(Problem::IndexNotBelieved));
        return Ok(None);
    };
    let copy = scratch.copy_of(&dir)?;
    let opened = Index::open(&copy).and_then(|index| Ok((index.meta()?, index)));
    match opened {
        Err(error) => {
            tell(Finding::of(Problem::IndexUnreadable(error.to_string())));
            Ok(None)
        }
        Ok((meta, index)) => {
            let belonging = Belonging::of(&meta, files);
            if belonging != Belonging::Here {
                tell(Finding::of(Problem::IndexAhead).at(meta.segment, meta.offset));
            }
            Ok((belonging != Belonging::ToAnotherLog).then_some(index))
        }
    }
}

/// Whether the log holds what the index has applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Belonging {
    Here,
    /// The log has lost its end: what was there is in the index alone.
    Ahead,
    ToAnotherLog,
}

impl Belonging {
    fn of(position: &Meta, files: &Files) -> Self {
        let file = files.iter().find(|file| file.segment == position.segment);
        let salt = file.and_then(SegmentFile::salt);
        match file {
            _ if position.segment == 0 => Self::Here,
            Some(_) if salt.is_some_and(|salt| salt.0 != position.salt) => Self::ToAnotherLog,
            Some(file) if position.offset <= file.len => Self::Here,
            _ => Self::Ahead,
        }
    }
}
