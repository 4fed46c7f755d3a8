//! The embedded backend: an append-only segment log that is the truth, and an index that can be made from it.
//!
//! A call that writes goes through one committer thread: it is *decided* on what all calls before it leave, its
//! records are appended to the log with those of whatever else is queued, one sync makes them durable, and one
//! atomic step makes them visible in the index, which gathers the changes of several groups in memory before it writes.
//! Readers use the index directly and read content from the segments.
//!
//! What can go wrong with the files, and what comes of it:
//!
//! - an unfinished write at the end of the last segment is cut off at the next open; a last group that was spoiled since looks the same;
//! - an index that is missing, damaged, ahead of the log, or may have lost pages in a power cut, is made anew, also while
//!   the store is open, by whoever meets the damage;
//! - any other record whose head cannot be read stops an open that has to read it with [`OpenError::Damaged`], as mail
//!   or a deletion would be missing, until [`HeldStore::accept_damage`] has it passed by; and so does a spoiled last group
//!   if it was there when the store was last opened or closed;
//! - a segment file that is missing, but was not deleted on purpose, stops the open with [`OpenError::Missing`];
//! - a part that does not match its checksum is [`ReadError::Damaged`] when it is read, and harms nothing else, but its
//!   segment is compacted no more;
//! - after a failed write or sync the group is unknown to its callers, and the log goes on from the last good sync.
//!
//! What is deleted gives its space back: a second thread has the committer write again what is live in a mostly dead
//! segment, and deletes the file (`docs/adr/0015-compaction.md`).
//! Webhooks, events and deliveries move as a whole before a segment goes that they do not lie behind
//! (`docs/adr/0017-queue-in-the-log.md`).
//!
//! Modules, in reading order: `record` and `frame` (the format), `log`, `scan`, `tail`, `manifest` and `segments` (the files), `rows`,
//! `merge`, `index`, `queue_rows` and `view` (the index), `decide` and `apply` (from a call to records, from records to
//! rows), `commit` (the thread), `ledger`, `relocate` and `compact` (compaction), `judge`, `replay`, `sweep`, `stamp`, `lock`, `marker` and
//! `open` (the start), `cache`, `lists`, `read`, `read_webhooks` and `shared` (the readers), `due`, `leases`, `claim` and
//! `webhooks` (the queue), `verify`, `queue_items` and `tools` (for operators).

mod apply;
mod cache;
mod claim;
mod commit;
mod compact;
mod decide;
mod due;
mod frame;
mod index;
mod judge;
mod leases;
mod ledger;
mod lists;
mod lock;
mod log;
mod manifest;
mod marker;
mod merge;
mod open;
mod queue_items;
mod queue_rows;
mod read;
mod read_webhooks;
mod record;
mod relocate;
mod replay;
mod rows;
mod scan;
mod segments;
mod shared;
mod stamp;
mod sweep;
mod tail;
mod tools;
mod verify;
mod view;
mod webhooks;

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use async_trait::async_trait;
use bytes::Bytes;
use restante_model::{ChaosConfig, EmailId, Inbox, InboxAddress, InboxHash, InboxKey, RemovalReason, Timestamp};
use tokio::sync::{mpsc, oneshot};

pub use judge::Accepted;
pub use open::{EmbeddedConfig, OpenError, Recovery};
pub use stamp::Stamp;
pub use tools::{HeldStore, NewStore, Statistics, ToolError, leftovers, remove};
pub use verify::{Finding, Problem, Progress, Verified};

use crate::chaos_json;
use crate::{
    AcceptError, Arrival, CreateError, Created, EmailPage, Evicted, InboxPage, ListPage, NewEmail, NewInbox, Part,
    ReadError, Reaped, Retention, Store, StoredEmail, SyncStatus, TellError, ThrownAway, Unavailable, Usage,
};
use commit::{Committer, Message, Submitted};
use compact::Compaction;
use decide::{Creation, Operation};
use index::Rows;
use shared::Shared;

/// Calls that wait for the committer, at most; more wait at the door.
const QUEUE: usize = 1024;
/// Rows that a read goes through on a thread of the runtime; longer reads run beside it.
const INLINE_ROWS: usize = 256;

/// A store in one directory of this machine.
///
/// Dropped without [`Store::close`] it loses nothing, but the next start may have to make the index anew.
pub struct Embedded {
    shared: Arc<Shared>,
    queue: Option<mpsc::Sender<Message>>,
    committer: Option<JoinHandle<()>>,
    recovery: Recovery,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("path", &self.shared.dir)
            .finish_non_exhaustive()
    }
}

impl Embedded {
    /// Opens the store in a directory, or makes a new one there. Blocks until the index is up to date.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing runs and nothing is locked then.
    pub fn open(config: &EmbeddedConfig) -> Result<Self, OpenError> {
        Self::open_locked(config, open::lock_directory(&config.path)?)
    }

