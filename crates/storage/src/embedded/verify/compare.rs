//! Two indexes side by side: that of the store, and the one that its log makes.

use restante_model::{EmailId, InboxHash, InboxKey, WebhookId};

use super::super::index::{Index, IndexError, Row, Rows};
use super::super::relocate::inbox_row;
use super::super::rows::{
    CountRow, DeletedRow, DeliveryRow, EventRow, InboxRow, MailRow, Meta, Place, ReapedRow, RetiredRow, SignatureRow,
    WebhookRow, decode, encode, key, queue_key,
};
use super::Progress;
use super::finding::{Finding, Problem};

pub(super) struct Comparison<'a> {
    /// The index of the store, at the end of the log.
    pub(super) stored: &'a Index,
    /// The one that the log makes.
    pub(super) fresh: &'a Index,
}

impl Comparison<'_> {
    /// Goes through both in the order of their keys, and tells where they differ.
    pub(super) fn run(
        &self,
        watch: &mut impl FnMut(Progress),
        tell: &mut impl FnMut(Finding),
    ) -> Result<(), IndexError> {
        let mut stored = rows(self.stored);
        let mut fresh = rows(self.fresh);
        let (mut one, mut other) = (next(&mut stored)?, next(&mut fresh)?);
        let (mut done, total) = (0, self.fresh.meta()?.emails);
        loop {
            let order = match (&one, &other) {
                (None, None) => return Ok(()),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((one, _)), Some((other, _))) => one.cmp(other),
            };
            if let Some((name, _)) = other.as_ref().filter(|_| order.is_ge()) {
                done += u64::from(name.first() == Some(&b'm'));
                let step = "comparing the index";
                watch(Progress { step, done, total });
            }
            match (order, &one, &other) {
                (std::cmp::Ordering::Less, Some(row), _) => self.tell(Problem::RowWithoutRecord, row, tell)?,
                (std::cmp::Ordering::Greater, _, Some(row)) => self.tell(Problem::RowMissing, row, tell)?,
                (_, Some(one), Some(row)) if said(one)? != said(row)? => self.tell(Problem::RowDiffers, row, tell)?,
                _ => {}
            }
            if order.is_le() {
                one = next(&mut stored)?;
            }
            if order.is_ge() {
                other = next(&mut fresh)?;
            }
        }
    }

    fn tell(
        &self,
        problem: fn(&'static str) -> Problem,
        row: &Row,
        tell: &mut impl FnMut(Finding),
    ) -> Result<(), IndexError> {
        let (name, value) = row;
        let place = place(name, value);
        let finding = Finding::of(problem(kind(name)));
        let finding = match place {
            Some(place) => finding.at(place.segment, place.offset),
            None => Finding {
                segment: segment(name),
                ..finding
            },
        };
        tell(Finding {
            inbox: self.inbox(row)?,
            email: email(name, value),
            webhook: webhook(name),
            ..finding
        });
        Ok(())
    }

    /// The address of the inbox of a row, or the hash that the row is about.
    fn inbox(&self, (name, value): &Row) -> Result<Option<String>, IndexError> {
        if let Some(address) = name.strip_prefix(b"a") {
            return Ok(Some(String::from_utf8_lossy(address).into_owned()));
        }
        if let Some(hash) = name.strip_prefix(b"h").and_then(|hash| hash.try_into().ok()) {
            return Ok(Some(InboxHash::from_bytes(hash).to_string()));
        }
        let Some(inbox) = inbox_key_of(name, value) else {
            return Ok(None);
        };
        let row = match inbox_row(self.fresh, inbox)? {
            Some(row) => Some(row),
            None => inbox_row(self.stored, inbox)?,
        };
        Ok(row.map(|row| row.address))
    }
}

type Iter<'a> = Box<dyn Iterator<Item = Result<Row, IndexError>> + 'a>;

/// All rows, but for those that need not be the same.
fn rows(index: &Index) -> Iter<'_> {
    Box::new(
        index
            .iter(vec![0]..vec![u8::MAX])
            .filter(|row| !row.as_ref().is_ok_and(is_transient)),
    )
}

/// An idempotency key is for ten minutes and may find an earlier inbox again; what a dead record pointed to is not
/// known to an index made anew.
fn is_transient((name, value): &Row) -> bool {
    match name.first() {
        Some(b'i') => true,
        Some(b'g') => decode::<u64>(value).is_ok_and(|live| live == 0),
        _ => false,
    }
}

fn next(rows: &mut Iter<'_>) -> Result<Option<Row>, IndexError> {
    rows.next().transpose()
}

