//! The index, written anew beside itself when most of what it takes on disk is dead.
//!
//! A new sled gets every batch that the old one gets, and the rows of the old one a few at a time in the order of
//! their keys, all on the thread that applies changes: so it agrees with the old one up to the key that was copied
//! last, and with all of it at the end. Then it takes its place.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

#[cfg(test)]
use super::super::tests::faults::{self, Fault};
use super::{Index, IndexError, config, open_patiently};

/// Rows that are copied in one step, while no call is committed.
const COPY_ROWS: usize = 512;

/// The new sled, and where it lies.
#[derive(Debug)]
pub(super) struct Mirror {
    db: sled::Db,
    dir: PathBuf,
    /// It lacks a batch, and must be given up.
    is_failed: bool,
}

impl Mirror {
    fn of<'a>(mirror: &'a MutexGuard<'_, Option<Self>>) -> Result<&'a Self, IndexError> {
        let whole = mirror.as_ref().filter(|mirror| !mirror.is_failed);
        whole.ok_or(IndexError::Abandoned)
    }
}

impl Index {
    /// Bytes of the index on disk.
    pub(in super::super) fn size_on_disk(&self) -> Result<u64, IndexError> {
        Ok(self.db.size_on_disk()?)
    }

    /// Bytes of up to `limit` rows from a key on, and the key to go on from.
    pub(in super::super) fn row_bytes(
        &self,
        from: Vec<u8>,
        limit: usize,
    ) -> Result<(u64, Option<Vec<u8>>), IndexError> {
        let (mut bytes, mut last) = (0, None);
        for row in self.db.range(from..).take(limit) {
            let (key, value) = row?;
            bytes += (key.len() + value.len()) as u64;
            last = Some(key);
        }
        Ok((bytes, last.map(|key| [key.as_ref(), &[0]].concat())))
    }

    /// Begins to write the index anew in an empty directory.
    pub(in super::super) fn begin_rewrite(&self, dir: &Path) -> Result<(), IndexError> {
        let db = open_patiently(&config(dir))?;
        let dir = dir.to_owned();
        *self.mirror() = Some(Mirror {
            db,
            dir,
            is_failed: false,
        });
        Ok(())
    }

    /// Copies rows from a key on, and gives the key to go on from; none at the end.
    pub(in super::super) fn copy_rows(&self, from: Vec<u8>) -> Result<Option<Vec<u8>>, IndexError> {
        let mirror = self.mirror();
        let mirror = Mirror::of(&mirror)?;
        let (mut batch, mut last) = (sled::Batch::default(), None);
        for row in self.db.range(from..).take(COPY_ROWS) {
            let (key, value) = row?;
            batch.insert(&key, value);
            last = Some(key);
        }
        #[cfg(test)]
        faults::inject(&mirror.dir, Fault::Copy).map_err(|error| IndexError::Sled(error.into()))?;
        mirror.db.apply_batch(batch)?;
        Ok(last.map(|key| [key.as_ref(), &[0]].concat()))
    }

    /// Hands what was copied to the kernel, on any thread, so that the end takes less time.
    pub(in super::super) fn flush_rewritten(&self) -> Result<(), IndexError> {
        // Not under the lock: the thread that applies would wait.
        let db = Mirror::of(&self.mirror())?.db.clone();
        db.flush()?;
        Ok(())
    }

    /// The new index and its directory: it holds all that this one does, and the kernel has it.
    pub(in super::super) fn finish_rewrite(&self) -> Result<(Self, PathBuf), IndexError> {
        self.settle()?;
        Mirror::of(&self.mirror())?.db.flush()?;
        let Mirror { db, dir, .. } = self.mirror().take().ok_or(IndexError::Abandoned)?;
        Ok((Self::from(db), dir))
    }

    /// Gives up the new index, if there is one, and deletes its directory.
    pub(in super::super) fn abandon_rewrite(&self) {
        if let Some(Mirror { db, dir, .. }) = { self.mirror().take() } {
            delete(db, &dir);
        }
    }

    /// Gives a batch to the new sled too, if there is one; it ends with its first failure.
    pub(super) fn apply_mirrored(&self, batch: &sled::Batch) {
        if let Some(mirror) = &mut *self.mirror()
            && !mirror.is_failed
            && let Err(error) = mirror.db.apply_batch(batch.clone())
        {
            tracing::warn!(%error, "the index cannot be written anew");
            // Not dropped here, which takes long: whoever copies its rows will see this.
            mirror.is_failed = true;
        }
    }

    fn mirror(&self) -> MutexGuard<'_, Option<Mirror>> {
        self.mirror.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops what holds an index, and then deletes its directory.
///
/// sled flushes when it is dropped, and after a failure it may panic there.
pub(in super::super) fn delete<T>(index: T, dir: &Path) {
    if catch_unwind(AssertUnwindSafe(|| drop(index))).is_err() {
        tracing::warn!(dir = %dir.display(), "an index panicked when it was dropped");
    }
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(dir = %dir.display(), %error, "cannot delete an index that is not used any more");
        }
        _ => {}
    }
}
