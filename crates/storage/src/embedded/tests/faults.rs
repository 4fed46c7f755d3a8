//! Failures of the disk, injected where the log and the index are written.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::embedded::index::IndexError;

/// What fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::embedded) enum Fault {
    /// Half of a group is written.
    Write,
    /// The group is written but not synced.
    Sync,
    /// The next segment cannot be made.
    Roll,
    /// The index does not take a batch.
    Index,
    /// The log cannot be opened again.
    Reopen,
    /// Compaction ends at this point.
    Compaction(CrashPoint),
}

/// What compaction has just done; a crash there must lose nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::embedded) enum CrashPoint {
    /// Some records are moved.
    Moved,
    /// Nothing in the segment is live.
    Emptied,
    /// An index that says so is with the kernel.
    Checkpointed,
    /// The file is deleted.
    Deleted,
    /// The directory is synced.
    Synced,
}

static FAULTS: Mutex<Option<HashMap<(PathBuf, Fault), usize>>> = Mutex::new(None);

/// The next `times` operations of this kind fail in the store at `path`; 0 ends it.
pub(in crate::embedded) fn set(path: &Path, fault: Fault, times: usize) {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    faults.get_or_insert_default().insert((path.to_owned(), fault), times);
}

/// Fails if a test wants it.
pub(in crate::embedded) fn inject(dir: &Path, fault: Fault) -> io::Result<()> {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    for ((path, kind), times) in faults.get_or_insert_default() {
        if *kind == fault && *times > 0 && dir.starts_with(path) {
            *times -= 1;
            return Err(io::Error::other("injected"));
        }
    }
    Ok(())
}

/// As [`inject`], for the index.
pub(in crate::embedded) fn inject_index(dir: &Path) -> Result<(), IndexError> {
    inject(dir, Fault::Index).map_err(|error| IndexError::Sled(error.into()))
}
