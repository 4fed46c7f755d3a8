//! What rows of webhooks, events and deliveries can be asked for.

use restante_model::{DeliveryId, InboxKey, Timestamp, WebhookId};

use super::index::{IndexError, Row, Rows, row};
use super::rows::{
    About, DeliveryRow, EventRow, Front, Lane, Line, QueueRow, ScopeRow, Slot, WebhookRow, key, queue_key,
};
use crate::{StoredWebhook, Topic, WebhookScope};

/// See [`Rows`].
pub(super) trait QueueRows: Rows {
    fn webhook(&self, webhook: WebhookId) -> Result<Option<WebhookRow>, IndexError> {
        row(self.get(&queue_key::webhook(webhook))?)
    }

    fn scope(&self, scope: WebhookScope) -> Result<ScopeRow, IndexError> {
        Ok(row(self.get(&queue_key::scope(scope))?)?.unwrap_or_default())
    }

    fn event(&self, sequence: u64) -> Result<Option<EventRow>, IndexError> {
        row(self.get(&queue_key::event(sequence))?)
    }

    /// How many deliveries are about an event.
    fn event_deliveries(&self, sequence: u64) -> Result<u32, IndexError> {
        Ok(row(self.get(&queue_key::event_deliveries(sequence))?)?.unwrap_or_default())
    }

    fn delivery(&self, webhook: WebhookId, about: About) -> Result<Option<DeliveryRow>, IndexError> {
        row(self.get(&queue_key::delivery(webhook, about))?)
    }

    /// What a delivery of a webhook is about; of the latest event, if several have the same id.
    fn delivery_named(&self, webhook: WebhookId, delivery: DeliveryId) -> Result<Option<About>, IndexError> {
        let rows = self.prefix(&queue_key::names(delivery), usize::MAX)?;
        let Some((name, value)) = rows.last() else {
            return Ok(None);
        };
        let (owner, about) = queue_key::delivery_named(name, value).ok_or(IndexError::Missing)?;
        Ok((owner == webhook).then_some(about))
    }

    fn queue(&self, webhook: WebhookId) -> Result<QueueRow, IndexError> {
        Ok(row(self.get(&queue_key::queue(webhook))?)?.unwrap_or_default())
    }

    /// The first deliveries in a line of a webhook; `line` says where it begins and how long it is.
    fn line(&self, webhook: WebhookId, lane: Lane, line: &Line<Front>, limit: usize) -> Result<Vec<Front>, IndexError> {
        let Some(front) = line.front else { return Ok(Vec::new()) };
        let slot = Slot {
            lane,
            at: front.at,
            about: front.about,
        };
        let keys = queue_key::slot(webhook, slot)..key::end_of(&queue_key::lane(webhook, lane));
        let limit = limit.min(at_most(line.count));
        let rows = self.range(keys, limit)?;
        rows.iter().map(front_of).collect()
    }

    /// What the first deliveries of a webhook are about, in the order of their events.
    fn deliveries_from_front(
        &self,
        webhook: WebhookId,
        all: &Line<About>,
        limit: usize,
    ) -> Result<Vec<About>, IndexError> {
        let Some(front) = all.front else { return Ok(Vec::new()) };
        let keys = queue_key::delivery(webhook, front)..key::end_of(&queue_key::deliveries(webhook));
        let rows = self.range(keys, limit.min(at_most(all.count)))?;
        let about = |(name, _): &Row| Some(queue_key::delivery_of(name)?.1);
        rows.iter().map(|row| about(row).ok_or(IndexError::Missing)).collect()
    }

    /// Whether some enabled webhook wants to hear of such events of an inbox.
    fn wants(&self, inbox: InboxKey, topic: Topic) -> Result<bool, IndexError> {
        Ok(self.scope(WebhookScope::Global)?.hears(topic) || self.scope(WebhookScope::Inbox(inbox))?.hears(topic))
    }

    /// The webhooks of a scope that are not removed, in the order of their creation.
    fn in_scope(&self, scope: WebhookScope) -> Result<Vec<(WebhookId, WebhookRow)>, IndexError> {
        let totals = self.scope(scope)?;
        let Some(first) = totals.first else {
            return Ok(Vec::new());
        };
        let keys = queue_key::webhook_in_scope(scope, first)..key::end_of(&queue_key::in_scope(scope));
        let mut found = Vec::new();
        for (_, value) in self.range(keys, at_most(totals.listed))? {
            let webhook = webhook_id(&value)?;
            // Removed in between.
            found.extend(self.webhook(webhook)?.map(|row| (webhook, row)));
        }
        Ok(found)
    }

    /// Whether callers see a webhook.
    fn is_visible(&self, webhook: &WebhookRow, now: Timestamp) -> Result<bool, IndexError> {
        if webhook.state.is_removed || webhook.state.orphaned_at.is_some() {
            return Ok(false);
        }
        match webhook.scope() {
            WebhookScope::Global => Ok(true),
            WebhookScope::Inbox(inbox) => Ok(self.inbox(inbox)?.is_some_and(|inbox| !inbox.is_expired(now))),
        }
    }

    fn visible_webhook(&self, id: WebhookId, now: Timestamp) -> Result<Option<WebhookRow>, IndexError> {
        match self.webhook(id)? {
            Some(row) if self.is_visible(&row, now)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }
}

impl<R: Rows + ?Sized> QueueRows for R {}

/// A delivery in a line, of its row.
pub(super) fn front_of((name, value): &Row) -> Result<Front, IndexError> {
    Ok(Front {
        at: u64::from_be_bytes(value.as_ref().try_into().map_err(|_| IndexError::Missing)?),
        about: queue_key::slot_about(name).ok_or(IndexError::Missing)?,
    })
}

/// Rows that there can be: behind the last of them there may be marks of many that are gone.
fn at_most(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// The id of a webhook from the value of a row that points to it.
pub(super) fn webhook_id(bytes: &[u8]) -> Result<WebhookId, IndexError> {
    Ok(WebhookId::from_bytes(
        bytes.try_into().map_err(|_| IndexError::Missing)?,
    ))
}

/// A webhook as callers see it.
pub(super) fn stored_webhook(id: WebhookId, row: &WebhookRow) -> StoredWebhook {
    StoredWebhook {
        id,
        scope: row.scope(),
        topics: row.state.topics,
        revision: row.state.revision,
        created_at: Timestamp::from_unix_ms(row.created_at),
        updated_at: row.state.updated_at.map(Timestamp::from_unix_ms),
        switch: row.state.switch,
        activity: row.state.activity,
    }
}
