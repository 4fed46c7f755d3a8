//! Records of inboxes.

use bytes::Bytes;
use restante_model::{InboxHash, InboxKey, RemovalReason};

use super::super::index::{IndexError, Rows, inbox_key, row};
use super::super::record::InboxHead;
use super::super::rows::{CountRow, IdempotencyRow, InboxRow, Place, ReapedRow, RetiredRow, key};
use super::super::view::View;
use super::live::{point, unpoint};
use super::mail::{forget_mail, purge};
use super::webhook::note_deserted;

pub(super) fn stored(view: &mut View<'_>, head: &InboxHead, place: Place) -> Result<(), IndexError> {
    let inbox = InboxKey::from_bytes(head.inbox);
    forget(view, inbox)?;
    point(view, place)?;
    if view.counts(inbox)?.is_none() {
        view.put(key::counts(inbox), &CountRow::default());
    }
    let new = InboxRow::new(head, place);
    let Some(ended) = head.ended else {
        return begin(view, inbox, &new);
    };
    let gone = RetiredRow {
        inbox: new,
        reason: ended.reason,
        retired: None,
        reaped: ended.reaped,
        reaped_by: None,
    };
    view.put(key::retired(inbox), &gone);
    match ended.reaped {
        Some(through) => purge(view, inbox, through),
        None => Ok(()),
    }
}

/// Of an inbox that is there; the record of one that is met later says it itself.
pub(super) fn chaos_set(
    view: &mut View<'_>,
    inbox: InboxKey,
    chaos: Option<&Bytes>,
    place: Place,
) -> Result<(), IndexError> {
    let Some(mut row) = view.inbox(inbox)? else {
        return Ok(());
    };
    row.chaos = chaos.cloned();
    let old = row.chaos_set.replace(place);
    view.put(key::inbox(inbox), &row);
    view.meta.live_bytes = view.meta.live_bytes + place.len - old.map_or(0, |old| old.len);
    old.map_or(Ok(()), |old| unpoint(view, old))?;
    point(view, place)
}

/// The work does not depend on the amount of mail: its rows stay until the inbox is reaped.
pub(super) fn retired(
    view: &mut View<'_>,
    inbox: InboxKey,
    reason: RemovalReason,
    place: Place,
) -> Result<(), IndexError> {
    let Some(mut old) = view.inbox(inbox)? else {
        return Ok(());
    };
    end(view, inbox, &old)?;
    // No more mail comes to which anything could be done.
    old.chaos = None;
    old.chaos_set.take().map_or(Ok(()), |set| unpoint(view, set))?;
    let gone = RetiredRow {
        inbox: old,
        reason,
        retired: Some(place),
        reaped: None,
        reaped_by: None,
    };
    view.put(key::retired(inbox), &gone);
    point(view, place)
}

pub(super) fn mail_reaped(
    view: &mut View<'_>,
    inbox: InboxKey,
    through: [u8; 16],
    place: Place,
) -> Result<(), IndexError> {
    purge(view, inbox, through)?;
    let Some(mut gone) = view.retired(inbox)? else {
        return Ok(());
    };
    gone.reaped = Some(through);
    let old = gone.reaped_by.replace(place);
    view.put(key::retired(inbox), &gone);
    old.map_or(Ok(()), |old| unpoint(view, old))?;
    point(view, place)
}

pub(super) fn reaped(view: &mut View<'_>, inbox: InboxKey, held_in: &[u32], place: Place) -> Result<(), IndexError> {
    forget(view, inbox)?;
    forget_mail(view, inbox)?;
    if let Some(old) = view.reaped(inbox)? {
        unpoint(view, old.place)?;
        view.delete(key::reaped(inbox));
        for segment in old.held_in {
            view.delete(key::held(segment, inbox));
        }
    }
    if held_in.is_empty() {
        return Ok(());
    }
    let held_in = held_in.to_vec();
    for segment in &held_in {
        view.put_raw(key::held(*segment, inbox), &[]);
    }
    view.put(key::reaped(inbox), &ReapedRow { place, held_in });
    point(view, place)
}

