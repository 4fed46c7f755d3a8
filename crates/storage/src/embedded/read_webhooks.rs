//! Reading webhooks, events and deliveries.

use bytes::Bytes;
use restante_model::{DeliveryId, EmailId, EventId, InboxKey, Timestamp, WebhookId};

use super::index::{IndexError, Rows};
use super::queue_rows::{QueueRows, stored_webhook};
use super::read::following;
use super::record::Standing;
use super::rows::{About, DeliveryRow, EventRow, Happened, decode, inbox_hash, key, queue_key};
use super::segments::SegmentError;
use super::shared::Shared;
use crate::{
    DeliveriesAfter, DeliveryPage, DeliveryState, Happening, ReadError, StoredDelivery, StoredEvent, StoredWebhook,
    WebhookPage, WebhookScope,
};

impl Shared {
    pub(super) fn webhook(&self, id: WebhookId, now: Timestamp) -> Result<Option<StoredWebhook>, ReadError> {
        let found = self.index()?.visible_webhook(id, now)?;
        Ok(found.map(|row| stored_webhook(id, &row)))
    }

    /// Blocks on the disk.
    pub(super) fn webhook_config(&self, id: WebhookId) -> Result<Option<(u64, Bytes)>, ReadError> {
        following(|missing| {
            let row = self.index().map_err(ReadError::from)?.webhook(id)?;
            let Some(row) = row.filter(|row| !row.state.is_removed) else {
                return Ok(None);
            };
            let config = self.blob(row.config_at(), missing)?;
            Ok(Some((row.state.revision, config)))
        })
    }

    pub(super) fn webhooks(&self, scope: WebhookScope, now: Timestamp) -> Result<Vec<StoredWebhook>, ReadError> {
        let index = self.index()?;
        let mut found = Vec::new();
        for (id, row) in index.in_scope(scope)? {
            if index.is_visible(&row, now)? {
                found.push(stored_webhook(id, &row));
            }
        }
        Ok(found)
    }

    pub(super) fn all_webhooks(
        &self,
        after: Option<WebhookId>,
        limit: usize,
        now: Timestamp,
    ) -> Result<WebhookPage, ReadError> {
        let index = self.index()?;
        let from = match after {
            Some(id) => [queue_key::webhook(id).as_slice(), &[0]].concat(),
            None => queue_key::WEBHOOKS.to_vec(),
        };
        let mut page = WebhookPage::default();
        for row in index.iter(from..key::end_of(queue_key::WEBHOOKS)) {
            let (name, value) = row?;
            let row = decode(&value).map_err(IndexError::from)?;
            if !index.is_visible(&row, now)? {
                continue;
            }
            if page.webhooks.len() >= limit {
                page.more = true;
                break;
            }
            let id = WebhookId::from_bytes(key::last_id(&name).ok_or(IndexError::Missing)?);
            page.webhooks.push(stored_webhook(id, &row));
        }
        Ok(page)
    }

    pub(super) fn subscribers(&self, inbox: InboxKey) -> Result<Vec<StoredWebhook>, ReadError> {
        let index = self.index()?;
        let mut found = index.in_scope(WebhookScope::Global)?;
        found.extend(index.in_scope(WebhookScope::Inbox(inbox))?);
        let served = found.iter().filter(|(_, row)| row.is_served());
        Ok(served.map(|(id, row)| stored_webhook(*id, row)).collect())
    }

    pub(super) fn events(&self, limit: usize) -> Result<Vec<StoredEvent>, ReadError> {
        let index = self.index()?;
        let first = index.meta()?.dispatched.saturating_add(1);
        let rows = index.range(queue_key::event(first)..key::end_of(queue_key::EVENTS), limit)?;
        let mut events = Vec::with_capacity(rows.len());
        for (name, value) in rows {
            let sequence = key::number_at(&name, 0).ok_or(IndexError::Missing)?;
            let row = decode(&value).map_err(IndexError::from)?;
            events.push(stored_event(sequence, row));
        }
        Ok(events)
    }

