//! Compaction: a thread beside the committer that empties segments and deletes them, and keeps the index small.
//!
//! It reads what is live in a segment and hands it to the committer as calls among the others, a little at a time;
//! when no row points into the segment any more, and an index that says so is with the kernel, the file is deleted.
//! Why a crash at any point loses nothing: ADR 0015.

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, InboxKey};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::apply::forget_segment;
use super::commit::{Committer, Message, Submitted};
use super::index::{Index, IndexError, Rows};
use super::ledger::Victim;
use super::log::sync_dir;
use super::open::EmbeddedConfig;
use super::record::{Head, MailHead, Record};
use super::relocate::{Move, Moving, inbox_row, is_live, is_retired_by};
use super::replay::ReplayError;
use super::rows::Place;
use super::scan::{Bodies, Scanner, Step};
use super::segments::SegmentError;
use super::shared::Shared;
#[cfg(test)]
use super::tests::faults::{self, CrashPoint, Fault};
use super::view::View;
use crate::{Part, ReadError, Unavailable};

/// Bytes that are handed to the committer at once: little beside a group of mail.
const CHUNK_BYTES: u64 = 256 * 1024;
/// Records that are handed over at once: each is several rows of one batch.
const CHUNK_RECORDS: usize = 64;
/// How often a segment is looked through: what changed while it was read is found the next time.
const LOOKS: usize = 4;
/// Rows that are forgotten in one step.
const FORGET_ROWS: usize = 256;

/// An index below this size is not written anew.
const INDEX_FLOOR: u64 = 4 * 1024 * 1024;
/// Rows that are counted in one step.
const COUNT_ROWS: usize = 10_000;

/// Work on the index for the thread of the committer.
pub(super) type Upkeep = Box<dyn FnOnce(&mut Committer) + Send>;

/// The running thread.
#[derive(Debug)]
pub(super) struct Compaction {
    hints: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Compaction {
    /// Starts the thread. It ends with the last strong sender of the queue, or when told.
    pub(super) fn start(
        shared: Arc<Shared>,
        queue: mpsc::WeakSender<Message>,
        config: &EmbeddedConfig,
    ) -> io::Result<Self> {
        let (hints, heard) = sync_channel(1);
        let compactor = Compactor {
            shared,
            queue,
            hints: heard,
            is_hinted: Cell::new(false),
            chunk_bytes: CHUNK_BYTES.min(config.segment_bytes / 8),
            index_limit: INDEX_FLOOR,
            #[cfg(test)]
            rewrites_always: config.rewrites_index,
        };
        let thread = std::thread::Builder::new()
            .name("compactor".to_owned())
            .spawn(move || compactor.run())?;
        let compaction = Self {
            hints: Some(hints),
            thread: Some(thread),
        };
        compaction.hint();
        Ok(compaction)
    }

    /// Says that there may be something to do; never blocks.
    pub(super) fn hint(&self) {
        if let Some(hints) = &self.hints {
            // A full channel holds a hint already.
            let _ = hints.try_send(());
        }
    }

    /// Ends the thread. The queue must be closed and empty, or the thread could wait for an answer.
    pub(super) fn stop(&mut self) {
        self.hints = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported where it happened.
            let _ = thread.join();
        }
    }
}

/// Why a segment was not emptied.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    /// The store ends.
    #[error("the store ends")]
    Ended,
    /// The store cannot write or read now: later it may.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Not enough free space for the copies.
    #[error("there is no room for what is live in it")]
    NoRoom,
    /// Nothing was written since it was sealed.
    #[error("the log has not gone on behind it")]
    TooEarly,
    /// Something in it cannot be read.
    #[error("a record at byte {0} is damaged")]
    Damaged(u64),
    /// Rows point into it that none of its records explains.
    #[error("the index still needs it")]
    Needed,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl Stopped {
    /// Whether a later attempt may go better.
    fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::NoRoom | Self::TooEarly | Self::Index(_) | Self::Replay(_)
        )
    }
}

