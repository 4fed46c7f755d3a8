//! Compaction: a thread beside the committer that empties segments and deletes them.
//!
//! It reads what is live in a segment and hands it to the committer as calls among the others, a little at a time;
//! when no row points into the segment any more, and an index that says so is with the kernel, the file is deleted.
//! What stops it for one segment does not stop it for the others, and is tried again later.
//! Why a crash at any point loses nothing: ADR 0015.

mod queue;
mod segment;
mod stopped;

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use self::stopped::{Stopped, Verdict};
use super::commit::{Committer, Message};
use super::index::{Index, IndexError};
use super::ledger::Victim;
use super::open::EmbeddedConfig;
use super::replay::ReplayError;
use super::shared::Shared;
use crate::Unavailable;

/// Bytes that are handed to the committer at once: little beside a group of mail.
const CHUNK_BYTES: u64 = 256 * 1024;
/// Pause before what failed is tried again; it doubles up to [`RETRY_MAX`] while something fails.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// The longest pause before what failed is tried again.
const RETRY_MAX: Duration = Duration::from_mins(1);

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
            retry: Retry::default(),
            deleted: Vec::new(),
            chunk_bytes: CHUNK_BYTES.min(config.segment_bytes / 8),
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

struct Compactor {
    shared: Arc<Shared>,
    queue: mpsc::WeakSender<Message>,
    hints: Receiver<()>,
    /// Whether a hint came during a pause, and is still to be followed.
    is_hinted: Cell<bool>,
    retry: Retry,
    /// Segments that are deleted, but not forgotten by the index.
    deleted: Vec<u32>,
    chunk_bytes: u64,
}

/// When what failed is tried again.
#[derive(Debug, Default)]
struct Retry {
    at: Option<Instant>,
    /// The pause before that; zero if nothing had failed before.
    pause: Duration,
    /// Whether hints are not followed until then.
    is_backing_off: bool,
}

impl Retry {
    /// Something is left to be tried again.
    fn schedule(&mut self) {
        if self.at.is_none() {
            self.pause = (2 * self.pause).clamp(RETRY_FIRST, RETRY_MAX);
            self.at = Some(Instant::now() + self.pause);
        }
    }
}

impl Compactor {
    fn run(mut self) {
        while self.wait() {
            match self.work() {
                Ok(()) => {}
                Err(reason) if reason.verdict() == Verdict::End => return,
                Err(reason) => tracing::warn!(%reason, "compaction waits"),
            }
            let ledger = &self.shared.segments.ledger;
            ledger.rest();
            if self.retry.is_backing_off || !self.deleted.is_empty() || ledger.is_waiting() {
                self.retry.schedule();
            } else {
                self.retry = Retry::default();
            }
        }
    }

    /// Waits for a hint, or for the time to try again what failed; `false` if the store ends.
    fn wait(&mut self) -> bool {
        loop {
            if !self.retry.is_backing_off && self.is_hinted.take() {
                return true;
            }
            let heard = match self.retry.at {
                Some(at) => self.hints.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => self.hints.recv().map_err(RecvTimeoutError::from),
            };
            match heard {
                Ok(()) => self.is_hinted.set(true),
                Err(RecvTimeoutError::Timeout) => {
                    self.retry.at = None;
                    self.retry.is_backing_off = false;
                    self.is_hinted.set(false);
                    self.shared.segments.ledger.take_back();
                    return true;
                }
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Does what there is to do.
    fn work(&mut self) -> Result<(), Stopped> {
        if let Err(error) = self.shared.segments.note_new() {
            tracing::warn!(%error, "cannot note the end of the log");
        }
        self.forget_deleted()?;
        while let Some(victim) = self.next_victim() {
            self.attempt(victim)?;
        }
        Ok(())
    }

    fn next_victim(&self) -> Option<Victim> {
        if self.retry.is_backing_off {
            return None;
        }
        // Where that is not known, nothing is copied.
        let free_bytes = self.shared.free_bytes().unwrap_or(0);
        self.shared.segments.ledger.next_victim(free_bytes)
    }

    /// Compacts a segment; if that is not possible the segment is set aside or all wait, so that it is not the next
    /// victim again.
    fn attempt(&mut self, victim: Victim) -> Result<(), Stopped> {
        let segment = victim.segment;
        let Err(reason) = self.compact(victim) else {
            self.deleted.push(segment);
            return self.forget_deleted();
        };
        match reason.verdict() {
            Verdict::End | Verdict::Wait => return Err(reason),
            Verdict::BackOff => {
                tracing::warn!(segment, %reason, "compaction waits");
                self.retry.is_backing_off = true;
            }
            Verdict::SetAside(aside) => {
                if matches!(reason, Stopped::TooEarly) {
                    tracing::debug!(segment, %reason, "a segment is not compacted yet");
                } else {
                    tracing::error!(segment, %reason, ?aside, "a segment cannot be compacted; the others are");
                }
                self.shared.segments.ledger.set_aside(segment, aside);
            }
        }
        Ok(())
    }

    /// Removes the rows about segments that are deleted.
    fn forget_deleted(&mut self) -> Result<(), Stopped> {
        while let Some(segment) = self.deleted.last().copied() {
            self.forget(segment)?;
            self.deleted.pop();
        }
        Ok(())
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
}

fn index_of(shared: &Shared) -> Result<Arc<Index>, IndexError> {
    shared.index().map_err(|Unavailable| IndexError::Missing)
}
