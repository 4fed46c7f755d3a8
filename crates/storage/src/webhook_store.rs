//! The [`WebhookStore`] trait: webhooks, the events that they may want, and their deliveries.
//!
//! An arrival and every removal of an email that some enabled webhook wants to hear of raises an event, in the same step.
//! Events have a sequence and are dispatched in its order: one step says for which webhooks each of them is queued, and
//! that it is not to be looked at again. Deliveries are claimed for a while, attempted, and settled together with what
//! that means for their webhook. Nothing of it depends on memory: after a crash everything that was not settled is
//! claimed again.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use restante_model::{
    DeliveryId, EmailId, EventId, EventType, InboxHash, InboxKey, RemovalReason, Timestamp, WebhookId,
};

use crate::{Idempotency, QueueItem, QueuePage, QueuePlace, ReadError, Unavailable};

/// Keeps webhooks, and the queue of what they are to be told.
///
/// The rules of [`crate::Store`] hold for every method.
/// An inbox's webhooks are invisible as soon as it is retired or expired; their queue goes on ([`WebhookStore::reap_webhooks`]).
#[async_trait]
pub trait WebhookStore: Send + Sync + fmt::Debug {
    /// Creates a webhook, if its scope has fewer than `limit`.
    ///
    /// With an [`Idempotency`] that a visible webhook of the same scope was created with in the last 10 minutes, that one
    /// is the answer.
    ///
    /// # Errors
    /// [`CreateWebhookError`]; exact under any race.
    async fn create_webhook(
        &self,
        new: NewWebhook,
        limit: u64,
        now: Timestamp,
    ) -> Result<CreatedWebhook, CreateWebhookError>;

    /// A visible webhook.
    async fn webhook(&self, id: WebhookId, now: Timestamp) -> Result<Option<StoredWebhook>, ReadError>;

    /// The configuration of a webhook as it is now and the revision that it belongs to, also of one that is not visible
    /// while its queue goes on.
    async fn webhook_config(&self, id: WebhookId) -> Result<Option<(u64, Bytes)>, ReadError>;

    /// The visible webhooks of a scope, in the order of their creation.
    async fn webhooks(&self, scope: WebhookScope, now: Timestamp) -> Result<Vec<StoredWebhook>, ReadError>;

