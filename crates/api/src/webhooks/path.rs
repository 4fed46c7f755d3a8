//! Whose webhook a path means: that of an inbox if it names one, else a global one.

use restante_envelope::digest::sha256;
use restante_inbox::Idempotency;
use restante_model::WebhookId;
use restante_webhook::{Owner, WebhookError};
use serde::Deserialize;

use crate::error::ApiError;
use crate::inboxes::find;
use crate::state::Api;

/// The variable segments of every route of webhooks.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WebhookPath {
    /// The address of an inbox; a global webhook has none.
    address: Option<String>,
    /// The id of a webhook, as asked for.
    id: String,
    /// The id of a delivery, as asked for.
    pub(super) delivery: String,
}

impl WebhookPath {
    /// Whose webhooks are meant.
    ///
    /// # Errors
    /// 404 if there is no such inbox.
    pub(super) async fn owner(&self, api: &Api) -> Result<Owner, ApiError> {
        match &self.address {
            None => Ok(Owner::Global),
            Some(address) => Ok(Owner::Inbox(find(api, address).await?)),
        }
    }

    /// Whose webhook is meant, and which.
    ///
    /// # Errors
    /// 404 if there is no such inbox, or the id cannot be one.
    pub(super) async fn locate(&self, api: &Api) -> Result<(Owner, WebhookId), ApiError> {
        let owner = self.owner(api).await?;
        let id = self.id.parse().map_err(|_| self.no_webhook())?;
        Ok((owner, id))
    }

    /// The key by which a request for this path is remembered: a key that clients choose is theirs on one path only.
    pub(super) fn repeatable(&self, idempotency: Idempotency, owner: &Owner, operation: &str) -> Idempotency {
        let inbox = match owner {
            Owner::Global => String::new(),
            Owner::Inbox(inbox) => inbox.address.to_string(),
        };
        // No part of a path contains a line break after it was understood.
        let path = [inbox.as_str(), &self.id, &self.delivery, operation].join("\n");
        Idempotency {
            key: sha256(&[idempotency.key.as_slice(), path.as_bytes()].concat()),
            ..idempotency
        }
    }

    /// What a refusal means for a request of this path.
    pub(super) fn refusal(&self, error: WebhookError) -> ApiError {
        match error {
            WebhookError::Invalid(message) => ApiError::invalid(message),
            WebhookError::Unprocessable(message) => ApiError::Unprocessable(message),
            WebhookError::NoWebhook => self.no_webhook(),
            WebhookError::NoInbox => ApiError::NoInbox(self.address.clone().unwrap_or_default()),
            WebhookError::NoDelivery => ApiError::NoDelivery(self.delivery.clone()),
            WebhookError::NoEvent => ApiError::Conflict("What this delivery told of is gone, it cannot be sent again"),
            WebhookError::Limit(limit) => ApiError::WebhookLimit(limit),
            WebhookError::IdempotencyReused => ApiError::IDEMPOTENCY_REUSED,
            WebhookError::Unavailable => ApiError::Unavailable,
            WebhookError::Damaged => ApiError::Internal,
        }
    }

    fn no_webhook(&self) -> ApiError {
        ApiError::NoWebhook(self.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_its_place_in_the_table() {
        let path = WebhookPath {
            address: Some("a@b".into()),
            id: "whk_x".into(),
            delivery: "dlv_x".into(),
        };
        let text = str::to_owned;
        for (error, expected) in [
            (WebhookError::Invalid(text("url x")), ApiError::invalid("url x")),
            (
                WebhookError::Unprocessable(text("x")),
                ApiError::Unprocessable(text("x")),
            ),
            (WebhookError::NoWebhook, ApiError::NoWebhook(text("whk_x"))),
            (WebhookError::NoInbox, ApiError::NoInbox(text("a@b"))),
            (WebhookError::NoDelivery, ApiError::NoDelivery(text("dlv_x"))),
            (WebhookError::Limit(7), ApiError::WebhookLimit(7)),
            (WebhookError::IdempotencyReused, ApiError::IDEMPOTENCY_REUSED),
            (WebhookError::Unavailable, ApiError::Unavailable),
            (WebhookError::Damaged, ApiError::Internal),
        ] {
            assert_eq!(path.refusal(error), expected);
        }
        assert!(matches!(path.refusal(WebhookError::NoEvent), ApiError::Conflict(_)));
    }
}
