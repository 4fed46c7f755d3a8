//! Keys of the rows of webhooks, events and deliveries.

use restante_model::{DeliveryId, EmailId, EventType, InboxKey, WebhookId};

use super::key::join;
use super::{About, Lane, Slot};
use crate::WebhookScope;

pub(in super::super) const WEBHOOKS: &[u8] = b"W";
pub(in super::super) const EVENTS: &[u8] = b"e";
pub(in super::super) const DELIVERIES: &[u8] = b"d";
pub(in super::super) const DUE: &[u8] = b"N";
/// Where the record lies that says how far events are dispatched.
pub(in super::super) const DISPATCHED: &[u8] = b"F";
pub(in super::super) const QUEUE_SEGMENTS: &[u8] = b"G";
/// Inboxes that are gone and have webhooks.
pub(in super::super) const DESERTED: &[u8] = b"X\0";
/// Removed webhooks.
pub(in super::super) const REMOVED: &[u8] = b"X\x01";
/// Webhooks whose inbox is gone.
pub(in super::super) const ORPHANS: &[u8] = b"X\x02";

pub(in super::super) fn webhook(webhook: WebhookId) -> Vec<u8> {
    join(b'W', &[webhook.as_bytes()])
}

fn scoped(prefix: u8, scope: WebhookScope, rest: &[u8]) -> Vec<u8> {
    match scope {
        WebhookScope::Global => join(prefix, &[&[0], rest]),
        WebhookScope::Inbox(inbox) => join(prefix, &[&[1], inbox.as_bytes(), rest]),
    }
}

pub(in super::super) fn scope(scope: WebhookScope) -> Vec<u8> {
    scoped(b'k', scope, &[])
}

pub(in super::super) fn in_scope(scope: WebhookScope) -> Vec<u8> {
    scoped(b'w', scope, &[])
}

pub(in super::super) fn webhook_in_scope(scope: WebhookScope, sequence: u64) -> Vec<u8> {
    scoped(b'w', scope, &sequence.to_be_bytes())
}

pub(in super::super) fn repeats(idempotency: &[u8; 32]) -> Vec<u8> {
    join(b'j', &[idempotency])
}

pub(in super::super) fn repeat(idempotency: &[u8; 32], sequence: u64) -> Vec<u8> {
    join(b'j', &[idempotency, &sequence.to_be_bytes()])
}

pub(in super::super) fn deserted(inbox: InboxKey) -> Vec<u8> {
    [DESERTED, inbox.as_bytes()].concat()
}

pub(in super::super) fn removed(webhook: WebhookId) -> Vec<u8> {
    [REMOVED, webhook.as_bytes()].concat()
}

pub(in super::super) fn orphan(webhook: WebhookId) -> Vec<u8> {
    [ORPHANS, webhook.as_bytes()].concat()
}

pub(in super::super) fn event(sequence: u64) -> Vec<u8> {
    join(b'e', &[&sequence.to_be_bytes()])
}

/// The event of an email that was thrown away.
pub(in super::super) fn thrown_away(inbox: InboxKey, email: EmailId) -> Vec<u8> {
    join(b'T', &[inbox.as_bytes(), email.as_bytes()])
}

pub(in super::super) fn event_deliveries(sequence: u64) -> Vec<u8> {
    join(b'E', &[&sequence.to_be_bytes()])
}

pub(in super::super) fn deliveries(webhook: WebhookId) -> Vec<u8> {
    join(b'd', &[webhook.as_bytes()])
}

pub(in super::super) fn delivery(webhook: WebhookId, about: About) -> Vec<u8> {
    let event = about.event.to_be_bytes();
    join(b'd', &[webhook.as_bytes(), &event, &[type_byte(about.event_type)]])
}

/// The webhook and what a delivery is about, of the key of its row.
pub(in super::super) fn delivery_of(key: &[u8]) -> Option<(WebhookId, About)> {
    let webhook = WebhookId::from_bytes(key.get(1..17)?.try_into().ok()?);
    Some((webhook, about_of(key.get(17..)?)?))
}

