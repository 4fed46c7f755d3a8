//! Storing mail, and what goes for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use restante_model::{InboxKey, Timestamp};

use super::evict::{Arrived, EVICT_EMAILS, Eviction, Round};
use super::{Decision, Operation, Room, is_live, sequence_of};
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::record::Record;
use crate::embedded::view::View;
use crate::{AcceptError, Arrival, NewEmail, Retention};

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
        let mut stored = Stored::new(view, self.emails)?;
        if stored.records.is_empty() {
            return Ok(Decision::nothing(Ok(stored.arrivals)));
        }
        if stored.bytes() > self.retention.max_bytes {
            return Ok(Decision::nothing(Err(AcceptError::TooLarge)));
        }
        if room.0 <= content {
            return Ok(Decision::nothing(Err(AcceptError::NoRoom)));
        }
        let evicted = stored.evict(view, &self.retention, &self.round)?;
        stored.records.extend(evicted.records(self.now));
        Ok(Decision::write(stored.records, Ok(stored.arrivals)))
    }
}

/// The emails of a call as they will be stored.
#[derive(Default)]
struct Stored {
    records: Vec<Record>,
    arrivals: Vec<Arrival>,
    /// Those that are new, by their inbox.
    new: BTreeMap<InboxKey, Vec<Arrived>>,
}

impl Stored {
    fn new(view: &View<'_>, emails: Vec<NewEmail>) -> Result<Self, IndexError> {
        let mut stored = Self::default();
        let mut next = view.meta.last_sequence + 1;
        for email in emails {
            let (inbox, id) = (email.inbox, email.id);
            let mut in_this_call = stored.arrivals.iter();
            let known = match in_this_call.find(|seen| (seen.inbox, seen.email) == (inbox, id)) {
                Some(seen) => Some(seen.sequence),
                None => sequence_of(view, inbox, id)?,
            };
            let sequence = known.unwrap_or(next);
            if known.is_none() {
                stored.add(inbox, Record::accepted(email, sequence), sequence);
                next += 1;
            }
            stored.arrivals.push(Arrival {
                inbox,
                email: id,
                sequence,
            });
        }
        Ok(stored)
    }

    fn add(&mut self, inbox: InboxKey, record: Record, sequence: u64) {
        let bytes = record.len();
        self.new.entry(inbox).or_default().push(Arrived { sequence, bytes });
        self.records.push(record);
    }

    /// Bytes of the new emails.
    fn bytes(&self) -> u64 {
        self.new.values().flatten().map(|arrived| arrived.bytes).sum()
    }

    /// Chooses what goes for the new emails: as many as come, at least, so that an inbox that was within its limit
    /// stays within it.
    fn evict<'a, 'v>(
        &self,
        view: &'a View<'v>,
        retention: &Retention,
        round: &Round,
    ) -> Result<Eviction<'a, 'v>, IndexError> {
        let mut eviction = Eviction::new(view, EVICT_EMAILS.max(self.records.len()));
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
