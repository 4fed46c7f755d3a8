//! An obvious store in memory, to compare a backend with after any sequence of operations.

mod eviction;
mod telling;

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use restante_model::{EmailId, Inbox, RemovalReason, Timestamp, WebhookId};

use super::events::told;
use super::order::status_of;
use super::traits::{chaos, shown};
use super::{START, early_id, everything, is_shown, plain_inbox, repeatable, request};
use crate::{
    AcceptError, Arrival, CreateError, Created, Happening, NewEmail, Part, Retention, Store, StoredEmail, ThrownAway,
};

/// How long an idempotency key holds.
const WINDOW_MS: u64 = 600_000;
/// The parts that are compared.
const PARTS: [Part; 5] = [
    Part::Metadata,
    Part::Raw,
    Part::ParsedSignature,
    Part::RawSignature,
    Part::MetadataSignature,
];

/// One operation. Numbers choose among what there is, modulo how much there is.
#[derive(Debug, Clone)]
pub enum Step {
    /// Time passes.
    Advance(u64),
    /// An inbox at one of a few addresses.
    Create {
        /// Which address.
        name: u8,
        /// How long it lives.
        ttl_ms: u64,
        /// Idempotency key and body.
        idempotency: Option<(u8, u8)>,
    },
    /// A transaction for these inboxes, each a byte count of content beyond the least.
    Accept(Vec<(usize, usize)>),
    /// An email that was sent before is sent again.
    AcceptAgain(usize),
    /// An email is marked as read.
    MarkRead(usize),
    /// A signature is attached: which of [`Part::SIGNATURES`] comes second.
    Attach(usize, usize),
    /// An email is deleted.
    Delete(usize),
    /// What is done to the mail of an inbox is set: nothing with every fifth number.
    SetChaos(usize, u64),
    /// A webhook of all inboxes comes, or goes.
    Listen,
    /// Mail for inboxes is thrown away; with it, perhaps, what was last.
    Tell(Vec<usize>, bool),
    /// All events are dispatched.
    Dispatch,
    /// An inbox is retired.
    Retire(usize),
    /// Expired inboxes are retired.
    RetireExpired(usize),
    /// Retired inboxes are reaped.
    Reap(usize),
    /// Other limits hold from here on.
    Limit {
        /// Emails of an inbox.
        emails: Option<u64>,
        /// Bytes, in percent of what there is.
        percent: Option<u64>,
        /// Age.
        age_ms: Option<u64>,
    },
    /// What is beyond the limits is evicted, so much at a time.
    Evict(usize),
}

/// What the store should hold.
#[derive(Debug)]
pub struct Model {
    now: Timestamp,
    inboxes: Vec<Life>,
    /// Everything that was ever accepted.
    sent: Vec<NewEmail>,
    repeats: HashMap<u8, (usize, u8, Timestamp)>,
    sequence: u64,
    /// Emails of retired inboxes that were not reaped.
    unreaped: usize,
    retention: Retention,
    /// The webhook that hears of all arrivals.
    listener: Option<WebhookId>,
    /// What is not dispatched.
    told: Vec<telling::Told>,
    /// What was thrown away last.
    thrown: Option<ThrownAway>,
}

#[derive(Debug)]
struct Life {
    inbox: Inbox,
    is_retired: bool,
    emails: BTreeMap<EmailId, Mail>,
    deleted: HashMap<EmailId, u64>,
    /// Whether emails were evicted.
    is_evicting: bool,
}

#[derive(Debug)]
struct Mail {
    sequence: u64,
    received_at: Timestamp,
    is_read: bool,
    parts: BTreeMap<Part, Bytes>,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            now: START,
            inboxes: Vec::new(),
            sent: Vec::new(),
            repeats: HashMap::new(),
            sequence: 0,
            unreaped: 0,
            retention: Retention::UNLIMITED,
            listener: None,
            told: Vec::new(),
            thrown: None,
        }
    }
}

impl Life {
    fn is_live(&self, now: Timestamp) -> bool {
        !self.is_retired && !self.inbox.is_expired(now)
    }
}

