//! The rebuildable index: rows in one sled tree, and the reads that both readers and the committer share.
//!
//! sled never syncs to disk, so its files are believed only after a clean close or while the same kernel runs
//! ([`super::marker`]); whatever else happens, it is deleted and made anew from the log.

pub(super) mod rewrite;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use restante_model::{EmailId, InboxHash, InboxKey};
use sled::IVec;

use rewrite::Mirror;

use super::merge::{Changes, Merge};
use super::rows::{CountRow, DeletedRow, InboxRow, MailRow, Meta, ReapedRow, RetiredRow, SignatureRow, decode, key};
use crate::Part;

/// Memory for sled's pages: with 64 MiB a million rows took nearly twice the memory of 16 MiB.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// Changes that are kept in memory at most: more would make the batch a pause that readers feel.
const RECENT_ROWS: usize = 512;

/// How often an open that failed is tried again, and after what pause: a rebuild would take longer.
const OPEN_PAUSES: usize = 20;
const OPEN_PAUSE: Duration = Duration::from_millis(10);

/// Why the index cannot answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    /// sled failed; it stays failed until it is opened again.
    #[error("the index failed: {0}")]
    Sled(#[from] sled::Error),
    /// A row is not what this build writes.
    #[error("a row of the index cannot be read: {0}")]
    Row(#[from] postcard::Error),
    /// sled panicked.
    #[error("the index panicked when it was opened")]
    Panicked,
    /// The index that is written anew was given up.
    #[error("the new index cannot be written")]
    Abandoned,
    /// A row that another one points to is missing.
    #[error("the index lacks a row that it points to")]
    Missing,
}

/// A key and its value.
pub(super) type Row = (IVec, IVec);

/// What rows can be asked for: of the index, or of the index with the changes of a group on top.
pub(super) trait Rows {
    /// The value at a key.
    fn get(&self, key: &[u8]) -> Result<Option<IVec>, IndexError>;

    /// Up to `limit` rows in the order of their keys.
    fn range(&self, keys: Range<Vec<u8>>, limit: usize) -> Result<Vec<Row>, IndexError>;

    /// Up to `limit` rows whose keys begin with `prefix`.
    fn prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<Row>, IndexError> {
        self.range(prefix.to_vec()..key::end_of(prefix), limit)
    }

    fn meta(&self) -> Result<Meta, IndexError> {
        Ok(row(self.get(key::META)?)?.unwrap_or_default())
    }

    fn inbox(&self, inbox: InboxKey) -> Result<Option<InboxRow>, IndexError> {
        row(self.get(&key::inbox(inbox))?)
    }

    fn retired(&self, inbox: InboxKey) -> Result<Option<RetiredRow>, IndexError> {
        row(self.get(&key::retired(inbox))?)
    }

    fn counts(&self, inbox: InboxKey) -> Result<Option<CountRow>, IndexError> {
        row(self.get(&key::counts(inbox))?)
    }

    fn mail(&self, inbox: InboxKey, email: EmailId) -> Result<Option<MailRow>, IndexError> {
        row(self.get(&key::mail(inbox, email))?)
    }

    fn signature(&self, inbox: InboxKey, email: EmailId, part: Part) -> Result<Option<SignatureRow>, IndexError> {
        row(self.get(&key::signature(inbox, email, part))?)
    }

    /// A deleted email whose inbox is not reaped.
    fn deleted(&self, inbox: InboxKey, email: EmailId) -> Result<Option<DeletedRow>, IndexError> {
        row(self.get(&key::deleted_mail(inbox, email))?)
    }

    /// An inbox that is reaped, while segments may tell of it.
    fn reaped(&self, inbox: InboxKey) -> Result<Option<ReapedRow>, IndexError> {
        row(self.get(&key::reaped(inbox))?)
    }

    /// Bytes of the live records of a segment; none if it never had any, or is gone.
    fn live_bytes(&self, segment: u32) -> Result<Option<u64>, IndexError> {
        row(self.get(&key::segment(segment))?)
    }

    fn at_address(&self, address: &str) -> Result<Option<InboxKey>, IndexError> {
        Ok(self.get(&key::address(address))?.as_deref().and_then(inbox_key))
    }

    fn at_hash(&self, hash: &InboxHash) -> Result<Option<InboxKey>, IndexError> {
        Ok(self.get(&key::hash(hash))?.as_deref().and_then(inbox_key))
    }
}

/// Decodes a row that may be absent.
pub(super) fn row<T: serde::de::DeserializeOwned>(bytes: Option<IVec>) -> Result<Option<T>, IndexError> {
    Ok(bytes.map(|bytes| decode(&bytes)).transpose()?)
}

/// An inbox key from the value of a row that points to it.
pub(super) fn inbox_key(bytes: &[u8]) -> Option<InboxKey> {
    Some(InboxKey::from_bytes(bytes.try_into().ok()?))
}

/// sled, as the index uses it, with the latest changes in memory before it.
///
/// A batch costs sled two writes and a wake-up of all its threads, whatever is in it: changes are gathered over several
/// groups, and rows that every group changes reach sled once for many of them.
/// A start replays from the log what sled had not got.
#[derive(Debug)]
pub(super) struct Index {
    db: sled::Db,
    /// Changes that sled does not have yet. Only the thread that applies changes them.
    recent: RwLock<Changes>,
    /// The index that will take the place of this one.
    mirror: Mutex<Option<Mirror>>,
}

impl Index {
    /// Opens the index in a directory, or makes a new one there.
    pub(super) fn open(dir: &Path) -> Result<Self, IndexError> {
        Ok(open_patiently(&config(dir))?.into())
    }

    /// Applies the changes of a group in one atomic step: they are visible when this returns.
    pub(super) fn apply(&self, changes: Changes) -> Result<(), IndexError> {
        let rows = {
            let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
            recent.extend(changes);
            recent.len()
        };
        if rows < RECENT_ROWS { Ok(()) } else { self.settle() }
    }

    /// Hands everything to sled, in one batch, so that the position it holds fits the rows that it holds.
    pub(super) fn settle(&self) -> Result<(), IndexError> {
        let mut batch = sled::Batch::default();
        for (key, value) in self.recent().iter() {
            match value {
                Some(value) => batch.insert(key.as_slice(), value),
                None => batch.remove(key.as_slice()),
            }
        }
        self.apply_mirrored(&batch);
        self.db.apply_batch(batch)?;
        // Readers found the rows here; from now on they find the same ones in sled.
        self.recent.write().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    /// Hands all changes to sled and its buffers to the kernel, so that a restart of the process has less to replay.
    pub(super) fn flush(&self) -> Result<(), IndexError> {
        self.settle()?;
        self.db.flush()?;
        Ok(())
    }

    fn recent(&self) -> RwLockReadGuard<'_, Changes> {
        self.recent.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The rows within a range of keys, from either end.
    pub(super) fn iter(
        &self,
        keys: Range<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = Result<Row, IndexError>> + use<> {
        // The changes are copied first: one that reaches sled in between is then seen twice and told once.
        let recent = self.recent();
        let stored = self.db.range(keys.clone()).map(|row| row.map_err(IndexError::from));
        Merge::new(&recent, keys, stored)
    }
}

impl From<sled::Db> for Index {
    fn from(db: sled::Db) -> Self {
        Self {
            db,
            recent: RwLock::default(),
            mirror: Mutex::default(),
        }
    }
}

fn config(dir: &Path) -> sled::Config {
    sled::Config::new()
        .path(dir)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None)
}

/// A sled that this process has just dropped is held a moment longer by its own threads, and refuses to open meanwhile.
fn open_patiently(config: &sled::Config) -> Result<sled::Db, IndexError> {
    let mut pauses = OPEN_PAUSES;
    loop {
        // sled asserts on some damaged files instead of returning an error.
        match catch_unwind(AssertUnwindSafe(|| config.open())).map_err(|_| IndexError::Panicked)? {
            Err(sled::Error::Io(_)) if pauses > 0 => std::thread::sleep(OPEN_PAUSE),
            opened => return Ok(opened?),
        }
        pauses -= 1;
    }
}

impl Rows for Index {
    fn get(&self, key: &[u8]) -> Result<Option<IVec>, IndexError> {
        if let Some(change) = self.recent().get(key) {
            return Ok(change.clone());
        }
        Ok(self.db.get(key)?)
    }

    fn range(&self, keys: Range<Vec<u8>>, limit: usize) -> Result<Vec<Row>, IndexError> {
        self.iter(keys).take(limit).collect()
    }
}
