//! Watching: the arrivals of some inboxes, live, with what was missed since an email sent first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use restante_model::{EmailId, Inbox, InboxHash, InboxKey};
use restante_storage::{Arrival, Notice, Subscription};

use crate::read::Content;
use crate::{Inboxes, ReadError};

/// Missed arrivals of one inbox that are read from the store at once.
const MISSED_CHUNK: usize = 64;
/// After so many live arrivals the watch turns to the store instead of remembering each.
const REMEMBERED: usize = 4096;

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
/// No arrival comes twice, and none is lost: a watch that lags reads the store.
/// Memory is bounded, however many emails arrive or were missed.
#[derive(Debug)]
pub struct Watch {
    inboxes: Inboxes,
    watched: HashMap<InboxKey, Arc<Inbox>>,
    subscription: Subscription,
    missed: Missed,
    /// What the store is asked for begins after this sequence: earlier emails are told, or older than the watch.
    settled: u64,
    /// Live arrivals up to this sequence are told already, or will be read from the store.
    floor: u64,
    /// Live arrivals above the floor that are told already.
    told: HashSet<EmailId>,
}

/// Arrivals to read from the store: those after the sequence `after` and up to `until`, in commit order.
#[derive(Debug, Default)]
struct Missed {
    after: u64,
    until: u64,
    ready: VecDeque<Arrival>,
}

impl Inboxes {
    /// Watches the inboxes with these hashes; unknown ones among known are ignored.
    ///
    /// With `after`, what was committed after that email comes first.
    /// An id that these inboxes never had gives no replay.
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
        // Subscribed before the store is asked, so that nothing falls between the two.
        let subscription = self.shared.bus.subscribe(watched.keys().copied().collect());
        let mut watch = Watch {
            inboxes: self.clone(),
            watched,
            subscription,
            missed: Missed::default(),
            settled: self.store().last_sequence().await.map_err(ReadError::from)?,
            floor: 0,
            told: HashSet::new(),
        };
        if let Some(sequence) = watch.sequence_of(after).await? {
            watch.settled = sequence;
            watch.catch_up().await?;
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
            let arrival = match self.next_missed().await? {
                Some(arrival) => arrival,
                None => self.next_live().await?,
            };
            let Some(inbox) = self.watched.get(&arrival.inbox) else {
                continue;
            };
            // An email that was deleted meanwhile is no longer an arrival.
            if let Some(content) = self.inboxes.headline(inbox, arrival.email).await? {
                return Ok(Watched {
                    inbox: inbox.hash,
                    email: arrival.email,
                    content,
                });
            }
        }
    }

    /// The next live arrival that was not told yet.
    async fn next_live(&mut self) -> Result<Arrival, ReadError> {
        loop {
            let notice = self.subscription.next().await.ok_or(ReadError::Unavailable)?;
            match notice {
                Notice::Mail(arrival) if arrival.sequence <= self.floor => {}
                Notice::Mail(arrival) if self.told.len() < REMEMBERED => {
                    if self.told.insert(arrival.email) {
                        return Ok(arrival);
                    }
                }
                Notice::Mail(_) | Notice::Gap => {
                    self.catch_up().await?;
                    if let Some(arrival) = self.next_missed().await? {
                        return Ok(arrival);
                    }
                }
            }
        }
    }

    /// Turns to the store for everything that is committed but not told.
    async fn catch_up(&mut self) -> Result<(), ReadError> {
        let until = self.inboxes.store().last_sequence().await?;
        self.missed = Missed {
            after: self.settled,
            until,
            ready: VecDeque::new(),
        };
        (self.settled, self.floor) = (until, until);
        Ok(())
    }

    async fn next_missed(&mut self) -> Result<Option<Arrival>, ReadError> {
        loop {
            while let Some(arrival) = self.missed.ready.pop_front() {
                if !self.told.contains(&arrival.email) {
                    return Ok(Some(arrival));
                }
            }
            if self.missed.after >= self.missed.until {
                if self.missed.until > 0 {
                    // Everything that was told is now at or below the floor.
                    self.told.clear();
                    self.missed = Missed::default();
                }
                return Ok(None);
            }
            self.read_missed().await?;
        }
    }

    /// Reads the next stretch of the commit order in which every watched inbox is complete.
    async fn read_missed(&mut self) -> Result<(), ReadError> {
        let (store, now) = (self.inboxes.store(), self.inboxes.now());
        let (mut arrivals, mut end) = (Vec::new(), self.missed.until);
        for inbox in self.watched.keys() {
            let chunk = store.arrivals(*inbox, self.missed.after, MISSED_CHUNK, now).await?;
            if chunk.len() == MISSED_CHUNK {
                end = end.min(chunk.last().map_or(end, |last| last.sequence));
            }
            arrivals.extend(chunk);
        }
        arrivals.retain(|arrival| arrival.sequence <= end);
        arrivals.sort_unstable_by_key(|arrival| arrival.sequence);
        self.missed.ready = arrivals.into();
        self.missed.after = end;
        Ok(())
    }

    async fn sequence_of(&self, email: Option<EmailId>) -> Result<Option<u64>, ReadError> {
        let Some(email) = email else { return Ok(None) };
        for inbox in self.watched.keys() {
            if let Some(sequence) = self.inboxes.store().sequence_of(*inbox, email).await? {
                return Ok(Some(sequence));
            }
        }
        Ok(None)
    }
}
