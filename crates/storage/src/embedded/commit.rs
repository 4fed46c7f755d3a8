//! The committer: one thread that decides calls in turn, writes them in groups and syncs once a group.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use restante_model::{InboxHash, InboxKey};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::apply::apply;
use super::compact::{Compaction, Upkeep};
use super::decide::{Operation, Room};
use super::index::{self, Index, IndexError, Rows};
use super::log::Log;
use super::marker;
use super::record::{Head, Record};
use super::replay::{self, ReplayError};
use super::shared::Shared;
#[cfg(test)]
use super::tests;
use super::view::{BATCH_ROWS, View};
use crate::Unavailable;

/// Calls in a group, at most.
const GROUP_CALLS: usize = 256;
/// Bytes in a group; the call that exceeds them is the last.
const GROUP_BYTES: usize = 8 * 1024 * 1024;
/// How often compaction has a look while there are writes, whatever they change: it notes how far the log is synced.
const HINT_EVERY: Duration = Duration::from_secs(3);
/// Pause after the first failed attempt to reopen a failed backend; it doubles up to [`REOPEN_MAX`].
const REOPEN_FIRST: Duration = Duration::from_millis(100);
/// The longest pause between attempts to reopen a failed backend.
const REOPEN_MAX: Duration = Duration::from_secs(2);

/// What the queue of the committer holds.
pub(super) enum Message {
    /// A call.
    Call(Box<dyn Job>),
    /// Work between two groups.
    Upkeep(Upkeep),
    /// The end: everything before it is written first.
    Close(oneshot::Sender<()>),
}

/// An [`Operation`] with someone who waits for its answer.
pub(super) trait Job: Send {
    /// Bytes of content.
    fn bytes(&self) -> usize;
    /// See [`Operation::decide`]; called once.
    fn decide(&mut self, view: &View<'_>, room: Room) -> Result<Vec<Record>, IndexError>;
    /// Tells the one who waits: the answer if it is durable, [`Unavailable`] if not.
    fn finish(self: Box<Self>, outcome: Outcome);
}

/// What became of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Durable,
    Unknown,
}

/// Where the answer of an operation goes.
pub(super) type Reply<O> = oneshot::Sender<Result<<O as Operation>::Answer, Unavailable>>;

/// The [`Job`] of one operation.
pub(super) struct Submitted<O: Operation> {
    operation: Option<O>,
    answer: Option<O::Answer>,
    reply: Reply<O>,
}

impl<O: Operation> Submitted<O> {
    pub(super) fn new(operation: O, reply: Reply<O>) -> Self {
        Self {
            operation: Some(operation),
            answer: None,
            reply,
        }
    }
}

impl<O: Operation> Job for Submitted<O> {
    fn bytes(&self) -> usize {
        self.operation.as_ref().map_or(0, Operation::bytes)
    }

    fn decide(&mut self, view: &View<'_>, room: Room) -> Result<Vec<Record>, IndexError> {
        let Some(operation) = self.operation.take() else {
            return Ok(Vec::new());
        };
        let decision = operation.decide(view, room)?;
        self.answer = Some(decision.answer);
        Ok(decision.records)
    }

    fn finish(self: Box<Self>, outcome: Outcome) {
        let answer = self.answer.filter(|_| outcome == Outcome::Durable).ok_or(Unavailable);
        // Whoever waited may have gone; what is written stays written.
        let _ = self.reply.send(answer);
    }
}

/// How the store ends.
#[derive(Debug)]
enum End {
    /// Someone waits for it.
    Closed(oneshot::Sender<()>),
    /// Nobody can call it any more.
    Dropped,
}

