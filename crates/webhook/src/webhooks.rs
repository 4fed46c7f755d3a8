//! [`Webhooks`]: what the use cases share, and how they find a webhook.

use std::fmt;
use std::sync::Arc;

use restante_envelope::AtRestKey;
use restante_model::{Clock, Timestamp, WebhookId};
use restante_storage::{Bus, ReadError, StoredWebhook, Unavailable, WebhookStore};

use crate::config::{Config, Unreadable};
use crate::{Guard, Owner, Sender, WebhookPolicy, WebhookView};

mod change;
mod create;
mod log;
mod read;
mod rotate;
mod test_event;
mod turns;

use turns::Turns;

/// The use cases on webhooks; cheap to clone.
#[derive(Clone)]
pub struct Webhooks {
    pub(crate) shared: Arc<WebhooksParts>,
    turns: Arc<Turns>,
}

/// What [`Webhooks`] is made of.
#[derive(Debug)]
pub struct WebhooksParts {
    /// Where webhooks and their queue are kept.
    pub store: Arc<dyn WebhookStore>,
    /// Who says that there is work for the dispatcher.
    pub bus: Bus,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What configurations, events and reports are sealed with.
    pub key: Arc<AtRestKey>,
    /// What webhooks may be.
    pub policy: WebhookPolicy,
    /// Who sends.
    pub sender: Sender,
    /// Who judges targets when they are set.
    pub guard: Guard,
}

/// Why a use case was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    /// The URL is none that may be used; for people, with the name of the field.
    #[error("{0}")]
    Invalid(String),
    /// The filter or the template does not work; for people, with the name of the field.
    #[error("{0}")]
    Unprocessable(String),
    /// There is no such webhook among the owner's.
    #[error("the webhook does not exist")]
    NoWebhook,
    /// The inbox is gone.
    #[error("the inbox does not exist")]
    NoInbox,
    /// The webhook has no such delivery in its log.
    #[error("the delivery does not exist")]
    NoDelivery,
    /// What the delivery told of is gone.
    #[error("the event does not exist")]
    NoEvent,
    /// The owner has as many as it may.
    #[error("the limit of {0} webhooks is reached")]
    Limit(u64),
    /// The idempotency key came with another body, or for another owner, before.
    #[error("the idempotency key was used with another body")]
    IdempotencyReused,
    /// The store cannot tell now.
    #[error("the storage is unavailable")]
    Unavailable,
    /// What is stored cannot be read; the log names it.
    #[error("a stored record is damaged")]
    Damaged,
}

impl From<Unavailable> for WebhookError {
    fn from(_: Unavailable) -> Self {
        Self::Unavailable
    }
}

impl From<ReadError> for WebhookError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unavailable(_) => Self::Unavailable,
            ReadError::Damaged => Self::Damaged,
        }
    }
}

impl From<Unreadable> for WebhookError {
    fn from(_: Unreadable) -> Self {
        Self::Damaged
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks")
            .field("policy", &self.shared.policy)
            .finish_non_exhaustive()
    }
}

impl Webhooks {
    /// Puts the parts together.
    pub fn new(parts: WebhooksParts) -> Self {
        Self {
            shared: Arc::new(parts),
            turns: Arc::default(),
        }
    }

    /// What webhooks may be.
    pub fn policy(&self) -> &WebhookPolicy {
        &self.shared.policy
    }

    pub(crate) fn store(&self) -> &dyn WebhookStore {
        self.shared.store.as_ref()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// A webhook, if it is one of the owner's.
    async fn stored(&self, owner: &Owner, id: WebhookId) -> Result<StoredWebhook, WebhookError> {
        let found = self.store().webhook(id, self.now()).await?;
        found
            .filter(|webhook| webhook.scope == owner.scope())
            .ok_or(WebhookError::NoWebhook)
    }

    /// The configuration of a webhook as it is now, and the revision that it belongs to.
    async fn config(&self, id: WebhookId) -> Result<(u64, Config), WebhookError> {
        let (revision, sealed) = self.store().webhook_config(id).await?.ok_or(WebhookError::NoWebhook)?;
        let config = Config::open(&self.shared.key, id, &sealed).inspect_err(|error| {
            tracing::error!(webhook = %id, "{error}");
        })?;
        Ok((revision, config))
    }

    fn view(owner: &Owner, stored: &StoredWebhook, config: Config) -> WebhookView {
        WebhookView {
            id: stored.id,
            owner: owner.clone(),
            url: config.url,
            events: config.events,
            template: config.template,
            filter: config.filter,
            description: config.description,
            secret: config.secret,
            switch: stored.switch,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            activity: stored.activity,
        }
    }
}
