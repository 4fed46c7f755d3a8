//! The rebuildable index: rows in one tree, and the reads that both readers and the committer share.
//!
//! Its files are believed only after a clean close or while the same kernel runs ([`super::marker`]); whatever else
//! happens, it is deleted and made anew from the log.

mod fronts;
mod health;
mod intact;
mod keeper;
mod tree;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use lsm_tree::Slice;
use restante_model::{EmailId, InboxHash, InboxKey};

use fronts::Fronts;
use keeper::Keeper;
use tree::Tree;

use super::merge::Changes;
use super::rows::{
    CountRow, DeletedRow, InboxRow, MailRow, Meta, QueuedIn, ReapedRow, RetiredRow, SignatureRow, decode, key,
    queue_key,
};
use super::shared::is_shortage;
use crate::Part;

/// Why the index cannot answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    /// The tree failed.
    #[error("the index failed: {0}")]
    Tree(#[from] lsm_tree::Error),
    /// Its thread does not start, or a test says that the disk fails.
    #[error("the index cannot work: {0}")]
    Io(#[from] io::Error),
    /// A row is not what this build writes.
    #[error("a row of the index cannot be read: {0}")]
    Row(#[from] postcard::Error),
    /// The tree panicked.
    #[error("the index panicked")]
    Panicked,
    /// A list in its files is not what was written.
    #[error("{0}")]
    Damaged(intact::Damage),
    /// A row that another one points to is missing.
    #[error("the index lacks a row that it points to")]
    Missing,
}

impl IndexError {
    /// Whether the files are not what was written, so that another try cannot help.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Tree(lsm_tree::Error::Io(error)) => !is_shortage(error),
            Self::Tree(_) | Self::Panicked | Self::Damaged(_) => true,
            Self::Io(_) | Self::Row(_) | Self::Missing => false,
        }
    }
}

/// A key and its value.
pub(super) type Row = (Slice, Slice);

/// What rows can be asked for: of the index, or of the index with the changes of a group on top.
pub(super) trait Rows {
    /// The value at a key.
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, IndexError>;

    /// Up to `limit` rows in the order of their keys.
    fn range(&self, keys: Range<Vec<u8>>, limit: usize) -> Result<Vec<Row>, IndexError>;

    /// Up to `limit` rows whose keys begin with `prefix`.
    fn prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<Row>, IndexError> {
        self.range(key::all(prefix), limit)
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

    /// What rows of the queue point to in a segment.
    fn queued_in(&self, segment: u32) -> Result<QueuedIn, IndexError> {
        Ok(row(self.get(&queue_key::queue_segment(segment))?)?.unwrap_or_default())
    }

    fn at_address(&self, address: &str) -> Result<Option<InboxKey>, IndexError> {
        Ok(self.get(&key::address(address))?.as_deref().and_then(inbox_key))
    }

    fn at_hash(&self, hash: &InboxHash) -> Result<Option<InboxKey>, IndexError> {
        Ok(self.get(&key::hash(hash))?.as_deref().and_then(inbox_key))
    }
}

/// Decodes a row that may be absent.
pub(super) fn row<T: serde::de::DeserializeOwned>(bytes: Option<Slice>) -> Result<Option<T>, IndexError> {
    Ok(bytes.map(|bytes| decode(&bytes)).transpose()?)
}

/// An inbox key from the value of a row that points to it.
pub(super) fn inbox_key(bytes: &[u8]) -> Option<InboxKey> {
    Some(InboxKey::from_bytes(bytes.try_into().ok()?))
}

/// Drops what holds an index, and then deletes its directory.
pub(super) fn delete<T>(index: T, dir: &Path) {
    drop(index);
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(dir = %dir.display(), %error, "cannot delete an index that is not used any more");
        }
        _ => {}
    }
}

/// The rows of the store.
#[derive(Debug)]
pub(super) struct Index {
    keeper: Keeper,
    tree: Arc<Tree>,
    /// Changed by the thread that applies changes alone.
    fronts: Mutex<Fronts>,
}

impl Index {
    /// Opens the index in a directory, or makes a new one there.
    pub(super) fn open(dir: &Path) -> Result<Self, IndexError> {
        let tree = Arc::new(Tree::open(dir)?);
        let keeper = Keeper::start(Arc::clone(&tree))?;
        Ok(Self {
            keeper,
            tree,
            fronts: Mutex::default(),
        })
    }

    /// Applies the changes of a group in one atomic step: they are visible when this returns.
    pub(super) fn apply(&self, changes: Changes) -> Result<(), IndexError> {
        {
            let mut fronts = self.fronts();
            let put = changes.iter().filter(|(_, value)| value.is_some());
            put.for_each(|(key, _)| fronts.put(key));
        }
        if self.tree.apply(changes)? {
            self.keeper.hint();
        }
        Ok(())
    }

    /// Hands all changes to files, so that a restart of the process has nothing to replay.
    pub(super) fn flush(&self) -> Result<(), IndexError> {
        self.tree.flush()?;
        self.keeper.hint();
        Ok(())
    }

    /// The rows within a range of keys as they are now, from either end.
    pub(super) fn iter(
        &self,
        keys: Range<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = Result<Row, IndexError>> + use<> {
        let fronts = self.fronts();
        if let Some(first) = fronts.first(&keys.start) {
            // Held until the rows are those of now: what is put before the front later is not among them.
            return self.tree.range(first.to_vec()..keys.end);
        }
        drop(fronts);
        self.tree.range(keys)
    }

    /// As [`Index::iter`] from the front, and remembers where the rows begin.
    ///
    /// For the thread that applies changes: to another one a row could come before them meanwhile.
    pub(super) fn scan(
        &self,
        keys: Range<Vec<u8>>,
    ) -> impl DoubleEndedIterator<Item = Result<Row, IndexError>> + use<> {
        let mut rows = self.iter(keys.clone()).peekable();
        let first = match rows.peek() {
            Some(Ok((key, _))) => Some(key.to_vec()),
            Some(Err(_)) => None,
            None => Some(keys.end),
        };
        if let Some(first) = first {
            self.fronts().remember(keys.start, first);
        }
        rows
    }

    /// Whether its files turned out to be damaged: it must be made anew.
    pub(super) fn is_damaged(&self) -> bool {
        self.tree.health().is_damaged()
    }

    /// Has something done once it turns out that the files are damaged.
    pub(super) fn on_damage(&self, alarm: impl Fn() + Send + Sync + 'static) {
        self.tree.health().on_damage(Box::new(alarm));
    }

    fn fronts(&self) -> MutexGuard<'_, Fronts> {
        self.fronts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows for Index {
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, IndexError> {
        self.tree.get(key)
    }

    fn range(&self, keys: Range<Vec<u8>>, limit: usize) -> Result<Vec<Row>, IndexError> {
        self.iter(keys).take(limit).collect()
    }
}