    /// The same by the caller's lock.
    fn open_locked(config: &EmbeddedConfig, lock: File) -> Result<Self, OpenError> {
        let opened = open::open(config, lock)?;
        let unusable = |error| OpenError::NotUsable {
            path: config.path.clone(),
            error,
        };
        let shared = Arc::new(Shared::new(
            config.path.clone(),
            opened.index,
            opened.due,
            opened.ledger,
            opened.manifest,
        ));
        let (queue, calls) = mpsc::channel(QUEUE);
        shared.wake_on_damage(queue.downgrade());
        let compaction = Compaction::start(Arc::clone(&shared), queue.downgrade(), config);
        let committer = Committer {
            shared: Arc::clone(&shared),
            log: opened.log,
            queue: calls,
            min_free_bytes: config.min_free_bytes,
            last_index: marker::number_of(&opened.index_dir),
            index_dir: opened.index_dir,
            is_index_failed: false,
            compaction: compaction.map_err(unusable)?,
            lock: opened.lock,
        };
        let committer = std::thread::Builder::new()
            .name("committer".to_owned())
            .spawn(move || committer.run())
            .map_err(unusable)?;
        Ok(Self {
            shared,
            queue: Some(queue),
            committer: Some(committer),
            recovery: opened.recovery,
        })
    }

    /// What opening had to do.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Hands a call to the committer and waits until it is durable.
    async fn commit<O: Operation>(&self, operation: O) -> Result<O::Answer, Unavailable> {
        if !self.shared.is_available() {
            return Err(Unavailable);
        }
        let (reply, answer) = oneshot::channel();
        let job = Submitted::new(operation, reply);
        let queue = self.queue.as_ref().ok_or(Unavailable)?;
        queue
            .send(Message::Call(Box::new(job)))
            .await
            .map_err(|_| Unavailable)?;
        answer.await.map_err(|_| Unavailable)?
    }
}

/// A configuration as it is stored. None that callers make is refused: all their numbers are within bounds.
fn encoded(chaos: Option<&ChaosConfig>) -> Result<Option<Bytes>, Unavailable> {
    let encode = |chaos| chaos_json::encode(chaos).ok_or(Unavailable);
    let encoded = chaos.map(encode).transpose();
    encoded
        .inspect_err(|_| tracing::error!("what is to be done to mail cannot be stored: it has no end, or is no number"))
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(committer) = self.committer.take() {
            // It ends with the group under way; its panic was reported where it happened.
            let _ = committer.join();
        }
    }
}

#[async_trait]
impl Store for Embedded {
    async fn create_inbox(&self, new: NewInbox, now: Timestamp) -> Result<Created, CreateError> {
        let chaos = encoded(new.inbox.chaos.as_deref())?;
        match self.commit(decide::Create { new, chaos, now }).await?? {
            Creation::New => Ok(Created::New),
            Creation::Repeated(inbox) => {
                let first = self.shared.inbox_of_key(inbox).await.map_err(|_| Unavailable)?;
                Ok(Created::Repeated(first.ok_or(Unavailable)?))
            }
        }
    }

    async fn inbox(&self, address: &InboxAddress, now: Timestamp) -> Result<Option<Arc<Inbox>>, ReadError> {
        let found = match self.shared.inboxes.at_address(address) {
            Some(inbox) => Some(inbox),
            None => self.shared.inbox_at(|index| index.at_address(address.as_str())).await?,
        };
        Ok(found.filter(|inbox| !inbox.is_expired(now)))
    }

    async fn inbox_by_hash(&self, hash: &InboxHash, now: Timestamp) -> Result<Option<Arc<Inbox>>, ReadError> {
        let found = match self.shared.inboxes.at_hash(hash) {
            Some(inbox) => Some(inbox),
            None => self.shared.inbox_at(|index| index.at_hash(hash)).await?,
        };
        Ok(found.filter(|inbox| !inbox.is_expired(now)))
    }

    async fn inboxes(&self, after: Option<InboxHash>, limit: usize, now: Timestamp) -> Result<InboxPage, ReadError> {
        self.shared
            .blocking(move |shared| shared.inboxes(after, limit, now))
            .await
    }

    async fn set_chaos(
        &self,
        inbox: InboxKey,
        chaos: Option<Arc<ChaosConfig>>,
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        let chaos = encoded(chaos.as_deref())?;
        self.commit(decide::SetChaos { inbox, chaos, now }).await
    }

    async fn tell(&self, arrivals: Vec<ThrownAway>, now: Timestamp) -> Result<(), TellError> {
        self.commit(decide::Tell { arrivals, now }).await?
    }

    async fn accept(
        &self,
        emails: Vec<NewEmail>,
        retention: &Retention,
        now: Timestamp,
    ) -> Result<Vec<Arrival>, AcceptError> {
        let accept = decide::Accept {
            emails,
            retention: *retention,
            round: Arc::clone(&self.shared.round),
            now,
        };
        self.commit(accept).await?
    }