pub(in super::super) fn names(delivery: DeliveryId) -> Vec<u8> {
    join(b'v', &[delivery.as_bytes()])
}

pub(in super::super) fn name(delivery: DeliveryId, event: u64) -> Vec<u8> {
    join(b'v', &[delivery.as_bytes(), &event.to_be_bytes()])
}

/// The value of a row that names a delivery.
pub(in super::super) fn named(webhook: WebhookId, event_type: EventType) -> [u8; 17] {
    let mut value = [type_byte(event_type); 17];
    value[..16].copy_from_slice(webhook.as_bytes());
    value
}

/// The opposite of [`name`] and [`named`].
pub(in super::super) fn delivery_named(key: &[u8], value: &[u8]) -> Option<(WebhookId, About)> {
    let webhook = WebhookId::from_bytes(*value.first_chunk()?);
    let event = u64::from_be_bytes(*key.last_chunk()?);
    let event_type = type_of(*value.get(16)?)?;
    Some((webhook, About { event, event_type }))
}

pub(in super::super) fn lane(webhook: WebhookId, lane: Lane) -> Vec<u8> {
    join(b'n', &[webhook.as_bytes(), &[lane_byte(lane)]])
}

/// First attempts go in the order of their events, whatever the clock says.
pub(in super::super) fn slot(webhook: WebhookId, slot: Slot) -> Vec<u8> {
    let time = match slot.lane {
        Lane::First => 0,
        Lane::Retry | Lane::Finished => slot.at,
    };
    let (time, event) = (time.to_be_bytes(), slot.about.event.to_be_bytes());
    let rest: [&[u8]; 3] = [&time, &event, &[type_byte(slot.about.event_type)]];
    [lane(webhook, slot.lane), rest.concat()].concat()
}

/// What the row of a slot is about, of its key.
pub(in super::super) fn slot_about(key: &[u8]) -> Option<About> {
    about_of(key.get(26..)?)
}

pub(in super::super) fn queue(webhook: WebhookId) -> Vec<u8> {
    join(b'Q', &[webhook.as_bytes()])
}

pub(in super::super) fn due(at: u64, webhook: WebhookId) -> Vec<u8> {
    join(b'N', &[&at.to_be_bytes(), webhook.as_bytes()])
}

pub(in super::super) fn queue_segment(segment: u32) -> Vec<u8> {
    join(b'G', &[&segment.to_be_bytes()])
}

fn about_of(bytes: &[u8]) -> Option<About> {
    let (event, rest) = bytes.split_first_chunk()?;
    let [event_type] = rest else { return None };
    Some(About {
        event: u64::from_be_bytes(*event),
        event_type: type_of(*event_type)?,
    })
}

fn lane_byte(lane: Lane) -> u8 {
    match lane {
        Lane::First => 0,
        Lane::Retry => 1,
        Lane::Finished => 2,
    }
}

fn type_byte(event_type: EventType) -> u8 {
    match event_type {
        EventType::EmailReceived => 0,
        EventType::EmailStored => 1,
        EventType::EmailDeleted => 2,
    }
}

fn type_of(byte: u8) -> Option<EventType> {
    EventType::ALL.get(usize::from(byte)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_deliveries_read_back() {
        let webhook = WebhookId::from_bytes([1; 16]);
        for event_type in EventType::ALL {
            let about = About { event: 300, event_type };
            assert_eq!(delivery_of(&delivery(webhook, about)), Some((webhook, about)));
            for lane in [Lane::First, Lane::Retry, Lane::Finished] {
                let key = slot(webhook, Slot { lane, at: 7, about });
                assert_eq!(slot_about(&key), Some(about));
            }
            let id = DeliveryId::from_bytes([2; 16]);
            let found = delivery_named(&name(id, 300), &named(webhook, event_type));
            assert_eq!(found, Some((webhook, about)));
        }
    }
}