struct Compactor {
    shared: Arc<Shared>,
    queue: mpsc::WeakSender<Message>,
    hints: Receiver<()>,
    /// Whether a hint came during a pause, and is still to be followed.
    is_hinted: Cell<bool>,
    chunk_bytes: u64,
    /// The size of the index at which it is looked at.
    index_limit: u64,
    #[cfg(test)]
    rewrites_always: bool,
}

impl Compactor {
    fn run(mut self) {
        while self.is_hinted.take() || self.hints.recv().is_ok() {
            while let Some(victim) = self.shared.segments.ledger.next_victim() {
                match self.compact(victim) {
                    Ok(()) => {}
                    Err(Stopped::Ended) => return,
                    Err(reason) if reason.may_pass() => {
                        tracing::debug!(segment = victim.segment, %reason, "compaction waits");
                        break;
                    }
                    Err(reason) => {
                        tracing::error!(segment = victim.segment, %reason, "a segment cannot be compacted");
                        self.shared.segments.ledger.set_aside(victim.segment);
                    }
                }
            }
            self.shared.segments.ledger.rest();
            match self.tend_index() {
                Ok(()) => {}
                Err(Stopped::Ended) => return,
                Err(reason) => tracing::warn!(%reason, "the index is not written anew"),
            }
        }
    }

    /// Writes the index anew if it takes more than four times its rows.
    ///
    /// Counting them takes time: it is done when the index has grown by half since the last time.
    fn tend_index(&mut self) -> Result<(), Stopped> {
        let size = self.shared.index()?.size_on_disk()?;
        if size >= self.index_limit {
            let is_mostly_dead = size > 4 * self.count_row_bytes()?;
            self.index_limit = size + size / 2;
            if is_mostly_dead {
                self.rewrite_index()?;
                let new = self.shared.index()?.size_on_disk()?;
                self.index_limit = INDEX_FLOOR.max(new + new / 2);
                tracing::info!(from = size, to = new, "the index is written anew");
            }
        }
        #[cfg(test)]
        if self.rewrites_always {
            self.rewrite_index()?;
        }
        Ok(())
    }

    fn count_row_bytes(&self) -> Result<u64, Stopped> {
        let (mut total, mut next) = (0, Some(Vec::new()));
        while let Some(from) = next {
            let (bytes, then) = self.shared.index()?.row_bytes(from, COUNT_ROWS)?;
            total += bytes;
            next = then;
            self.pause(Duration::ZERO)?;
        }
        Ok(total)
    }

    fn rewrite_index(&self) -> Result<(), Stopped> {
        self.upkeep(|committer| committer.begin_rewrite())?;
        let mut next = Some(Vec::new());
        while let Some(from) = next {
            let started = Instant::now();
            next = self.upkeep(|committer| Ok(index_of(&committer.shared)?.copy_rows(from)?))?;
            self.pause(started.elapsed())?;
        }
        self.shared.index()?.flush_rewritten()?;
        self.upkeep(Committer::finish_rewrite)
    }

    fn compact(&self, victim: Victim) -> Result<(), Stopped> {
        self.check_room(victim)?;
        // The index's position must lie behind it, or a replay would begin in a file that is not there.
        if self.shared.index()?.meta()?.segment <= victim.segment {
            return Err(Stopped::TooEarly);
        }
        let mut looks = LOOKS;
        while self.move_live(victim)? > 0 {
            looks -= 1;
            if looks == 0 {
                return Err(Stopped::Needed);
            }
        }
        #[cfg(test)]
        self.pass(CrashPoint::Emptied)?;
        let segment = victim.segment;
        if !self.upkeep(move |committer| Ok(checkpoint_without(&committer.shared, segment)?))? {
            return Err(Stopped::Needed);
        }
        #[cfg(test)]
        self.pass(CrashPoint::Checkpointed)?;
        self.shared.segments.delete(segment)?;
        #[cfg(test)]
        self.pass(CrashPoint::Deleted)?;
        sync_dir(self.shared.segments.dir())?;
        #[cfg(test)]
        self.pass(CrashPoint::Synced)?;
        while self.upkeep(move |committer| Ok(forget(&committer.shared, segment)?))? {}
        tracing::debug!(segment, moved = victim.live, "compacted a segment");
        Ok(())
    }

