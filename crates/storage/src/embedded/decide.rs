//! What each call writes: it looks at the view of the group and answers with records. It writes nothing itself.

mod accept;
mod chaos;
mod dispatch;
mod evict;
mod forget;
mod raise;
mod reap;
mod reap_webhooks;
mod redeliver;
mod settle;
mod tell;
mod webhook;

use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, InboxKey, RemovalReason, Timestamp};

use super::index::{IndexError, Rows, row};
use super::log::ENOUGH_BYTES;
use super::record::{Head, Record};
use super::rows::{IdempotencyRow, key, signature_bit};
use super::view::View;
use crate::{CreateError, NewInbox, Part};
pub(super) use accept::Accept;
pub(super) use chaos::SetChaos;
pub(super) use dispatch::Dispatch;
pub(super) use evict::{Evict, Round};
pub(super) use forget::ForgetUnheard;
use raise::Raising;
pub(super) use reap::Reap;
pub(super) use reap_webhooks::{OrphanRound, ReapWebhooks};
pub(super) use redeliver::Redeliver;
pub(super) use settle::Settle;
pub(super) use tell::Tell;
pub(super) use webhook::{CreateWebhook, RemoveWebhook, UpdateWebhook};

/// How long a repeated request is answered with what the first one made.
const IDEMPOTENCY_WINDOW: Duration = Duration::from_mins(10);

/// A call that may write.
pub(super) trait Operation: Send + 'static {
    /// What the caller is told once the records are durable.
    type Answer: Send + 'static;

    /// Bytes of content, for the size of the group.
    fn bytes(&self) -> usize {
        0
    }

    /// Decides on the state that all calls before it leave.
    fn decide(self, view: &View<'_>, room: Room) -> Result<Decision<Self::Answer>, IndexError>;
}

/// What a call writes, and its answer once that is durable.
#[derive(Debug)]
pub(super) struct Decision<A> {
    pub(super) records: Vec<Record>,
    pub(super) answer: A,
}

impl<A> Decision<A> {
    fn nothing(answer: A) -> Self {
        Self::write(Vec::new(), answer)
    }

    pub(super) fn write(records: Vec<Record>, answer: A) -> Self {
        Self { records, answer }
    }
}

/// Bytes that mail may still take above the floor of free space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room(pub(super) u64);

/// [`crate::Store::takes_mail`].
pub(super) struct TakesMail;

impl Operation for TakesMail {
    type Answer = bool;

    fn decide(self, _: &View<'_>, Room(bytes): Room) -> Result<Decision<bool>, IndexError> {
        Ok(Decision::nothing(bytes >= ENOUGH_BYTES.into()))
    }
}

/// [`crate::Store::room`].
pub(super) struct RoomLeft;

impl Operation for RoomLeft {
    type Answer = u64;

    fn decide(self, _: &View<'_>, Room(bytes): Room) -> Result<Decision<u64>, IndexError> {
        Ok(Decision::nothing(bytes))
    }
}

/// The outcome of [`Create`] before the inbox is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Creation {
    New,
    Repeated(InboxKey),
}

/// [`crate::Store::create_inbox`].
pub(super) struct Create {
    pub(super) new: NewInbox,
    /// What is done to its mail, as [`crate::chaos_json`] has it.
    pub(super) chaos: Option<Bytes>,
    pub(super) now: Timestamp,
}

impl Operation for Create {
    type Answer = Result<Creation, CreateError>;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Self::Answer>, IndexError> {
        let Self { new, chaos, now } = self;
        let inbox = &new.inbox;
        let key = inbox.key;
        if view.inbox(key)?.is_some() || view.retired(key)?.is_some() || view.reaped(key)?.is_some() {
            return Ok(Decision::nothing(Ok(Creation::New)));
        }
        if let Some(seen) = earlier(view, &new, now)? {
            return Ok(Decision::nothing(seen));
        }
        let mut expired = Vec::new();
        let holders = [
            (view.at_address(inbox.address.as_str())?, CreateError::AddressTaken),
            (view.at_hash(&inbox.hash)?, CreateError::KeyTaken),
        ];
        for (holder, taken) in holders {
            let Some(holder) = holder else { continue };
            if !view.inbox(holder)?.ok_or(IndexError::Missing)?.is_expired(now) {
                return Ok(Decision::nothing(Err(taken)));
            }
            if !expired.contains(holder.as_bytes()) {
                expired.push(*holder.as_bytes());
            }
        }
        let mut records = Record::retired(&expired, RemovalReason::Ttl, now);
        records.push(Record::created(&new, chaos));
        Ok(Decision::write(records, Ok(Creation::New)))
    }
}

/// What an earlier request with the same idempotency key means for this one.
fn earlier(
    view: &View<'_>,
    new: &NewInbox,
    now: Timestamp,
) -> Result<Option<Result<Creation, CreateError>>, IndexError> {
    let Some(idempotency) = &new.idempotency else {
        return Ok(None);
    };
    let seen: Option<IdempotencyRow> = row(view.get(&key::idempotency(&idempotency.key))?)?;
    let Some(seen) = seen else { return Ok(None) };
    if now >= Timestamp::from_unix_ms(seen.created_at).after(IDEMPOTENCY_WINDOW) {
        return Ok(None);
    }
    let inbox = InboxKey::from_bytes(seen.inbox);
    if !is_live(view, inbox, now)? {
        return Ok(None);
    }
    Ok(Some(if seen.body == idempotency.body {
        Ok(Creation::Repeated(inbox))
    } else {
        Err(CreateError::IdempotencyReused)
    }))
}

