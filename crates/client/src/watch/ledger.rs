//! The inboxes of a subscription, what was seen of each, and what is still to be handed over.
//!
//! Invariant: an email is seen from the step on in which it is queued, and the queue is lost only with the
//! subscription; so an email is handed over once, whatever else is interrupted.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use restante_model::{EmailId, InboxHash};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::comparison::{self, Difference};
use super::seen::Seen;
use super::{Arrival, Ended, Existing};
use crate::record::{EmailRecord, StreamRecord};
use crate::{EmailSummary, Error, Inbox};

/// What is handed to the subscriber.
pub(super) type Item = Result<Arrival, Error>;

/// The inboxes by their hashes.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    followed: BTreeMap<InboxHash, Followed>,
    /// In arrival order, over all inboxes.
    queue: BTreeMap<(EmailId, InboxHash), (Inbox, Unread)>,
    /// Handed over after the queue.
    notices: VecDeque<Error>,
    /// The last inbox was lost, not removed.
    all_lost: bool,
}

/// One inbox.
#[derive(Debug)]
pub(super) struct Followed {
    pub(super) inbox: Inbox,
    pub(super) seen: Seen,
}

/// An inbox to follow, and its emails before.
#[derive(Debug)]
pub(super) struct Baseline {
    inbox: Inbox,
    before: Difference,
    existing: Existing,
}

/// An email as it came.
#[derive(Debug)]
enum Unread {
    Listed(EmailRecord),
    Heard(StreamRecord),
}

impl Baseline {
    pub(super) async fn take(inbox: &Inbox, existing: Existing) -> Result<Self, Error> {
        // What opens sealed mail is known before the first one comes.
        inbox.reader().await?;
        let before = match existing {
            Existing::Skip => comparison::ids(inbox).await?,
            Existing::Deliver => {
                let mut before = Difference::default();
                comparison::compare(inbox, &Seen::default(), &mut before).await?;
                before
            }
        };
        Ok(Self {
            inbox: inbox.clone(),
            before,
            existing,
        })
    }
}

impl Ledger {
    /// Follows an inbox from its baseline on, unless it is followed already.
    ///
    /// One made anew takes the place of the former; what was handed over of it already is not handed over again.
    pub(super) fn add(&mut self, baseline: Baseline) {
        let Baseline {
            inbox,
            mut before,
            existing,
        } = baseline;
        let hash = inbox.hash();
        // It is as old as the baseline, and what is held may be newer: the next comparison forgets what is gone.
        let listed = before.listed.take();
        let followed = match self.followed.entry(hash) {
            Entry::Occupied(known) if is_one_life(&known.get().inbox, &inbox) => return,
            Entry::Occupied(known) => {
                before.told = None;
                let followed = known.into_mut();
                followed.inbox = inbox;
                followed
            }
            Entry::Vacant(place) => place.insert(Followed {
                inbox,
                seen: Seen::default(),
            }),
        };
        self.all_lost = false;
        if existing == Existing::Skip {
            for id in listed.into_iter().flatten() {
                followed.seen.list(id);
            }
        }
        self.list(hash, before);
    }

    /// Follows an inbox no longer; what is queued of it is not handed over.
    pub(super) fn remove(&mut self, hash: InboxHash) {
        self.followed.remove(&hash);
        self.queue.retain(|(_, inbox), _| *inbox != hash);
    }

    /// Follows an inbox no longer, because the server does not know it; what is queued of it is handed over before.
    pub(super) fn lose(&mut self, hash: InboxHash, error: Error) {
        if self.followed.remove(&hash).is_some() {
            self.notices.push_back(error);
            self.all_lost = self.followed.is_empty();
        }
    }

    /// Says something that ends nothing.
    pub(super) fn notice(&mut self, error: Error) {
        self.notices.push_back(error);
    }

    /// The inboxes.
    pub(super) fn followed(&self) -> &BTreeMap<InboxHash, Followed> {
        &self.followed
    }

    /// Queues what was not seen, and forgets what is not there any more.
    pub(super) fn list(&mut self, hash: InboxHash, difference: Difference) {
        let Some(Followed { inbox, seen }) = self.followed.get_mut(&hash) else {
            return;
        };
        if let Some(listed) = &difference.listed {
            seen.keep_only(listed, Instant::now());
        }
        for (id, record) in difference.unseen {
            if seen.list(id) {
                self.queue.insert((id, hash), (inbox.clone(), Unread::Listed(record)));
            }
        }
        seen.note(difference.told);
    }

    /// Queues what the stream tells of, if it was not seen.
    pub(super) fn hear(&mut self, record: StreamRecord) {
        let (hash, id) = (record.inbox_id, record.email_id);
        let Some(Followed { inbox, seen }) = self.followed.get_mut(&hash) else {
            return;
        };
        if seen.hear(id) {
            self.queue.insert((id, hash), (inbox.clone(), Unread::Heard(record)));
        }
    }

    /// A stream that was asked for at this moment is the only one from now on.
    pub(super) fn begin_stream(&mut self, asked_at: Instant) {
        for followed in self.followed.values_mut() {
            followed.seen.begin_stream(asked_at);
        }
    }

    /// No stream that was asked for before this moment is left.
    pub(super) fn forget_gone(&mut self, before: Instant) {
        for followed in self.followed.values_mut() {
            followed.seen.forget_gone(before);
        }
    }

    /// Hands over everything that is queued, as fast as it is taken. May be interrupted anywhere.
    pub(super) async fn hand_over(&mut self, outlet: &mpsc::Sender<Item>) -> Result<(), Ended> {
        while let Some(next) = self.queue.first_entry() {
            let permit = outlet.reserve().await.map_err(|_| Ended::Abandoned)?;
            let (inbox, unread) = next.get();
            let email = unread.open(inbox).await;
            let (inbox, _) = next.remove();
            permit.send(email.map(|email| Arrival { inbox, email }));
        }
        while !self.notices.is_empty() {
            let permit = outlet.reserve().await.map_err(|_| Ended::Abandoned)?;
            if let Some(error) = self.notices.pop_front() {
                permit.send(Err(error));
            }
        }
        if self.all_lost { Err(Ended::AllLost) } else { Ok(()) }
    }
}

/// Whether two handles with one hash are of one inbox: a plain one made anew at its address has the same hash.
fn is_one_life(one: &Inbox, other: &Inbox) -> bool {
    one.expires_at() == other.expires_at()
}

impl Unread {
    async fn open(&self, inbox: &Inbox) -> Result<EmailSummary, Error> {
        let reader = inbox.reader().await?;
        let record = match self {
            Self::Listed(record) => return inbox.summary(record, reader),
            Self::Heard(record) => record,
        };
        let unexpected = |reason| inbox.client().unexpected("events", reason);
        let part = record.metadata();
        let part = part.ok_or_else(|| unexpected("an event has no metadata"))?;
        let metadata = inbox.metadata(part, reader)?;
        // A genuine document of another email is not this one's.
        if metadata.id != record.email_id {
            return Err(unexpected("an event has the metadata of another email"));
        }
        Ok(EmailSummary {
            id: record.email_id,
            inbox_id: record.inbox_id,
            received_at: metadata.received_at,
            is_read: false,
            metadata,
        })
    }
}
