//! Webhooks: those that hear of all inboxes, and those of one inbox.
//!
//! Source: interface, "Global webhooks", "Inbox webhooks"; decisions, section 7.
//!
//! Who receives deliveries reads [`signature`] and [`event`]; the whole of it:
//!
//! ```no_run
#![doc = include_str!("../examples/webhook_receiver.rs")]
//! ```

pub mod event;
pub mod signature;
mod wanted;

use restante_model::{DeliveryId, WebhookId};
use restante_wire::{TemplateList, WebhookList};

use crate::http::Call;
use crate::routes::path;
use crate::{Client, Error, Inbox};

pub use event::{EmailDeleted, EmailReceived, EmailStored, EventData, WebhookEvent};
pub use signature::{DeliveryError, SignatureHeaders, TOLERANCE, verify_signature};
pub use wanted::{NewWebhook, WebhookUpdate};

pub use restante_model::event::{EventAttachment, EventAuth, EventMailbox};
pub use restante_model::webhook::{
    BuiltInTemplate, CustomTemplate, FilterConfig, FilterMode, FilterOperator, FilterRule, WebhookTemplate,
};
pub use restante_model::{EventId, EventType, RemovalReason};
pub use restante_wire::webhook::{
    AttemptWord, DeliveryCounts, DeliveryRecord, DeliveryWord, DisabledWord, ScopeWord, TemplateName, WebhookCounts,
    WebhookStats,
};
pub use restante_wire::{
    DeliveryList, RedeliverAnswer, RotateSecretResponse, ShownSecret, TestWebhookResponse, WebhookMetrics,
    WebhookResource,
};

/// The webhooks of one scope: all inboxes, or one.
///
/// A webhook of an inbox is found through that inbox alone: elsewhere it is [`Error::WebhookNotFound`].
#[derive(Debug, Clone)]
pub struct Webhooks {
    client: Client,
    /// Where they are; its segments are encoded already.
    path: String,
}

impl Client {
    /// The webhooks that hear of all inboxes.
    pub fn webhooks(&self) -> Webhooks {
        Webhooks {
            client: self.clone(),
            path: path(["webhooks"]),
        }
    }

    /// The templates that the server knows, with their names for people.
    pub async fn webhook_templates(&self) -> Result<Vec<TemplateName>, Error> {
        let list: TemplateList = self.http().json(Call::get(path(["webhooks", "templates"]))).await?;
        Ok(list.templates)
    }

    /// How many webhooks of both scopes there are, and what became of their deliveries.
    pub async fn webhook_metrics(&self) -> Result<WebhookMetrics, Error> {
        self.http().json(Call::get(path(["webhooks", "metrics"]))).await
    }
}

impl Inbox {
    /// The webhooks that hear of this inbox alone.
    pub fn webhooks(&self) -> Webhooks {
        Webhooks {
            client: self.client().clone(),
            path: path(["inboxes", self.address(), "webhooks"]),
        }
    }
}

impl Webhooks {
    /// Creates a webhook; the answer holds its secret.
    ///
    /// # Errors
    /// [`Error::InboxNotFound`] if its inbox is gone; [`Error::Api`] with 400 for a URL or a value that is refused, 409
    /// if the limit is reached, 422 for a regular expression or a template that is none.
    pub async fn create(&self, wanted: NewWebhook) -> Result<WebhookResource, Error> {
        self.client.http().json(Call::post(&self.path).body(&wanted)).await
    }

    /// All of them, in the order of their creation, without secrets and statistics.
    pub async fn list(&self) -> Result<Vec<WebhookResource>, Error> {
        let list: WebhookList = self.client.http().json(Call::get(&self.path)).await?;
        Ok(list.webhooks)
    }

    /// One of them, with its secret and its statistics.
    ///
    /// # Errors
    /// [`Error::WebhookNotFound`], [`Error::InboxNotFound`].
    pub async fn find(&self, id: WebhookId) -> Result<WebhookResource, Error> {
        self.client.http().json(Call::get(self.at(id))).await
    }

    /// Changes what the update names, and nothing else.
    ///
    /// # Errors
    /// [`Error::WebhookNotFound`], [`Error::InboxNotFound`]; [`Error::Api`] with 400 and 422 as at creation.
    pub async fn update(&self, id: WebhookId, update: WebhookUpdate) -> Result<WebhookResource, Error> {
        self.client.http().json(Call::patch(self.at(id)).body(&update)).await
    }

    /// Deletes a webhook with what it was still to be sent.
    ///
    /// # Errors
    /// [`Error::WebhookNotFound`], [`Error::InboxNotFound`].
    pub async fn delete(&self, id: WebhookId) -> Result<(), Error> {
        self.client.http().done(Call::delete(self.at(id))).await
    }

    /// Sends a made-up event now, whether the webhook is enabled or not; what the target said is in the answer.
    ///
    /// # Errors
    /// [`Error::WebhookNotFound`], [`Error::InboxNotFound`]; a target that fails is no error.
    pub async fn test(&self, id: WebhookId) -> Result<TestWebhookResponse, Error> {
        self.client.http().json(Call::post(self.operation(id, "test"))).await
    }

    /// Gives a webhook a new secret; for an hour deliveries are signed with the former one as well.
    ///
    /// # Errors
    /// [`Error::WebhookNotFound`], [`Error::InboxNotFound`].
    pub async fn rotate_secret(&self, id: WebhookId) -> Result<RotateSecretResponse, Error> {
        let call = Call::post(self.operation(id, "rotate-secret"));
        self.client.http().json(call).await
    }

    /// What became of the last events, the latest first; at most `limit`, and only those that came before `before`,
    /// which is the `next` of the answer before.
    ///
    /// # Errors
    /// [`Error::WebhookNotFound`], [`Error::InboxNotFound`].
    pub async fn deliveries(
        &self,
        id: WebhookId,
        limit: Option<u32>,
        before: Option<DeliveryId>,
    ) -> Result<DeliveryList, Error> {
        let mut call = Call::get(self.operation(id, "deliveries"));
        if let Some(limit) = limit {
            call = call.query("limit", limit.to_string());
        }
        if let Some(before) = before {
            call = call.query("before", before.to_string());
        }
        self.client.http().json(call).await
    }

    /// Queues one more attempt of a delivery, under the same id.
    ///
    /// # Errors
    /// [`Error::WebhookNotFound`], [`Error::InboxNotFound`]; [`Error::Api`] with 404 for a delivery that the log does
    /// not hold, with 409 if the data of its event is gone.
    pub async fn redeliver(&self, id: WebhookId, delivery: DeliveryId) -> Result<RedeliverAnswer, Error> {
        let call = Call::post(self.operation(id, &format!("deliveries/{delivery}/redeliver")));
        self.client.http().json(call).await
    }

    fn at(&self, id: WebhookId) -> String {
        format!("{}/{id}", self.path)
    }

    fn operation(&self, id: WebhookId, operation: &str) -> String {
        format!("{}/{operation}", self.at(id))
    }
}
