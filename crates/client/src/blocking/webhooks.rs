//! Webhooks of the blocking client.

use restante_model::{DeliveryId, WebhookId};
use restante_wire::{DeliveryList, RedeliverAnswer, RotateSecretResponse, TestWebhookResponse, WebhookResource};

use super::runtime::Runtime;
use crate::{Error, NewWebhook, WebhookUpdate};

/// The webhooks of one scope, as [`crate::Webhooks`].
#[derive(Debug, Clone)]
pub struct Webhooks {
    runtime: Runtime,
    webhooks: crate::Webhooks,
}

impl Webhooks {
    pub(super) fn new(runtime: Runtime, webhooks: crate::Webhooks) -> Self {
        Self { runtime, webhooks }
    }

    /// As [`crate::Webhooks::create`].
    pub fn create(&self, wanted: NewWebhook) -> Result<WebhookResource, Error> {
        self.runtime.wait(self.webhooks.create(wanted))
    }

    /// As [`crate::Webhooks::list`].
    pub fn list(&self) -> Result<Vec<WebhookResource>, Error> {
        self.runtime.wait(self.webhooks.list())
    }

    /// As [`crate::Webhooks::find`].
    pub fn find(&self, id: WebhookId) -> Result<WebhookResource, Error> {
        self.runtime.wait(self.webhooks.find(id))
    }

    /// As [`crate::Webhooks::update`].
    pub fn update(&self, id: WebhookId, update: WebhookUpdate) -> Result<WebhookResource, Error> {
        self.runtime.wait(self.webhooks.update(id, update))
    }

    /// As [`crate::Webhooks::delete`].
    pub fn delete(&self, id: WebhookId) -> Result<(), Error> {
        self.runtime.wait(self.webhooks.delete(id))
    }

    /// As [`crate::Webhooks::test`].
    pub fn test(&self, id: WebhookId) -> Result<TestWebhookResponse, Error> {
        self.runtime.wait(self.webhooks.test(id))
    }

    /// As [`crate::Webhooks::rotate_secret`].
    pub fn rotate_secret(&self, id: WebhookId) -> Result<RotateSecretResponse, Error> {
        self.runtime.wait(self.webhooks.rotate_secret(id))
    }

    /// As [`crate::Webhooks::deliveries`].
    pub fn deliveries(
        &self,
        id: WebhookId,
        limit: Option<u32>,
        before: Option<DeliveryId>,
    ) -> Result<DeliveryList, Error> {
        self.runtime.wait(self.webhooks.deliveries(id, limit, before))
    }

    /// As [`crate::Webhooks::redeliver`].
    pub fn redeliver(&self, id: WebhookId, delivery: DeliveryId) -> Result<RedeliverAnswer, Error> {
        self.runtime.wait(self.webhooks.redeliver(id, delivery))
    }
}