/// Forgets, for up to `limit` inboxes, that a segment may hold a record of them: it is gone. Says whether more remain;
/// the last call forgets the segment itself.
pub(in super::super) fn forget_segment(view: &mut View<'_>, segment: u32, limit: usize) -> Result<bool, IndexError> {
    let rows = view.front(key::all(&key::held_in(segment)), limit)?;
    for (name, _) in &rows {
        let inbox = name.get(5..).and_then(inbox_key).ok_or(IndexError::Missing)?;
        view.delete(name.to_vec());
        let Some(mut gone) = view.reaped(inbox)? else { continue };
        gone.held_in.retain(|held| *held != segment);
        if gone.held_in.is_empty() {
            view.delete(key::reaped(inbox));
            unpoint(view, gone.place)?;
        } else {
            view.put(key::reaped(inbox), &gone);
        }
    }
    let more = rows.len() == limit;
    if !more {
        view.delete(key::segment(segment));
    }
    Ok(more)
}

/// Removes what earlier records said of an inbox, but nothing of its mail.
fn forget(view: &mut View<'_>, inbox: InboxKey) -> Result<(), IndexError> {
    if let Some(old) = view.inbox(inbox)? {
        end(view, inbox, &old)?;
        for place in old.places() {
            unpoint(view, place)?;
        }
    }
    if let Some(gone) = view.retired(inbox)? {
        view.delete(key::retired(inbox));
        for place in gone.places() {
            unpoint(view, place)?;
        }
    }
    Ok(())
}

/// Shows an inbox at its address and hash, and counts it and its mail.
fn begin(view: &mut View<'_>, inbox: InboxKey, new: &InboxRow) -> Result<(), IndexError> {
    if let Some((name, body)) = new.idempotency {
        let name = key::idempotency(&name);
        let seen: Option<IdempotencyRow> = row(view.get(&name)?)?;
        // A later inbox may have been made with the same key.
        if seen.is_none_or(|seen| seen.created_at <= new.created_at) {
            let seen = IdempotencyRow {
                inbox: *inbox.as_bytes(),
                body,
                created_at: new.created_at,
            };
            view.put(name, &seen);
        }
    }
    view.put(key::inbox(inbox), new);
    view.put_raw(key::address(&new.address), inbox.as_bytes());
    view.put_raw(key::hash(&hash_of(new)), inbox.as_bytes());
    if let Some(expiry) = new.expiry(inbox) {
        view.put_raw(expiry, &[]);
    }
    let counts = view.counts(inbox)?.unwrap_or_default();
    view.meta.inboxes += 1;
    view.meta.emails += counts.emails;
    view.meta.live_bytes += counts.bytes + new.record_bytes();
    view.meta.mail_bytes += counts.bytes;
    for end in counts.ends(inbox).into_iter().flatten() {
        view.put_raw(end, &[]);
    }
    note_deserted(view, inbox)
}

/// The opposite of [`begin`]; what another inbox has taken since is left to it.
fn end(view: &mut View<'_>, inbox: InboxKey, old: &InboxRow) -> Result<(), IndexError> {
    view.delete(key::inbox(inbox));
    if view.at_address(&old.address)? == Some(inbox) {
        view.delete(key::address(&old.address));
    }
    if view.at_hash(&hash_of(old))? == Some(inbox) {
        view.delete(key::hash(&hash_of(old)));
    }
    if let Some((name, _)) = old.idempotency {
        let name = key::idempotency(&name);
        let seen: Option<IdempotencyRow> = row(view.get(&name)?)?;
        if seen.is_some_and(|seen| seen.inbox == *inbox.as_bytes()) {
            view.delete(name);
        }
    }
    if let Some(expiry) = old.expiry(inbox) {
        view.delete(expiry);
    }
    let counts = view.counts(inbox)?.unwrap_or_default();
    view.meta.inboxes -= 1;
    view.meta.emails -= counts.emails;
    view.meta.live_bytes -= counts.bytes + old.record_bytes();
    view.meta.mail_bytes -= counts.bytes;
    for end in counts.ends(inbox).into_iter().flatten() {
        view.delete(end);
    }
    note_deserted(view, inbox)
}

fn hash_of(inbox: &InboxRow) -> InboxHash {
    InboxHash::from_bytes(inbox.hash)
}
