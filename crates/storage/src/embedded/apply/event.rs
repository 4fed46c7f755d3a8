//! Records of events.

use super::super::index::{IndexError, Rows, row};
use super::super::queue_rows::QueueRows;
use super::super::record::{ArrivalHead, RemovalsHead};
use super::super::rows::{EventRow, Place, queue_key};
use super::super::view::View;
use super::live::{point_mark, point_queue, unpoint_mark, unpoint_queue};

pub(super) fn arrived(view: &mut View<'_>, head: &ArrivalHead, place: Place) -> Result<(), IndexError> {
    replace(view, head.sequence, Some(&EventRow::arrived(head, place)))
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
    match new {
        Some(new) => {
            point_queue(view, new.place)?;
            view.put(name, new);
        }
        None => view.delete(name),
    }
    old.map_or(Ok(()), |old| unpoint_queue(view, old.place))
}
