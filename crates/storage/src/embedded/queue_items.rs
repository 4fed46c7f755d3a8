//! Webhooks and their queue for a move to another store, and from one.

use std::collections::HashSet;

use bytes::Bytes;
use restante_model::WebhookId;

use super::decide::{Decision, Operation, Room};
use super::index::{IndexError, Row, Rows};
use super::queue_rows::QueueRows;
use super::read::following;
use super::record::{
    ArrivalHead, Blob, DeliveryHead, DeliveryState, Head, Record, RemovalsHead, Standing, WebhookHead, WebhookState,
};
use super::rows::{About, BlobAt, DeliveryRow, EventRow, Happened, WebhookRow, decode, key, queue_key};
use super::segments::SegmentError;
use super::shared::Shared;
use super::view::View;
use crate::ReadError;
use crate::queue_item::{
    DeliveryItem, DeliveryItemState, EventItem, EventItemKind, QueueItem, QueuePage, QueuePlace, WebhookItem,
};

/// Kinds of rows that are given, in this order.
const KINDS: [&[u8]; 3] = [queue_key::WEBHOOKS, queue_key::EVENTS, queue_key::DELIVERIES];

impl Shared {
    /// See [`crate::WebhookStore::queue_items`]. Blocks on the disk.
    pub(super) fn queue_items(&self, at: Option<&QueuePlace>, limit: usize) -> Result<QueuePage, ReadError> {
        following(|missing| {
            let index = self.index().map_err(ReadError::from)?;
            let (kind, from) = match at {
                Some(QueuePlace { kind, from }) => (*kind, from.clone()),
                None => (0, KINDS[0].to_vec()),
            };
            let Some(prefix) = KINDS.get(kind) else {
                return Ok(QueuePage::default());
            };
            let rows = index.range(from..key::end_of(prefix), limit)?;
            let mut page = QueuePage {
                next: next_place(kind, &rows, limit),
                ..QueuePage::default()
            };
            if at.is_none() {
                page.items.extend(how_far(&*index)?);
            }
            for row in &rows {
                match self.queue_item(row, missing) {
                    Ok(item) => page.items.extend(item),
                    Err(SegmentError::Read(ReadError::Damaged)) => page.damaged += 1,
                    Err(error) => return Err(error),
                }
            }
            Ok(page)
        })
    }

    /// What a row says; nothing of a removed webhook.
    fn queue_item(&self, (name, value): &Row, missing: &[u32]) -> Result<Option<QueueItem>, SegmentError> {
        let read = |at: BlobAt| self.blob(at, missing);
        Ok(match name.first() {
            Some(b'W') => {
                let webhook = key::last_id(name).ok_or(IndexError::Missing)?;
                let row: WebhookRow = decode(value).map_err(IndexError::Row)?;
                if row.state.is_removed {
                    return Ok(None);
                }
                let config = read(row.config_at())?;
                Some(QueueItem::Webhook(webhook_item(webhook, &row, config)))
            }
            Some(b'e') => {
                let sequence = key::number_at(name, 0).ok_or(IndexError::Missing)?;
                let row: EventRow = decode(value).map_err(IndexError::Row)?;
                let data = row.data_at().map(read).transpose()?;
                Some(QueueItem::Event(event_item(sequence, row, data)))
            }
            _ => {
                let (webhook, about) = queue_key::delivery_of(name).ok_or(IndexError::Missing)?;
                let row: DeliveryRow = decode(value).map_err(IndexError::Row)?;
                let report = row.report_at().map(read).transpose()?;
                Some(QueueItem::Delivery(delivery_item(webhook, about, &row, report)))
            }
        })
    }
}

/// Where the page behind these rows begins.
fn next_place(kind: usize, rows: &[Row], limit: usize) -> Option<QueuePlace> {
    if let Some((last, _)) = rows.last().filter(|_| rows.len() == limit) {
        let from = [last.as_ref(), &[0]].concat();
        return Some(QueuePlace { kind, from });
    }
    let kind = kind + 1;
    let from = KINDS.get(kind)?.to_vec();
    Some(QueuePlace { kind, from })
}

fn how_far(rows: &impl Rows) -> Result<Option<QueueItem>, IndexError> {
    let meta = rows.meta()?;
    let (through, last) = (meta.dispatched, meta.last_queue);
    Ok((last > 0).then_some(QueueItem::Dispatched { through, last }))
}

fn webhook_item(webhook: [u8; 16], row: &WebhookRow, config: Bytes) -> WebhookItem {
    let WebhookState {
        topics,
        revision,
        updated_at,
        switch,
        activity,
        orphaned_at,
        is_removed: _,
    } = row.state;
    WebhookItem {
        webhook,
        inbox: row.inbox,
        sequence: row.sequence,
        revision,
        created_at: row.created_at,
        updated_at,
        topics,
        switch,
        activity,
        orphaned_at,
        config,
    }
}

