//! Records of emails.

use restante_model::{EmailId, InboxKey};

use super::super::index::{IndexError, Row, Rows};
use super::super::record::{Blob, MailHead};
use super::super::rows::{CountRow, DeletedRow, MailRow, Place, SignatureRow, decode, key, signature_bit};
use super::super::view::View;
use super::live::{point, unpoint};
use crate::Part;

/// Rows that are removed between two looks at how much waits for the index.
const PURGE_ROWS: usize = 256;

pub(super) type Id = (InboxKey, EmailId);

pub(super) fn stored(view: &mut View<'_>, head: &MailHead, place: Place) -> Result<(), IndexError> {
    let (inbox, email) = (InboxKey::from_bytes(head.inbox), EmailId::from_bytes(head.email));
    if let Some(old) = view.mail(inbox, email)? {
        take(view, (inbox, email), &old)?;
    }
    view.put(key::mail(inbox, email), &MailRow::new(head, place));
    view.put_raw(key::sequence(inbox, head.sequence), email.as_bytes());
    view.meta.last_sequence = view.meta.last_sequence.max(head.sequence);
    point(view, place)?;
    change_counts(view, inbox, |counts| {
        counts.emails += 1;
        counts.bytes += place.len;
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
pub(super) fn deleted(view: &mut View<'_>, (inbox, email): Id, sequence: u64, place: Place) -> Result<(), IndexError> {
    if let Some(mail) = view.mail(inbox, email)? {
        take(view, (inbox, email), &mail)?;
    }
    let old = view.deleted(inbox, email)?;
    view.put(key::deleted_mail(inbox, email), &DeletedRow { sequence, place });
    view.meta.last_sequence = view.meta.last_sequence.max(sequence);
    old.map_or(Ok(()), |old| unpoint(view, old.place))?;
    point(view, place)?;
    change_counts(view, inbox, |counts| counts.removals += u64::from(old.is_none()))
}

/// Removes the mail of an inbox, and what is remembered of deleted mail, up to and with an id, or all of it.
pub(in super::super) fn purge(
    view: &mut View<'_>,
    inbox: InboxKey,
    through: Option<[u8; 16]>,
) -> Result<(), IndexError> {
    purge_rows(view, &key::mails(inbox), through, |view, (name, value)| {
        let email = EmailId::from_bytes(key::last_id(name).ok_or(IndexError::Missing)?);
        take(view, (inbox, email), &decode(value)?)
    })?;
    purge_rows(view, &key::deleted(inbox), through, |view, (name, value)| {
        view.delete(name.to_vec());
        unpoint(view, decode::<DeletedRow>(value)?.place)
    })
}

fn purge_rows(
    view: &mut View<'_>,
    prefix: &[u8],
    through: Option<[u8; 16]>,
    mut remove: impl FnMut(&mut View<'_>, &Row) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let end = match through {
        Some(id) => [prefix, &id, &[0]].concat(),
        None => key::end_of(prefix),
    };
    loop {
        let rows = view.range(prefix.to_vec()..end.clone(), PURGE_ROWS)?;
        for row in &rows {
            remove(view, row)?;
        }
        if rows.len() < PURGE_ROWS {
            return Ok(());
        }
        view.spill()?;
    }
}

/// Removes all rows of an email.
fn take(view: &mut View<'_>, (inbox, email): Id, mail: &MailRow) -> Result<(), IndexError> {
    let mut bytes = mail.place.len;
    for part in Part::SIGNATURES {
        if mail.has_signature(part)
            && let Some(signature) = view.signature(inbox, email, part)?
        {
            bytes += signature.place.len;
            view.delete(key::signature(inbox, email, part));
            unpoint(view, signature.place)?;
        }
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

/// Changes the counts of an inbox, and with them the totals over the inboxes that are there.
fn change_counts(view: &mut View<'_>, inbox: InboxKey, change: impl FnOnce(&mut CountRow)) -> Result<(), IndexError> {
    let old = view.counts(inbox)?.unwrap_or_default();
    let mut new = old;
    change(&mut new);
    view.put(key::counts(inbox), &new);
    if view.inbox(inbox)?.is_some() {
        view.meta.emails = view.meta.emails + new.emails - old.emails;
        view.meta.live_bytes = view.meta.live_bytes + new.bytes - old.bytes;
    }
    Ok(())
}
