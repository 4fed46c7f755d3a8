//! Creating, changing and removing webhooks.

use bytes::Bytes;
use restante_model::{Timestamp, WebhookId};

use super::{Decision, IDEMPOTENCY_WINDOW, Operation, Room, is_live};
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::queue_rows::{QueueRows, stored_webhook, webhook_id};
use crate::embedded::record::{Blob, Head, Record, WebhookHead, WebhookState};
use crate::embedded::rows::{Place, WebhookRow, queue_key};
use crate::embedded::view::View;
use crate::{
    Activity, CreateWebhookError, CreatedWebhook, NewWebhook, StoredWebhook, Switch, UpdateWebhookError, WebhookScope,
    WebhookUpdate,
};

/// [`crate::WebhookStore::create_webhook`].
pub(in super::super) struct CreateWebhook {
    pub(in super::super) new: NewWebhook,
    pub(in super::super) limit: u64,
    pub(in super::super) now: Timestamp,
}

impl Operation for CreateWebhook {
    type Answer = Result<CreatedWebhook, CreateWebhookError>;

    fn bytes(&self) -> usize {
        self.new.config.len()
    }

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Self::Answer>, IndexError> {
        let Self { new, limit, now } = self;
        if let WebhookScope::Inbox(inbox) = new.scope
            && !is_live(view, inbox, now)?
        {
            return Ok(Decision::nothing(Err(CreateWebhookError::Gone)));
        }
        if let Some(row) = view.webhook(new.id)? {
            let stored = stored_webhook(new.id, &row);
            return Ok(Decision::nothing(Ok(CreatedWebhook::New(stored))));
        }
        if let Some(seen) = earlier(view, &new, now)? {
            return Ok(Decision::nothing(seen));
        }
        if view.scope(new.scope)?.webhooks >= limit {
            return Ok(Decision::nothing(Err(CreateWebhookError::Limit)));
        }
        let head = head_of(&new, view.meta.last_queue + 1, now);
        let stored = stored_webhook(new.id, &WebhookRow::new(&head, Place::default()));
        let record = Record::webhook(head, new.config);
        Ok(Decision::write(vec![record], Ok(CreatedWebhook::New(stored))))
    }
}

fn head_of(new: &NewWebhook, sequence: u64, now: Timestamp) -> WebhookHead {
    WebhookHead {
        webhook: *new.id.as_bytes(),
        inbox: match new.scope {
            WebhookScope::Global => None,
            WebhookScope::Inbox(inbox) => Some(*inbox.as_bytes()),
        },
        sequence,
        created_at: now.unix_ms(),
        idempotency: new.idempotency.map(|seen| (seen.key, seen.body)),
        state: WebhookState {
            topics: new.topics,
            revision: 1,
            updated_at: None,
            switch: Switch::Enabled,
            activity: Activity::default(),
            orphaned_at: None,
            is_removed: false,
        },
        config: Blob::of(&new.config),
    }
}

/// What an earlier request with the same idempotency key means for this one.
fn earlier(
    view: &View<'_>,
    new: &NewWebhook,
    now: Timestamp,
) -> Result<Option<Result<CreatedWebhook, CreateWebhookError>>, IndexError> {
    let Some(idempotency) = &new.idempotency else {
        return Ok(None);
    };
    let mut rows = view.prefix(&queue_key::repeats(&idempotency.key), REPEATS)?;
    let Some((_, value)) = rows.pop() else { return Ok(None) };
    let id = webhook_id(&value)?;
    let Some(row) = view.visible_webhook(id, now)? else {
        return Ok(None);
    };
    if now >= Timestamp::from_unix_ms(row.created_at).after(IDEMPOTENCY_WINDOW) {
        return Ok(None);
    }
    let body = row.idempotency.map(|(_, body)| body);
    Ok(Some(if body == Some(idempotency.body) && row.scope() == new.scope {
        Ok(CreatedWebhook::Repeated(stored_webhook(id, &row)))
    } else {
        Err(CreateWebhookError::IdempotencyReused)
    }))
}

/// Webhooks that were made with one idempotency key and are looked at, at most: one at a time is made within the time
/// that the key holds, unless it is removed.
const REPEATS: usize = 256;

/// [`crate::WebhookStore::update_webhook`].
pub(in super::super) struct UpdateWebhook {
    pub(in super::super) update: WebhookUpdate,
    pub(in super::super) now: Timestamp,
}

impl Operation for UpdateWebhook {
    type Answer = Result<StoredWebhook, UpdateWebhookError>;

    fn bytes(&self) -> usize {
        self.update.config.as_ref().map_or(0, |(config, _)| config.len())
    }

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Self::Answer>, IndexError> {
        let Self { update, now } = self;
        let Some(mut row) = view.visible_webhook(update.id, now)? else {
            return Ok(Decision::nothing(Err(UpdateWebhookError::Gone)));
        };
        if row.state.revision != update.revision {
            return Ok(Decision::nothing(Err(UpdateWebhookError::Conflict)));
        }
        switch(&mut row.state, update.enabled);
        row.state.revision += 1;
        row.state.updated_at = Some(now.unix_ms());
        let record = changed(update.id, &mut row, update.config);
        Ok(Decision::write(vec![record], Ok(stored_webhook(update.id, &row))))
    }
}

fn switch(state: &mut WebhookState, enabled: Option<bool>) {
    match (enabled, state.switch) {
        (Some(true), Switch::DisabledManually | Switch::DisabledByFailures) => {
            state.switch = Switch::Enabled;
            state.activity.failures_in_a_row = 0;
        }
        (Some(false), Switch::Enabled) => state.switch = Switch::DisabledManually,
        _ => {}
    }
}

fn changed(id: WebhookId, row: &mut WebhookRow, config: Option<(Bytes, crate::Topics)>) -> Record {
    let webhook = *id.as_bytes();
    let Some((config, topics)) = config else {
        return state_of(id, row.state);
    };
    row.state.topics = topics;
    Record::webhook(row.head(webhook), config)
}

/// The record of what a webhook is from here on, but for its configuration.
pub(super) fn state_of(id: WebhookId, state: WebhookState) -> Record {
    Record::bare(Head::WebhookChanged {
        webhook: *id.as_bytes(),
        state,
    })
}

/// [`crate::WebhookStore::remove_webhook`].
pub(in super::super) struct RemoveWebhook {
    pub(in super::super) id: WebhookId,
    pub(in super::super) now: Timestamp,
}

impl Operation for RemoveWebhook {
    type Answer = bool;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<bool>, IndexError> {
        let Some(row) = view.visible_webhook(self.id, self.now)? else {
            return Ok(Decision::nothing(false));
        };
        Ok(Decision::write(vec![removed(self.id, row.state)], true))
    }
}

/// The record that removes a webhook.
pub(super) fn removed(id: WebhookId, state: WebhookState) -> Record {
    let state = WebhookState {
        is_removed: true,
        ..state
    };
    state_of(id, state)
}
