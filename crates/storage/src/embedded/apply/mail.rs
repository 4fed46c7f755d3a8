//! Records of emails.

use std::ops::Range;

use restante_model::{EmailId, InboxKey};

use super::super::index::{IndexError, Row, Rows};
use super::super::record::{Blob, MailHead};
use super::super::rows::{
    AtEnd, CountRow, DeletedRow, Evicted, MailRow, Place, SignatureRow, decode, key, signature_bit,
};
use super::super::view::View;
use super::live::{point, unpoint};
use crate::Part;

/// Rows that are removed between two looks at how much waits for the index.
const PURGE_ROWS: usize = 256;

pub(super) type Id = (InboxKey, EmailId);

pub(super) fn stored(view: &mut View<'_>, head: &MailHead, place: Place) -> Result<(), IndexError> {
    let (inbox, email) = (InboxKey::from_bytes(head.inbox), EmailId::from_bytes(head.email));
    view.meta.last_sequence = view.meta.last_sequence.max(head.sequence);
    if is_evicted(view, inbox, head.sequence)? {
        return Ok(());
    }
    if let Some(old) = view.mail(inbox, email)? {
        take(view, (inbox, email), &old)?;
        if old.sequence != head.sequence {
            renew_ends(view, inbox)?;
        }
    }
    view.put(key::mail(inbox, email), &MailRow::new(head, place));
    view.put_raw(key::sequence(inbox, head.sequence), email.as_bytes());
    point(view, place)?;
    change_counts(view, inbox, |counts| {
        counts.emails += 1;
        counts.bytes += place.len;
        let new = AtEnd {
            sequence: head.sequence,
            received_at: head.received_at,
        };
        counts.oldest = counts
            .oldest
            .filter(|oldest| oldest.sequence < new.sequence)
            .or(Some(new));
        counts.newest = counts
            .newest
            .filter(|newest| newest.sequence > new.sequence)
            .or(Some(new));
    })
}

pub(super) fn read(view: &mut View<'_>, (inbox, email): Id, place: Place) -> Result<(), IndexError> {
    let Some(mut mail) = view.mail(inbox, email)? else {
        return Ok(());
    };
    let is_new = !mail.is_read;
    mail.is_read = true;
    let old = mail.read_mark.replace(place);
    view.put(key::mail(inbox, email), &mail);
    old.map_or(Ok(()), |old| unpoint(view, old))?;
    point(view, place)?;
    change_counts(view, inbox, |counts| counts.marks += u64::from(is_new))
}

pub(super) fn attached(
    view: &mut View<'_>,
    (inbox, email): Id,
    part: Part,
    blob: Blob,
    place: Place,
) -> Result<(), IndexError> {
    let Some(mut mail) = view.mail(inbox, email)? else {
        return Ok(());
    };
    let old = view.signature(inbox, email, part)?;
    let (old_len, old_bytes) = old.map_or((0, 0), |old| (u64::from(old.len), old.place.len));
    mail.signatures |= signature_bit(part);
    mail.bytes = mail.bytes + u64::from(blob.len) - old_len;
    view.put(key::mail(inbox, email), &mail);
    let signature = SignatureRow {
        place,
        len: blob.len,
        crc: blob.crc,
    };
    view.put(key::signature(inbox, email, part), &signature);
    old.map_or(Ok(()), |old| unpoint(view, old.place))?;
    point(view, place)?;
    change_counts(view, inbox, |counts| {
        counts.marks += u64::from(old.is_none());
        counts.bytes = counts.bytes + place.len - old_bytes;
    })
}

/// A deletion is remembered whatever is left of the email: the record of it may be gone already.
///
/// The same id may have been stored and deleted before, and evicted since: a replay can meet that deletion here, and
/// the record that it was evicted only later.
pub(super) fn deleted(view: &mut View<'_>, (inbox, email): Id, sequence: u64, place: Place) -> Result<(), IndexError> {
    view.meta.last_sequence = view.meta.last_sequence.max(sequence);
    if is_evicted(view, inbox, sequence)? {
        return Ok(());
    }
    if let Some(mail) = view.mail(inbox, email)? {
        take(view, (inbox, email), &mail)?;
        renew_ends(view, inbox)?;
    }
    let old = view.deleted(inbox, email)?;
    if let Some(old) = old {
        view.delete(key::deletion(inbox, old.sequence));
    }
    view.put(key::deleted_mail(inbox, email), &DeletedRow { sequence, place });
    view.put_raw(key::deletion(inbox, sequence), email.as_bytes());
    old.map_or(Ok(()), |old| unpoint(view, old.place))?;
    point(view, place)?;
    change_counts(view, inbox, |counts| counts.removals += u64::from(old.is_none()))
}

