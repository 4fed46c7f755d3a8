//! Records of deliveries.

use restante_model::{DeliveryId, EventId, EventType, WebhookId};

use super::super::index::{IndexError, Rows};
use super::super::queue_rows::{QueueRows, front_of};
use super::super::record::{DeliveryHead, DeliveryState, QueuedHead};
use super::super::rows::{About, DeliveryRow, Front, Lane, Line, Place, QueueRow, Slot, key, queue_key};
use super::super::view::View;
use super::live::{point_queue, unpoint_queue};

pub(super) fn queued(view: &mut View<'_>, at: u64, heads: &[QueuedHead], place: Place) -> Result<(), IndexError> {
    let share = place.share(heads.len());
    for head in heads {
        let id = (WebhookId::from_bytes(head.webhook), about(head.event, head.event_type));
        replace(view, id, Some(DeliveryRow::queued(head, at, share)))?;
    }
    Ok(())
}

pub(super) fn stored(view: &mut View<'_>, head: &DeliveryHead, place: Place) -> Result<(), IndexError> {
    let id = (WebhookId::from_bytes(head.webhook), about(head.event, head.event_type));
    replace(view, id, Some(DeliveryRow::new(head, place)))
}

pub(super) fn changed(
    view: &mut View<'_>,
    id: (WebhookId, About),
    state: DeliveryState,
    place: Place,
) -> Result<(), IndexError> {
    let Some(old) = view.delivery(id.0, id.1)? else {
        return Ok(());
    };
    let new = DeliveryRow {
        state,
        changed: Some(place),
        ..old
    };
    replace(view, id, Some(new))
}

pub(super) fn forgotten(
    view: &mut View<'_>,
    webhook: WebhookId,
    deliveries: &[(u64, EventType)],
) -> Result<(), IndexError> {
    for (event, event_type) in deliveries {
        replace(view, (webhook, about(*event, *event_type)), None)?;
    }
    Ok(())
}

pub(super) fn about(event: u64, event_type: EventType) -> About {
    About { event, event_type }
}

fn replace(view: &mut View<'_>, id: (WebhookId, About), new: Option<DeliveryRow>) -> Result<(), IndexError> {
    let (webhook, about) = id;
    let old = view.delivery(webhook, about)?;
    view.meta.last_queue = view.meta.last_queue.max(about.event);
    let name = queue_key::delivery(webhook, about);
    match &new {
        Some(new) => view.put(name, new),
        None => view.delete(name),
    }
    match (&old, &new) {
        (None, Some(new)) => count(view, id, new, |count| count + 1)?,
        (Some(old), None) => count(view, id, old, |count| count.saturating_sub(1))?,
        _ => {}
    }
    let slot = |row: &Option<DeliveryRow>| row.map(|row| row.slot(about));
    change_queue(view, webhook, about, slot(&old), slot(&new))?;
    for place in new.iter().flat_map(DeliveryRow::places) {
        point_queue(view, place)?;
    }
    for place in old.iter().flat_map(DeliveryRow::places) {
        unpoint_queue(view, place)?;
    }
    Ok(())
}

/// Counts a delivery among those of its event, and makes its id known or unknown.
fn count(
    view: &mut View<'_>,
    (webhook, about): (WebhookId, About),
    row: &DeliveryRow,
    change: impl FnOnce(u32) -> u32,
) -> Result<(), IndexError> {
    let (old, name) = (
        view.event_deliveries(about.event)?,
        queue_key::event_deliveries(about.event),
    );
    let new = change(old);
    if new == 0 {
        view.delete(name);
    } else {
        view.put(name, &new);
    }
    let id = DeliveryId::of(EventId::from_bytes(row.event_id), webhook);
    let name = queue_key::name(id, about.event);
    if new > old {
        view.put_raw(name, &queue_key::named(webhook, about.event_type));
    } else {
        view.delete(name);
    }
    Ok(())
}

/// Moves a delivery from one line of its webhook to another.
fn change_queue(
    view: &mut View<'_>,
    webhook: WebhookId,
    about: About,
    old: Option<Slot>,
    new: Option<Slot>,
) -> Result<(), IndexError> {
    if old == new {
        return Ok(());
    }
    let before = view.queue(webhook)?;
    let mut queue = before;
    if let Some(slot) = old {
        view.delete(queue_key::slot(webhook, slot));
        leave(view, webhook, &mut queue, slot)?;
    }
    if let Some(slot) = new {
        view.put_raw(queue_key::slot(webhook, slot), &slot.at.to_be_bytes());
        join(&mut queue, slot);
    }
    match (old, new) {
        (None, Some(_)) => {
            queue.all.count += 1;
            queue.all.front = queue.all.front.into_iter().chain([about]).min();
        }
        (Some(_), None) => {
            queue.all.count = queue.all.count.saturating_sub(1);
            if queue.all.front == Some(about) {
                queue.all.front = next_delivery(view, webhook, about, queue.all.count)?;
            }
        }
        _ => {}
    }
    if queue == QueueRow::default() {
        view.delete(queue_key::queue(webhook));
    } else {
        view.put(queue_key::queue(webhook), &queue);
    }
    note_due(view, webhook, before.next_due(), queue.next_due())
}

fn join(queue: &mut QueueRow, slot: Slot) {
    let Line { count, front } = queue.lane_mut(slot.lane);
    *count += 1;
    let order = |front: &Front| match slot.lane {
        Lane::First => (0, front.about),
        Lane::Retry | Lane::Finished => (front.at, front.about),
    };
    let new = Front {
        at: slot.at,
        about: slot.about,
    };
    *front = (*front).into_iter().chain([new]).min_by_key(order);
}

fn leave(view: &View<'_>, webhook: WebhookId, queue: &mut QueueRow, slot: Slot) -> Result<(), IndexError> {
    let Line { count, front } = queue.lane_mut(slot.lane);
    *count = count.saturating_sub(1);
    if front.is_some_and(|front| front.about == slot.about) {
        *front = next_in_lane(view, webhook, slot, *count)?;
    }
    Ok(())
}

/// The first in a line behind a slot: from there on, since what was before left marks.
fn next_in_lane(view: &View<'_>, webhook: WebhookId, slot: Slot, left: u64) -> Result<Option<Front>, IndexError> {
    if left == 0 {
        return Ok(None);
    }
    let keys = queue_key::slot(webhook, slot)..key::end_of(&queue_key::lane(webhook, slot.lane));
    let rows = view.range(keys, 1)?;
    front_of(rows.first().ok_or(IndexError::Missing)?).map(Some)
}

fn next_delivery(view: &View<'_>, webhook: WebhookId, about: About, left: u64) -> Result<Option<About>, IndexError> {
    if left == 0 {
        return Ok(None);
    }
    let keys = queue_key::delivery(webhook, about)..key::end_of(&queue_key::deliveries(webhook));
    let rows = view.range(keys, 1)?;
    let (name, _) = rows.first().ok_or(IndexError::Missing)?;
    let (_, next) = queue_key::delivery_of(name).ok_or(IndexError::Missing)?;
    Ok(Some(next))
}

/// Keeps the order in which webhooks are due.
fn note_due(view: &mut View<'_>, webhook: WebhookId, old: Option<u64>, new: Option<u64>) -> Result<(), IndexError> {
    if old == new || !view.webhook(webhook)?.is_some_and(|row| row.is_served()) {
        return Ok(());
    }
    if let Some(old) = old {
        view.delete(queue_key::due(old, webhook));
    }
    if let Some(new) = new {
        view.put_raw(queue_key::due(new, webhook), &[]);
    }
    Ok(())
}
