//! What goes when a limit is exceeded: the oldest emails.
//!
//! Of an inbox that is always the start of its commit sequence, so one record says it, however much goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use restante_model::{EmailId, InboxKey, RemovalReason, Timestamp};

use super::{Decision, Operation, Raising, Room};
use crate::embedded::apply::record_bytes;
use crate::embedded::index::{IndexError, Row, Rows, inbox_key};
use crate::embedded::record::{Head, Record};
use crate::embedded::rows::{CountRow, decode, key};
use crate::embedded::view::View;
use crate::{Evicted, Retention, Topic};

/// Emails that one call removes, at most, whatever limit it is called with: each is several rows of one batch
/// (see [`crate::embedded::view::BATCH_ROWS`]).
pub(super) const EVICT_EMAILS: usize = 256;
/// Inboxes that one call of [`Evict`] looks at for too many emails.
const ROUND_INBOXES: usize = 1024;

/// [`crate::Store::evict`].
pub(in super::super) struct Evict {
    pub(in super::super) retention: Retention,
    pub(in super::super) limit: usize,
    pub(in super::super) round: Arc<Round>,
    pub(in super::super) now: Timestamp,
}

impl Operation for Evict {
    type Answer = Evicted;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Evicted>, IndexError> {
        let Self { retention, now, .. } = self;
        let mut eviction = Eviction::new(view, self.limit.min(EVICT_EMAILS));
        let is_young = match retention.max_age {
            Some(age) => eviction.limit_age(|received_at| now >= received_at.after(age))?,
            None => true,
        };
        let is_small = eviction.limit_bytes(retention.max_bytes)?;
        let is_few = eviction.limit_counts(&self.round, retention.max_emails)?;
        let answer = Evicted {
            emails: eviction.emails,
            more: !(is_young && is_small && is_few),
        };
        let records = eviction.records(&mut Raising::new(view), now)?;
        Ok(Decision::write(records, answer))
    }
}

/// An email that the call under way brings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    pub(super) email: EmailId,
    pub(super) sequence: u64,
    /// Of its record.
    pub(super) bytes: u64,
}

/// Chooses emails to remove; the view still has them.
pub(super) struct Eviction<'a, 'v> {
    view: &'a View<'v>,
    /// Emails that may still be chosen.
    budget: usize,
    /// Emails chosen.
    emails: usize,
    /// Bytes of all emails without the chosen ones.
    bytes: u64,
    /// Inboxes that emails were chosen of, or will be.
    begun: BTreeMap<InboxKey, Begun>,
    /// When the first email that is left of each of these arrived.
    fronts: BTreeSet<(u64, InboxKey)>,
    /// The key up to which the rows of oldest emails were looked at.
    looked_at: Vec<u8>,
}

/// An inbox that emails are chosen of.
struct Begun {
    /// Everything up to here is chosen.
    through: Option<u64>,
    /// Those that are.
    chosen: Vec<[u8; 16]>,
    /// The first that is not.
    first: Option<First>,
}

/// The first email of an inbox.
#[derive(Clone, Copy)]
struct First {
    email: EmailId,
    sequence: u64,
    received_at: u64,
    bytes: u64,
}

impl<'a, 'v> Eviction<'a, 'v> {
    pub(super) fn new(view: &'a View<'v>, budget: usize) -> Self {
        Self {
            view,
            budget,
            emails: 0,
            bytes: view.meta.mail_bytes,
            begun: BTreeMap::new(),
            fronts: BTreeSet::new(),
            looked_at: key::OLDEST.to_vec(),
        }
    }