/// Why a group failed, which decides what must be opened again.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the log failed: {0}")]
    Log(#[from] io::Error),
    #[error(transparent)]
    Index(#[from] IndexError),
}

/// The writing side of the backend.
pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) log: Log,
    pub(super) queue: mpsc::Receiver<Message>,
    pub(super) min_free_bytes: u64,
    pub(super) index_dir: PathBuf,
    /// The number of the index directory that was made last, in use or not.
    pub(super) last_index: u64,
    /// Set by work on the index that leaves it in doubt: then it must be made anew before the next call.
    pub(super) is_index_failed: bool,
    pub(super) compaction: Compaction,
    /// Keeps other instances out for as long as this thread lives.
    pub(super) lock: File,
}

impl Committer {
    /// Works until the store is closed or dropped.
    pub(super) fn run(mut self) {
        let _ends = Ends(Arc::clone(&self.shared));
        let end = self.work();
        self.end_compaction();
        match end {
            End::Closed(closed) => {
                self.close();
                let _ = closed.send(());
            }
            // The next start need not replay.
            End::Dropped => self.flush(),
        }
    }

    /// Commits until the store is to end.
    fn work(&mut self) -> End {
        let mut hinted_at = Instant::now();
        while let Some(message) = self.queue.blocking_recv() {
            let (jobs, then) = self.gather(message);
            if let Err(failure) = self.commit_all(jobs) {
                tracing::error!(error = %failure, "the store cannot write; it is unavailable until it has reopened itself");
                self.is_index_failed |= matches!(failure, Failure::Index(_));
                if let Some(end) = self.reopen_until_it_works() {
                    return end;
                }
            }
            match then {
                Some(Message::Close(closed)) => return End::Closed(closed),
                Some(Message::Upkeep(work)) => work(self),
                Some(Message::Call(_)) | None => {}
            }
            if self.shared.is_index_damaged() {
                // Whoever found that out has told it.
                self.is_index_failed = true;
            } else if self.is_index_failed {
                tracing::error!("the index is in doubt; the store is unavailable until it has made it anew");
            }
            if self.is_index_failed {
                self.shared.set_available(false);
                if let Some(end) = self.reopen_until_it_works() {
                    return end;
                }
            }
            if hinted_at.elapsed() >= HINT_EVERY {
                hinted_at = Instant::now();
                self.compaction.hint();
            }
        }
        End::Dropped
    }

