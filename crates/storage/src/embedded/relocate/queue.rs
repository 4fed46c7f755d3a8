//! Webhooks, events and deliveries: which of their records are live, and how they are written again.
//!
//! They are found by their rows, not in their segments: before a segment is deleted, what is live of the queue must lie
//! behind it, wherever it lay (ADR 0017).

use bytes::Bytes;
use restante_model::WebhookId;

use super::super::index::{IndexError, Rows, row};
use super::super::record::{ArrivalHead, Head, Record, RemovalsHead};
use super::super::rows::{About, DeliveryRow, EventRow, Happened, Place, WebhookRow, key, queue_key};
use super::super::view::View;

/// Whether something that counts of the queue lies in segments up to and with this one.
///
/// The mark must be behind them even if there was none: it says which sequences were given.
pub(in super::super) fn holds_queue(rows: &impl Rows, segment: u32) -> Result<bool, IndexError> {
    let first = rows.prefix(queue_key::QUEUE_SEGMENTS, 1)?;
    let first = first.first().and_then(|(name, _)| key::segment_of(name));
    Ok(first.is_some_and(|first| first <= segment) || (rows.meta()?.last_queue > 0 && mark(rows)?.is_none()))
}

/// The record that says how far events are dispatched.
pub(in super::super) fn mark(rows: &impl Rows) -> Result<Option<Place>, IndexError> {
    row(rows.get(queue_key::DISPATCHED)?)
}

/// The records that a row of the queue points to.
pub(super) fn is_live(rows: &impl Rows, head: &Head, place: Place) -> Result<bool, IndexError> {
    let is_here = |found: Option<Place>| found.is_some_and(|found| found.is(&place));
    let webhook = |id: &[u8; 16]| webhook_row(rows, WebhookId::from_bytes(*id));
    let delivery = |webhook: &[u8; 16], event, event_type| {
        delivery_row(rows, WebhookId::from_bytes(*webhook), About { event, event_type })
    };
    let event = |sequence| event_row(rows, sequence);
    Ok(match head {
        Head::WebhookStored(head) => is_here(webhook(&head.webhook)?.map(|row| row.place)),
        Head::WebhookChanged { webhook: id, .. } => is_here(webhook(id)?.and_then(|row| row.changed)),
        Head::EventStored(head) | Head::ThrownAway(head) => is_here(event(head.sequence)?.map(|row| row.place)),
        Head::EventsRaised(head) => {
            for (sequence, _) in &head.emails {
                if is_here(event(*sequence)?.map(|row| row.place)) {
                    return Ok(true);
                }
            }
            false
        }
        Head::EventsDispatched { .. } => is_here(mark(rows)?),
        Head::DeliveriesQueued { deliveries, .. } => {
            for queued in deliveries {
                let row = delivery(&queued.webhook, queued.event, queued.event_type)?;
                if is_here(row.map(|row| row.place)) {
                    return Ok(true);
                }
            }
            false
        }
        Head::DeliveryStored(head) => {
            let row = delivery(&head.webhook, head.event, head.event_type)?;
            is_here(row.map(|row| row.place))
        }
        Head::DeliveryChanged {
            webhook,
            event,
            event_type,
            ..
        } => is_here(delivery(webhook, *event, *event_type)?.and_then(|row| row.changed)),
        _ => false,
    })
}

fn webhook_row(rows: &impl Rows, webhook: WebhookId) -> Result<Option<WebhookRow>, IndexError> {
    row(rows.get(&queue_key::webhook(webhook))?)
}

fn event_row(rows: &impl Rows, sequence: u64) -> Result<Option<EventRow>, IndexError> {
    row(rows.get(&queue_key::event(sequence))?)
}

fn delivery_row(rows: &impl Rows, webhook: WebhookId, about: About) -> Result<Option<DeliveryRow>, IndexError> {
    row(rows.get(&queue_key::delivery(webhook, about))?)
}

/// Something live of the queue, with what was read from its segment.
#[derive(Debug)]
pub(in super::super) enum Queued {
    /// A webhook, with what changed since its configuration was written.
    Webhook {
        webhook: WebhookId,
        from: Place,
        config: Bytes,
    },
    /// An event; a removal has no data.
    Event {
        sequence: u64,
        from: Place,
        data: Option<Bytes>,
    },
    /// A delivery, with what changed since its report was written.
    Delivery {
        webhook: WebhookId,
        about: About,
        from: Place,
        report: Option<Bytes>,
    },
    /// How far events are dispatched, if nothing behind this segment says it.
    Mark { segment: u32 },
}

impl Queued {
    /// Bytes of content.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Webhook { config, .. } => config.len(),
            Self::Event { data: bytes, .. } | Self::Delivery { report: bytes, .. } => {
                bytes.as_ref().map_or(0, Bytes::len)
            }
            Self::Mark { .. } => 0,
        }
    }

    /// The record that says all of it; none if what was read is not what holds any more: then that is behind already.
    pub(super) fn record(self, view: &View<'_>) -> Result<Option<Record>, IndexError> {
        Ok(match self {
            Self::Webhook { webhook, from, config } => {
                let row = webhook_row(view, webhook)?.filter(|row| row.place.is(&from));
                row.map(|row| Record::webhook(row.head(*webhook.as_bytes()), config))
            }
            Self::Event { sequence, from, data } => {
                let row = event_row(view, sequence)?.filter(|row| row.place.is(&from));
                row.map(|row| event_record(row, sequence, data))
            }
            Self::Delivery {
                webhook,
                about,
                from,
                report,
            } => {
                let row = delivery_row(view, webhook, about)?.filter(|row| row.place.is(&from));
                row.map(|row| Record::delivery(row.head(*webhook.as_bytes(), about), report))
            }
            Self::Mark { segment } => {
                let is_behind = mark(view)?.is_some_and(|place| place.segment > segment);
                let (through, last) = (view.meta.dispatched, view.meta.last_queue);
                (!is_behind).then(|| Record::bare(Head::EventsDispatched { through, last }))
            }
        })
    }
}

fn event_record(event: EventRow, sequence: u64, data: Option<Bytes>) -> Record {
    let EventRow {
        inbox, email, happened, ..
    } = event;
    let head = |at, data| ArrivalHead {
        sequence,
        inbox,
        email,
        at,
        data,
    };
    match happened {
        Happened::Arrived { at, data: blob } => Record::arrival(head(at, blob), data.unwrap_or_default()),
        Happened::ThrownAway { at, data: blob } => Record::thrown_away(head(at, blob), data.unwrap_or_default()),
        Happened::Removed {
            reason,
            at,
            address,
            hash,
        } => Record::bare(Head::EventsRaised(RemovalsHead {
            inbox,
            address,
            hash,
            reason,
            at,
            emails: vec![(sequence, email)],
        })),
    }
}