    /// Copies need room before the file gives any back: twice what they take, as mail arrives meanwhile.
    fn check_room(&self, victim: Victim) -> Result<(), Stopped> {
        let disk = rustix::fs::statvfs(&self.shared.dir).map_err(io::Error::from)?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        if victim.live == 0 || free > 2 * victim.live {
            Ok(())
        } else {
            Err(Stopped::NoRoom)
        }
    }

    /// Moves every live record of a segment, and says how many there were.
    fn move_live(&self, victim: Victim) -> Result<usize, Stopped> {
        let dir = self.shared.segments.dir();
        let scanner = Scanner::open(dir, victim.segment, 0, Bodies::Skipped)?;
        let mut scanner = scanner.ok_or(Stopped::Damaged(0))?;
        let (mut moved, mut chunk, mut bytes) = (0, Vec::new(), 0);
        loop {
            let records = match scanner.next_call()? {
                Step::Call(records) => records,
                Step::End => break,
                Step::Broken => return Err(Stopped::Damaged(scanner.offset())),
            };
            for (head, place) in records {
                // Not longer than for one record: the committer may put another index in its place.
                let index = self.shared.index()?;
                for moving in self.read_live(&index, head, place)? {
                    bytes += moving.bytes() as u64;
                    chunk.push(moving);
                }
                if bytes >= self.chunk_bytes || chunk.len() >= CHUNK_RECORDS {
                    moved += chunk.len();
                    self.hand_over(std::mem::take(&mut chunk), victim)?;
                    bytes = 0;
                }
            }
        }
        moved += chunk.len();
        if !chunk.is_empty() {
            self.hand_over(chunk, victim)?;
        }
        Ok(moved)
    }

    /// What must be moved for a record: nothing if it is dead.
    fn read_live(&self, index: &Index, head: Head, place: Place) -> Result<Vec<Moving>, Stopped> {
        if !is_live(index, &head, place)? {
            return Ok(Vec::new());
        }
        match head {
            Head::InboxStored(stored) => self.read_inbox(index, InboxKey::from_bytes(stored.inbox)),
            Head::MailReaped { inbox, .. } => self.read_inbox(index, InboxKey::from_bytes(inbox)),
            Head::InboxesRetired { inboxes, .. } => {
                let mut moving = Vec::new();
                for inbox in inboxes.into_iter().map(InboxKey::from_bytes) {
                    if is_retired_by(index, inbox, place)? {
                        moving.extend(self.read_inbox(index, inbox)?);
                    }
                }
                Ok(moving)
            }
            Head::MailStored(head) => self.read_mail(index, head, place),
            head @ (Head::MailRead { .. }
            | Head::MailDeleted { .. }
            | Head::SignatureAttached { .. }
            | Head::MailEvicted { .. }
            | Head::InboxReaped { .. }) => {
                let blobs = self.read_blobs(&head, place)?;
                let record = Record { head, blobs };
                Ok(vec![Moving::Other { record, from: place }])
            }
        }
    }

    fn read_inbox(&self, index: &Index, inbox: InboxKey) -> Result<Vec<Moving>, Stopped> {
        let Some(row) = inbox_row(index, inbox)? else {
            return Ok(Vec::new());
        };
        let key_at = row.key_at();
        let client_key = key_at
            .map(|at| self.shared.segments.read(at).map_err(|error| stopped(error, row.place)))
            .transpose()?;
        Ok(vec![Moving::Inbox {
            inbox,
            from: row.place,
            client_key,
        }])
    }