    /// Counts emails that the view does not have yet.
    pub(super) fn arrive(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// The records that remove what was chosen, and tell webhooks of it.
    pub(super) fn records(&self, raising: &mut Raising<'_, '_>, now: Timestamp) -> Result<Vec<Record>, IndexError> {
        let mut records = Vec::new();
        for (inbox, begun) in &self.begun {
            let Some(through) = begun.through else { continue };
            records.push(Record::bare(Head::MailEvicted {
                inbox: *inbox.as_bytes(),
                through,
                at: now.unix_ms(),
            }));
            if !raising.wants(*inbox, Topic::Removals)? {
                continue;
            }
            let row = self.view.inbox(*inbox)?.ok_or(IndexError::Missing)?;
            records.extend(raising.removals(*inbox, &row, &begun.chosen, RemovalReason::Eviction, now)?);
        }
        Ok(records)
    }

    /// Brings an inbox with `stored` emails that gets `arrived` more down to its limit, and says how many are left.
    pub(super) fn limit_arrivals(
        &mut self,
        inbox: InboxKey,
        stored: u64,
        arrived: &[Arrived],
        max_emails: u64,
    ) -> Result<u64, IndexError> {
        let mut left = stored + arrived.len() as u64;
        while left > max_emails && self.choose(inbox)? {
            left -= 1;
        }
        for email in arrived {
            if left <= max_emails || self.budget == 0 {
                break;
            }
            let begun = self.begin(inbox)?;
            begun.through = Some(email.sequence);
            begun.chosen.push(*email.email.as_bytes());
            left -= 1;
            self.count(email.bytes);
        }
        Ok(left)
    }

    /// Chooses the oldest of all as long as they take more than so many bytes; says whether they do no more.
    pub(super) fn limit_bytes(&mut self, max_bytes: u64) -> Result<bool, IndexError> {
        while self.bytes > max_bytes {
            let Some((_, inbox)) = self.oldest()? else {
                return Ok(true);
            };
            if !self.choose(inbox)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Chooses the oldest of all as long as it is too old; says whether it is so no more.
    fn limit_age(&mut self, is_old: impl Fn(Timestamp) -> bool) -> Result<bool, IndexError> {
        while let Some((received_at, inbox)) = self.oldest()? {
            if !is_old(Timestamp::from_unix_ms(received_at)) {
                break;
            }
            if !self.choose(inbox)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on with the round, and says whether every inbox was seen within the limit.
    fn limit_counts(&mut self, round: &Round, max_emails: u64) -> Result<bool, IndexError> {
        let mut progress = round.go_on(max_emails);
        let Some(from) = progress.next.clone() else {
            return Ok(true);
        };
        let rows = self.view.range(from..key::end_of(key::COUNTS), ROUND_INBOXES)?;
        for (name, value) in &rows {
            let inbox = name.get(1..).and_then(inbox_key).ok_or(IndexError::Missing)?;
            let counts: CountRow = decode(value)?;
            if !self.limit_count(inbox, counts.emails, max_emails)? {
                progress.next = Some(name.to_vec());
                return Ok(false);
            }
        }
        progress.next = match rows.last() {
            Some((name, _)) if rows.len() == ROUND_INBOXES => Some([name.as_ref(), &[0]].concat()),
            _ => None,
        };
        Ok(progress.next.is_none())
    }

    /// Brings a live inbox down to its limit; says whether that was possible.
    fn limit_count(&mut self, inbox: InboxKey, emails: u64, max_emails: u64) -> Result<bool, IndexError> {
        let mut left = emails - self.begun.get(&inbox).map_or(0, |begun| begun.chosen.len() as u64);
        if left <= max_emails || self.view.inbox(inbox)?.is_none() {
            return Ok(true);
        }
        while left > max_emails {
            if !self.choose(inbox)? {
                return Ok(false);
            }
            left -= 1;
        }
        Ok(true)
    }

    /// The inbox whose first email is the oldest, and when that arrived.
    fn oldest(&mut self) -> Result<Option<(u64, InboxKey)>, IndexError> {
        let next = loop {
            let rows = self.look()?;
            let Some((name, _)) = rows.first() else { break None };
            let received_at = key::number_at(name, 0).ok_or(IndexError::Missing)?;
            let inbox = InboxKey::from_bytes(key::last_id(name).ok_or(IndexError::Missing)?);
            if !self.begun.contains_key(&inbox) {
                break Some((received_at, inbox));
            }
            self.looked_at = [name.as_ref(), &[0]].concat();
        };
        let front = self.fronts.first().copied();
        Ok(next.into_iter().chain(front).min())
    }

    /// The row of the oldest email that was not looked at.
    fn look(&self) -> Result<Vec<Row>, IndexError> {
        let keys = self.looked_at.clone()..key::end_of(key::OLDEST);
        if self.looked_at == key::OLDEST {
            self.view.front(keys, 1)
        } else {
            self.view.range(keys, 1)
        }
    }

    /// Chooses the first email of an inbox; `false` if there is none, or the budget is spent.
    fn choose(&mut self, inbox: InboxKey) -> Result<bool, IndexError> {
        if self.budget == 0 {
            return Ok(false);
        }
        let view = self.view;
        let begun = self.begin(inbox)?;
        let Some(first) = begun.first else { return Ok(false) };
        begun.through = Some(first.sequence);
        begun.chosen.push(*first.email.as_bytes());
        begun.first = first_behind(view, inbox, first.sequence)?;
        let next = begun.first;
        self.fronts.remove(&(first.received_at, inbox));
        self.fronts.extend(next.map(|next| (next.received_at, inbox)));
        self.count(first.bytes);
        Ok(true)
    }

    fn count(&mut self, bytes: u64) {
        self.budget -= 1;
        self.emails += 1;
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    fn begin(&mut self, inbox: InboxKey) -> Result<&mut Begun, IndexError> {
        use std::collections::btree_map::Entry;
        match self.begun.entry(inbox) {
            Entry::Occupied(begun) => Ok(begun.into_mut()),
            Entry::Vacant(place) => {
                let first = first_of(self.view, inbox)?;
                self.fronts.extend(first.map(|first| (first.received_at, inbox)));
                Ok(place.insert(Begun {
                    through: None,
                    chosen: Vec::new(),
                    first,
                }))
            }
        }
    }
}

/// The first email of an inbox.
fn first_of(view: &View<'_>, inbox: InboxKey) -> Result<Option<First>, IndexError> {
    match view.counts(inbox)?.and_then(|counts| counts.oldest) {
        // Not from the start of the inbox: what went before left marks there.
        Some(oldest) => first_behind(view, inbox, oldest.sequence.saturating_sub(1)),
        None => Ok(None),
    }
}

/// The first email of an inbox behind a sequence.
fn first_behind(view: &View<'_>, inbox: InboxKey, sequence: u64) -> Result<Option<First>, IndexError> {
    let keys = key::sequence(inbox, sequence + 1)..key::end_of(&key::sequences(inbox));
    let rows = view.range(keys, 1)?;
    let Some((_, value)) = rows.first() else {
        return Ok(None);
    };
    let email = EmailId::from_bytes(value.as_ref().try_into().map_err(|_| IndexError::Missing)?);
    let mail = view.mail(inbox, email)?.ok_or(IndexError::Missing)?;
    Ok(Some(First {
        email,
        sequence: mail.sequence,
        received_at: mail.received_at,
        bytes: record_bytes(view, (inbox, email), &mail)?,
    }))
}

/// How far inboxes were looked at for too many emails.
///
/// [`super::Accept`] keeps what was within the limit within it, so one round is enough as long as the limit stays:
/// then nothing has to be looked at any more.
#[derive(Debug)]
pub(in super::super) struct Round(Mutex<Progress>);

#[derive(Debug)]
struct Progress {
    max_emails: u64,
    /// The inbox to go on with; none once all were seen.
    next: Option<Vec<u8>>,
}

impl Progress {
    fn from_the_start(max_emails: u64) -> Self {
        Self {
            max_emails,
            next: Some(key::COUNTS.to_vec()),
        }
    }
}

impl Round {
    pub(in super::super) fn new() -> Self {
        Self(Mutex::new(Progress::from_the_start(u64::MAX)))
    }

    /// Begins anew: what was decided may not have happened.
    pub(in super::super) fn restart(&self) {
        let mut progress = self.lock();
        *progress = Progress::from_the_start(progress.max_emails);
    }

    /// An inbox holds so many emails now: another limit than the one of the round may have held for it.
    pub(super) fn see(&self, emails: u64) {
        let mut progress = self.lock();
        if emails > progress.max_emails {
            *progress = Progress::from_the_start(progress.max_emails);
        }
    }

    fn go_on(&self, max_emails: u64) -> MutexGuard<'_, Progress> {
        let mut progress = self.lock();
        if progress.max_emails != max_emails {
            *progress = Progress::from_the_start(max_emails);
        }
        progress
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
