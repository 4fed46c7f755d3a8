//! What readers and the committer share.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rustix::io::Errno;
use tokio::sync::{Semaphore, mpsc};

use super::cache::InboxCache;
use super::commit::Message;
use super::decide::{OrphanRound, Round};
use super::due::Due;
use super::index::{Index, IndexError};
use super::leases::Leases;
use super::ledger::Ledger;
use super::lists::ListCache;
use super::manifest::Manifest;
use super::segments::{SegmentError, Segments};
#[cfg(test)]
use super::tests::faults;
use crate::{ReadError, Unavailable};

/// Reads of segments that run at once.
const LANE: usize = 16;

/// The readable side of the backend.
#[derive(Debug)]
pub(super) struct Shared {
    /// The directory of the store.
    pub(super) dir: PathBuf,
    pub(super) segments: Segments,
    pub(super) inboxes: InboxCache,
    pub(super) lists: ListCache,
    /// How far inboxes were looked at for too many emails.
    pub(super) round: Arc<Round>,
    /// Emails that were evicted since the store was opened.
    pub(super) evicted: AtomicU64,
    /// How far webhooks of inboxes that are gone were looked at.
    pub(super) orphans: Arc<OrphanRound>,
    /// When webhooks are due.
    pub(super) due: Due,
    /// Who is at work on which delivery.
    pub(super) leases: Arc<Leases>,
    /// Held for writing while a group changes the index: a reader that holds it sees no change.
    pub(super) gate: RwLock<()>,
    index: RwLock<Option<Arc<Index>>>,
    /// How often another index was put in its place.
    index_changes: AtomicU64,
    /// Where the committer is told that the index is damaged.
    queue: OnceLock<mpsc::WeakSender<Message>>,
    is_available: AtomicBool,
    lane: Semaphore,
}

impl Shared {
    pub(super) fn new(dir: PathBuf, index: Index, due: Due, ledger: Ledger, manifest: Manifest) -> Self {
        Self {
            segments: Segments::new(segments_dir(&dir), ledger, manifest),
            dir,
            inboxes: InboxCache::new(),
            lists: ListCache::new(),
            round: Arc::new(Round::new()),
            evicted: AtomicU64::new(0),
            orphans: Arc::default(),
            due,
            leases: Arc::default(),
            gate: RwLock::new(()),
            index: RwLock::new(Some(Arc::new(index))),
            index_changes: AtomicU64::new(0),
            queue: OnceLock::new(),
            is_available: AtomicBool::new(true),
            lane: Semaphore::new(LANE),
        }
    }

    /// The index; none once the store is closed or while it is made anew.
    pub(super) fn index(&self) -> Result<Arc<Index>, Unavailable> {
        let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
        index.as_ref().map(Arc::clone).ok_or(Unavailable)
    }

    /// Puts another index, or none, in the place of the present one and gives that back.
    pub(super) fn replace_index(&self, index: Option<Index>) -> Option<Arc<Index>> {
        let mut place = self.index.write().unwrap_or_else(PoisonError::into_inner);
        self.index_changes.fetch_add(1, Ordering::AcqRel);
        if let (Some(index), Some(queue)) = (&index, self.queue.get()) {
            watch(index, queue);
        }
        std::mem::replace(&mut place, index.map(Arc::new))
    }

    /// Wakes the committer whenever it turns out that the index is damaged.
    pub(super) fn wake_on_damage(&self, queue: mpsc::WeakSender<Message>) {
        if let Ok(index) = self.index() {
            watch(&index, &queue);
        }
        let _ = self.queue.set(queue);
    }

    /// Whether there is an index that must be made anew.
    pub(super) fn is_index_damaged(&self) -> bool {
        self.index().is_ok_and(|index| index.is_damaged())
    }

    /// How often the index was replaced: what was found out about another one need not hold for this one.
    pub(super) fn index_changes(&self) -> u64 {
        self.index_changes.load(Ordering::Acquire)
    }

    /// Bytes that are free on the disk.
    pub(super) fn free_bytes(&self) -> io::Result<u64> {
        #[cfg(test)]
        if let Some(bytes) = faults::free_bytes(&self.dir) {
            return Ok(bytes);
        }
        let disk = rustix::fs::statvfs(&self.dir)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    pub(super) fn is_available(&self) -> bool {
        self.is_available.load(Ordering::Acquire) && !self.is_index_damaged()
    }

    pub(super) fn set_available(&self, is_available: bool) {
        self.is_available.store(is_available, Ordering::Release);
    }

    /// Runs a read that may wait for the disk, off the threads of the runtime.
    pub(super) async fn blocking<T, F>(self: &Arc<Self>, read: F) -> Result<T, ReadError>
    where
        T: Send + 'static,
        F: FnOnce(&Shared) -> Result<T, ReadError> + Send + 'static,
    {
        let _permit = self.lane.acquire().await.map_err(|_| Unavailable)?;
        let shared = Arc::clone(self);
        match tokio::task::spawn_blocking(move || read(&shared)).await {
            Ok(read) => read,
            Err(error) => {
                tracing::error!(%error, "a read of the store ended early");
                Err(Unavailable.into())
            }
        }
    }
}

/// Has the committer look at an index that turns out to be damaged, which it does after every message.
fn watch(index: &Index, queue: &mpsc::WeakSender<Message>) {
    let queue = queue.clone();
    index.on_damage(move || {
        if let Some(queue) = queue.upgrade() {
            // A full queue wakes it as well.
            let _ = queue.try_send(Message::Upkeep(Box::new(|_| ())));
        }
    });
}

/// Where the segments of a store lie.
pub(super) fn segments_dir(dir: &Path) -> PathBuf {
    dir.join("segments")
}

/// Whether the system lacks something that has nothing to do with the file.
pub(super) fn is_shortage(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    let shortages = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOMEM,
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::ROFS,
        Errno::AGAIN,
        Errno::INTR,
    ];
    errno.is_some_and(|errno| shortages.contains(&errno))
}

impl From<IndexError> for ReadError {
    fn from(error: IndexError) -> Self {
        // Damage is told once, by whoever finds it.
        if !error.is_damage() {
            tracing::error!(%error, "cannot read the index of the store");
        }
        Unavailable.into()
    }
}

impl From<IndexError> for SegmentError {
    fn from(error: IndexError) -> Self {
        ReadError::from(error).into()
    }
}