    fn read_mail(&self, index: &Index, head: MailHead, place: Place) -> Result<Vec<Moving>, Stopped> {
        let (inbox, email) = (InboxKey::from_bytes(head.inbox), EmailId::from_bytes(head.email));
        let head = Head::MailStored(head);
        let blobs = self.read_blobs(&head, place)?;
        let mut signatures = Vec::new();
        for part in Part::SIGNATURES {
            if let Some(row) = index.signature(inbox, email, part)? {
                let read = self.shared.segments.read(row.blob());
                signatures.push((part, read.map_err(|error| stopped(error, place))?));
            }
        }
        let Head::MailStored(head) = head else {
            return Ok(Vec::new());
        };
        Ok(vec![Moving::Mail {
            head,
            from: place,
            blobs,
            signatures,
        }])
    }

    fn read_blobs(&self, head: &Head, place: Place) -> Result<Vec<Bytes>, Stopped> {
        let read = |at| self.shared.segments.read(at).map_err(|error| stopped(error, place));
        place.blobs(&head.blobs()).into_iter().map(read).collect()
    }

    /// Hands records to the committer, waits until they are durable, and then as long again, so that compaction
    /// takes no more than half of what the disk can do, unless it must.
    fn hand_over(&self, chunk: Vec<Moving>, victim: Victim) -> Result<(), Stopped> {
        let started = Instant::now();
        let (reply, answer) = oneshot::channel();
        let job = Submitted::new(Move(chunk), reply);
        self.send(Message::Call(Box::new(job)))?;
        answer.blocking_recv().map_err(|_| Unavailable)??;
        #[cfg(test)]
        self.pass(CrashPoint::Moved)?;
        self.pause(if victim.is_urgent {
            Duration::ZERO
        } else {
            started.elapsed()
        })
    }

    /// Leaves the disk and the committer to others; hints do not shorten it, as every commit may give one.
    fn pause(&self, pause: Duration) -> Result<(), Stopped> {
        let until = Instant::now() + pause;
        loop {
            match self.hints.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(()) => self.is_hinted.set(true),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(Stopped::Ended),
            }
        }
    }

    /// Has the committer do something between two groups.
    fn upkeep<T, F>(&self, work: F) -> Result<T, Stopped>
    where
        T: Send + 'static,
        F: FnOnce(&mut Committer) -> Result<T, ReplayError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let work = move |committer: &mut Committer| drop(reply.send(work(committer)));
        self.send(Message::Upkeep(Box::new(work)))?;
        Ok(answer.blocking_recv().map_err(|_| Unavailable)??)
    }

    /// The queue is held no longer than it takes to send: the store ends with its last holder.
    fn send(&self, message: Message) -> Result<(), Stopped> {
        let queue = self.queue.upgrade().ok_or(Stopped::Ended)?;
        queue.blocking_send(message).map_err(|_| Stopped::Ended)
    }

    /// A point at which tests let compaction end, as a crash would.
    #[cfg(test)]
    fn pass(&self, point: CrashPoint) -> io::Result<()> {
        faults::inject(&self.shared.dir, Fault::Compaction(point))
    }
}

fn stopped(error: SegmentError, place: Place) -> Stopped {
    match error {
        SegmentError::Read(ReadError::Unavailable(unavailable)) => unavailable.into(),
        SegmentError::Gone | SegmentError::Read(ReadError::Damaged) => Stopped::Damaged(place.offset),
    }
}

/// Hands the kernel an index that does not need a segment; `false` if it does.
fn checkpoint_without(shared: &Shared, segment: u32) -> Result<bool, IndexError> {
    let index = index_of(shared)?;
    let is_free = index.live_bytes(segment)?.unwrap_or_default() == 0;
    if is_free {
        index.flush()?;
    }
    Ok(is_free)
}

/// Forgets a deleted segment, a bounded number of rows at a time; says whether more remain.
fn forget(shared: &Shared, segment: u32) -> Result<bool, IndexError> {
    let index = index_of(shared)?;
    let mut view = View::new(&index)?;
    let more = forget_segment(&mut view, segment, FORGET_ROWS)?;
    let changes = view.live_changes();
    view.write()?;
    shared.segments.ledger.change(&changes);
    Ok(more)
}

fn index_of(shared: &Shared) -> Result<Arc<Index>, IndexError> {
    shared.index().map_err(|Unavailable| IndexError::Missing)
}
