//! How many bytes of each segment the rows point to.

use super::super::index::{IndexError, Rows};
use super::super::rows::{Place, key, queue_key};
use super::super::view::View;

/// A row points to this record from now on.
pub(super) fn point(view: &mut View<'_>, place: Place) -> Result<(), IndexError> {
    let live = view.live_bytes(place.segment)?.unwrap_or_default();
    view.put(key::segment(place.segment), &(live + place.len));
    Ok(())
}

/// A row that pointed to this record does so no more.
pub(super) fn unpoint(view: &mut View<'_>, place: Place) -> Result<(), IndexError> {
    if let Some(live) = view.live_bytes(place.segment)? {
        view.put(key::segment(place.segment), &live.saturating_sub(place.len));
    }
    Ok(())
}

/// As [`point`], of a record of a webhook, an event or a delivery.
pub(super) fn point_queue(view: &mut View<'_>, place: Place) -> Result<(), IndexError> {
    view.meta.live_bytes += place.len;
    point_mark(view, place)
}

/// The opposite of [`point_queue`].
pub(super) fn unpoint_queue(view: &mut View<'_>, place: Place) -> Result<(), IndexError> {
    view.meta.live_bytes = view.meta.live_bytes.saturating_sub(place.len);
    unpoint_mark(view, place)
}

/// As [`point_queue`], of the record that says how far events are dispatched: it stays although nothing is queued, and
/// counts as nothing that is kept.
pub(super) fn point_mark(view: &mut View<'_>, place: Place) -> Result<(), IndexError> {
    point(view, place)?;
    let mut queued = view.queued_in(place.segment)?;
    queued.records += 1;
    queued.bytes += place.len;
    view.put(queue_key::queue_segment(place.segment), &queued);
    Ok(())
}

/// The opposite of [`point_mark`].
pub(super) fn unpoint_mark(view: &mut View<'_>, place: Place) -> Result<(), IndexError> {
    unpoint(view, place)?;
    let mut queued = view.queued_in(place.segment)?;
    queued.records = queued.records.saturating_sub(1);
    queued.bytes = queued.bytes.saturating_sub(place.len);
    let key = queue_key::queue_segment(place.segment);
    if queued.records == 0 {
        view.delete(key);
    } else {
        view.put(key, &queued);
    }
    Ok(())
}
