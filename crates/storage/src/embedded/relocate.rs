//! Which records are live, and how they are written again at the end of the log.

mod queue;

use std::collections::HashSet;

use bytes::Bytes;
use restante_model::{EmailId, InboxKey};

use super::decide::{Decision, Operation, Room, segments_there};
use super::index::{IndexError, Rows, row};
use super::record::{Blob, Ended, Head, IdempotencyHashes, InboxHead, MailHead, Record};
use super::rows::{IdempotencyRow, InboxRow, Place, key, signature_bit};
use super::view::View;
use crate::Part;
pub(super) use queue::{Queued, holds_queue};

/// Segments that may hold earlier records of one inbox, at most, so that the records that list them stay short.
///
/// An earlier record stays where it is only if its segment could not be deleted: then compaction has failed as often.
const COPIES_MAX: usize = 256;

/// Whether a row points to the record at `place`.
pub(super) fn is_live(rows: &impl Rows, head: &Head, place: Place) -> Result<bool, IndexError> {
    let id = |inbox: &[u8; 16], email: &[u8; 16]| (InboxKey::from_bytes(*inbox), EmailId::from_bytes(*email));
    let found = match head {
        Head::InboxStored(stored) => inbox_row(rows, InboxKey::from_bytes(stored.inbox))?.map(|inbox| inbox.place),
        Head::ChaosSet { inbox, .. } => rows
            .inbox(InboxKey::from_bytes(*inbox))?
            .and_then(|inbox| inbox.chaos_set),
        Head::InboxesRetired { inboxes, .. } => return retires_any(rows, inboxes, place),
        Head::MailStored(MailHead { inbox, email, .. }) => {
            let (inbox, email) = id(inbox, email);
            rows.mail(inbox, email)?.map(|mail| mail.place)
        }
        Head::MailRead { inbox, email, .. } => {
            let (inbox, email) = id(inbox, email);
            rows.mail(inbox, email)?.and_then(|mail| mail.read_mark)
        }
        Head::MailDeleted { inbox, email, .. } => {
            let (inbox, email) = id(inbox, email);
            rows.deleted(inbox, email)?.map(|deleted| deleted.place)
        }
        Head::SignatureAttached { inbox, email, part, .. } => {
            let (inbox, email) = id(inbox, email);
            rows.signature(inbox, email, *part)?.map(|signature| signature.place)
        }
        Head::MailReaped { inbox, .. } => rows
            .retired(InboxKey::from_bytes(*inbox))?
            .and_then(|gone| gone.reaped_by),
        Head::MailEvicted { inbox, .. } => {
            let counts = rows.counts(InboxKey::from_bytes(*inbox))?;
            counts.and_then(|counts| counts.evicted).map(|evicted| evicted.place)
        }
        Head::InboxReaped { inbox, .. } => rows.reaped(InboxKey::from_bytes(*inbox))?.map(|gone| gone.place),
        head => return queue::is_live(rows, head, place),
    };
    Ok(found.is_some_and(|found| found.is(&place)))
}