    pub(super) fn event(&self, sequence: u64) -> Result<Option<StoredEvent>, ReadError> {
        let found = self.index()?.event(sequence)?;
        Ok(found.map(|row| stored_event(sequence, row)))
    }

    /// Blocks on the disk.
    pub(super) fn event_data(&self, sequence: u64) -> Result<Option<Bytes>, ReadError> {
        following(|missing| {
            let row = self.index().map_err(ReadError::from)?.event(sequence)?;
            let at = row.and_then(|row| row.data_at());
            at.map(|at| self.blob(at, missing)).transpose()
        })
    }

    /// Blocks on the disk.
    pub(super) fn deliveries(&self, webhook: WebhookId, page: DeliveriesAfter) -> Result<DeliveryPage, ReadError> {
        following(|missing| {
            let (found, more) = self.find_deliveries(webhook, page)?;
            let stored = |(about, row)| self.stored_delivery(webhook, about, &row, missing);
            Ok(DeliveryPage {
                deliveries: found.into_iter().map(stored).collect::<Result<_, _>>()?,
                more,
            })
        })
    }

    fn find_deliveries(
        &self,
        webhook: WebhookId,
        page: DeliveriesAfter,
    ) -> Result<(Vec<(About, DeliveryRow)>, bool), ReadError> {
        let index = self.index()?;
        let Some(front) = index.queue(webhook)?.all.front else {
            return Ok((Vec::new(), false));
        };
        let end = match page.before {
            None => key::end_of(&queue_key::deliveries(webhook)),
            Some(before) => match index.delivery_named(webhook, before)? {
                Some(about) => queue_key::delivery(webhook, about),
                None => return Ok((Vec::new(), false)),
            },
        };
        let mut found = Vec::new();
        for row in index.iter(queue_key::delivery(webhook, front)..end).rev() {
            let (name, value) = row?;
            if found.len() >= page.limit {
                return Ok((found, true));
            }
            let (_, about) = queue_key::delivery_of(&name).ok_or(IndexError::Missing)?;
            found.push((about, decode(&value).map_err(IndexError::from)?));
        }
        Ok((found, false))
    }

    /// A damaged report is left out, so that it does not hide the others.
    fn stored_delivery(
        &self,
        webhook: WebhookId,
        about: About,
        row: &DeliveryRow,
        missing: &[u32],
    ) -> Result<StoredDelivery, SegmentError> {
        let event_id = EventId::from_bytes(row.event_id);
        let report = match row.report_at().map(|at| self.blob(at, missing)).transpose() {
            Err(SegmentError::Read(ReadError::Damaged)) => None,
            read => read?,
        };
        Ok(StoredDelivery {
            id: DeliveryId::of(event_id, webhook),
            event_id,
            event_type: about.event_type,
            attempts: row.state.attempts,
            state: state_of(row.state.standing),
            created_at: Timestamp::from_unix_ms(row.created_at),
            report,
        })
    }
}

fn state_of(standing: Standing) -> DeliveryState {
    let time = Timestamp::from_unix_ms;
    match standing {
        Standing::Queued { due } => DeliveryState::Queued { due: time(due) },
        Standing::Succeeded { at } => DeliveryState::Succeeded { at: time(at) },
        Standing::Failed { at } => DeliveryState::Failed { at: time(at) },
    }
}

fn stored_event(sequence: u64, row: EventRow) -> StoredEvent {
    StoredEvent {
        sequence,
        inbox: InboxKey::from_bytes(row.inbox),
        email: EmailId::from_bytes(row.email),
        happening: match row.happened {
            Happened::Arrived { .. } => Happening::Arrived,
            Happened::ThrownAway { .. } => Happening::ThrownAway,
            Happened::Removed {
                reason,
                at,
                address,
                hash,
            } => Happening::Removed {
                reason,
                at: Timestamp::from_unix_ms(at),
                inbox_address: address,
                inbox_hash: inbox_hash(&hash),
            },
        },
    }
}
