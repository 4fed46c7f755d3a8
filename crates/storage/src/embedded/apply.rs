//! From records to rows: the only place that says what a record means to the index.
//!
//! The committer and the replay of the log run the same code, so an index made anew equals the one that was lost.

use restante_model::{EmailId, InboxHash, InboxKey, RemovalReason};

use super::index::{IndexError, Rows, row};
use super::record::{Blob, Head};
use super::rows::{CountRow, IdempotencyRow, InboxRow, MailRow, Place, RetiredRow, SignatureRow, key, signature_bit};
use super::view::View;
use crate::Part;

/// Applies one record that lies at `place`.
pub(super) fn apply(view: &mut View<'_>, head: &Head, place: Place) -> Result<(), IndexError> {
    match head {
        Head::InboxCreated { .. } => created(view, head, place),
        Head::InboxesRetired { inboxes, reason, .. } => {
            for inbox in inboxes {
                retired(view, InboxKey::from_bytes(*inbox), *reason)?;
            }
            Ok(())
        }
        Head::MailAccepted { .. } => accepted(view, head, place),
        Head::MailRead { inbox, email, .. } => read(view, InboxKey::from_bytes(*inbox), EmailId::from_bytes(*email)),
        Head::MailRemoved { inbox, emails, .. } => {
            for email in emails {
                removed(view, InboxKey::from_bytes(*inbox), EmailId::from_bytes(*email))?;
            }
            Ok(())
        }
        Head::SignatureAttached {
            inbox,
            email,
            part,
            blob,
        } => attached(
            view,
            (InboxKey::from_bytes(*inbox), EmailId::from_bytes(*email)),
            *part,
            *blob,
            place,
        ),
        Head::SequencesForgotten { inbox, through } => {
            forgotten(view, InboxKey::from_bytes(*inbox), EmailId::from_bytes(*through))
        }
        Head::InboxReaped { inbox } => reaped(view, InboxKey::from_bytes(*inbox)),
    }
}

fn created(view: &mut View<'_>, head: &Head, place: Place) -> Result<(), IndexError> {
    let Head::InboxCreated {
        inbox,
        address,
        hash,
        created_at,
        expires_at,
        email_auth,
        idempotency,
        key: client_key,
    } = head
    else {
        return Ok(());
    };
    let inbox = InboxKey::from_bytes(*inbox);
    if let Some((name, body)) = idempotency {
        let seen = IdempotencyRow {
            inbox: *inbox.as_bytes(),
            body: *body,
            created_at: *created_at,
        };
        view.put(key::idempotency(name), &seen);
    }
    let new = InboxRow {
        place,
        address: address.clone(),
        hash: *hash,
        created_at: *created_at,
        expires_at: *expires_at,
        email_auth: *email_auth,
        key: client_key.map(|blob| (blob.len, blob.crc)),
        idempotency: idempotency.map(|(name, _)| name),
    };
    view.put(key::inbox(inbox), &new);
    view.put(key::counts(inbox), &CountRow::default());
    view.put_raw(key::address(address), inbox.as_bytes());
    view.put_raw(key::hash(&hash_of(&new)), inbox.as_bytes());
    view.put_raw(key::expiry(*expires_at, inbox), &[]);
    view.meta.inboxes += 1;
    view.meta.live_bytes += place.len;
    live_in_segment(view, place, Change::Grows)
}

/// The work does not depend on the amount of mail: its rows stay until the inbox is reaped.
fn retired(view: &mut View<'_>, inbox: InboxKey, reason: RemovalReason) -> Result<(), IndexError> {
    let Some(old) = view.inbox(inbox)? else { return Ok(()) };
    let counts = view.counts(inbox)?.unwrap_or_default();
    view.delete(key::inbox(inbox));
    if view.at_address(&old.address)? == Some(inbox) {
        view.delete(key::address(&old.address));
    }
    if view.at_hash(&hash_of(&old))? == Some(inbox) {
        view.delete(key::hash(&hash_of(&old)));
    }
    if let Some(name) = old.idempotency {
        let seen: Option<IdempotencyRow> = row(view.get(&key::idempotency(&name))?)?;
        if seen.is_some_and(|seen| seen.inbox == *inbox.as_bytes()) {
            view.delete(key::idempotency(&name));
        }
    }
    view.delete(key::expiry(old.expires_at, inbox));
    view.meta.inboxes -= 1;
    view.meta.emails -= counts.emails;
    view.meta.live_bytes -= counts.bytes + old.place.len;
    let gone = RetiredRow { inbox: old, reason };
    view.put(key::retired(inbox), &gone);
    Ok(())
}

