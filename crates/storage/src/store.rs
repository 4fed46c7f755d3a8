//! The [`Store`] trait: what every backend promises.

use std::sync::Arc;
use std::time::Duration;

use crate::WebhookStore;
use async_trait::async_trait;
use bytes::Bytes;
use restante_model::{ChaosConfig, EmailId, Inbox, InboxAddress, InboxHash, InboxKey, RemovalReason, Timestamp};

/// Keeps inboxes and their mail, and what webhooks are to be told of it.
///
/// Rules for every method:
/// what it wrote is durable when it returns `Ok`, and visible to every next read;
/// it is one atomic step, all or nothing;
/// repeating a write with the same ids is harmless;
/// nothing of an inbox is visible once it has expired or was retired;
/// no call does unbounded work or gives an unbounded answer;
/// `now` comes from the caller.
#[async_trait]
pub trait Store: WebhookStore {
    /// Takes an address, and the hash with it, for a new inbox.
    ///
    /// An expired inbox at the address does not count: it is retired in the same step.
    /// With an [`Idempotency`] that a live inbox was created with in the last 10 minutes, that inbox is the answer.
    ///
    /// # Errors
    /// [`CreateError::AddressTaken`], [`CreateError::KeyTaken`] when a live inbox has the same hash,
    /// [`CreateError::IdempotencyReused`] when the key came with another body, [`CreateError::Unavailable`].
    async fn create_inbox(&self, new: NewInbox, now: Timestamp) -> Result<Created, CreateError>;

    /// The live inbox at an address.
    async fn inbox(&self, address: &InboxAddress, now: Timestamp) -> Result<Option<Arc<Inbox>>, ReadError>;

    /// The live inbox with a hash.
    async fn inbox_by_hash(&self, hash: &InboxHash, now: Timestamp) -> Result<Option<Arc<Inbox>>, ReadError>;

    /// Up to `limit` live inboxes in the order of their hashes, those after `after`.
    async fn inboxes(&self, after: Option<InboxHash>, limit: usize, now: Timestamp) -> Result<InboxPage, ReadError>;

