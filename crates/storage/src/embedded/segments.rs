//! The segment log, read at a point: the parts of emails.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use quick_cache::sync::Cache;

use super::ledger::Ledger;
use super::log::segment_path;
use super::manifest::Manifest;
use super::rows::BlobAt;
#[cfg(test)]
use super::tests::faults::{self, Fault};
use crate::ReadError;

/// Segment files that are kept open, at most.
const OPEN_FILES: usize = 64;

/// Why a blob cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SegmentError {
    /// The file of this segment is not there: compaction has moved the record since the row was read, or it is lost.
    #[error("segment {0} is gone")]
    Gone(u32),
    /// The system does not give the bytes, now or for good.
    #[error("segment {segment} cannot be read at byte {offset}: {error}")]
    Unreadable {
        segment: u32,
        offset: u64,
        error: io::Error,
    },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Reads blobs; a file stays readable while someone holds it, whatever happens to its name.
#[derive(Debug)]
pub(super) struct Segments {
    dir: PathBuf,
    files: Cache<u32, Arc<File>>,
    /// Which segments there are, as compaction sees it.
    pub(super) ledger: Ledger,
    /// Which there must be at the next start.
    pub(super) manifest: Manifest,
    /// Held while a file is deleted, and by whoever must not see that happen.
    deleting: Mutex<()>,
}

impl Segments {
    pub(super) fn new(dir: PathBuf, ledger: Ledger, manifest: Manifest) -> Self {
        Self {
            dir,
            files: Cache::new(OPEN_FILES),
            ledger,
            manifest,
            deleting: Mutex::new(()),
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// While this is held no segment is deleted.
    pub(super) fn keep_all(&self) -> MutexGuard<'_, ()> {
        self.deleting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the file of a segment if it still may go once nobody looks at the files; who holds it open reads on.
    /// Says whether it did.
    pub(super) fn delete(&self, segment: u32, may_go: impl FnOnce() -> bool) -> io::Result<bool> {
        let _deleting = self.keep_all();
        if !may_go() {
            return Ok(false);
        }
        self.manifest.note_gone(segment, self.ledger.end())?;
        #[cfg(test)]
        faults::inject(&self.dir, Fault::Delete(segment))?;
        fs::remove_file(segment_path(&self.dir, segment))?;
        // In this order a reader who opened the file meanwhile does not keep it.
        self.ledger.remove(segment);
        self.files.remove(&segment);
        Ok(true)
    }

    /// Notes where the log ends, if that is in a segment that has begun since this was noted last.
    pub(super) fn note_new(&self) -> io::Result<()> {
        match self.ledger.end() {
            Some(end) if self.manifest.is_behind(end) => self.manifest.note_synced(end),
            _ => Ok(()),
        }
    }

    /// Reads a blob and compares it with its checksum. Blocks on the disk.
    pub(super) fn read(&self, blob: BlobAt) -> Result<Bytes, SegmentError> {
        let mut bytes = vec![0; blob.len as usize];
        match self
            .file(blob.segment)
            .and_then(|file| file.read_exact_at(&mut bytes, blob.offset))
        {
            Ok(()) if crc32fast::hash(&bytes) == blob.crc => Ok(bytes.into()),
            Ok(()) => Err(damaged(blob, "its checksum differs").into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SegmentError::Gone(blob.segment)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(damaged(blob, "the segment is cut short").into())
            }
            Err(error) => {
                tracing::error!(segment = blob.segment, offset = blob.offset, %error, "cannot read a segment");
                Err(SegmentError::Unreadable {
                    segment: blob.segment,
                    offset: blob.offset,
                    error,
                })
            }
        }
    }

    fn file(&self, segment: u32) -> io::Result<Arc<File>> {
        #[cfg(test)]
        faults::inject(&self.dir, Fault::Read(segment))?;
        let open = || File::open(segment_path(&self.dir, segment)).map(Arc::new);
        let file = self.files.get_or_insert_with(&segment, open)?;
        if !self.ledger.contains(segment) {
            self.files.remove(&segment);
        }
        Ok(file)
    }
}

/// Tells the log what is damaged, and gives the error for the reader.
pub(super) fn damaged(blob: BlobAt, why: &str) -> ReadError {
    tracing::error!(
        segment = blob.segment,
        offset = blob.offset,
        bytes = blob.len,
        why,
        "a stored record is damaged"
    );
    ReadError::Damaged
}
