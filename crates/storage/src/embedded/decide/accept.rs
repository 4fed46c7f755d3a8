//! Storing mail, and what goes for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use restante_model::{InboxKey, Timestamp};

use super::evict::{Arrived, EVICT_EMAILS, Eviction, Round};
use super::{Decision, Operation, Raising, Room, is_live, sequence_of};
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::record::Record;
use crate::embedded::view::View;
use crate::{AcceptError, Arrival, NewEmail, Retention, Topic};

/// [`crate::Store::accept`].
pub(in super::super) struct Accept {
    pub(in super::super) emails: Vec<NewEmail>,
    pub(in super::super) retention: Retention,
    pub(in super::super) round: Arc<Round>,
    pub(in super::super) now: Timestamp,
}

impl Operation for Accept {
    type Answer = Result<Vec<Arrival>, AcceptError>;

    fn bytes(&self) -> usize {
        let blobs = |email: &NewEmail| {
            let parts: usize = email.parts.iter().map(|(_, bytes)| bytes.len()).sum();
            parts + email.event.as_ref().map_or(0, Bytes::len)
        };
        self.emails.iter().map(blobs).sum()
    }

    fn decide(self, view: &View<'_>, room: Room) -> Result<Decision<Self::Answer>, IndexError> {
        for email in &self.emails {
            if !is_live(view, email.inbox, self.now)? {
                return Ok(Decision::nothing(Err(AcceptError::Gone)));
            }
        }
        let content = self.bytes() as u64;
        let mut stored = Stored::new(view);
        for email in self.emails {
            if !stored.take(email, self.now)? {
                return Ok(Decision::nothing(Err(AcceptError::EventWanted)));
            }
        }
        if stored.records.is_empty() {
            return Ok(Decision::nothing(Ok(stored.arrivals)));
        }
        if stored.bytes() > self.retention.max_bytes {
            return Ok(Decision::nothing(Err(AcceptError::TooLarge)));
        }
        if room.0 <= content {
            return Ok(Decision::nothing(Err(AcceptError::NoRoom)));
        }
        let evicted = stored.evict(&self.retention, &self.round)?;
        let evicted = evicted.records(&mut stored.raising, self.now)?;
        stored.records.extend(evicted);
        Ok(Decision::write(stored.records, Ok(stored.arrivals)))
    }
}

/// The emails of a call as they will be stored.
struct Stored<'a, 'v> {
    view: &'a View<'v>,
    raising: Raising<'a, 'v>,
    next: u64,
    records: Vec<Record>,
    arrivals: Vec<Arrival>,
    /// Those that are new, by their inbox.
    new: BTreeMap<InboxKey, Vec<Arrived>>,
}

impl<'a, 'v> Stored<'a, 'v> {
    fn new(view: &'a View<'v>) -> Self {
        Self {
            view,
            raising: Raising::new(view),
            next: view.meta.last_sequence + 1,
            records: Vec::new(),
            arrivals: Vec::new(),
            new: BTreeMap::new(),
        }
    }

    /// Takes an email; `false` if it comes without an event that is wanted.
    fn take(&mut self, email: NewEmail, now: Timestamp) -> Result<bool, IndexError> {
        let (inbox, id) = (email.inbox, email.id);
        let mut in_this_call = self.arrivals.iter();
        let known = match in_this_call.find(|seen| (seen.inbox, seen.email) == (inbox, id)) {
            Some(seen) => Some(seen.sequence),
            None => sequence_of(self.view, inbox, id)?,
        };
        let sequence = known.unwrap_or(self.next);
        if known.is_none() {
            let is_wanted = self.raising.wants(inbox, Topic::Arrivals)?;
            if is_wanted && email.event.is_none() {
                return Ok(false);
            }
            self.add(email, sequence, is_wanted, now);
        }
        self.arrivals.push(Arrival {
            inbox,
            email: id,
            sequence,
        });
        Ok(true)
    }

    fn add(&mut self, mut email: NewEmail, sequence: u64, is_wanted: bool, now: Timestamp) {
        let (inbox, id) = (email.inbox, email.id);
        let event = email.event.take().filter(|_| is_wanted);
        let record = Record::accepted(email, sequence);
        let arrived = Arrived {
            email: id,
            sequence,
            bytes: record.len(),
        };
        self.new.entry(inbox).or_default().push(arrived);
        self.records.push(record);
        let event = event.map(|data| self.raising.arrival(inbox, id, data, now));
        self.records.extend(event);
        self.next += 1;
    }

    /// Bytes of the new emails.
    fn bytes(&self) -> u64 {
        self.new.values().flatten().map(|arrived| arrived.bytes).sum()
    }

    /// Chooses what goes for the new emails: as many as come, at least, so that an inbox that was within its limit
    /// stays within it.
    fn evict(&self, retention: &Retention, round: &Round) -> Result<Eviction<'a, 'v>, IndexError> {
        let view = self.view;
        let mut eviction = Eviction::new(view, EVICT_EMAILS.max(self.arrivals.len()));
        eviction.arrive(self.bytes());
        for (inbox, arrived) in &self.new {
            let stored = view.counts(*inbox)?.unwrap_or_default().emails;
            let left = eviction.limit_arrivals(*inbox, stored, arrived, retention.max_emails)?;
            round.see(left);
        }
        eviction.limit_bytes(retention.max_bytes)?;
        Ok(eviction)
    }
}