impl Model {
    /// Does one operation on the store and here, and compares the answers.
    pub async fn step(&mut self, store: &dyn Store, step: &Step) {
        match step {
            Step::Advance(ms) => self.now = Timestamp::from_unix_ms(self.now.unix_ms() + ms),
            Step::Create {
                name,
                ttl_ms,
                idempotency,
            } => self.create(store, *name, *ttl_ms, *idempotency).await,
            Step::Accept(recipients) => self.accept_new(store, recipients).await,
            Step::AcceptAgain(number) => {
                if let Some(new) = pick(&self.sent, *number).cloned() {
                    self.accept(store, vec![new]).await;
                }
            }
            Step::MarkRead(number) => self.mark_read(store, *number).await,
            Step::Attach(number, part) => self.attach(store, *number, *part).await,
            Step::Delete(number) => self.delete(store, *number).await,
            Step::SetChaos(number, to) => self.set_chaos(store, *number, *to).await,
            Step::Listen => self.listen(store).await,
            Step::Tell(inboxes, again) => self.tell(store, inboxes, *again).await,
            Step::Dispatch => self.dispatch(store).await,
            Step::Retire(number) => self.retire(store, *number).await,
            Step::RetireExpired(limit) => self.retire_expired(store, *limit).await,
            Step::Reap(limit) => self.reap(store, *limit).await,
            Step::Limit {
                emails,
                percent,
                age_ms,
            } => self.limit(store, *emails, *percent, *age_ms).await,
            Step::Evict(limit) => self.evict(store, *limit).await,
        }
    }

    async fn create(&mut self, store: &dyn Store, name: u8, ttl_ms: u64, idempotency: Option<(u8, u8)>) {
        let mut inbox = plain_inbox(&format!("inbox{name}"), 0);
        inbox.created_at = self.now;
        inbox.spam_analysis = ttl_ms.is_multiple_of(2);
        inbox.persistent = ttl_ms.is_multiple_of(3);
        inbox.chaos = ttl_ms.is_multiple_of(5).then(|| chaos(ttl_ms));
        inbox.expires_at = match ttl_ms % 7 {
            0 => Inbox::NEVER,
            _ => Timestamp::from_unix_ms(self.now.unix_ms() + ttl_ms),
        };
        let new = match idempotency {
            Some((key, body)) => repeatable(&inbox, key, body),
            None => request(&inbox),
        };
        let created = store.create_inbox(new, self.now).await;
        if let Some((key, body)) = idempotency
            && let Some((first, first_body, at)) = self.repeats.get(&key)
            && self.now.unix_ms() < at.unix_ms() + WINDOW_MS
            && self.inboxes[*first].is_live(self.now)
        {
            let first_key = self.inboxes[*first].inbox.key;
            match created {
                Ok(Created::Repeated(inbox)) => assert!(*first_body == body && inbox.key == first_key),
                Err(CreateError::IdempotencyReused) => assert_ne!(*first_body, body),
                other => panic!("{other:?} for a repeated request"),
            }
            return;
        }
        let same_address = |life: &&mut Life| !life.is_retired && life.inbox.address == inbox.address;
        if let Some(holder) = self.inboxes.iter_mut().find(same_address) {
            if holder.is_live(self.now) {
                assert!(matches!(created, Err(CreateError::AddressTaken)), "{created:?}");
                return;
            }
            holder.is_retired = true;
            self.unreaped += holder.emails.len();
        }
        assert!(matches!(created, Ok(Created::New)), "{created:?}");
        if let Some((key, body)) = idempotency {
            self.repeats.insert(key, (self.inboxes.len(), body, self.now));
        }
        self.inboxes.push(Life {
            inbox,
            is_retired: false,
            emails: BTreeMap::new(),
            deleted: HashMap::new(),
            is_evicting: false,
        });
    }

    async fn accept_new(&mut self, store: &dyn Store, recipients: &[(usize, usize)]) {
        let mut emails = Vec::new();
        for (number, padding) in recipients {
            if let Some(life) = pick(&self.inboxes, *number) {
                let mut new = told(&life.inbox, &"x".repeat(*padding));
                if padding % 4 == 0 {
                    new.id = early_id();
                }
                // A clock that goes back now and then.
                let late_ms = u64::from(padding % 3 == 0) * 30_000;
                new.received_at = Timestamp::from_unix_ms(self.now.unix_ms() - late_ms);
                emails.push(new);
            }
        }
        if !emails.is_empty() {
            self.accept(store, emails).await;
        }
    }

    async fn accept(&mut self, store: &dyn Store, emails: Vec<NewEmail>) {
        let accepted = store.accept(emails.clone(), &self.retention, self.now).await;
        let now = self.now;
        let is_live = |new: &NewEmail| {
            self.inboxes
                .iter()
                .any(|life| life.inbox.key == new.inbox && life.is_live(now))
        };
        if !emails.iter().all(is_live) {
            assert_eq!(accepted, Err(AcceptError::Gone));
            return;
        }
        if accepted == Err(AcceptError::TooLarge) {
            return self.check_too_large(&emails);
        }
        let first = self.sequence + 1;
        let expected: Vec<_> = emails.iter().map(|new| self.keep(new)).collect();
        assert_eq!(accepted.as_ref(), Ok(&expected));
        if self.sequence >= first {
            self.evict_for(store, first).await;
        }
    }

