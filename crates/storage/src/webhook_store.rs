//! The [`WebhookStore`] trait: webhooks, the events that they may want, and their deliveries.
//!
//! An arrival and every removal of an email that some enabled webhook wants to hear of raises an event, in the same step.
//! Events have a sequence and are dispatched in its order: one step says for which webhooks each of them is queued, and
//! that it is not to be looked at again. Deliveries are claimed for a while, attempted, and settled together with what
//! that means for their webhook. Nothing of it depends on memory: after a crash everything that was not settled is
//! claimed again.

mod delivery;
mod event;
mod webhook;

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use restante_model::{DeliveryId, InboxKey, Timestamp, WebhookId};

pub use delivery::{
    AttemptVerdict, Claim, Claimed, DeliveriesAfter, DeliveryPage, DeliveryState, Lease, LeasedDelivery, NewDelivery,
    RedeliverError, START_SPREAD, SettleRules, Settled, Settlement, StoredDelivery,
};
pub use event::{Happening, StoredEvent};
pub use webhook::{
    Activity, CreateWebhookError, CreatedWebhook, LastAttempt, NewWebhook, ORPHAN_LIFE, ReapedWebhooks, StoredWebhook,
    Switch, Topic, Topics, UpdateWebhookError, WebhookPage, WebhookScope, WebhookUpdate,
};

use crate::{QueueItem, QueuePage, QueuePlace, ReadError, Unavailable};

/// Keeps webhooks, and the queue of what they are to be told.
///
/// The rules of [`crate::Store`] hold for every method.
/// An inbox's webhooks are invisible as soon as it is retired or expired; their queue goes on ([`WebhookStore::reap_webhooks`]).
#[async_trait]
pub trait WebhookStore: Send + Sync + fmt::Debug {
    /// Creates a webhook, if its scope has fewer than `limit`.
    ///
    /// With an [`Idempotency`](crate::Idempotency) that a visible webhook of the same scope was created with in the last 10 minutes, that one
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
    /// Webhooks that are gone or disabled by now, or were made after the event, are left out, and deliveries of events that were dispatched before.
    /// Many events may take several steps, in their order, each of which is atomic: what was not dispatched is given by
    /// [`WebhookStore::events`] again, and repeating the call does the rest.
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
    ///
    /// [`WebhookStore::finish_restore`] is to follow the last of them.
    async fn restore_queue(&self, items: Vec<QueueItem>) -> Result<(), Unavailable>;

    /// Forgets events whose deliveries were all left out: nothing would ever end them.
    async fn finish_restore(&self) -> Result<(), Unavailable>;
}
