//! Records of events.

use restante_model::{EmailId, InboxKey};

use super::super::index::{IndexError, Rows, row};
use super::super::queue_rows::QueueRows;
use super::super::record::{ArrivalHead, RemovalsHead};
use super::super::rows::{EventRow, Happened, Place, queue_key};
use super::super::view::View;
use super::live::{point_mark, point_queue, unpoint_mark, unpoint_queue};

pub(super) fn arrived(view: &mut View<'_>, head: &ArrivalHead, place: Place) -> Result<(), IndexError> {
    replace(view, head.sequence, Some(&EventRow::arrived(head, place)))
}

pub(super) fn thrown_away(view: &mut View<'_>, head: &ArrivalHead, place: Place) -> Result<(), IndexError> {
    replace(view, head.sequence, Some(&EventRow::thrown_away(head, place)))
}

pub(super) fn removed(view: &mut View<'_>, head: &RemovalsHead, place: Place) -> Result<(), IndexError> {
    let share = place.share(head.emails.len());
    for (sequence, email) in &head.emails {
        replace(view, *sequence, Some(&EventRow::removed(head, *email, share)))?;
    }
    Ok(())
}

pub(super) fn forgotten(view: &mut View<'_>, events: &[u64]) -> Result<(), IndexError> {
    for sequence in events {
        replace(view, *sequence, None)?;
    }
    Ok(())
}

pub(super) fn dispatched(view: &mut View<'_>, through: u64, last: u64, place: Place) -> Result<(), IndexError> {
    view.meta.dispatched = view.meta.dispatched.max(through);
    view.meta.last_queue = view.meta.last_queue.max(last);
    let name = queue_key::DISPATCHED.to_vec();
    let old: Option<Place> = row(view.get(&name)?)?;
    point_mark(view, place)?;
    old.map_or(Ok(()), |old| unpoint_mark(view, old))?;
    view.put(name, &place);
    Ok(())
}

fn replace(view: &mut View<'_>, sequence: u64, new: Option<&EventRow>) -> Result<(), IndexError> {
    view.meta.last_queue = view.meta.last_queue.max(sequence);
    let old = view.event(sequence)?;
    let name = queue_key::event(sequence);
    if let Some(known) = old.as_ref().and_then(known_as) {
        view.delete(known);
    }
    if let Some(known) = new.and_then(known_as) {
        view.put(known, &sequence);
    }
    match new {
        Some(new) => {
            point_queue(view, new.place)?;
            view.put(name, new);
        }
        None => view.delete(name),
    }
    old.map_or(Ok(()), |old| unpoint_queue(view, old.place))
}

/// The key at which an event of mail that was thrown away is found again: nothing else is left of that mail.
fn known_as(event: &EventRow) -> Option<Vec<u8>> {
    let name = || queue_key::thrown_away(InboxKey::from_bytes(event.inbox), EmailId::from_bytes(event.email));
    matches!(event.happened, Happened::ThrownAway { .. }).then(name)
}