    fn keep(&mut self, new: &NewEmail) -> Arrival {
        let mut life = self.inboxes.iter_mut().filter(|life| life.inbox.key == new.inbox);
        let life = life.next().expect("only known inboxes are sent to");
        let stored = life.emails.get(&new.id).map(|mail| mail.sequence);
        let known = stored.or(life.deleted.get(&new.id).copied());
        let sequence = known.unwrap_or(self.sequence + 1);
        if known.is_none() {
            let mail = Mail {
                sequence,
                received_at: new.received_at,
                is_read: false,
                parts: new.parts.iter().cloned().collect(),
            };
            life.emails.insert(new.id, mail);
            self.sequence = sequence;
            self.sent.push(new.clone());
            self.raise(new.inbox, new.id, Happening::Arrived);
        }
        Arrival {
            inbox: new.inbox,
            email: new.id,
            sequence,
        }
    }

    /// An email that was once sent, and the life of its inbox.
    fn pick_mail(&mut self, number: usize) -> Option<(&mut Life, EmailId)> {
        let (inbox, id) = pick(&self.sent, number).map(|new| (new.inbox, new.id))?;
        let life = self.inboxes.iter_mut().find(|life| life.inbox.key == inbox)?;
        Some((life, id))
    }

    async fn mark_read(&mut self, store: &dyn Store, number: usize) {
        let now = self.now;
        let Some((life, id)) = self.pick_mail(number) else {
            return;
        };
        let marked = store
            .mark_read(life.inbox.key, id, now)
            .await
            .expect("the store writes");
        let mail = if life.is_live(now) {
            life.emails.get_mut(&id)
        } else {
            None
        };
        assert_eq!(marked, mail.is_some());
        if let Some(mail) = mail {
            mail.is_read = true;
        }
    }

    async fn attach(&mut self, store: &dyn Store, number: usize, part: usize) {
        let now = self.now;
        let Some((life, id)) = self.pick_mail(number) else {
            return;
        };
        let part = Part::SIGNATURES[part % Part::SIGNATURES.len()];
        let signature = Bytes::from(format!("signature at {now}"));
        let attached = store
            .attach(life.inbox.key, id, part, signature.clone(), now)
            .await
            .expect("the store writes");
        let mail = if life.is_live(now) {
            life.emails.get_mut(&id)
        } else {
            None
        };
        assert_eq!(attached, mail.is_some());
        if let Some(mail) = mail {
            mail.parts.entry(part).or_insert(signature);
        }
    }

    async fn delete(&mut self, store: &dyn Store, number: usize) {
        let now = self.now;
        let Some((life, id)) = self.pick_mail(number) else {
            return;
        };
        let deleted = store.delete_email(life.inbox.key, id, RemovalReason::Manual, now).await;
        let mail = if life.is_live(now) {
            life.emails.remove(&id)
        } else {
            None
        };
        assert_eq!(deleted, Ok(mail.is_some()));
        if let Some(mail) = mail {
            life.deleted.insert(id, mail.sequence);
        }
    }

    async fn retire(&mut self, store: &dyn Store, number: usize) {
        let now = self.now;
        let Some(life) = pick_mut(&mut self.inboxes, number) else {
            return;
        };
        let retired = store.retire(&[life.inbox.key], RemovalReason::Manual, now).await;
        assert_eq!(retired, Ok(usize::from(life.is_live(now))));
        if !life.is_retired {
            life.is_retired = true;
            self.unreaped += life.emails.len();
        }
    }

    async fn retire_expired(&mut self, store: &dyn Store, limit: usize) {
        let retired = store.retire_expired(limit, self.now).await;
        let now = self.now;
        let mut expired: Vec<&mut Life> = self
            .inboxes
            .iter_mut()
            .filter(|life| !life.is_retired && life.inbox.is_expired(now))
            .collect();
        // The first to expire go first; those of the same moment in the order of their keys.
        expired.sort_by_key(|life| (life.inbox.expires_at, life.inbox.key));
        expired.truncate(limit);
        assert_eq!(retired, Ok(expired.len()));
        for life in expired {
            life.is_retired = true;
            self.unreaped += life.emails.len();
        }
    }