    /// Up to `limit` visible webhooks of all scopes in the order of their ids, those after `after`.
    async fn all_webhooks(
        &self,
        after: Option<WebhookId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<WebhookPage, ReadError>;

    /// The enabled webhooks that hear of what happens to an inbox: the global ones and its own, also when it is retired.
    async fn subscribers(&self, inbox: InboxKey) -> Result<Vec<StoredWebhook>, ReadError>;

    /// Changes a visible webhook if it still has the revision that the change was made from; gives it back as it is then.
    ///
    /// [`StoredWebhook::updated_at`] becomes `now`, and the revision rises, also if nothing else changes.
    ///
    /// # Errors
    /// [`UpdateWebhookError`].
    async fn update_webhook(&self, update: WebhookUpdate, now: Timestamp) -> Result<StoredWebhook, UpdateWebhookError>;

    /// Removes a visible webhook, with its queue and its log; `true` exactly once.
    ///
    /// The work does not depend on how much is queued: [`WebhookStore::reap_webhooks`] removes it.
    async fn remove_webhook(&self, id: WebhookId, now: Timestamp) -> Result<bool, Unavailable>;

    /// Removes up to `limit` rows of what removed webhooks leave, and ends webhooks of inboxes that are gone: those that
    /// are disabled at once, the others when all events of the inbox are delivered or given up, at the latest
    /// [`ORPHAN_LIFE`] after their inbox is gone.
    async fn reap_webhooks(&self, limit: usize, now: Timestamp) -> Result<ReapedWebhooks, Unavailable>;

    /// Whether some enabled webhook wants to hear of such events of an inbox.
    async fn wants(&self, inbox: InboxKey, topic: Topic) -> Result<bool, ReadError>;

    /// Up to `limit` events that are not dispatched, in the order of their sequences.
    async fn events(&self, limit: usize) -> Result<Vec<StoredEvent>, ReadError>;

    /// One event, as long as it is not dispatched or some delivery of it is kept.
    async fn event(&self, sequence: u64) -> Result<Option<StoredEvent>, ReadError>;

    /// The bytes that came with an arrival ([`crate::NewEmail::event`]), as long as the event is there; `None` also for
    /// a removal.
    async fn event_data(&self, sequence: u64) -> Result<Option<Bytes>, ReadError>;

    /// Every event up to and with `through` is dispatched: these deliveries of them are queued, due at once.
    ///
    /// Webhooks that are gone or disabled by now are left out, and deliveries of events that were dispatched before.
    async fn dispatch(&self, through: u64, deliveries: Vec<NewDelivery>, now: Timestamp) -> Result<(), Unavailable>;

    /// Leases deliveries that are due, to nobody else until [`WebhookStore::settle`], [`WebhookStore::release`] or the
    /// end of the lease.
    ///
    /// Of a webhook, first attempts go in the order of their events. Webhooks with fewer leases go first, one delivery
    /// each in turn, so that none waits for the backlog of another. Disabled ones get none.
    /// A retry that was due before the store was opened is due at a moment within [`START_SPREAD`] after that which
    /// depends on its id.
    async fn claim_deliveries(&self, claim: &Claim, now: Timestamp) -> Result<Claimed, ReadError>;

    /// Gives leases back without an outcome.
    fn release(&self, leases: &[Lease]);

    /// Records the outcomes of attempts, and what they mean for their webhooks, in one step; ends the leases.
    ///
    /// An outcome whose lease has ended or whose webhook is gone is ignored. Outcomes count for a webhook that was
    /// disabled meanwhile.
    /// A failure with [`SettleRules::disable_after`] or more of them in a row disables an enabled webhook.
    /// If a webhook then has more queued retries than [`SettleRules::max_retries`], the oldest end without success.
    /// Of finished deliveries the last [`SettleRules::keep_finished`] of a webhook are kept.
    async fn settle(
        &self,
        settlements: Vec<Settlement>,
        rules: &SettleRules,
        now: Timestamp,
    ) -> Result<Settled, Unavailable>;

    /// Deliveries of a webhook, the latest event first; the caller has looked whether the webhook is visible.
    async fn deliveries(&self, webhook: WebhookId, page: DeliveriesAfter) -> Result<DeliveryPage, ReadError>;

    /// Queues one more attempt of a delivery at once: a queued one becomes due and goes on by the schedule, a finished one
    /// is attempted once. While an attempt is under way nothing changes.
    ///
    /// # Errors
    /// [`RedeliverError`].
    async fn redeliver(&self, webhook: WebhookId, delivery: DeliveryId, now: Timestamp) -> Result<(), RedeliverError>;

    /// Webhooks, events and deliveries for a move to another store, from where the page before ended; nobody may write
    /// meanwhile.
    async fn queue_items(&self, from: Option<QueuePlace>, limit: usize) -> Result<QueuePage, ReadError>;

    /// Takes what another store gave, as it was there, in the order in which it was given. A delivery whose webhook or
    /// event is unknown is left out.
    async fn restore_queue(&self, items: Vec<QueueItem>) -> Result<(), Unavailable>;
}

/// How long a webhook may outlive its inbox (decisions, section 7).
pub const ORPHAN_LIFE: Duration = Duration::from_hours(5);

/// Retries that were due before the start are spread over this time after it.
pub const START_SPREAD: Duration = Duration::from_secs(30);

/// Whose webhook it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WebhookScope {
    /// It hears of all inboxes.
    Global,
    /// It hears of one.
    Inbox(InboxKey),
}

/// What a webhook may want to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Mail that arrives: `email.received`, `email.stored`.
    Arrivals,
    /// Mail that is removed: `email.deleted`.
    Removals,
}

/// The topics that a webhook listens to while it is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Topics {
    /// See [`Topic::Arrivals`].
    pub arrivals: bool,
    /// See [`Topic::Removals`].
    pub removals: bool,
}

