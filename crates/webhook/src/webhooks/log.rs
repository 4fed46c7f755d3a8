//! What became of a webhook's deliveries.

use restante_model::{DeliveryId, WebhookId};
use restante_storage::{DeliveriesAfter, DeliveryState, RedeliverError, StoredDelivery};

use super::{WebhookError, Webhooks};
use crate::report::Report;
use crate::{DeliveriesRequest, DeliveryList, DeliveryStatus, DeliveryView, Owner};

impl Webhooks {
    /// Deliveries of a webhook of the owner, the latest event first.
    ///
    /// # Errors
    /// [`WebhookError::NoWebhook`], [`WebhookError::Unavailable`], [`WebhookError::Damaged`].
    pub async fn deliveries(
        &self,
        owner: &Owner,
        id: WebhookId,
        request: DeliveriesRequest,
    ) -> Result<DeliveryList, WebhookError> {
        self.stored(owner, id).await?;
        let DeliveriesRequest { limit, before } = request;
        let page = self.store().deliveries(id, DeliveriesAfter { before, limit }).await?;
        let last = page.deliveries.last().map(|delivery| delivery.id);
        Ok(DeliveryList {
            deliveries: page.deliveries.iter().map(|stored| self.shown(stored)).collect(),
            next: last.filter(|_| page.more),
        })
    }

    /// Queues one more attempt of a delivery of the owner's webhook, at once.
    ///
    /// # Errors
    /// [`WebhookError::NoWebhook`], [`WebhookError::NoDelivery`], [`WebhookError::NoEvent`],
    /// [`WebhookError::Unavailable`].
    pub async fn redeliver(&self, owner: &Owner, id: WebhookId, delivery: DeliveryId) -> Result<(), WebhookError> {
        self.stored(owner, id).await?;
        let queued = self.store().redeliver(id, delivery, self.now()).await;
        queued.map_err(|error| match error {
            RedeliverError::NoDelivery => WebhookError::NoDelivery,
            RedeliverError::NoEvent => WebhookError::NoEvent,
            RedeliverError::Unavailable(_) => WebhookError::Unavailable,
        })?;
        self.shared.bus.announce_work();
        Ok(())
    }

    fn shown(&self, stored: &StoredDelivery) -> DeliveryView {
        let sealed = stored.report.as_deref();
        let report =
            sealed.map(|sealed| Report::open(&self.shared.key, stored.id, sealed).unwrap_or_else(Report::unreadable));
        let report = report.unwrap_or_default();
        let (status, next_attempt_at, completed_at) = match stored.state {
            DeliveryState::Queued { due } => (DeliveryStatus::Pending, Some(due), None),
            DeliveryState::Succeeded { at } => (DeliveryStatus::Success, None, Some(at)),
            DeliveryState::Failed { at } => (DeliveryStatus::Failed, None, Some(at)),
        };
        DeliveryView {
            id: stored.id,
            event_id: stored.event_id,
            event_type: stored.event_type,
            attempts: stored.attempts,
            status,
            status_code: report.status,
            duration_ms: report.duration_ms,
            error: report.error,
            response: report.response,
            next_attempt_at,
            created_at: stored.created_at,
            completed_at,
        }
    }
}