    /// Sets what is done to the mail of a live inbox; `None` is nothing. `false` if there is no such inbox.
    async fn set_chaos(
        &self,
        inbox: InboxKey,
        chaos: Option<Arc<ChaosConfig>>,
        now: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Raises the events of mail that is not stored, for the webhooks that want to hear of arrivals: they hear
    /// `email.received` and nothing more. All of them or none.
    ///
    /// One whose inbox is gone, or that no enabled webhook wants, is passed over; so is a repetition, as long as the
    /// event is there. The order of events is that of the calls, together with those of [`Store::accept`].
    ///
    /// # Errors
    /// [`TellError::NoRoom`] below the floor of free space, if there is anything to tell; [`TellError::Unavailable`].
    /// Nothing is told then, or, for the latter, perhaps: repeat with the same ids.
    async fn tell(&self, arrivals: Vec<ThrownAway>, now: Timestamp) -> Result<(), TellError>;

    /// Stores all emails of a transaction, one for each recipient inbox, in one step.
    ///
    /// Each gets the next commit sequence, in the order given; the answer holds them in that order.
    /// An email that is already stored, or was deleted, is left as it is and keeps its sequence; one that was evicted
    /// since is stored anew.
    /// What is beyond a limit of [`Retention`] then goes in the same step, a bounded number of emails:
    /// [`Store::evict`] removes what remains.
    /// An email of this call goes only if the call alone brings an inbox more than [`Retention::max_emails`].
    ///
    /// # Errors
    /// [`AcceptError::Gone`] if any inbox is retired or expired, [`AcceptError::TooLarge`],
    /// [`AcceptError::NoRoom`] below the floor of free space, [`AcceptError::EventWanted`] if an email comes without an
    /// event that some enabled webhook wants, [`AcceptError::Unavailable`];
    /// nothing is stored or removed then, or, for the last, perhaps: repeat with the same ids.
    async fn accept(
        &self,
        emails: Vec<NewEmail>,
        retention: &Retention,
        now: Timestamp,
    ) -> Result<Vec<Arrival>, AcceptError>;

    /// Emails of an inbox, newest first; empty for an inbox that is gone.
    ///
    /// A damaged part is left out, so that one email does not hide the others; [`Store::email`] tells.
    async fn list(&self, inbox: InboxKey, page: ListPage, now: Timestamp) -> Result<EmailPage, ReadError>;

    /// One email with the wanted parts; a part that it does not have is left out.
    async fn email(
        &self,
        inbox: InboxKey,
        email: EmailId,
        parts: &[Part],
        now: Timestamp,
    ) -> Result<Option<StoredEmail>, ReadError>;

    /// How many emails an inbox holds, and the hash over their ids; `None` when the inbox is gone.
    async fn sync(&self, inbox: InboxKey, now: Timestamp) -> Result<Option<SyncStatus>, ReadError>;

    /// The commit sequence of the last email stored anywhere; 0 before the first.
    async fn last_sequence(&self) -> Result<u64, ReadError>;

    /// The commit sequence of an email of the inbox, also of a deleted one until the inbox is reaped.
    ///
    /// Evicted emails are not remembered one by one: of an unknown email of an inbox that some were evicted from, it is
    /// 0, as all that is left may have been committed after it.
    async fn sequence_of(&self, inbox: InboxKey, email: EmailId) -> Result<Option<u64>, ReadError>;

    /// Up to `limit` emails of the inbox that were committed after the sequence `after`, in commit order.
    async fn arrivals(
        &self,
        inbox: InboxKey,
        after: u64,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Arrival>, ReadError>;

    /// Marks an email as read; `false` if there is no such email.
    async fn mark_read(&self, inbox: InboxKey, email: EmailId, now: Timestamp) -> Result<bool, Unavailable>;

    /// Adds a signature part (one of [`Part::SIGNATURES`]) to an email.
    ///
    /// The first one stays; `false` if there is no such email.
    async fn attach(
        &self,
        inbox: InboxKey,
        email: EmailId,
        part: Part,
        bytes: Bytes,
        now: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Deletes an email; `true` exactly once.
    async fn delete_email(
        &self,
        inbox: InboxKey,
        email: EmailId,
        reason: RemovalReason,
        now: Timestamp,
    ) -> Result<bool, Unavailable>;

    /// Ends the life of inboxes: their addresses and hashes are free and their mail is invisible at once.
    ///
    /// The work does not depend on the amount of mail; [`Store::reap`] removes it.
    /// Gives back how many were still alive.
    async fn retire(&self, inboxes: &[InboxKey], reason: RemovalReason, now: Timestamp) -> Result<usize, Unavailable>;

    /// Retires up to `limit` inboxes that have expired, with the reason `ttl`, and says how many.
    async fn retire_expired(&self, limit: usize, now: Timestamp) -> Result<usize, Unavailable>;

    /// Removes up to `limit` emails of retired inboxes, and retired inboxes without mail.
    ///
    /// A backend may do less in one call, however large the limit: [`Reaped::more`] says whether to call again.
    async fn reap(&self, limit: usize, now: Timestamp) -> Result<Reaped, Unavailable>;

    /// Removes up to `limit` emails that are beyond a limit of [`Retention`], with the reason `eviction`.
    ///
    /// A backend may do less in one call, however large the limit: [`Evicted::more`] says whether to call again.
    async fn evict(&self, retention: &Retention, limit: usize, now: Timestamp) -> Result<Evicted, Unavailable>;

    /// When the oldest email of a live inbox arrived: with [`Retention::max_age`] it is the next to go.
    async fn oldest_email(&self) -> Result<Option<Timestamp>, ReadError>;

    /// When the newest email of a live inbox arrived: of those that were committed last in theirs.
    async fn newest_email(&self) -> Result<Option<Timestamp>, ReadError>;

    /// When the next live inbox expires; none that never does.
    async fn next_expiry(&self) -> Result<Option<Timestamp>, ReadError>;

    /// What the store holds.
    async fn usage(&self) -> Result<Usage, ReadError>;

    /// Whether the last write to disk succeeded; `false` until a failed backend has reopened itself.
    fn is_available(&self) -> bool;

    /// Whether mail of usual size is taken: the store is available, and its disk has room above the floor of free space.
    ///
    /// The answer stands in line with the calls that write, so a disk that does not answer keeps it waiting too.
    async fn takes_mail(&self) -> bool;

    /// Bytes that mail may still take on the disk, above the floor of free space.
    ///
    /// Like [`Store::takes_mail`] it stands in line with the calls that write.
    async fn room(&self) -> Result<u64, Unavailable>;

    /// Ends the store: what is queued is written, synced, and later calls are [`Unavailable`].
    async fn close(&self);
}

/// An inbox to create.
#[derive(Debug, Clone)]
pub struct NewInbox {
    /// The inbox; its key must be new.
    pub inbox: Inbox,
    /// Set when the client may repeat the request.
    pub idempotency: Option<Idempotency>,
}

/// Tells a repeated request from another one (header `Idempotency-Key`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idempotency {
    /// SHA-256 of the client's key.
    pub key: [u8; 32],
    /// SHA-256 of the request's body.
    pub body: [u8; 32],
}

/// The outcome of [`Store::create_inbox`].
#[derive(Debug, Clone)]
pub enum Created {
    /// The inbox is new.
    New,
    /// The request was a repetition; this is the inbox that the first one made.
    Repeated(Arc<Inbox>),
}

/// Why an inbox was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreateError {
    /// A live inbox has the address.
    #[error("the address is taken")]
    AddressTaken,
    /// A live inbox has the hash, which means the same client key.
    #[error("the key is taken")]
    KeyTaken,
    /// The idempotency key came with another body before.
    #[error("the idempotency key was used with another body")]
    IdempotencyReused,
    /// Unknown outcome: repeat with the same ids.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// One email for one inbox, ready to be stored.
#[derive(Debug, Clone)]
pub struct NewEmail {
    /// The inbox.
    pub inbox: InboxKey,
    /// The id, made by the caller.
    pub id: EmailId,
    /// When it arrived.
    pub received_at: Timestamp,
    /// The content, each part at most once.
    pub parts: Vec<(Part, Bytes)>,
    /// The sealed event for webhooks: kept, in the same step, if some enabled webhook wants to hear of arrivals.
    pub event: Option<Bytes>,
}

/// Mail that came for an inbox and is thrown away.
#[derive(Debug, Clone)]
pub struct ThrownAway {
    /// The inbox.
    pub inbox: InboxKey,
    /// The id that the email would have had.
    pub id: EmailId,
    /// The sealed event.
    pub event: Bytes,
}

/// What a store keeps at most; beyond it the oldest emails go, with the reason `eviction`.
///
/// The oldest of an inbox is the one that was committed first: a clock that is set back does not make new mail old.
/// The oldest of the store is the one, among these, with the earliest [`NewEmail::received_at`]; of several, the one
/// of the inbox with the lower key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "each is named after its setting")]
pub struct Retention {
    /// Bytes of the emails of all live inboxes, counted as [`Usage::mail_bytes`].
    pub max_bytes: u64,
    /// Emails of an inbox.
    pub max_emails: u64,
    /// Time since an email arrived; `None` for ever.
    pub max_age: Option<Duration>,
}

impl Retention {
    /// Everything stays until it is removed or its inbox ends.
    pub const UNLIMITED: Self = Self {
        max_bytes: u64::MAX,
        max_emails: u64::MAX,
        max_age: None,
    };
}

/// A part of a stored email: opaque bytes to the store.
///
/// Stores write the position of a variant to disk: new ones are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum Part {
    /// What a list shows: JSON, or sealed.
    Metadata,
    /// Session facts and authentication results; plain inboxes only.
    Facts,
    /// The message: as received, or sealed.
    Raw,
    /// The sealed parsed content; encrypted inboxes only.
    Parsed,
    /// The signature over the sealed parsed content, made when it is first read.
    ParsedSignature,
    /// The signature over the sealed message, made when it is first read.
    RawSignature,
    /// The signature over the sealed metadata, made when it is first listed.
    MetadataSignature,
}

impl Part {
    /// The parts that an email does not come with: they are attached later.
    pub const SIGNATURES: [Self; 3] = [Self::ParsedSignature, Self::RawSignature, Self::MetadataSignature];
}

/// Why mail was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// An inbox is retired or expired.
    #[error("the inbox is gone")]
    Gone,
    /// The emails alone take more than [`Retention::max_bytes`], whatever else would go.
    #[error("the mail is larger than all that may be stored")]
    TooLarge,
    /// The disk is below its floor of free space.
    #[error("there is no room")]
    NoRoom,
    /// Some enabled webhook wants an event that an email came without: make it, and repeat with the same ids.
    #[error("a webhook wants to hear of it")]
    EventWanted,
    /// Unknown outcome: repeat with the same ids.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why nobody was told of mail that is thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TellError {
    /// The disk is below its floor of free space.
    #[error("there is no room")]
    NoRoom,
    /// Unknown outcome: repeat with the same ids.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The backend cannot write or read now, or cannot tell whether it did; its log says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the storage is unavailable")]
pub struct Unavailable;

/// Why a read failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The backend cannot read now.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// Stored bytes do not match their checksum; the backend's log names the record.
    #[error("a stored record is damaged")]
    Damaged,
}