/// A webhook to create; it is enabled.
#[derive(Debug, Clone)]
pub struct NewWebhook {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is.
    pub scope: WebhookScope,
    /// What it listens to.
    pub topics: Topics,
    /// Opaque to the store, and sealed, since it holds a secret.
    pub config: Bytes,
    /// Set when the client may repeat the request.
    pub idempotency: Option<Idempotency>,
}

/// The outcome of [`WebhookStore::create_webhook`].
#[derive(Debug, Clone)]
pub enum CreatedWebhook {
    /// The webhook is new.
    New(StoredWebhook),
    /// The request was a repetition; this is the webhook that the first one made, as it is now.
    Repeated(StoredWebhook),
}

/// Why a webhook was not created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CreateWebhookError {
    /// The inbox is retired or expired.
    #[error("the inbox is gone")]
    Gone,
    /// The scope has as many as it may.
    #[error("the limit of webhooks is reached")]
    Limit,
    /// The idempotency key came with another body, or in another scope, before.
    #[error("the idempotency key was used with another body")]
    IdempotencyReused,
    /// Unknown outcome: repeat with the same id.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// A webhook as it is kept, without its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWebhook {
    /// Its id.
    pub id: WebhookId,
    /// Whose it is.
    pub scope: WebhookScope,
    /// What it listens to while it is enabled.
    pub topics: Topics,
    /// Rises with every change of the configuration or the switch, never with a delivery.
    pub revision: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed by [`WebhookStore::update_webhook`].
    pub updated_at: Option<Timestamp>,
    /// Whether it is sent anything.
    pub switch: Switch,
    /// What became of its deliveries.
    pub activity: Activity,
}

/// Whether a webhook is sent anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Switch {
    /// It is.
    Enabled,
    /// Somebody disabled it.
    DisabledManually,
    /// Too many attempts failed in a row.
    DisabledByFailures,
}

/// What became of the attempts of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Activity {
    /// Attempts that succeeded.
    pub successful: u64,
    /// Attempts that failed, and queued retries that the limit ended.
    pub failed: u64,
    /// Failed attempts since the last success, or since it was enabled.
    pub failures_in_a_row: u32,
    /// The last attempt.
    pub last: Option<LastAttempt>,
}

/// The last attempt of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LastAttempt {
    /// When it started, in Unix milliseconds.
    pub started_at: u64,
    /// Whether it succeeded.
    pub succeeded: bool,
}

/// Some webhooks in the order of their ids.
#[derive(Debug, Clone, Default)]
pub struct WebhookPage {
    /// The webhooks.
    pub webhooks: Vec<StoredWebhook>,
    /// Whether more follow.
    pub more: bool,
}

/// A change of a webhook.
#[derive(Debug, Clone)]
pub struct WebhookUpdate {
    /// Which.
    pub id: WebhookId,
    /// The revision that the change was made from.
    pub revision: u64,
    /// Another configuration, and what it listens to.
    pub config: Option<(Bytes, Topics)>,
    /// Enables or disables it; enabling a disabled one forgets its failures, its queue goes on.
    pub enabled: Option<bool>,
}

/// Why a webhook was not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateWebhookError {
    /// There is no such visible webhook.
    #[error("the webhook is gone")]
    Gone,
    /// It has another revision by now: read it again.
    #[error("the webhook has changed meanwhile")]
    Conflict,
    /// Unknown outcome: read it again.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// The outcome of [`WebhookStore::reap_webhooks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReapedWebhooks {
    /// Rows removed.
    pub rows: usize,
    /// Whether there is more to do at once.
    pub more: bool,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the order of events.
    pub sequence: u64,
    /// The inbox.
    pub inbox: InboxKey,
    /// The email.
    pub email: EmailId,
    /// What happened.
    pub happening: Happening,
}

/// What happened to an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// It arrived; [`WebhookStore::event_data`] tells of it.
    Arrived,
    /// It was removed.
    Removed {
        /// Why.
        reason: RemovalReason,
        /// When.
        at: Timestamp,
        /// The address of the inbox.
        inbox_address: String,
        /// The hash of the inbox.
        inbox_hash: InboxHash,
    },
}

/// A delivery to queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewDelivery {
    /// To whom.
    pub webhook: WebhookId,
    /// The sequence of the event.
    pub event: u64,
    /// As what the event is told.
    pub event_type: EventType,
    /// The id of that on the wire.
    pub event_id: EventId,
}