fn retires_any(rows: &impl Rows, inboxes: &[[u8; 16]], place: Place) -> Result<bool, IndexError> {
    for inbox in inboxes {
        if is_retired_by(rows, InboxKey::from_bytes(*inbox), place)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether it is this record that says that an inbox is retired.
pub(super) fn is_retired_by(rows: &impl Rows, inbox: InboxKey, place: Place) -> Result<bool, IndexError> {
    let retired = rows.retired(inbox)?.and_then(|gone| gone.retired);
    Ok(retired.is_some_and(|retired| retired.is(&place)))
}

/// The row of an inbox that is not reaped.
pub(super) fn inbox_row(rows: &impl Rows, inbox: InboxKey) -> Result<Option<InboxRow>, IndexError> {
    match rows.inbox(inbox)? {
        Some(row) => Ok(Some(row)),
        None => Ok(rows.retired(inbox)?.map(|gone| gone.inbox)),
    }
}

/// A live record, read from its segment, that is to be written again.
#[derive(Debug)]
pub(super) enum Moving {
    /// An inbox, with whatever other records say of it.
    Inbox {
        inbox: InboxKey,
        from: Place,
        client_key: Option<Bytes>,
    },
    /// An email, with whatever other records say of it.
    Mail {
        head: MailHead,
        from: Place,
        blobs: Vec<Bytes>,
        signatures: Vec<(Part, Bytes)>,
    },
    /// A record that says the same wherever it lies.
    Other { record: Record, from: Place },
    /// Something of the queue.
    Queued(Queued),
}

impl Moving {
    /// Bytes of content.
    pub(super) fn bytes(&self) -> usize {
        let sum = |blobs: &[Bytes]| blobs.iter().map(Bytes::len).sum::<usize>();
        match self {
            Self::Inbox { client_key, .. } => client_key.as_ref().map_or(0, Bytes::len),
            Self::Mail { blobs, signatures, .. } => {
                sum(blobs) + signatures.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
            }
            Self::Other { record, .. } => record.body_bytes(),
            Self::Queued(queued) => queued.bytes(),
        }
    }
}

/// Writes records again, those that a row still points to.
///
/// The committer decides it in turn with all other calls: whatever happens to an inbox or an email before is in what
/// is written, and whatever happens after it lies behind it in the log.
pub(super) struct Move(pub(super) Vec<Moving>);

impl Operation for Move {
    type Answer = ();

    fn bytes(&self) -> usize {
        self.0.iter().map(Moving::bytes).sum()
    }

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<()>, IndexError> {
        let mut moves = Moves {
            view,
            inboxes: HashSet::new(),
            emails: HashSet::new(),
            records: Vec::new(),
        };
        for moving in self.0 {
            match moving {
                Moving::Inbox {
                    inbox,
                    from,
                    client_key,
                } => moves.inbox(inbox, from, client_key)?,
                Moving::Mail {
                    head,
                    from,
                    blobs,
                    signatures,
                } => moves.mail(head, from, blobs, signatures)?,
                Moving::Other { record, from } => moves.other(record, from)?,
                Moving::Queued(queued) => moves.records.extend(queued.record(view)?),
            }
        }
        Ok(Decision::write(moves.records, ()))
    }
}

/// The records of a [`Move`].
struct Moves<'a, 'v> {
    view: &'a View<'v>,
    /// Those that are written whole: none of their other records need be.
    inboxes: HashSet<InboxKey>,
    emails: HashSet<(InboxKey, EmailId)>,
    records: Vec<Record>,
}

impl Moves<'_, '_> {
    fn inbox(&mut self, inbox: InboxKey, from: Place, client_key: Option<Bytes>) -> Result<(), IndexError> {
        let (row, ended) = match (self.view.inbox(inbox)?, self.view.retired(inbox)?) {
            (Some(row), _) => (row, None),
            (None, Some(gone)) => {
                let (reason, reaped) = (gone.reason, gone.reaped);
                (gone.inbox, Some(Ended { reason, reaped }))
            }
            (None, None) => return Ok(()),
        };
        let copies = segments_there(self.view, row.held_in())?;
        // One with more copies stays where it is, and its segment with it.
        if !row.place.is(&from) || copies.len() > COPIES_MAX || !self.inboxes.insert(inbox) {
            return Ok(());
        }
        let head = InboxHead {
            inbox: *inbox.as_bytes(),
            idempotency: self.idempotency(inbox, row.idempotency)?,
            copies,
            address: row.address,
            hash: row.hash,
            created_at: row.created_at,
            expires_at: row.expires_at,
            email_auth: row.email_auth,
            key: row.key.map(|(len, crc)| Blob { len, crc }),
            ended,
            spam_analysis: row.spam_analysis,
            persistent: row.persistent,
            chaos: row.chaos,
        };
        self.records.push(Record {
            head: Head::InboxStored(head),
            blobs: client_key.into_iter().collect(),
        });
        Ok(())
    }

    /// The idempotency key, as long as it finds this inbox.
    fn idempotency(
        &self,
        inbox: InboxKey,
        hashes: Option<IdempotencyHashes>,
    ) -> Result<Option<IdempotencyHashes>, IndexError> {
        let Some((name, body)) = hashes else {
            return Ok(None);
        };
        let seen: Option<IdempotencyRow> = row(self.view.get(&key::idempotency(&name))?)?;
        let is_found = seen.is_some_and(|seen| seen.inbox == *inbox.as_bytes());
        Ok(is_found.then_some((name, body)))
    }

    fn mail(
        &mut self,
        head: MailHead,
        from: Place,
        blobs: Vec<Bytes>,
        signatures: Vec<(Part, Bytes)>,
    ) -> Result<(), IndexError> {
        let (inbox, email) = (InboxKey::from_bytes(head.inbox), EmailId::from_bytes(head.email));
        let Some(mail) = self.view.mail(inbox, email)?.filter(|mail| mail.place.is(&from)) else {
            return Ok(());
        };
        let read = signatures.iter().fold(0, |bits, (part, _)| bits | signature_bit(*part));
        if read != mail.signatures || !self.emails.insert((inbox, email)) {
            // Signed since it was read: the next look finds it where it is.
            return Ok(());
        }
        let is_read = mail.is_read;
        self.records.push(Record {
            head: Head::MailStored(MailHead { is_read, ..head }),
            blobs,
        });
        for (part, bytes) in signatures {
            self.records.push(Record::signature(inbox, email, part, bytes));
        }
        Ok(())
    }

    fn other(&mut self, record: Record, from: Place) -> Result<(), IndexError> {
        if !is_live(self.view, &record.head, from)? || self.is_written(&record.head) {
            return Ok(());
        }
        let Record { mut head, blobs } = record;
        if let Head::InboxReaped { held_in, .. } = &mut head {
            *held_in = segments_there(self.view, std::mem::take(held_in))?;
        }
        self.records.push(Record { head, blobs });
        Ok(())
    }

    /// Whether the email or the inbox that a record is about was written whole.
    fn is_written(&self, head: &Head) -> bool {
        match head {
            Head::MailRead { inbox, email, .. } | Head::SignatureAttached { inbox, email, .. } => self
                .emails
                .contains(&(InboxKey::from_bytes(*inbox), EmailId::from_bytes(*email))),
            Head::ChaosSet { inbox, .. } => self.inboxes.contains(&InboxKey::from_bytes(*inbox)),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use restante_model::{RemovalReason, address::ADDRESS_MAX};

    use super::super::frame::HEAD_MAX;
    use super::super::index::Index;
    use super::*;
    use crate::chaos_json::CHAOS_MAX;

    /// The record of an inbox that is held in so many segments, as long as it may be.
    fn inbox_head(copies: usize) -> InboxHead {
        InboxHead {
            inbox: [1; 16],
            address: "a".repeat(ADDRESS_MAX),
            hash: [2; 32],
            created_at: u64::MAX,
            expires_at: u64::MAX,
            email_auth: true,
            idempotency: Some(([3; 32], [4; 32])),
            key: Some(Blob {
                len: u32::MAX,
                crc: u32::MAX,
            }),
            ended: Some(Ended {
                reason: RemovalReason::Eviction,
                reaped: Some([5; 16]),
            }),
            copies: vec![u32::MAX; copies],
            spam_analysis: true,
            persistent: true,
            chaos: Some(vec![u8::MAX; CHAOS_MAX].into()),
        }
    }

    #[test]
    fn records_that_list_segments_stay_short() {
        let inbox = inbox_head(COPIES_MAX);
        let place = Place {
            segment: 1,
            offset: 0,
            len: 0,
            body: 0,
        };
        let held_in = InboxRow::new(&inbox, place).held_in().len();
        let reaped = Head::InboxReaped {
            inbox: [1; 16],
            held_in: vec![u32::MAX; held_in.max(COPIES_MAX + 1)],
        };
        for head in [Head::InboxStored(inbox), reaped] {
            assert!(postcard::to_stdvec(&head).unwrap().len() <= HEAD_MAX as usize);
        }
    }

    #[test]
    fn an_inbox_with_many_copies_stays_where_it_is() {
        let last = u32::try_from(COPIES_MAX).unwrap();
        for (segment, moves) in [(last, 1), (last + 1, 0)] {
            let dir = tempfile::tempdir().unwrap();
            let index = Index::open(dir.path()).unwrap();
            let mut view = View::new(&index).unwrap();
            let head = InboxHead {
                copies: (1..segment).collect(),
                ended: None,
                ..inbox_head(0)
            };
            let from = Place {
                segment,
                offset: 36,
                len: 100,
                body: 50,
            };
            for segment in 1..=segment {
                view.put(key::segment(segment), &1_u64);
            }
            let inbox = InboxKey::from_bytes(head.inbox);
            view.put(key::inbox(inbox), &InboxRow::new(&head, from));
            let moving = Moving::Inbox {
                inbox,
                from,
                client_key: None,
            };
            let written = Move(vec![moving]).decide(&view, Room(u64::MAX)).unwrap().records;
            assert_eq!(written.len(), moves, "{segment}");
        }
    }
}