/// An email that was stored, in commit order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The inbox.
    pub inbox: InboxKey,
    /// The email.
    pub email: EmailId,
    /// Its commit sequence.
    pub sequence: u64,
}

/// Which emails [`Store::list`] gives.
#[derive(Debug, Clone)]
pub struct ListPage {
    /// Only emails older than this one.
    pub before: Option<EmailId>,
    /// At most so many emails.
    pub max_rows: usize,
    /// Stop before the parts exceed so many bytes (but give at least one email).
    pub max_bytes: usize,
    /// The parts to read.
    pub parts: Vec<Part>,
}

/// Some emails of an inbox, newest first.
#[derive(Debug, Clone, Default)]
pub struct EmailPage {
    /// The emails.
    pub emails: Vec<StoredEmail>,
    /// Whether older ones remain.
    pub more: bool,
}

/// A stored email.
#[derive(Debug, Clone)]
pub struct StoredEmail {
    /// Its id.
    pub id: EmailId,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Whether it was marked as read.
    pub is_read: bool,
    /// Bytes of all its parts in the store, wanted or not: with no parts wanted, its size costs no read of content.
    pub bytes: u64,
    /// The wanted parts that it has.
    pub parts: Vec<(Part, Bytes)>,
}

impl StoredEmail {
    /// The bytes of a part, if it was asked for and is there.
    pub fn part(&self, part: Part) -> Option<&Bytes> {
        self.parts
            .iter()
            .find(|(name, _)| *name == part)
            .map(|(_, bytes)| bytes)
    }
}