/// What a row says, without what only tells changes apart and where the index stands.
fn said((name, value): &Row) -> Result<Vec<u8>, IndexError> {
    Ok(match name.first() {
        Some(b'C') => {
            let counts: CountRow = decode(value)?;
            let (removals, marks) = (0, 0);
            encode(&CountRow {
                removals,
                marks,
                ..counts
            })
        }
        Some(b'M') => {
            let Meta {
                inboxes,
                emails,
                live_bytes,
                mail_bytes,
                last_sequence,
                last_queue,
                dispatched,
                segment: _,
                offset: _,
                salt: _,
                is_swept: _,
            } = decode(value)?;
            let queue = (last_queue, dispatched);
            encode(&(inboxes, emails, live_bytes, mail_bytes, last_sequence, queue))
        }
        _ => value.to_vec(),
    })
}

/// What the key of a row names, for people.
fn kind(name: &[u8]) -> &'static str {
    match name.first() {
        Some(b'M') => "totals",
        Some(b'I') => "inbox",
        Some(b'R') => "retired inbox",
        Some(b'C') => "counts of an inbox",
        Some(b'a') => "address",
        Some(b'h') => "hash",
        Some(b'x') => "expiry of an inbox",
        Some(b'm') => "email",
        Some(b's') => "added signature",
        Some(b'q') => "place of an email in the order of arrival",
        Some(b't') => "deleted email",
        Some(b'u') => "place of a deleted email in the order of arrival",
        Some(b'o') => "oldest email of an inbox",
        Some(b'l') => "newest email of an inbox",
        Some(b'z') => "removed inbox",
        Some(b'y') => "segment of a removed inbox",
        Some(b'g') => "live bytes of a segment",
        Some(b'W') => "webhook",
        Some(b'w') => "place of a webhook in the order of creation",
        Some(b'k') => "counts of webhooks",
        Some(b'j') => "idempotency key of a webhook",
        Some(b'X') => "work that a webhook leaves",
        Some(b'e') => "event",
        Some(b'T') => "event of an email that was thrown away",
        Some(b'E') => "count of the deliveries of an event",
        Some(b'd') => "delivery",
        Some(b'v') => "id of a delivery",
        Some(b'n') => "place of a delivery in its line",
        Some(b'Q') => "counts of the deliveries of a webhook",
        Some(b'N') => "next delivery of a webhook",
        Some(b'F') => "record of how far events are dispatched",
        Some(b'G') => "queued bytes of a segment",
        _ => "row of another kind",
    }
}

/// The record that a row points to first.
fn place(name: &[u8], value: &[u8]) -> Option<Place> {
    match name.first()? {
        b'I' => decode(value).ok().map(|row: InboxRow| row.place),
        b'R' => decode(value).ok().map(|row: RetiredRow| row.inbox.place),
        b'm' => decode(value).ok().map(|row: MailRow| row.place),
        b's' => decode(value).ok().map(|row: SignatureRow| row.place),
        b't' => decode(value).ok().map(|row: DeletedRow| row.place),
        b'z' => decode(value).ok().map(|row: ReapedRow| row.place),
        b'W' => decode(value).ok().map(|row: WebhookRow| row.place),
        b'e' => decode(value).ok().map(|row: EventRow| row.place),
        b'd' => decode(value).ok().map(|row: DeliveryRow| row.place),
        b'F' => decode(value).ok(),
        _ => None,
    }
}

fn segment(name: &[u8]) -> Option<u32> {
    match name.first()? {
        b'g' | b'y' | b'G' => key::segment_of(name),
        _ => None,
    }
}

/// The inbox that a row names by its key.
fn inbox_key_of(name: &[u8], value: &[u8]) -> Option<InboxKey> {
    let bytes = match name.first()? {
        b'e' => return decode(value).ok().map(|row: EventRow| InboxKey::from_bytes(row.inbox)),
        // A webhook may be of all inboxes.
        b'w' | b'k' => name.strip_prefix(&[name[0], 1])?.get(..16)?,
        b'I' | b'R' | b'C' | b'm' | b's' | b'q' | b't' | b'u' | b'z' => name.get(1..17)?,
        b'x' | b'o' => name.get(9..25)?,
        b'y' => name.get(5..21)?,
        _ => return None,
    };
    Some(InboxKey::from_bytes(bytes.try_into().ok()?))
}

/// The webhook that the key of a row names.
fn webhook(name: &[u8]) -> Option<WebhookId> {
    let bytes = match name.first()? {
        b'W' | b'd' | b'n' | b'Q' => name.get(1..17)?,
        b'N' => name.get(9..25)?,
        b'X' => name
            .strip_prefix(queue_key::REMOVED)
            .or(name.strip_prefix(queue_key::ORPHANS))?,
        _ => return None,
    };
    Some(WebhookId::from_bytes(bytes.try_into().ok()?))
}

/// The email that a row names.
fn email(name: &[u8], value: &[u8]) -> Option<EmailId> {
    match name.first()? {
        b'e' => decode(value).ok().map(|row: EventRow| EmailId::from_bytes(row.email)),
        b'm' | b's' | b't' => Some(EmailId::from_bytes(name.get(17..33)?.try_into().ok()?)),
        _ => None,
    }
}
