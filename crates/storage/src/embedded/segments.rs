//! The segment log, read at a point: the parts of emails.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use quick_cache::sync::Cache;

use super::ledger::Ledger;
use super::log::segment_path;
use super::rows::BlobAt;
use crate::{ReadError, Unavailable};

/// Segment files that are kept open, at most.
const OPEN_FILES: usize = 64;

/// Why a blob cannot be read.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(super) enum SegmentError {
    /// Its segment is not there: compaction has moved the record since the row was read, or the file is lost.
    #[error("the segment is gone")]
    Gone,
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
}

impl Segments {
    pub(super) fn new(dir: PathBuf, ledger: Ledger) -> Self {
        Self {
            dir,
            files: Cache::new(OPEN_FILES),
            ledger,
        }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Deletes the file of a segment; who holds it open reads on.
    pub(super) fn delete(&self, segment: u32) -> io::Result<()> {
        // First, so that a reader who opens the file meanwhile does not keep it.
        self.ledger.remove(segment);
        fs::remove_file(segment_path(&self.dir, segment))?;
        self.files.remove(&segment);
        Ok(())
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SegmentError::Gone),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(damaged(blob, "the segment is cut short").into())
            }
            Err(error) => {
                tracing::error!(segment = blob.segment, offset = blob.offset, %error, "cannot read a segment");
                Err(ReadError::from(Unavailable).into())
            }
        }
    }

    fn file(&self, segment: u32) -> io::Result<Arc<File>> {
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
