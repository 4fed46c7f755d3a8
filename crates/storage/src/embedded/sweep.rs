//! What a replay leaves behind that no record will ever remove, because the segment that held it is gone.

use restante_model::InboxKey;

use super::apply::{forget_mail, forget_segment};
use super::index::{IndexError, Rows, inbox_key};
use super::rows::key;
use super::view::View;

/// Rows that are looked at in one step.
const STEP: usize = 256;

/// Forgets every segment that is not among these.
pub(super) fn forget_missing(view: &mut View<'_>, segments: &[u32]) -> Result<(), IndexError> {
    for prefix in [key::HELD, key::SEGMENTS] {
        let mut from = prefix.to_vec();
        while let Some((name, _)) = view.range(from..key::end_of(prefix), 1)?.first() {
            let segment = key::segment_of(name).ok_or(IndexError::Missing)?;
            if segments.binary_search(&segment).is_err() {
                while forget_segment(view, segment, STEP)? {
                    view.spill()?;
                }
                view.spill()?;
            }
            let Some(next) = segment.checked_add(1) else { break };
            from = [prefix, &next.to_be_bytes()].concat();
        }
    }
    Ok(())
}

/// Removes the mail of inboxes that no record in the log says were there: they were reaped, and only their mail is left.
///
/// To be called when the whole log was replayed: before that the record of an inbox may still come.
pub(super) fn remove_orphans(view: &mut View<'_>) -> Result<(), IndexError> {
    let mut from = key::COUNTS.to_vec();
    loop {
        let rows = view.range(from..key::end_of(key::COUNTS), STEP)?;
        for (name, _) in &rows {
            let inbox = name.get(1..).and_then(inbox_key).ok_or(IndexError::Missing)?;
            if is_orphaned(view, inbox)? {
                forget_mail(view, inbox)?;
                view.spill()?;
            }
        }
        match rows.last() {
            Some((name, _)) if rows.len() == STEP => from = [name.as_ref(), &[0]].concat(),
            _ => return Ok(()),
        }
    }
}

fn is_orphaned(view: &View<'_>, inbox: InboxKey) -> Result<bool, IndexError> {
    Ok(view.inbox(inbox)?.is_none() && view.retired(inbox)?.is_none())
}