/// Whatever has a lower sequence than the latest of these records of the inbox is gone, wherever its own record lies.
pub(super) fn evicted(view: &mut View<'_>, inbox: InboxKey, through: u64, place: Place) -> Result<(), IndexError> {
    view.meta.last_sequence = view.meta.last_sequence.max(through);
    let counts = view.counts(inbox)?.unwrap_or_default();
    let old = counts.evicted;
    if old.is_some_and(|old| old.through > through) {
        return Ok(());
    }
    let behind = through.saturating_add(1);
    // What was removed from the front left marks: the first look need not go through them.
    let oldest = counts.oldest.map_or(behind, |oldest| oldest.sequence.min(behind));
    let emails = key::sequence(inbox, oldest)..key::sequence(inbox, behind);
    remove_rows(view, emails, |view, row| evict_mail(view, inbox, row))?;
    let first = old.map_or(0, |old| old.through.saturating_add(1));
    let deletions = key::deletion(inbox, first)..key::deletion(inbox, behind);
    remove_rows(view, deletions, |view, row| evict_deletion(view, inbox, row))?;
    renew_ends(view, inbox)?;
    old.map_or(Ok(()), |old| unpoint(view, old.place))?;
    point(view, place)?;
    change_counts(view, inbox, |counts| counts.evicted = Some(Evicted { through, place }))
}

/// Removes an email by its row of sequences; only that row, if it is not of the email as it is now.
fn evict_mail(view: &mut View<'_>, inbox: InboxKey, (name, value): &Row) -> Result<(), IndexError> {
    let email = email_id(value)?;
    match view.mail(inbox, email)? {
        Some(mail) if key::sequence(inbox, mail.sequence) == **name => {
            take(view, (inbox, email), &mail)?;
            view.evicted += 1;
            change_counts(view, inbox, |counts| counts.removals += 1)
        }
        _ => {
            view.delete(name.to_vec());
            Ok(())
        }
    }
}

/// As [`evict_mail`], of a deleted email.
fn evict_deletion(view: &mut View<'_>, inbox: InboxKey, (name, value): &Row) -> Result<(), IndexError> {
    let email = email_id(value)?;
    match view.deleted(inbox, email)? {
        Some(deleted) if key::deletion(inbox, deleted.sequence) == **name => {
            forget_deleted(view, (inbox, email), &deleted)
        }
        _ => {
            view.delete(name.to_vec());
            Ok(())
        }
    }
}

fn is_evicted(view: &View<'_>, inbox: InboxKey, sequence: u64) -> Result<bool, IndexError> {
    Ok(view.counts(inbox)?.is_some_and(|counts| counts.is_evicted(sequence)))
}

/// Removes all that the index holds of the mail of an inbox.
pub(in super::super) fn forget_mail(view: &mut View<'_>, inbox: InboxKey) -> Result<(), IndexError> {
    purge_until(view, inbox, key::end_of)?;
    if let Some(evicted) = view.counts(inbox)?.and_then(|counts| counts.evicted) {
        unpoint(view, evicted.place)?;
    }
    view.delete(key::counts(inbox));
    Ok(())
}

/// Removes the mail of an inbox, and what is remembered of deleted mail, up to and with an id.
pub(super) fn purge(view: &mut View<'_>, inbox: InboxKey, through: [u8; 16]) -> Result<(), IndexError> {
    // The next of several purges begins behind the marks that this one leaves.
    for rows in [key::mails(inbox), key::deleted(inbox)] {
        view.front(key::all(&rows), 1)?;
    }
    purge_until(view, inbox, |prefix| [prefix, &through, &[0]].concat())?;
    renew_ends(view, inbox)
}

fn purge_until(view: &mut View<'_>, inbox: InboxKey, end: impl Fn(&[u8]) -> Vec<u8>) -> Result<(), IndexError> {
    let id = |name: &[u8]| key::last_id(name).map(EmailId::from_bytes).ok_or(IndexError::Missing);
    let (emails, deleted) = (key::mails(inbox), key::deleted(inbox));
    let until = end(&emails);
    remove_rows(view, emails..until, |view, (name, value)| {
        take(view, (inbox, id(name)?), &decode(value)?)
    })?;
    let until = end(&deleted);
    remove_rows(view, deleted..until, |view, (name, value)| {
        forget_deleted(view, (inbox, id(name)?), &decode(value)?)
    })
}

/// Removes every row of a range, by removing what it stands for.
fn remove_rows(
    view: &mut View<'_>,
    mut keys: Range<Vec<u8>>,
    mut remove: impl FnMut(&mut View<'_>, &Row) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    loop {
        let rows = view.range(keys.clone(), PURGE_ROWS)?;
        for row in &rows {
            remove(view, row)?;
        }
        match rows.last() {
            Some((last, _)) if rows.len() == PURGE_ROWS => keys.start = [last.as_ref(), &[0]].concat(),
            _ => return Ok(()),
        }
        view.spill()?;
    }
}

fn forget_deleted(view: &mut View<'_>, (inbox, email): Id, deleted: &DeletedRow) -> Result<(), IndexError> {
    view.delete(key::deleted_mail(inbox, email));
    view.delete(key::deletion(inbox, deleted.sequence));
    unpoint(view, deleted.place)
}

