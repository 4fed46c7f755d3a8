//! How many bytes of each segment the rows point to.

use super::super::index::{IndexError, Rows};
use super::super::rows::{Place, key};
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
