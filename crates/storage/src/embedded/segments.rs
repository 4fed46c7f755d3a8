//! The segment log, read at a point: the parts of emails.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use quick_cache::sync::Cache;

use super::log::segment_path;
use super::rows::BlobAt;
use crate::{ReadError, Unavailable};

/// Segment files that are kept open, at most.
const OPEN_FILES: usize = 64;

/// Reads blobs; a file stays readable while someone holds it, whatever happens to its name.
#[derive(Debug)]
pub(super) struct Segments {
    dir: PathBuf,
    files: Cache<u32, Arc<File>>,
}

impl Segments {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self {
            dir,
            files: Cache::new(OPEN_FILES),
        }
    }

    /// Reads a blob and compares it with its checksum. Blocks on the disk.
    pub(super) fn read(&self, blob: BlobAt) -> Result<Bytes, ReadError> {
        let mut bytes = vec![0; blob.len as usize];
        match self
            .file(blob.segment)
            .and_then(|file| file.read_exact_at(&mut bytes, blob.offset))
        {
            Ok(()) if crc32fast::hash(&bytes) == blob.crc => Ok(bytes.into()),
            Ok(()) => Err(damaged(blob, "its checksum differs")),
            Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound) => {
                Err(damaged(blob, "the segment is cut short or missing"))
            }
            Err(error) => {
                tracing::error!(segment = blob.segment, offset = blob.offset, %error, "cannot read a segment");
                Err(Unavailable.into())
            }
        }
    }

    fn file(&self, segment: u32) -> io::Result<Arc<File>> {
        self.files
            .get_or_insert_with(&segment, || File::open(segment_path(&self.dir, segment)).map(Arc::new))
    }
}

fn damaged(blob: BlobAt, why: &str) -> ReadError {
    tracing::error!(
        segment = blob.segment,
        offset = blob.offset,
        bytes = blob.len,
        why,
        "a stored record is damaged"
    );
    ReadError::Damaged
}
