//! Why a segment was not compacted, and what follows from it.

use std::io;

use super::super::index::IndexError;
use super::super::ledger::Aside;
use super::super::replay::ReplayError;
use super::super::rows::BlobAt;
use super::super::segments::SegmentError;
use super::super::shared::is_shortage;
use crate::{ReadError, Unavailable};

/// Why a segment was not compacted.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stopped {
    /// The store ends.
    #[error("the store ends")]
    Ended,
    /// The store cannot write or read now: later it may.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Nothing was written since it was sealed.
    #[error("the log has not gone on behind it")]
    TooEarly,
    /// Something that is live in it, or a signature of that in another segment, is not what was written.
    #[error("segment {segment} is damaged at byte {offset}")]
    Damaged { segment: u32, offset: u64 },
    /// The system does not give its bytes.
    #[error("segment {segment} cannot be read at byte {offset}: {error}")]
    Unreadable {
        segment: u32,
        offset: u64,
        error: io::Error,
    },
    /// The system does not delete its file.
    #[error("the file cannot be deleted: {0}")]
    Undeletable(io::Error),
    /// Rows point into it that none of its records explains.
    #[error("the index still needs it")]
    Needed,
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// As if the process had ended here.
    #[cfg(test)]
    #[error("crashed")]
    Crashed,
}

/// What follows when compaction of a segment stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The thread ends.
    End,
    /// The store is in trouble, and gives a hint when it is well again.
    Wait,
    /// The process is in trouble, and nobody will tell when that ends.
    BackOff,
    /// It is this segment alone: the others are compacted meanwhile.
    SetAside(Aside),
}

impl Stopped {
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Ended => Verdict::End,
            Self::Unavailable(_) | Self::Index(_) | Self::Replay(_) => Verdict::Wait,
            Self::Unreadable { error, .. } | Self::Undeletable(error) if is_shortage(error) => Verdict::BackOff,
            Self::Unreadable { .. } | Self::Undeletable(_) | Self::TooEarly => Verdict::SetAside(Aside::ForNow),
            Self::Damaged { .. } => Verdict::SetAside(Aside::Damaged),
            Self::Needed => Verdict::SetAside(Aside::Needed),
            #[cfg(test)]
            Self::Crashed => Verdict::SetAside(Aside::Needed),
        }
    }

    /// Why a blob could not be read.
    pub(super) fn at(blob: BlobAt, error: SegmentError) -> Self {
        match error {
            SegmentError::Read(ReadError::Unavailable(unavailable)) => unavailable.into(),
            // No other thread deletes segments: a file that is gone is lost.
            SegmentError::Gone(_) | SegmentError::Read(ReadError::Damaged) => Self::Damaged {
                segment: blob.segment,
                offset: blob.offset,
            },
            SegmentError::Unreadable { segment, offset, error } => Self::Unreadable { segment, offset, error },
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn only_damage_and_unexplained_rows_set_a_segment_aside_for_long() {
        let io = |errno: Errno| io::Error::from_raw_os_error(errno.raw_os_error());
        let unreadable = |errno| Stopped::Unreadable {
            segment: 3,
            offset: 0,
            error: io(errno),
        };
        let damaged = Stopped::Damaged { segment: 3, offset: 9 };
        for (stopped, verdict) in [
            (unreadable(Errno::MFILE), Verdict::BackOff),
            (unreadable(Errno::NOMEM), Verdict::BackOff),
            (unreadable(Errno::IO), Verdict::SetAside(Aside::ForNow)),
            (unreadable(Errno::ACCESS), Verdict::SetAside(Aside::ForNow)),
            (Stopped::Undeletable(io(Errno::PERM)), Verdict::SetAside(Aside::ForNow)),
            (Stopped::Undeletable(io(Errno::NOSPC)), Verdict::BackOff),
            (Stopped::TooEarly, Verdict::SetAside(Aside::ForNow)),
            (Unavailable.into(), Verdict::Wait),
            (IndexError::Missing.into(), Verdict::Wait),
            (damaged, Verdict::SetAside(Aside::Damaged)),
            (Stopped::Needed, Verdict::SetAside(Aside::Needed)),
        ] {
            assert_eq!(stopped.verdict(), verdict, "{stopped}");
        }
    }
}
