//! One segment: what is live in it is written again, and its file deleted.

use bytes::Bytes;
use restante_model::{EmailId, InboxKey};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::apply::forget_segment;
use super::super::commit::{Committer, Message, Submitted};
use super::super::index::{Index, IndexError, Rows};
use super::super::ledger::Victim;
use super::super::record::{Head, MailHead, Record};
use super::super::relocate::{Move, Moving, holds_queue, inbox_row, is_live, is_retired_by};
use super::super::rows::{BlobAt, Place};
use super::super::scan::{Bodies, Scanner, Step};
#[cfg(test)]
use super::super::tests::faults::{self, CrashPoint, Fault};
use super::super::view::View;
use super::stopped::Stopped;
use super::{Compactor, index_of};
use crate::{Part, Unavailable};
use std::time::Duration;

/// Records that are handed over at once: each is several rows of one batch.
pub(super) const CHUNK_RECORDS: usize = 64;
/// How often a segment is looked through: what changed while it was read is found the next time.
pub(super) const LOOKS: usize = 4;
/// Rows that are forgotten in one step.
const FORGET_ROWS: usize = 256;

impl Compactor {
    /// Empties a segment and deletes its file.
    pub(super) fn compact(&self, victim: Victim) -> Result<(), Stopped> {
        let segment = victim.segment;
        // The index's position must lie behind it, or a replay would begin in a file that is not there.
        if self.shared.index()?.meta()?.segment <= segment {
            return Err(Stopped::TooEarly);
        }
        self.move_queue(victim)?;
        #[cfg(test)]
        self.pass(CrashPoint::Requeued)?;
        self.empty(victim)?;
        #[cfg(test)]
        self.pass(CrashPoint::Emptied)?;
        let checked = self.upkeep(move |committer| Ok(checkpoint_without(committer, segment)?))?;
        let checked = checked.ok_or(Stopped::Needed)?;
        #[cfg(test)]
        self.pass(CrashPoint::Checkpointed)?;
        // Another index was not asked.
        let may_go = || self.shared.index_changes() == checked;
        if !self
            .shared
            .segments
            .delete(segment, may_go)
            .map_err(Stopped::Undeletable)?
        {
            return Err(Unavailable.into());
        }
        #[cfg(test)]
        self.pass(CrashPoint::Deleted)?;
        tracing::debug!(segment, moved = victim.cost, "compacted a segment");
        Ok(())
    }

    /// Moves what is live until nothing is. Nothing needs to be read, nor to be readable, if nothing is from the start.
    fn empty(&self, victim: Victim) -> Result<(), Stopped> {
        if self.shared.index()?.live_bytes(victim.segment)?.unwrap_or_default() == 0 {
            return Ok(());
        }
        for _ in 0..LOOKS {
            if self.move_live(victim)? == 0 {
                return Ok(());
            }
        }
        Err(Stopped::Needed)
    }

    /// Removes the rows about a deleted segment.
    pub(super) fn forget(&self, segment: u32) -> Result<(), Stopped> {
        while self.upkeep(move |committer| Ok(forget(committer, segment)?))? {}
        Ok(())
    }

    /// Moves every live record of a segment, and says how many there were.
    fn move_live(&self, victim: Victim) -> Result<usize, Stopped> {
        let dir = self.shared.segments.dir();
        let segment = victim.segment;
        let unreadable = |offset| move |error| Stopped::Unreadable { segment, offset, error };
        let damaged = |offset| Stopped::Damaged { segment, offset };
        #[cfg(test)]
        faults::inject(dir, Fault::Read(segment)).map_err(unreadable(0))?;
        let scanner = Scanner::open(dir, segment, 0, Bodies::Skipped).map_err(unreadable(0))?;
        let mut scanner = scanner.ok_or(damaged(0))?;
        let (mut moved, mut chunk, mut bytes) = (0, Vec::new(), 0);
        loop {
            let records = match scanner.next_call().map_err(unreadable(scanner.offset()))? {
                Step::Call(records) => records,
                Step::End => break,
                Step::Broken(_) | Step::Spoiled(_) => return Err(damaged(scanner.offset())),
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
        // What is queued was moved before, by its rows.
        if head.is_of_queue() || !is_live(index, &head, place)? {
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
            | Head::ChaosSet { .. }
            | Head::InboxReaped { .. }) => {
                let blobs = self.read_blobs(&head, place)?;
                let record = Record { head, blobs };
                Ok(vec![Moving::Other { record, from: place }])
            }
            _ => Ok(Vec::new()),
        }
    }

    fn read_inbox(&self, index: &Index, inbox: InboxKey) -> Result<Vec<Moving>, Stopped> {
        let Some(row) = inbox_row(index, inbox)? else {
            return Ok(Vec::new());
        };
        let key_at = row.key_at();
        let client_key = key_at.map(|at| self.read(at)).transpose()?;
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
                signatures.push((part, self.read(row.blob())?));
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
        let blobs = place.blobs(&head.blobs());
        blobs.into_iter().map(|at| self.read(at)).collect()
    }

    pub(super) fn read(&self, at: BlobAt) -> Result<Bytes, Stopped> {
        self.shared.segments.read(at).map_err(|error| Stopped::at(at, error))
    }

    /// Hands records to the committer, waits until they are durable, and then as long again, so that compaction
    /// takes no more than half of what the disk can do, unless it must.
    pub(super) fn hand_over(&self, chunk: Vec<Moving>, victim: Victim) -> Result<(), Stopped> {
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

    /// A point at which tests let compaction end, as a crash would.
    #[cfg(test)]
    fn pass(&self, point: CrashPoint) -> Result<(), Stopped> {
        faults::inject(&self.shared.dir, Fault::Compaction(point)).map_err(|_| Stopped::Crashed)
    }
}

/// Hands the kernel an index that does not need a segment, and says which one that is; none if it does need it.
fn checkpoint_without(committer: &mut Committer, segment: u32) -> Result<Option<u64>, IndexError> {
    let index = index_of(&committer.shared)?;
    if index.live_bytes(segment)?.unwrap_or_default() > 0 || holds_queue(&*index, segment)? {
        return Ok(None);
    }
    // What failed to write is in doubt: the sooner it is made anew, the better.
    index.flush().inspect_err(|_| committer.is_index_failed = true)?;
    Ok(Some(committer.shared.index_changes()))
}

/// Forgets a deleted segment, a bounded number of rows at a time; says whether more remain.
fn forget(committer: &mut Committer, segment: u32) -> Result<bool, IndexError> {
    let index = index_of(&committer.shared)?;
    let mut view = View::new(&index)?;
    let more = forget_segment(&mut view, segment, FORGET_ROWS)?;
    let changes = view.live_changes()?;
    view.write().inspect_err(|_| committer.is_index_failed = true)?;
    committer.shared.segments.ledger.change(&changes);
    Ok(more)
}