    async fn list(&self, inbox: InboxKey, page: ListPage, now: Timestamp) -> Result<EmailPage, ReadError> {
        if page.parts.is_empty() && page.max_rows <= INLINE_ROWS {
            return self.shared.list(inbox, &page, now);
        }
        self.shared.blocking(move |shared| shared.list(inbox, &page, now)).await
    }

    async fn email(
        &self,
        inbox: InboxKey,
        email: EmailId,
        parts: &[Part],
        now: Timestamp,
    ) -> Result<Option<StoredEmail>, ReadError> {
        if parts.is_empty() {
            return self.shared.email(inbox, email, parts, now);
        }
        let parts = parts.to_vec();
        self.shared
            .blocking(move |shared| shared.email(inbox, email, &parts, now))
            .await
    }

    async fn sync(&self, inbox: InboxKey, now: Timestamp) -> Result<Option<SyncStatus>, ReadError> {
        if self.shared.sync_cost(inbox)? <= INLINE_ROWS as u64 {
            return self.shared.sync(inbox, now);
        }
        self.shared.blocking(move |shared| shared.sync(inbox, now)).await
    }

    async fn last_sequence(&self) -> Result<u64, ReadError> {
        Ok(self.shared.index()?.meta()?.last_sequence)
    }

    async fn sequence_of(&self, inbox: InboxKey, email: EmailId) -> Result<Option<u64>, ReadError> {
        self.shared.sequence_of(inbox, email)
    }

    async fn arrivals(
        &self,
        inbox: InboxKey,
        after: u64,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Arrival>, ReadError> {
        if limit <= INLINE_ROWS {
            return self.shared.arrivals(inbox, after, limit, now);
        }
        self.shared
            .blocking(move |shared| shared.arrivals(inbox, after, limit, now))
            .await
    }

    async fn mark_read(&self, inbox: InboxKey, email: EmailId, now: Timestamp) -> Result<bool, Unavailable> {
        self.commit(decide::MarkRead { inbox, email, now }).await
    }

    async fn attach(
        &self,
        inbox: InboxKey,
        email: EmailId,
        part: Part,
        bytes: Bytes,
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        self.commit(decide::Attach {
            inbox,
            email,
            part,
            bytes,
            now,
        })
        .await
    }

    async fn delete_email(
        &self,
        inbox: InboxKey,
        email: EmailId,
        reason: RemovalReason,
        now: Timestamp,
    ) -> Result<bool, Unavailable> {
        self.commit(decide::Delete {
            inbox,
            email,
            reason,
            now,
        })
        .await
    }

    async fn retire(&self, inboxes: &[InboxKey], reason: RemovalReason, now: Timestamp) -> Result<usize, Unavailable> {
        let inboxes = inboxes.to_vec();
        self.commit(decide::Retire { inboxes, reason, now }).await
    }

    async fn retire_expired(&self, limit: usize, now: Timestamp) -> Result<usize, Unavailable> {
        self.commit(decide::RetireExpired { limit, now }).await
    }

    async fn reap(&self, limit: usize, now: Timestamp) -> Result<Reaped, Unavailable> {
        self.commit(decide::Reap { limit, now }).await
    }

    async fn evict(&self, retention: &Retention, limit: usize, now: Timestamp) -> Result<Evicted, Unavailable> {
        let evict = decide::Evict {
            retention: *retention,
            limit,
            round: Arc::clone(&self.shared.round),
            now,
        };
        let evicted = self.commit(evict).await;
        if evicted.is_err() {
            self.shared.round.restart();
        }
        evicted
    }

    async fn oldest_email(&self) -> Result<Option<Timestamp>, ReadError> {
        self.shared.oldest_email()
    }

    async fn newest_email(&self) -> Result<Option<Timestamp>, ReadError> {
        self.shared.blocking(Shared::newest_email).await
    }

    async fn next_expiry(&self) -> Result<Option<Timestamp>, ReadError> {
        self.shared.next_expiry()
    }

    async fn usage(&self) -> Result<Usage, ReadError> {
        let meta = self.shared.index()?.meta()?;
        Ok(Usage {
            inboxes: meta.inboxes,
            emails: meta.emails,
            evicted: self.shared.evicted.load(Ordering::Relaxed),
            live_bytes: meta.live_bytes,
            mail_bytes: meta.mail_bytes,
        })
    }

    fn is_available(&self) -> bool {
        self.shared.is_available()
    }

    async fn takes_mail(&self) -> bool {
        self.commit(decide::TakesMail).await.unwrap_or(false)
    }

    async fn room(&self) -> Result<u64, Unavailable> {
        self.commit(decide::RoomLeft).await
    }

    async fn close(&self) {
        let (closed, done) = oneshot::channel();
        if let Some(queue) = &self.queue
            && queue.send(Message::Close(closed)).await.is_ok()
        {
            // An error means that the committer ended before: then the store is closed as well.
            let _ = done.await;
        }
    }
}