    async fn reap(&mut self, store: &dyn Store, limit: usize) {
        let reaped = store.reap(limit, self.now).await.expect("the store writes");
        assert!(reaped.emails <= limit && reaped.emails <= self.unreaped);
        self.unreaped -= reaped.emails;
        assert!(reaped.more || self.unreaped == 0);
    }

    /// Compares everything that the store shows.
    pub async fn check(&self, store: &dyn Store) {
        for life in &self.inboxes {
            let is_live = life.is_live(self.now);
            assert_eq!(is_shown(store, &life.inbox, self.now).await, is_live);
            self.check_mail(store, life, is_live).await;
            if is_live {
                self.check_traits(store, &life.inbox).await;
            }
        }
        let usage = store.usage().await.expect("the store reads");
        let unretired = || self.inboxes.iter().filter(|life| !life.is_retired);
        assert_eq!(usage.inboxes, unretired().count() as u64);
        assert_eq!(
            usage.emails,
            unretired().map(|life| life.emails.len() as u64).sum::<u64>()
        );
        let is_empty = usage.inboxes == 0 && self.listener.is_none() && self.told.is_empty();
        assert_eq!(usage.live_bytes == 0, is_empty);
        assert_eq!(
            store.next_expiry().await,
            Ok(unretired().filter_map(|life| life.inbox.ends_at()).min())
        );
        assert_eq!(store.last_sequence().await, Ok(self.sequence));
        self.check_eviction(store).await;
        self.check_events(store).await;
        let page = store.inboxes(None, 1000, self.now).await.expect("the store reads");
        let shown: Vec<_> = page.inboxes.iter().map(|inbox| inbox.key).collect();
        let mut live: Vec<_> = self.inboxes.iter().filter(|life| life.is_live(self.now)).collect();
        live.sort_by_key(|life| life.inbox.hash);
        assert_eq!(shown, live.iter().map(|life| life.inbox.key).collect::<Vec<_>>());
    }

    async fn check_traits(&self, store: &dyn Store, inbox: &Inbox) {
        assert_eq!(shown(store, inbox, self.now).await, inbox.chaos);
        let found = store.inbox(&inbox.address, self.now).await.expect("the store reads");
        let found = found.expect("it is shown");
        assert_eq!(
            (found.spam_analysis, found.persistent, found.expires_at),
            (inbox.spam_analysis, inbox.persistent, inbox.expires_at)
        );
    }

    async fn check_mail(&self, store: &dyn Store, life: &Life, is_live: bool) {
        let key = life.inbox.key;
        let empty = BTreeMap::new();
        let emails = if is_live { &life.emails } else { &empty };
        let page = store
            .list(key, everything(&PARTS), self.now)
            .await
            .expect("the store reads");
        assert_eq!(page.emails.len(), emails.len());
        for (stored, (id, mail)) in page.emails.iter().zip(emails.iter().rev()) {
            assert_same(stored, *id, mail);
        }
        let ids: Vec<_> = emails.keys().copied().collect();
        assert_eq!(store.sync(key, self.now).await, Ok(is_live.then(|| status_of(&ids))));
        let arrivals = store.arrivals(key, 0, 1000, self.now).await.expect("the store reads");
        let mut expected: Vec<_> = emails.iter().map(|(id, mail)| (mail.sequence, *id)).collect();
        expected.sort_unstable();
        assert_eq!(
            arrivals
                .iter()
                .map(|arrival| (arrival.sequence, arrival.email))
                .collect::<Vec<_>>(),
            expected
        );
        if is_live {
            for id in life.deleted.keys() {
                assert!(matches!(store.email(key, *id, &[], self.now).await, Ok(None)));
            }
        }
    }
}

fn assert_same(stored: &StoredEmail, id: EmailId, mail: &Mail) {
    assert_eq!(
        (stored.id, stored.is_read, stored.received_at),
        (id, mail.is_read, mail.received_at)
    );
    let parts: BTreeMap<Part, Bytes> = stored.parts.iter().cloned().collect();
    assert_eq!(parts, mail.parts);
    assert_eq!(
        stored.bytes,
        parts.values().map(|bytes| bytes.len() as u64).sum::<u64>()
    );
}

fn pick<T>(all: &[T], number: usize) -> Option<&T> {
    all.get(number.checked_rem(all.len())?)
}

fn pick_mut<T>(all: &mut [T], number: usize) -> Option<&mut T> {
    let number = number.checked_rem(all.len())?;
    all.get_mut(number)
}