fn accepted(view: &mut View<'_>, head: &Head, place: Place) -> Result<(), IndexError> {
    let Head::MailAccepted {
        inbox,
        email,
        sequence,
        received_at,
        parts,
        event: _,
    } = head
    else {
        return Ok(());
    };
    let (inbox, email) = (InboxKey::from_bytes(*inbox), EmailId::from_bytes(*email));
    let new = MailRow {
        place,
        received_at: *received_at,
        sequence: *sequence,
        is_read: false,
        signatures: 0,
        bytes: parts.iter().map(|(_, blob)| u64::from(blob.len)).sum(),
        parts: parts.iter().map(|(part, blob)| (*part, blob.len, blob.crc)).collect(),
    };
    view.put(key::mail(inbox, email), &new);
    view.put_raw(key::sequence(inbox, *sequence), email.as_bytes());
    let mut counts = view.counts(inbox)?.unwrap_or_default();
    counts.emails += 1;
    counts.bytes += place.len;
    view.put(key::counts(inbox), &counts);
    view.meta.last_sequence = view.meta.last_sequence.max(*sequence);
    view.meta.emails += 1;
    view.meta.live_bytes += place.len;
    live_in_segment(view, place, Change::Grows)
}

fn read(view: &mut View<'_>, inbox: InboxKey, email: EmailId) -> Result<(), IndexError> {
    let Some(mut mail) = view.mail(inbox, email)? else {
        return Ok(());
    };
    mail.is_read = true;
    view.put(key::mail(inbox, email), &mail);
    let mut counts = view.counts(inbox)?.unwrap_or_default();
    counts.marks += 1;
    view.put(key::counts(inbox), &counts);
    Ok(())
}

fn removed(view: &mut View<'_>, inbox: InboxKey, email: EmailId) -> Result<(), IndexError> {
    let Some(mail) = view.mail(inbox, email)? else {
        return Ok(());
    };
    let is_retired = view.inbox(inbox)?.is_none();
    let mut bytes = mail.place.len;
    for part in [Part::ParsedSignature, Part::RawSignature] {
        if mail.has_signature(part)
            && let Some(signature) = view.signature(inbox, email, part)?
        {
            bytes += signature.place.len;
            view.delete(key::signature(inbox, email, part));
            live_in_segment(view, signature.place, Change::Shrinks)?;
        }
    }
    view.delete(key::mail(inbox, email));
    view.delete(key::sequence(inbox, mail.sequence));
    if !is_retired {
        view.put(key::deleted_mail(inbox, email), &mail.sequence);
        view.meta.emails -= 1;
        view.meta.live_bytes -= bytes;
    }
    let mut counts = view.counts(inbox)?.unwrap_or_default();
    counts.emails = counts.emails.saturating_sub(1);
    counts.bytes = counts.bytes.saturating_sub(bytes);
    counts.removals += 1;
    view.put(key::counts(inbox), &counts);
    live_in_segment(view, mail.place, Change::Shrinks)
}

fn attached(
    view: &mut View<'_>,
    (inbox, email): (InboxKey, EmailId),
    part: Part,
    blob: Blob,
    place: Place,
) -> Result<(), IndexError> {
    let Some(mut mail) = view.mail(inbox, email)? else {
        return Ok(());
    };
    mail.signatures |= signature_bit(part);
    mail.bytes += u64::from(blob.len);
    view.put(key::mail(inbox, email), &mail);
    let signature = SignatureRow {
        place,
        len: blob.len,
        crc: blob.crc,
    };
    view.put(key::signature(inbox, email, part), &signature);
    let mut counts = view.counts(inbox)?.unwrap_or_default();
    counts.marks += 1;
    counts.bytes += place.len;
    view.put(key::counts(inbox), &counts);
    view.meta.live_bytes += place.len;
    live_in_segment(view, place, Change::Grows)
}

fn forgotten(view: &mut View<'_>, inbox: InboxKey, through: EmailId) -> Result<(), IndexError> {
    let mut end = key::deleted_mail(inbox, through);
    end.push(0);
    for (key, _) in view.range(key::deleted(inbox)..end, usize::MAX)? {
        view.delete(key.to_vec());
    }
    Ok(())
}

fn reaped(view: &mut View<'_>, inbox: InboxKey) -> Result<(), IndexError> {
    let Some(gone) = view.retired(inbox)? else {
        return Ok(());
    };
    view.delete(key::retired(inbox));
    view.delete(key::counts(inbox));
    live_in_segment(view, gone.inbox.place, Change::Shrinks)
}

fn hash_of(inbox: &InboxRow) -> InboxHash {
    InboxHash::from_bytes(inbox.hash)
}

#[derive(Clone, Copy)]
enum Change {
    Grows,
    Shrinks,
}

/// Keeps count of what is live in each segment, for compaction.
fn live_in_segment(view: &mut View<'_>, place: Place, change: Change) -> Result<(), IndexError> {
    let name = key::segment(place.segment);
    let live: u64 = row(view.get(&name)?)?.unwrap_or_default();
    let live = match change {
        Change::Grows => live + place.len,
        Change::Shrinks => live.saturating_sub(place.len),
    };
    view.put(name, &live);
    Ok(())
}
