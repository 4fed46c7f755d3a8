//! A new secret for a webhook.

use restante_model::WebhookId;
use restante_storage::Idempotency;

use super::{WebhookError, Webhooks};
use crate::config::{Config, PreviousSecret, ROTATION_GRACE, RotationMark};
use crate::{Owner, Rotation, WebhookSecret};

impl Webhooks {
    /// Gives a webhook of the owner a new secret; the former one stays valid for an hour beside it.
    ///
    /// A repeated request is answered like the first one, also when its secret was rotated away since.
    ///
    /// # Errors
    /// [`WebhookError::NoWebhook`], [`WebhookError::IdempotencyReused`], [`WebhookError::Unavailable`],
    /// [`WebhookError::Damaged`].
    pub async fn rotate_secret(
        &self,
        owner: &Owner,
        id: WebhookId,
        idempotency: Option<Idempotency>,
    ) -> Result<Rotation, WebhookError> {
        let stored = self.stored(owner, id).await?;
        let (now, secret) = (self.now(), WebhookSecret::generate());
        let edit = |config: &Config| {
            if repeated(config, idempotency, now)?.is_some() {
                return Ok(None);
            }
            let mut config = config.clone();
            let former = std::mem::replace(&mut config.secret, secret.clone());
            config.previous = Some(PreviousSecret {
                secret: former,
                valid_until: now.after(ROTATION_GRACE),
            });
            if let Some(idempotency) = idempotency {
                config.remember(RotationMark::new(idempotency, now, secret.clone()), now);
            }
            Ok(Some(config))
        };
        let (_, config) = self.compare_and_set(stored, None, edit).await?;
        let (secret, previous_valid_until) = match repeated(&config, idempotency, now)? {
            Some(first) => (first.secret.clone(), first.previous_valid_until()),
            None => (config.secret, now.after(ROTATION_GRACE)),
        };
        Ok(Rotation {
            id,
            secret,
            previous_valid_until,
        })
    }
}

/// The rotation that a request repeats.
fn repeated(
    config: &Config,
    idempotency: Option<Idempotency>,
    now: restante_model::Timestamp,
) -> Result<Option<&RotationMark>, WebhookError> {
    let Some(idempotency) = idempotency else {
        return Ok(None);
    };
    let Some(mark) = config.repeated(&idempotency, now) else {
        return Ok(None);
    };
    if !mark.has_body(&idempotency) {
        return Err(WebhookError::IdempotencyReused);
    }
    Ok(Some(mark))
}
