//! Brings the index up to the end of the log, from wherever it stands.

use std::io;
use std::path::PathBuf;

use super::apply::apply;
use super::frame::FILE_HEADER;
use super::index::{Index, IndexError};
use super::judge::{Found, Judge, Standing};
use super::manifest::Manifest;
use super::rows::Meta;
use super::sweep::{forget_missing, remove_orphans};
use super::view::{BATCH_ROWS, View};

/// Why the log could not be applied.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplayError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Bytes that were synced once cannot be read, and nobody has accepted that.
    #[error("segment {segment} is damaged at byte {offset}")]
    Damaged { segment: u32, offset: u64 },
    /// A file of the log is not there, though nothing deleted it.
    #[error("{} is missing", file.display())]
    Missing { file: PathBuf },
    /// A file says nothing that can be believed.
    #[error("{} is damaged", file.display())]
    Spoiled { file: PathBuf },
    /// The index has applied what the log does not hold.
    #[error("the index does not belong to the log, or is ahead of it")]
    Ahead,
}

/// The log's end after a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct End {
    pub(super) segment: u32,
    pub(super) offset: u64,
    /// Calls that were applied.
    pub(super) calls: u64,
    /// Bytes behind the end that cannot be read: an unfinished write, or a last group that was spoiled since.
    pub(super) torn_bytes: u64,
}

/// Applies everything behind the index's position and says where the log ends. No segment may be deleted meanwhile.
pub(super) fn replay(index: &Index, manifest: &Manifest) -> Result<End, ReplayError> {
    replay_watched(index, manifest, |_, _| ())
}

/// The same; `watch` hears how many of how many segments are done.
pub(super) fn replay_watched(
    index: &Index,
    manifest: &Manifest,
    mut watch: impl FnMut(u64, u64),
) -> Result<End, ReplayError> {
    let mut view = View::of_log(index, manifest.floor())?;
    let start = view.meta;
    let segments = manifest.segments()?;
    check_position(&start, &segments)?;
    let mut end = End {
        segment: start.segment.max(1),
        offset: start.offset.max(FILE_HEADER as u64),
        ..End::default()
    };
    let total = segments.len() as u64;
    for (done, segment) in (0..).zip(segments.iter().copied()) {
        watch(done, total);
        if segment < start.segment {
            continue;
        }
        let from = if segment == start.segment { start.offset } else { 0 };
        let standing = Standing::of(segment, &segments, manifest);
        let (calls, torn_bytes, offset) = replay_segment(&mut view, manifest, segment, from, standing)?;
        end.segment = segment;
        end.offset = offset;
        end.torn_bytes = torn_bytes;
        end.calls += calls;
    }
    if !view.meta.is_swept {
        remove_orphans(&mut view)?;
        view.meta.is_swept = true;
    }
    forget_missing(&mut view, &segments)?;
    view.write()?;
    Ok(end)
}

fn check_position(position: &Meta, segments: &[u32]) -> Result<(), ReplayError> {
    let is_there = position.segment == 0 || segments.contains(&position.segment);
    if is_there { Ok(()) } else { Err(ReplayError::Ahead) }
}

fn replay_segment(
    view: &mut View<'_>,
    manifest: &Manifest,
    segment: u32,
    from: u64,
    standing: Standing,
) -> Result<(u64, u64, u64), ReplayError> {
    let Some(mut judge) = Judge::open(manifest.dir(), segment, from, standing)? else {
        return without_header(manifest, segment, from, standing);
    };
    // A position in another file, as after a restored backup, would look like a torn tail and cut good records off.
    if from > judge.len() || (from > 0 && view.meta.salt != judge.header().salt.0) {
        return Err(ReplayError::Ahead);
    }
    view.meta.last_sequence = view.meta.last_sequence.max(judge.header().sequence);
    let mut calls = 0;
    loop {
        let records = match judge.next()? {
            Found::Call(records) => records,
            Found::End { torn_bytes } => return Ok((calls, torn_bytes, judge.offset())),
            Found::Damage(before) => {
                let offset = judge.offset();
                if !manifest.is_accepted(segment, offset) {
                    return Err(ReplayError::Damaged { segment, offset });
                }
                let bytes = judge.pass()?.ok_or(ReplayError::Damaged { segment, offset })?;
                tracing::error!(
                    segment,
                    offset,
                    bytes,
                    "damage of the log is passed by, as was accepted"
                );
                before
            }
        };
        for (head, place) in &records {
            apply(view, head, *place)?;
        }
        view.meta.segment = segment;
        view.meta.offset = judge.offset();
        view.meta.salt = judge.header().salt.0;
        calls += 1;
        if view.len() >= BATCH_ROWS {
            view.write()?;
        }
    }
}

/// A segment that cannot be read at all, because its header is not there.
fn without_header(
    manifest: &Manifest,
    segment: u32,
    from: u64,
    standing: Standing,
) -> Result<(u64, u64, u64), ReplayError> {
    // The first segment may have been cut short while it was made.
    let never_used = segment == 1 && from == 0 && standing == Standing::Last { synced: 0 };
    if never_used {
        return Ok((0, 0, 0));
    }
    if standing == Standing::Sealed && manifest.is_accepted(segment, 0) {
        tracing::error!(segment, "a segment without its header is passed by, as was accepted");
        return Ok((0, 0, 0));
    }
    Err(ReplayError::Damaged { segment, offset: 0 })
}
