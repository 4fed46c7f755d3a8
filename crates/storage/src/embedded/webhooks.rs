//! [`WebhookStore`] of the embedded backend.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use restante_model::{DeliveryId, InboxKey, Timestamp, WebhookId};

use super::queue_items::RestoreQueue;
use super::queue_rows::QueueRows;
use super::{Embedded, INLINE_ROWS, decide};
use crate::{
    Claim, Claimed, CreateWebhookError, CreatedWebhook, DeliveriesAfter, DeliveryPage, Lease, NewDelivery, NewWebhook,
    QueueItem, QueuePage, QueuePlace, ReadError, ReapedWebhooks, RedeliverError, SettleRules, Settled, Settlement,
    StoredEvent, StoredWebhook, Topic, Unavailable, UpdateWebhookError, WebhookPage, WebhookScope, WebhookStore,
    WebhookUpdate,
};

#[async_trait]
impl WebhookStore for Embedded {
    async fn create_webhook(
        &self,
        new: NewWebhook,
        limit: u64,
        now: Timestamp,
    ) -> Result<CreatedWebhook, CreateWebhookError> {
        self.commit(decide::CreateWebhook { new, limit, now }).await?
    }

    async fn webhook(&self, id: WebhookId, now: Timestamp) -> Result<Option<StoredWebhook>, ReadError> {
        self.shared.webhook(id, now)
    }

    async fn webhook_config(&self, id: WebhookId) -> Result<Option<(u64, Bytes)>, ReadError> {
        self.shared.blocking(move |shared| shared.webhook_config(id)).await
    }

    async fn webhooks(&self, scope: WebhookScope, now: Timestamp) -> Result<Vec<StoredWebhook>, ReadError> {
        self.shared.webhooks(scope, now)
    }

    async fn all_webhooks(
        &self,
        after: Option<WebhookId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<WebhookPage, ReadError> {
        self.shared
            .blocking(move |shared| shared.all_webhooks(after, limit, now))
            .await
    }

    async fn subscribers(&self, inbox: InboxKey) -> Result<Vec<StoredWebhook>, ReadError> {
        self.shared.subscribers(inbox)
    }

    async fn update_webhook(&self, update: WebhookUpdate, now: Timestamp) -> Result<StoredWebhook, UpdateWebhookError> {
        self.commit(decide::UpdateWebhook { update, now }).await?
    }

    async fn remove_webhook(&self, id: WebhookId, now: Timestamp) -> Result<bool, Unavailable> {
        self.commit(decide::RemoveWebhook { id, now }).await
    }

    async fn reap_webhooks(&self, limit: usize, now: Timestamp) -> Result<ReapedWebhooks, Unavailable> {
        let round = Arc::clone(&self.shared.orphans);
        self.commit(decide::ReapWebhooks { limit, round, now }).await
    }

    async fn wants(&self, inbox: InboxKey, topic: Topic) -> Result<bool, ReadError> {
        Ok(self.shared.index()?.wants(inbox, topic)?)
    }

    async fn events(&self, limit: usize) -> Result<Vec<StoredEvent>, ReadError> {
        if limit <= INLINE_ROWS {
            return self.shared.events(limit);
        }
        self.shared.blocking(move |shared| shared.events(limit)).await
    }

    async fn event(&self, sequence: u64) -> Result<Option<StoredEvent>, ReadError> {
        self.shared.event(sequence)
    }

    async fn event_data(&self, sequence: u64) -> Result<Option<Bytes>, ReadError> {
        self.shared.blocking(move |shared| shared.event_data(sequence)).await
    }

    /// In steps of a bounded number of events, each with all its deliveries.
    async fn dispatch(&self, through: u64, deliveries: Vec<NewDelivery>, now: Timestamp) -> Result<(), Unavailable> {
        let deliveries: Arc<[NewDelivery]> = deliveries.into();
        loop {
            let step = decide::Dispatch {
                through,
                deliveries: Arc::clone(&deliveries),
                now,
            };
            if self.commit(step).await? {
                return Ok(());
            }
        }
    }

    async fn claim_deliveries(&self, claim: &Claim, now: Timestamp) -> Result<Claimed, ReadError> {
        let claim = *claim;
        self.shared.blocking(move |shared| shared.claim(&claim, now)).await
    }

    fn release(&self, leases: &[Lease]) {
        self.shared.leases.release(leases);
    }

    async fn settle(
        &self,
        settlements: Vec<Settlement>,
        rules: &SettleRules,
        now: Timestamp,
    ) -> Result<Settled, Unavailable> {
        let leases: Vec<_> = settlements.iter().map(|settlement| settlement.lease).collect();
        let settle = decide::Settle {
            settlements,
            rules: *rules,
            leases: Arc::clone(&self.shared.leases),
            now,
        };
        let settled = self.commit(settle).await?;
        // Not before it is visible: a claim would find what was before.
        self.shared.leases.release(&leases);
        Ok(settled)
    }

    async fn deliveries(&self, webhook: WebhookId, page: DeliveriesAfter) -> Result<DeliveryPage, ReadError> {
        self.shared
            .blocking(move |shared| shared.deliveries(webhook, page))
            .await
    }

    async fn redeliver(&self, webhook: WebhookId, delivery: DeliveryId, now: Timestamp) -> Result<(), RedeliverError> {
        let redeliver = decide::Redeliver {
            webhook,
            delivery,
            leases: Arc::clone(&self.shared.leases),
            now,
        };
        self.commit(redeliver).await?
    }

    async fn queue_items(&self, from: Option<QueuePlace>, limit: usize) -> Result<QueuePage, ReadError> {
        self.shared
            .blocking(move |shared| shared.queue_items(from.as_ref(), limit))
            .await
    }

    async fn restore_queue(&self, items: Vec<QueueItem>) -> Result<(), Unavailable> {
        self.commit(RestoreQueue { items }).await
    }

    async fn finish_restore(&self) -> Result<(), Unavailable> {
        let mut next = Some(0);
        while let Some(after) = next {
            next = self.commit(decide::ForgetUnheard { after }).await?;
        }
        Ok(())
    }
}