fn event_item(sequence: u64, row: EventRow, data: Option<Bytes>) -> EventItem {
    let (at, what) = match row.happened {
        Happened::Arrived { at, .. } => (at, EventItemKind::Arrived(data.unwrap_or_default())),
        Happened::ThrownAway { at, .. } => (at, EventItemKind::ThrownAway(data.unwrap_or_default())),
        Happened::Removed {
            reason,
            at,
            address,
            hash,
        } => {
            let what = EventItemKind::Removed {
                reason,
                inbox_address: address,
                inbox_hash: hash,
            };
            (at, what)
        }
    };
    EventItem {
        sequence,
        inbox: row.inbox,
        email: row.email,
        at,
        what,
    }
}

fn delivery_item(webhook: WebhookId, about: About, row: &DeliveryRow, report: Option<Bytes>) -> DeliveryItem {
    DeliveryItem {
        webhook: *webhook.as_bytes(),
        event: about.event,
        event_type: about.event_type,
        event_id: row.event_id,
        created_at: row.created_at,
        attempts: row.state.attempts,
        is_single: row.state.is_single,
        state: match row.state.standing {
            Standing::Queued { due } => DeliveryItemState::Queued(due),
            Standing::Succeeded { at } => DeliveryItemState::Succeeded(at),
            Standing::Failed { at } => DeliveryItemState::Failed(at),
        },
        report,
    }
}

/// [`crate::WebhookStore::restore_queue`].
pub(super) struct RestoreQueue {
    pub(super) items: Vec<QueueItem>,
}

impl Operation for RestoreQueue {
    type Answer = ();

    fn bytes(&self) -> usize {
        let bytes: u64 = self.items.iter().map(QueueItem::bytes).sum();
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<()>, IndexError> {
        let mut restored = Restored {
            view,
            webhooks: HashSet::new(),
            events: HashSet::new(),
            records: Vec::new(),
        };
        for item in self.items {
            restored.take(item)?;
        }
        Ok(Decision::write(restored.records, ()))
    }
}

/// The records of a [`RestoreQueue`].
struct Restored<'a, 'v> {
    view: &'a View<'v>,
    /// Those of this call, which the view does not have yet.
    webhooks: HashSet<[u8; 16]>,
    events: HashSet<u64>,
    records: Vec<Record>,
}

impl Restored<'_, '_> {
    fn take(&mut self, item: QueueItem) -> Result<(), IndexError> {
        match item {
            QueueItem::Dispatched { through, last } => {
                let meta = &self.view.meta;
                let (through, last) = (through.max(meta.dispatched), last.max(meta.last_queue));
                self.records
                    .push(Record::bare(Head::EventsDispatched { through, last }));
            }
            QueueItem::Webhook(webhook) => {
                self.webhooks.insert(webhook.webhook);
                self.records.push(webhook_record(webhook));
            }
            QueueItem::Event(event) => {
                self.events.insert(event.sequence);
                self.records.push(event_record(event));
            }
            QueueItem::Delivery(delivery) => {
                let webhook = WebhookId::from_bytes(delivery.webhook);
                let has_webhook = self.webhooks.contains(&delivery.webhook) || self.view.webhook(webhook)?.is_some();
                let event = delivery.event;
                // What one of them was left out of, as it was damaged, or removed, says nothing.
                if has_webhook && (self.events.contains(&event) || self.view.event(event)?.is_some()) {
                    self.records.push(delivery_record(delivery));
                }
            }
        }
        Ok(())
    }
}

fn webhook_record(item: WebhookItem) -> Record {
    let head = WebhookHead {
        webhook: item.webhook,
        inbox: item.inbox,
        sequence: item.sequence,
        created_at: item.created_at,
        idempotency: None,
        state: WebhookState {
            topics: item.topics,
            revision: item.revision,
            updated_at: item.updated_at,
            switch: item.switch,
            activity: item.activity,
            orphaned_at: item.orphaned_at,
            is_removed: false,
        },
        config: Blob::of(&item.config),
    };
    Record::webhook(head, item.config)
}

fn event_record(item: EventItem) -> Record {
    let EventItem {
        sequence,
        inbox,
        email,
        at,
        what,
    } = item;
    let head = ArrivalHead {
        sequence,
        inbox,
        email,
        at,
        data: Blob::of(&[]),
    };
    match what {
        EventItemKind::Arrived(data) => Record::arrival(head, data),
        EventItemKind::ThrownAway(data) => Record::thrown_away(head, data),
        EventItemKind::Removed {
            reason,
            inbox_address,
            inbox_hash,
        } => Record::bare(Head::EventsRaised(RemovalsHead {
            inbox,
            address: inbox_address,
            hash: inbox_hash,
            reason,
            at,
            emails: vec![(sequence, email)],
        })),
    }
}

fn delivery_record(item: DeliveryItem) -> Record {
    let head = DeliveryHead {
        webhook: item.webhook,
        event: item.event,
        event_type: item.event_type,
        event_id: item.event_id,
        created_at: item.created_at,
        state: DeliveryState {
            attempts: item.attempts,
            is_single: item.is_single,
            standing: match item.state {
                DeliveryItemState::Queued(due) => Standing::Queued { due },
                DeliveryItemState::Succeeded(at) => Standing::Succeeded { at },
                DeliveryItemState::Failed(at) => Standing::Failed { at },
            },
        },
        report: item.report.as_deref().map(Blob::of),
    };
    Record::delivery(head, item.report)
}
