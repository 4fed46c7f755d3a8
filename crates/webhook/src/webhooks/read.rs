//! Looking at webhooks.

use restante_model::WebhookId;
use restante_storage::{Switch, WebhookScope};

use super::{WebhookError, Webhooks};
use crate::{Metrics, Owner, WebhookView};

/// Webhooks that the metrics read in one step.
const METRICS_PAGE: usize = 256;

impl Webhooks {
    /// One webhook of the owner.
    ///
    /// # Errors
    /// [`WebhookError::NoWebhook`], [`WebhookError::Unavailable`], [`WebhookError::Damaged`].
    pub async fn get(&self, owner: &Owner, id: WebhookId) -> Result<WebhookView, WebhookError> {
        let stored = self.stored(owner, id).await?;
        let (_, config) = self.config(id).await?;
        Ok(Self::view(owner, &stored, config))
    }

    /// All webhooks of the owner, in the order of their creation.
    ///
    /// A damaged one is left out, so that it does not hide the others; [`Webhooks::get`] tells.
    ///
    /// # Errors
    /// [`WebhookError::Unavailable`], [`WebhookError::Damaged`].
    pub async fn list(&self, owner: &Owner) -> Result<Vec<WebhookView>, WebhookError> {
        let mut views = Vec::new();
        for stored in self.store().webhooks(owner.scope(), self.now()).await? {
            match self.config(stored.id).await {
                Ok((_, config)) => views.push(Self::view(owner, &stored, config)),
                // Removed meanwhile, or damaged.
                Err(WebhookError::NoWebhook | WebhookError::Damaged) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(views)
    }

    /// The figures of all webhooks that can be seen.
    ///
    /// # Errors
    /// [`WebhookError::Unavailable`], [`WebhookError::Damaged`].
    pub async fn metrics(&self) -> Result<Metrics, WebhookError> {
        let (mut metrics, mut after, now) = (Metrics::default(), None, self.now());
        loop {
            let page = self.store().all_webhooks(after, METRICS_PAGE, now).await?;
            for webhook in &page.webhooks {
                match webhook.scope {
                    WebhookScope::Global => metrics.global += 1,
                    WebhookScope::Inbox(_) => metrics.inbox += 1,
                }
                metrics.enabled += u64::from(webhook.switch == Switch::Enabled);
                metrics.successful += webhook.activity.successful;
                metrics.failed += webhook.activity.failed;
            }
            after = page.webhooks.last().map(|webhook| webhook.id);
            if !page.more || after.is_none() {
                return Ok(metrics);
            }
        }
    }
}

impl Metrics {
    /// Webhooks in all.
    pub fn webhooks(&self) -> u64 {
        self.global + self.inbox
    }

    /// Attempts in all.
    pub fn deliveries(&self) -> u64 {
        self.successful + self.failed
    }
}