/// How much may be claimed.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// Deliveries of this call, at most.
    pub max: usize,
    /// Leases of one webhook at a time, at most.
    pub max_per_webhook: usize,
    /// How long the leases hold.
    pub lease: Duration,
}

/// The outcome of [`WebhookStore::claim_deliveries`].
#[derive(Debug, Clone, Default)]
pub struct Claimed {
    /// The leased deliveries.
    pub deliveries: Vec<LeasedDelivery>,
    /// When the next delivery is due of those that could be claimed then; a time that has passed if `max` was reached.
    pub next_due: Option<Timestamp>,
}

/// Names one claim of one delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The webhook.
    pub webhook: WebhookId,
    /// The sequence of the event.
    pub event: u64,
    /// As what it is told.
    pub event_type: EventType,
    /// Never given twice in the life of a store.
    pub token: u64,
}

/// A delivery that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeasedDelivery {
    /// The claim.
    pub lease: Lease,
    /// The id of the event on the wire.
    pub event_id: EventId,
    /// Attempts that were settled before this one.
    pub attempts: u32,
    /// Whether no retry follows whatever comes: it is delivered again by hand.
    pub is_single: bool,
}

/// The outcome of an attempt.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The claim.
    pub lease: Lease,
    /// When the attempt started.
    pub started_at: Timestamp,
    /// What came of it.
    pub verdict: AttemptVerdict,
    /// Status, duration, error and response: opaque to the store, and sealed, since targets may repeat what they got.
    pub report: Bytes,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptVerdict {
    /// The target took it.
    Succeeded,
    /// It failed, and is tried again then; never, if there is no time.
    Failed {
        /// When.
        retry_at: Option<Timestamp>,
    },
}

/// The limits of [`WebhookStore::settle`].
#[derive(Debug, Clone, Copy)]
pub struct SettleRules {
    /// Failures in a row that disable a webhook.
    pub disable_after: u32,
    /// Queued retries of one webhook.
    pub max_retries: usize,
    /// Finished deliveries of one webhook that are remembered.
    pub keep_finished: usize,
}

/// What [`WebhookStore::settle`] did beside noting outcomes; for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    /// Webhooks that failures disabled.
    pub disabled: Vec<WebhookId>,
    /// Queued retries that the limit ended.
    pub ended: Vec<(WebhookId, DeliveryId)>,
}

/// Which deliveries [`WebhookStore::deliveries`] gives.
#[derive(Debug, Clone, Copy)]
pub struct DeliveriesAfter {
    /// Those behind this one, in the order of the list; nothing if it is unknown.
    pub before: Option<DeliveryId>,
    /// At most so many.
    pub limit: usize,
}

/// Some deliveries of a webhook.
#[derive(Debug, Clone, Default)]
pub struct DeliveryPage {
    /// The deliveries.
    pub deliveries: Vec<StoredDelivery>,
    /// Whether more follow.
    pub more: bool,
}

/// A delivery, queued or finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDelivery {
    /// Its id: [`DeliveryId::of`] the event and the webhook.
    pub id: DeliveryId,
    /// The id of the event on the wire.
    pub event_id: EventId,
    /// As what the event is told.
    pub event_type: EventType,
    /// Attempts that were settled.
    pub attempts: u32,
    /// How it stands.
    pub state: DeliveryState,
    /// When it was queued.
    pub created_at: Timestamp,
    /// [`Settlement::report`] of the last attempt.
    pub report: Option<Bytes>,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is attempted then, or as soon as its webhook is enabled.
    Queued {
        /// When.
        due: Timestamp,
    },
    /// The target took it.
    Succeeded {
        /// When.
        at: Timestamp,
    },
    /// It is not attempted any more.
    Failed {
        /// Since when.
        at: Timestamp,
    },
}

/// Why a delivery is not queued again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedeliverError {
    /// There is no such delivery, or no such webhook.
    #[error("the delivery is gone")]
    NoDelivery,
    /// The event is gone, or the email whose arrival it tells.
    #[error("the event is gone")]
    NoEvent,
    /// Unknown outcome: it can be repeated.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}