    /// Takes what is queued, without waiting for more: calls, and what is to be done after them.
    fn gather(&mut self, first: Message) -> (VecDeque<Box<dyn Job>>, Option<Message>) {
        let mut jobs = VecDeque::new();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Message::Call(job) => {
                    bytes += job.bytes();
                    jobs.push_back(job);
                }
                then => return (jobs, Some(then)),
            }
            let is_full = jobs.len() >= GROUP_CALLS || bytes >= GROUP_BYTES;
            next = if is_full { None } else { self.queue.try_recv().ok() };
        }
        (jobs, None)
    }

    /// Decides and commits; whatever happens, every job is finished.
    fn commit_all(&mut self, mut jobs: VecDeque<Box<dyn Job>>) -> Result<(), Failure> {
        let mut decided = Vec::with_capacity(jobs.len());
        let done = self.commit_in_turn(&mut jobs, &mut decided);
        if done.is_err() {
            self.shared.set_available(false);
            self.log.discard();
            for job in decided.into_iter().chain(jobs) {
                job.finish(Outcome::Unknown);
            }
        }
        done
    }

    fn commit_in_turn(
        &mut self,
        jobs: &mut VecDeque<Box<dyn Job>>,
        decided: &mut Vec<Box<dyn Job>>,
    ) -> Result<(), Failure> {
        // Without an index there is a rebuild under way, and commits wait for it.
        let index = self.index()?;
        let free = self.free_bytes()?;
        let mut group = Group::new(&index)?;
        while let Some(mut job) = jobs.pop_front() {
            let room = Room(free.saturating_sub(self.log.staged_bytes()));
            let records = job.decide(&group.view, room);
            decided.push(job);
            let records = records?;
            if records.is_empty() {
                continue;
            }
            if !self.log.fits(&records) {
                // The last job waits for the next group: its records are not in this one.
                let last = decided.pop();
                self.commit(&mut group, decided)?;
                decided.extend(last);
                self.log.roll(group.view.meta.last_sequence)?;
            }
            group.stage(&mut self.log, records)?;
            if group.view.len() >= BATCH_ROWS {
                self.commit(&mut group, decided)?;
            }
        }
        self.commit(&mut group, decided)
    }

    /// Makes the group durable, then visible, then answers.
    fn commit(&mut self, group: &mut Group<'_>, decided: &mut Vec<Box<dyn Job>>) -> Result<(), Failure> {
        if self.log.staged_bytes() > 0 {
            self.log.commit()?;
            let changed = std::mem::take(&mut group.changed);
            let live_changes = group.view.live_changes()?;
            let due_changes = group.view.due_changes()?;
            self.shared.inboxes.change(&changed, || {
                let _gate = self.shared.gate.write().unwrap_or_else(PoisonError::into_inner);
                #[cfg(test)]
                tests::faults::inject_index(&self.shared.dir)?;
                group.view.write()
            })?;
            self.shared.due.change(&due_changes);
            let evicted = std::mem::take(&mut group.view.evicted);
            self.shared.evicted.fetch_add(evicted, Ordering::Relaxed);
            if self.shared.segments.ledger.commit(self.log.end(), &live_changes) {
                self.compaction.hint();
            }
        }
        for job in decided.drain(..) {
            job.finish(Outcome::Durable);
        }
        Ok(())
    }

    /// Bytes that mail may take before the floor is reached.
    fn free_bytes(&mut self) -> io::Result<u64> {
        if !self.log.may_grow()? {
            return Ok(0);
        }
        Ok(self.shared.free_bytes()?.saturating_sub(self.min_free_bytes))
    }

    fn flush(&self) {
        // A failure shows again at the next write to the index, which handles it.
        if let Ok(index) = self.shared.index()
            && let Err(error) = index.flush()
        {
            tracing::warn!(%error, "cannot flush the index");
        }
    }

    fn index(&self) -> Result<Arc<Index>, IndexError> {
        self.shared.index().map_err(|Unavailable| IndexError::Missing)
    }

    /// Tries again and again to reopen what failed, refusing calls meanwhile; gives back how the store ends if it does
    /// before.
    fn reopen_until_it_works(&mut self) -> Option<End> {
        let mut pause = REOPEN_FIRST;
        loop {
            match self.reopen() {
                Ok(()) => {
                    tracing::info!("the store has reopened itself and is available");
                    self.shared.set_available(true);
                    self.compaction.hint();
                    return None;
                }
                Err(error) => tracing::error!(%error, "the store cannot reopen itself"),
            }
            if let Some(end) = self.refuse_queued() {
                return Some(end);
            }
            std::thread::sleep(pause);
            pause = REOPEN_MAX.min(pause * 2);
        }
    }

    fn reopen(&mut self) -> Result<(), ReplayError> {
        self.log.reopen()?;
        if self.is_index_failed {
            // All that is in the log now was synced: none of it may pass for an unfinished write.
            if let Err(error) = self.shared.segments.manifest.note_synced(self.log.end()) {
                tracing::warn!(%error, "cannot note the end of the log");
            }
            let old = self.shared.replace_index(None);
            index::delete(old, &self.index_dir);
            // Attempts that failed must not fill the disk.
            marker::delete_others(&self.shared.dir, None)?;
            self.index_dir = marker::create(&self.shared.dir, &mut self.last_index)?;
            marker::opened(&self.shared.dir, &self.index_dir)?;
            let index = Index::open(&self.index_dir)?;
            if let Err(error) = self.fill(&index) {
                index::delete(index, &self.index_dir);
                return Err(error);
            }
            // Counts may repeat themselves in the new index.
            self.shared.lists.clear();
            // The old index may have lacked what its last group changed: nobody keeps what was read from it.
            self.shared.inboxes.forget_all();
            self.shared.replace_index(Some(index));
            self.is_index_failed = false;
        }
        Ok(())
    }

    /// Applies the whole log to a new index. No segment is deleted meanwhile.
    fn fill(&self, index: &Index) -> Result<(), ReplayError> {
        let segments = &self.shared.segments;
        let _kept = segments.keep_all();
        replay::replay(index, &segments.manifest)?;
        segments.ledger.load(segments.dir(), index)?;
        Ok(self.shared.due.load(index)?)
    }

    /// Refuses what is queued; gives back how the store ends if that is among it.
    fn refuse_queued(&mut self) -> Option<End> {
        loop {
            match self.queue.try_recv() {
                Ok(Message::Call(job)) => job.finish(Outcome::Unknown),
                // Who waits for it sees that it was not done.
                Ok(Message::Upkeep(_)) => {}
                Ok(Message::Close(closed)) => return Some(End::Closed(closed)),
                Err(mpsc::error::TryRecvError::Empty) => return None,
                Err(mpsc::error::TryRecvError::Disconnected) => return Some(End::Dropped),
            }
        }
    }

    /// Closes the queue, refuses what is still in it and ends compaction, which may have waited for an answer.
    fn end_compaction(&mut self) {
        self.shared.set_available(false);
        self.queue.close();
        while let Some(message) = self.queue.blocking_recv() {
            match message {
                Message::Call(job) => job.finish(Outcome::Unknown),
                Message::Upkeep(_) => {}
                // Closed twice at once: the first of them waits until all is done.
                Message::Close(closed) => drop(closed),
            }
        }
        self.compaction.stop();
    }

    /// Closes the index so that the next start believes it, even after a power cut.
    fn close(&mut self) {
        self.flush();
        if let Err(error) = self.shared.segments.manifest.note_synced(self.log.end()) {
            tracing::warn!(%error, "cannot note the end of the log");
        }
        self.shared.inboxes.clear();
        let index = self.shared.replace_index(None);
        // A reader that still holds the index would write behind our back when it lets go: then it is not clean.
        if index.and_then(Arc::into_inner).is_some()
            && let Err(error) = marker::closed(&self.shared.dir, &self.index_dir)
        {
            tracing::warn!(%error, "cannot sync the index; the next start may make it anew");
        }
        let _ = rustix::fs::flock(&self.lock, rustix::fs::FlockOperation::Unlock);
    }
}

