//! Changing and removing webhooks.

use restante_model::WebhookId;
use restante_storage::{StoredWebhook, UpdateWebhookError, WebhookUpdate};

use super::create::{check_filter, check_template};
use super::{WebhookError, Webhooks};
use crate::config::Config;
use crate::{Owner, UpdateRequest, WebhookView};

/// How often a change is made anew because something came between that takes no turns, such as the end of a row of failures.
const TRIES: usize = 16;

impl Webhooks {
    /// Changes a webhook of the owner; one that is enabled anew starts without failures.
    ///
    /// # Errors
    /// [`WebhookError::Invalid`] for the URL, [`WebhookError::Unprocessable`] for filter or template,
    /// [`WebhookError::NoWebhook`], [`WebhookError::Unavailable`], [`WebhookError::Damaged`].
    pub async fn update(
        &self,
        owner: &Owner,
        id: WebhookId,
        request: UpdateRequest,
    ) -> Result<WebhookView, WebhookError> {
        let stored = self.stored(owner, id).await?;
        if let Some(url) = &request.url {
            self.check_url(url).await?;
        }
        check_filter(request.filter.value())?;
        if let Some(template) = request.template.value() {
            check_template(Some(template))?;
        }
        let edit = |config: &Config| Ok(Some(edited(config, &request)));
        let (stored, config) = self.compare_and_set(stored, request.enabled, edit).await?;
        self.shared.bus.announce_work();
        Ok(Self::view(owner, &stored, config))
    }

    /// Removes a webhook of the owner, with its queue and its log.
    ///
    /// # Errors
    /// [`WebhookError::NoWebhook`], [`WebhookError::Unavailable`].
    pub async fn remove(&self, owner: &Owner, id: WebhookId) -> Result<(), WebhookError> {
        self.stored(owner, id).await?;
        if !self.store().remove_webhook(id, self.now()).await? {
            return Err(WebhookError::NoWebhook);
        }
        self.shared.bus.announce_work();
        Ok(())
    }

    /// Changes a webhook from what it is now, made anew if another change came between; an edit that gives nothing leaves
    /// it as it is.
    pub(super) async fn compare_and_set(
        &self,
        stored: StoredWebhook,
        enabled: Option<bool>,
        edit: impl Fn(&Config) -> Result<Option<Config>, WebhookError>,
    ) -> Result<(StoredWebhook, Config), WebhookError> {
        let id = stored.id;
        let _turn = self.turns.wait_for(id).await;
        for _ in 0..TRIES {
            let (revision, current) = self.config(id).await?;
            let Some(config) = edit(&current)? else {
                return Ok((stored, current));
            };
            let update = WebhookUpdate {
                id,
                revision,
                config: Some((config.seal(&self.shared.key, id), config.topics())),
                enabled,
            };
            match self.store().update_webhook(update, self.now()).await {
                Ok(changed) => return Ok((changed, config)),
                Err(UpdateWebhookError::Conflict) => {}
                Err(UpdateWebhookError::Gone) => return Err(WebhookError::NoWebhook),
                Err(UpdateWebhookError::Unavailable(_)) => return Err(WebhookError::Unavailable),
            }
        }
        Err(WebhookError::Unavailable)
    }
}

/// The configuration after a change.
fn edited(config: &Config, request: &UpdateRequest) -> Config {
    let mut config = config.clone();
    if let Some(url) = &request.url {
        config.url.clone_from(url);
    }
    if let Some(events) = &request.events {
        config.events.clone_from(events);
    }
    request.template.clone().apply(&mut config.template);
    request.filter.clone().apply(&mut config.filter);
    request.description.clone().apply(&mut config.description);
    config
}
