//! Failures of the disk, injected where the log and the index are written.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;

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
    /// The marker is written, but nobody knows whether it is durable.
    Marker,
    /// The list of segments cannot be written.
    Manifest,
    /// A segment cannot be read.
    Read(u32),
    /// A segment cannot be deleted.
    Delete(u32),
    /// Compaction ends at this point.
    Compaction(CrashPoint),
}

/// What compaction has just done; a crash there must lose nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::embedded) enum CrashPoint {
    /// Some records are moved.
    Moved,
    /// Nothing of the queue lies before the end of the segment.
    Requeued,
    /// Nothing in the segment is live.
    Emptied,
    /// An index that says so is with the kernel.
    Checkpointed,
    /// The file is deleted.
    Deleted,
}

/// How often each fault is still to come, and what the system says then.
type Faults = HashMap<(PathBuf, Fault), (usize, Errno)>;

static FAULTS: Mutex<Option<Faults>> = Mutex::new(None);

/// Free bytes of the disks that tests make small.
static FREE_BYTES: Mutex<Option<HashMap<PathBuf, u64>>> = Mutex::new(None);

/// The next `times` operations of this kind fail in the store at `path`; 0 ends it.
pub(in crate::embedded) fn set(path: &Path, fault: Fault, times: usize) {
    set_errno(path, fault, times, Errno::IO);
}

/// As [`set`], with what the system says.
pub(in crate::embedded) fn set_errno(path: &Path, fault: Fault, times: usize, errno: Errno) {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    let faults = faults.get_or_insert_default();
    faults.insert((path.to_owned(), fault), (times, errno));
}

/// How often a fault is still to come.
pub(in crate::embedded) fn left(path: &Path, fault: Fault) -> usize {
    let faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    let found = faults.as_ref().and_then(|faults| faults.get(&(path.to_owned(), fault)));
    found.map_or(0, |(times, _)| *times)
}

/// The disk of the store at `path` has so much room from now on.
pub(in crate::embedded) fn set_free_bytes(path: &Path, bytes: u64) {
    let mut free = FREE_BYTES.lock().unwrap_or_else(PoisonError::into_inner);
    free.get_or_insert_default().insert(path.to_owned(), bytes);
}

/// The room that a test gives the store at `path`.
pub(in crate::embedded) fn free_bytes(path: &Path) -> Option<u64> {
    let free = FREE_BYTES.lock().unwrap_or_else(PoisonError::into_inner);
    free.as_ref()?.get(path).copied()
}

/// Fails if a test wants it.
pub(in crate::embedded) fn inject(dir: &Path, fault: Fault) -> io::Result<()> {
    let mut faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    for ((path, kind), (times, errno)) in faults.get_or_insert_default() {
        if *kind == fault && *times > 0 && dir.starts_with(path) {
            *times -= 1;
            return Err((*errno).into());
        }
    }
    Ok(())
}

/// As [`inject`], for the index.
pub(in crate::embedded) fn inject_index(dir: &Path) -> Result<(), IndexError> {
    inject(dir, Fault::Index).map_err(IndexError::Io)
}