/// Without its committer a store is not available, also if that ended by a panic.
///
/// The index is let go before the lock is, so that the next instance can open it.
struct Ends(Arc<Shared>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.set_available(false);
        self.0.replace_index(None);
    }
}

/// The calls that will be synced together.
struct Group<'a> {
    view: View<'a>,
    /// Names that must leave the cache of inboxes.
    changed: Vec<(String, InboxHash)>,
}

impl<'a> Group<'a> {
    fn new(index: &'a Index) -> Result<Self, IndexError> {
        Ok(Self {
            view: View::new(index)?,
            changed: Vec::new(),
        })
    }

    /// Adds the records of a call to the log's group and to the view.
    fn stage(&mut self, log: &mut Log, records: Vec<Record>) -> Result<(), IndexError> {
        for (head, place) in log.stage(records) {
            self.note_changed(&head)?;
            apply(&mut self.view, &head, place)?;
        }
        (self.view.meta.segment, self.view.meta.offset) = log.end();
        self.view.meta.salt = log.salt().0;
        Ok(())
    }

    fn note_changed(&mut self, head: &Head) -> Result<(), IndexError> {
        let inboxes = match head {
            Head::InboxesRetired { inboxes, .. } => inboxes.as_slice(),
            Head::ChaosSet { inbox, .. } => std::slice::from_ref(inbox),
            _ => return Ok(()),
        };
        for inbox in inboxes {
            if let Some(row) = self.view.inbox(InboxKey::from_bytes(*inbox))? {
                self.changed.push((row.address, InboxHash::from_bytes(row.hash)));
            }
        }
        Ok(())
    }
}
