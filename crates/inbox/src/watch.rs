//! Watching: the arrivals of some inboxes, live, with what was missed since an email sent first.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use restante_model::{EmailId, Inbox, InboxHash, InboxKey};
use restante_storage::{Arrival, Notice, Subscription};

use crate::{Content, Inboxes, ReadError};

/// Missed arrivals of one inbox that are read from the store at once.
const MISSED_CHUNK: usize = 64;

/// Why a watch could not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// None of the hashes is a live inbox.
    #[error("no inbox is known by these hashes")]
    NoInbox,
    /// The inboxes could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// An email that arrived.
#[derive(Debug, Clone)]
pub struct Watched {
    /// The hash of its inbox.
    pub inbox: InboxHash,
    /// Its id.
    pub email: EmailId,
    /// Sender, recipient, subject; never more.
    pub content: Content,
}

/// A live subscription to some inboxes, each in the life it had when the watch began.
///
/// Arrivals come in the order of their commits, none twice and none lost: a watch that lags reads the store.
/// So one sequence, the cursor, says what was told, and a client that comes back with the last email it heard of goes
/// on behind it.
/// Memory is bounded, however many emails arrive or were missed.
#[derive(Debug)]
pub struct Watch {
    inboxes: Inboxes,
    watched: HashMap<InboxKey, Arc<Inbox>>,
    subscription: Subscription,
    /// Everything up to this sequence is told, or is in `missed`.
    cursor: u64,
    /// Up to this sequence the store is read; from there on the bus tells.
    until: u64,
    /// Read from the store and not told yet.
    missed: VecDeque<Arrival>,
}

impl Inboxes {
    /// Watches the inboxes with these hashes; unknown ones among known are ignored.
    ///
    /// With `after`, what was committed after that email comes first.
    /// An id that these inboxes never had gives no replay.
    /// An email that may have been evicted since gives all that is left: much came after it, and the client may hear of
    /// some of it twice.
    ///
    /// # Errors
    /// [`WatchError::NoInbox`] if no hash is known, [`WatchError::Read`].
    pub async fn watch(&self, hashes: &[InboxHash], after: Option<EmailId>) -> Result<Watch, WatchError> {
        let now = self.now();
        let mut watched = HashMap::new();
        for hash in hashes {
            if let Some(inbox) = self.store().inbox_by_hash(hash, now).await.map_err(ReadError::from)? {
                watched.insert(inbox.key, inbox);
            }
        }
        if watched.is_empty() {
            return Err(WatchError::NoInbox);
        }
        let subscription = self.shared.bus.subscribe(watched.keys().copied().collect());
        let position = subscription.position();
        let mut watch = Watch {
            inboxes: self.clone(),
            watched,
            subscription,
            cursor: position,
            until: position,
            missed: VecDeque::new(),
        };
        if let Some(sequence) = watch.sequence_of(after).await? {
            watch.cursor = sequence;
        }
        Ok(watch)
    }
}

impl Watch {
    /// Waits for the next arrival. Not cancel safe: an arrival may be lost with the future.
    ///
    /// # Errors
    /// [`ReadError`] when the store cannot be read: the watch should end, and its client come back.
    pub async fn next(&mut self) -> Result<Watched, ReadError> {
        loop {
            let arrival = self.next_arrival().await?;
            let Some(inbox) = self.watched.get(&arrival.inbox) else {
                continue;
            };
            match self.inboxes.headline(inbox, arrival.email).await {
                Ok(Some(content)) => {
                    return Ok(Watched {
                        inbox: inbox.hash,
                        email: arrival.email,
                        content,
                    });
                }
                // An email that was deleted meanwhile is no longer an arrival.
                Ok(None) => {}
                // One that cannot be read must not keep its client from those behind it.
                Err(ReadError::Damaged(_)) => {
                    tracing::error!(email = %arrival.email, "a stored email is damaged: no stream tells it");
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn next_arrival(&mut self) -> Result<Arrival, ReadError> {
        loop {
            if let Some(arrival) = self.missed.pop_front() {
                return Ok(arrival);
            }
            if self.cursor < self.until {
                self.read_missed().await?;
                continue;
            }
            match self.subscription.next().await.ok_or(ReadError::Unavailable)? {
                Notice::Mail(arrival) if arrival.sequence > self.cursor => {
                    self.cursor = arrival.sequence;
                    return Ok(arrival);
                }
                Notice::Mail(_) => {}
                Notice::Gap => self.until = self.inboxes.shared.bus.position(),
            }
        }
    }

    /// Reads the next stretch of the commit order in which every watched inbox is complete.
    async fn read_missed(&mut self) -> Result<(), ReadError> {
        let (store, now) = (self.inboxes.store(), self.inboxes.now());
        let (mut arrivals, mut end) = (Vec::new(), self.until);
        for inbox in self.watched.keys() {
            let chunk = store.arrivals(*inbox, self.cursor, MISSED_CHUNK, now).await?;
            if chunk.len() == MISSED_CHUNK {
                end = end.min(chunk.last().map_or(end, |last| last.sequence));
            }
            arrivals.extend(chunk);
        }
        arrivals.retain(|arrival| arrival.sequence <= end);
        arrivals.sort_unstable_by_key(|arrival| arrival.sequence);
        self.missed = arrivals.into();
        self.cursor = end;
        Ok(())
    }

    async fn sequence_of(&self, email: Option<EmailId>) -> Result<Option<u64>, ReadError> {
        let Some(email) = email else { return Ok(None) };
        let mut found = None;
        for inbox in self.watched.keys() {
            // One that knows the email knows better than one that may have evicted it and says 0.
            found = found.max(self.inboxes.store().sequence_of(*inbox, email).await?);
        }
        Ok(found)
    }
}