/// Some live inboxes, in the order of their hashes.
#[derive(Debug, Clone, Default)]
pub struct InboxPage {
    /// The inboxes.
    pub inboxes: Vec<Arc<Inbox>>,
    /// Whether more follow.
    pub more: bool,
}

/// The answer of [`Store::sync`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncStatus {
    /// How many emails the inbox holds.
    pub email_count: u64,
    /// SHA-256 of all email ids, sorted ascending and joined with `,`.
    pub emails_hash: [u8; 32],
}

/// The outcome of [`Store::reap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// Emails removed.
    pub emails: usize,
    /// Whether retired inboxes remain.
    pub more: bool,
}

/// The outcome of [`Store::evict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evicted {
    /// Emails removed.
    pub emails: usize,
    /// Whether emails beyond a limit remain.
    pub more: bool,
}

/// What a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Live inboxes, expired ones that are not retired yet among them.
    pub inboxes: u64,
    /// Emails of live inboxes.
    pub emails: u64,
    /// Bytes of what is live: records of emails, of inboxes, and of webhooks with their events and deliveries.
    pub live_bytes: u64,
    /// Of these, what emails take.
    pub mail_bytes: u64,
    /// Emails that went for other mail, or for their age, since the store was opened.
    pub evicted: u64,
}