fn is_live(view: &View<'_>, inbox: InboxKey, now: Timestamp) -> Result<bool, IndexError> {
    Ok(view.inbox(inbox)?.is_some_and(|inbox| !inbox.is_expired(now)))
}

/// The sequence of an email that is or was stored.
pub(super) fn sequence_of(rows: &impl Rows, inbox: InboxKey, email: EmailId) -> Result<Option<u64>, IndexError> {
    match rows.mail(inbox, email)? {
        Some(mail) => Ok(Some(mail.sequence)),
        None => Ok(rows.deleted(inbox, email)?.map(|deleted| deleted.sequence)),
    }
}

/// [`crate::Store::mark_read`].
pub(super) struct MarkRead {
    pub(super) inbox: InboxKey,
    pub(super) email: EmailId,
    pub(super) now: Timestamp,
}

impl Operation for MarkRead {
    type Answer = bool;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<bool>, IndexError> {
        if !is_live(view, self.inbox, self.now)? {
            return Ok(Decision::nothing(false));
        }
        match view.mail(self.inbox, self.email)? {
            None => Ok(Decision::nothing(false)),
            Some(mail) if mail.is_read => Ok(Decision::nothing(true)),
            Some(_) => {
                let head = Head::MailRead {
                    inbox: *self.inbox.as_bytes(),
                    email: *self.email.as_bytes(),
                    at: self.now.unix_ms(),
                };
                Ok(Decision::write(vec![Record::bare(head)], true))
            }
        }
    }
}

/// [`crate::Store::attach`].
pub(super) struct Attach {
    pub(super) inbox: InboxKey,
    pub(super) email: EmailId,
    pub(super) part: Part,
    pub(super) bytes: Bytes,
    pub(super) now: Timestamp,
}

impl Operation for Attach {
    type Answer = bool;

    fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<bool>, IndexError> {
        if signature_bit(self.part) == 0 || !is_live(view, self.inbox, self.now)? {
            return Ok(Decision::nothing(false));
        }
        match view.mail(self.inbox, self.email)? {
            None => Ok(Decision::nothing(false)),
            Some(mail) if mail.has_signature(self.part) => Ok(Decision::nothing(true)),
            Some(_) => {
                let record = Record::signature(self.inbox, self.email, self.part, self.bytes);
                Ok(Decision::write(vec![record], true))
            }
        }
    }
}

/// [`crate::Store::delete_email`].
pub(super) struct Delete {
    pub(super) inbox: InboxKey,
    pub(super) email: EmailId,
    pub(super) reason: RemovalReason,
    pub(super) now: Timestamp,
}

impl Operation for Delete {
    type Answer = bool;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<bool>, IndexError> {
        let Some(inbox) = view.inbox(self.inbox)?.filter(|inbox| !inbox.is_expired(self.now)) else {
            return Ok(Decision::nothing(false));
        };
        let Some(mail) = view.mail(self.inbox, self.email)? else {
            return Ok(Decision::nothing(false));
        };
        let head = Head::MailDeleted {
            inbox: *self.inbox.as_bytes(),
            email: *self.email.as_bytes(),
            sequence: mail.sequence,
            reason: self.reason,
            at: self.now.unix_ms(),
        };
        let mut records = vec![Record::bare(head)];
        let emails = [*self.email.as_bytes()];
        records.extend(Raising::new(view).removals(self.inbox, &inbox, &emails, self.reason, self.now)?);
        Ok(Decision::write(records, true))
    }
}

/// [`crate::Store::retire`].
pub(super) struct Retire {
    pub(super) inboxes: Vec<InboxKey>,
    pub(super) reason: RemovalReason,
    pub(super) now: Timestamp,
}

impl Operation for Retire {
    type Answer = usize;

    /// One that has expired already is retired with the reason `ttl` and not counted: its life was over before.
    fn decide(mut self, view: &View<'_>, _room: Room) -> Result<Decision<usize>, IndexError> {
        self.inboxes.sort_unstable();
        self.inboxes.dedup();
        let (mut alive, mut expired) = (Vec::new(), Vec::new());
        for inbox in self.inboxes {
            match view.inbox(inbox)? {
                Some(row) if row.is_expired(self.now) => expired.push(*inbox.as_bytes()),
                Some(_) => alive.push(*inbox.as_bytes()),
                None => {}
            }
        }
        let mut records = Record::retired(&alive, self.reason, self.now);
        records.extend(Record::retired(&expired, RemovalReason::Ttl, self.now));
        Ok(Decision::write(records, alive.len()))
    }
}

/// [`crate::Store::retire_expired`].
pub(super) struct RetireExpired {
    pub(super) limit: usize,
    pub(super) now: Timestamp,
}

impl Operation for RetireExpired {
    type Answer = usize;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<usize>, IndexError> {
        let first_alive = self.now.unix_ms().saturating_add(1);
        let mut end = key::EXPIRY.to_vec();
        end.extend_from_slice(&first_alive.to_be_bytes());
        let rows = view.front(key::EXPIRY.to_vec()..end, self.limit)?;
        let expired: Vec<_> = rows.iter().filter_map(|(key, _)| key::last_id(key)).collect();
        Ok(Decision::write(
            Record::retired(&expired, RemovalReason::Ttl, self.now),
            expired.len(),
        ))
    }
}

/// Those of these segments that are still there.
pub(super) fn segments_there(rows: &impl Rows, segments: Vec<u32>) -> Result<Vec<u32>, IndexError> {
    let mut there = Vec::with_capacity(segments.len());
    for segment in segments {
        if rows.live_bytes(segment)?.is_some() {
            there.push(segment);
        }
    }
    Ok(there)
}