/// Removes all rows of an email. Whoever does so renews [`CountRow::oldest`] and [`CountRow::newest`] in the end.
fn take(view: &mut View<'_>, (inbox, email): Id, mail: &MailRow) -> Result<(), IndexError> {
    let bytes = record_bytes(view, (inbox, email), mail)?;
    for (part, signature) in signatures(view, (inbox, email), mail)? {
        view.delete(key::signature(inbox, email, part));
        unpoint(view, signature.place)?;
    }
    view.delete(key::mail(inbox, email));
    view.delete(key::sequence(inbox, mail.sequence));
    mail.read_mark.map_or(Ok(()), |mark| unpoint(view, mark))?;
    unpoint(view, mail.place)?;
    change_counts(view, inbox, |counts| {
        counts.emails = counts.emails.saturating_sub(1);
        counts.bytes = counts.bytes.saturating_sub(bytes);
    })
}

/// Bytes of the records of an email, as [`CountRow::bytes`] has them.
pub(in super::super) fn record_bytes(rows: &impl Rows, id: Id, mail: &MailRow) -> Result<u64, IndexError> {
    let signatures = signatures(rows, id, mail)?;
    let bytes = signatures.iter().map(|(_, signature)| signature.place.len);
    Ok(mail.place.len + bytes.sum::<u64>())
}

fn signatures(rows: &impl Rows, (inbox, email): Id, mail: &MailRow) -> Result<Vec<(Part, SignatureRow)>, IndexError> {
    let mut found = Vec::new();
    for part in Part::SIGNATURES {
        if mail.has_signature(part)
            && let Some(signature) = rows.signature(inbox, email, part)?
        {
            found.push((part, signature));
        }
    }
    Ok(found)
}

/// Looks up which emails are the first and the last of those that are left, if those that were are gone.
fn renew_ends(view: &mut View<'_>, inbox: InboxKey) -> Result<(), IndexError> {
    let Some(CountRow { oldest, newest, .. }) = view.counts(inbox)? else {
        return Ok(());
    };
    let is_gone = |end: &AtEnd| Ok::<_, IndexError>(view.get(&key::sequence(inbox, end.sequence))?.is_none());
    let all = key::all(&key::sequences(inbox));
    let mut new = (oldest, newest);
    if let Some(oldest) = oldest
        && is_gone(&oldest)?
    {
        let behind = view.range(key::sequence(inbox, oldest.sequence)..all.end, 1)?;
        new.0 = behind.first().map(|row| end_of(view, inbox, row)).transpose()?;
    }
    if let Some(newest) = newest
        && is_gone(&newest)?
    {
        let before = view.last(all.start..key::sequence(inbox, newest.sequence))?;
        new.1 = before.map(|row| end_of(view, inbox, &row)).transpose()?;
    }
    if new == (oldest, newest) {
        return Ok(());
    }
    change_counts(view, inbox, |counts| (counts.oldest, counts.newest) = new)
}

/// The email of a row of sequences.
fn end_of(view: &View<'_>, inbox: InboxKey, (_, value): &Row) -> Result<AtEnd, IndexError> {
    let mail = view.mail(inbox, email_id(value)?)?.ok_or(IndexError::Missing)?;
    let (sequence, received_at) = (mail.sequence, mail.received_at);
    Ok(AtEnd { sequence, received_at })
}

fn email_id(value: &[u8]) -> Result<EmailId, IndexError> {
    Ok(EmailId::from_bytes(value.try_into().map_err(|_| IndexError::Missing)?))
}

/// Changes the counts of an inbox, and with them the totals over the inboxes that are there and the orders of their
/// oldest and newest emails.
fn change_counts(view: &mut View<'_>, inbox: InboxKey, change: impl FnOnce(&mut CountRow)) -> Result<(), IndexError> {
    let old = view.counts(inbox)?.unwrap_or_default();
    let mut new = old;
    change(&mut new);
    view.put(key::counts(inbox), &new);
    if view.inbox(inbox)?.is_none() {
        return Ok(());
    }
    view.meta.emails = view.meta.emails + new.emails - old.emails;
    view.meta.live_bytes = view.meta.live_bytes + new.bytes - old.bytes;
    view.meta.mail_bytes = view.meta.mail_bytes + new.bytes - old.bytes;
    order_ends(view, inbox, &old, &new);
    Ok(())
}

/// Moves an inbox in the orders of oldest and newest emails.
fn order_ends(view: &mut View<'_>, inbox: InboxKey, old: &CountRow, new: &CountRow) {
    for (old, new) in old.ends(inbox).into_iter().zip(new.ends(inbox)) {
        if old == new {
            continue;
        }
        if let Some(old) = old {
            view.delete(old);
        }
        if let Some(new) = new {
            view.put_raw(new, &[]);
        }
    }
}
