//! Creating a webhook, and what is checked whenever one is set.

use restante_model::WebhookId;
use restante_model::webhook::{FilterConfig, WebhookTemplate};
use restante_storage::{CreateWebhookError, CreatedWebhook, NewWebhook};

use super::{WebhookError, Webhooks};
use crate::config::Config;
use crate::{CreateRequest, Filter, Owner, TargetUrl, Template, WebhookSecret, WebhookView};

impl Webhooks {
    /// Creates a webhook, enabled and with a secret of its own; a repeated request is answered with the webhook that the
    /// first one made.
    ///
    /// # Errors
    /// [`WebhookError::Invalid`] for the URL, [`WebhookError::Unprocessable`] for filter or template,
    /// [`WebhookError::NoInbox`], [`WebhookError::Limit`], [`WebhookError::IdempotencyReused`],
    /// [`WebhookError::Unavailable`].
    pub async fn create(&self, owner: &Owner, request: CreateRequest) -> Result<WebhookView, WebhookError> {
        self.check_url(&request.url).await?;
        check_filter(request.filter.as_ref())?;
        check_template(request.template.as_ref())?;
        let config = Config {
            url: request.url,
            events: request.events,
            template: request.template,
            filter: request.filter,
            description: request.description,
            secret: WebhookSecret::generate(),
            previous: None,
            rotations: Vec::new(),
        };
        let id = WebhookId::random();
        let new = NewWebhook {
            id,
            scope: owner.scope(),
            topics: config.topics(),
            config: config.seal(&self.shared.key, id),
            idempotency: request.idempotency,
        };
        let limit = match owner {
            Owner::Global => self.policy().max_global,
            Owner::Inbox(_) => self.policy().max_inbox,
        };
        let created = self.store().create_webhook(new, limit, self.now()).await;
        match created.map_err(|error| refusal(error, limit))? {
            CreatedWebhook::New(stored) => Ok(Self::view(owner, &stored, config)),
            CreatedWebhook::Repeated(stored) => {
                let (_, config) = self.config(stored.id).await?;
                Ok(Self::view(owner, &stored, config))
            }
        }
    }

    /// Whether a webhook may have this URL: by its form, and by where it leads if that can be told now.
    pub(super) async fn check_url(&self, url: &str) -> Result<(), WebhookError> {
        let refused = |why: &dyn std::fmt::Display| WebhookError::Invalid(format!("url {why}"));
        let target = TargetUrl::parse(url, self.policy().allow_http).map_err(|why| refused(&why))?;
        self.shared.guard.check(&target).await.map_err(|why| refused(&why))
    }
}

/// Whether a filter works.
pub(super) fn check_filter(filter: Option<&FilterConfig>) -> Result<(), WebhookError> {
    let compiled = filter.map(Filter::compile).transpose();
    compiled.map_err(|why| WebhookError::Unprocessable(why.to_string()))?;
    Ok(())
}

/// Whether a template works.
pub(super) fn check_template(template: Option<&WebhookTemplate>) -> Result<(), WebhookError> {
    Template::compile(template).map_err(|why| WebhookError::Unprocessable(why.to_string()))?;
    Ok(())
}

fn refusal(error: CreateWebhookError, limit: u64) -> WebhookError {
    match error {
        CreateWebhookError::Gone => WebhookError::NoInbox,
        CreateWebhookError::Limit => WebhookError::Limit(limit),
        CreateWebhookError::IdempotencyReused => WebhookError::IdempotencyReused,
        CreateWebhookError::Unavailable(_) => WebhookError::Unavailable,
    }
}
