//! The rows of the index: keys with a one-byte kind prefix, values in postcard.
//!
//! | Prefix | Key | Value |
//! |---|---|---|
//! | `M` | – | [`Meta`] |
//! | `I` | inbox | [`InboxRow`] of an inbox that is not retired |
//! | `R` | inbox | [`RetiredRow`] of one that is not reaped |
//! | `C` | inbox | [`CountRow`], until it is reaped |
//! | `a` | address | inbox |
//! | `h` | hash | inbox |
//! | `i` | idempotency key | inbox, hash of the body, time |
//! | `x` | expiry, inbox | –, of one that expires |
//! | `m` | inbox, email | [`MailRow`] |
//! | `s` | inbox, email, part | [`SignatureRow`] |
//! | `q` | inbox, sequence | email |
//! | `t` | inbox, email | [`DeletedRow`] of a deleted email |
//! | `u` | inbox, its sequence | the deleted email |
//! | `o` | arrival of its oldest email, inbox | –, of an inbox that is not retired and not empty |
//! | `l` | arrival of its newest email in seconds, inbox | –, of an inbox that is not retired and not empty |
//! | `z` | inbox | [`ReapedRow`] of an inbox of which segments may still tell |
//! | `y` | segment, inbox | –, for each segment of a [`ReapedRow`] |
//! | `g` | segment | bytes of its records that are live |
//! | `W` | webhook | [`WebhookRow`] |
//! | `w` | scope, sequence of a webhook | webhook |
//! | `k` | scope | [`ScopeRow`] |
//! | `j` | idempotency key, sequence of a webhook | webhook |
//! | `X` | 0, inbox | –, of an inbox that is gone and has webhooks |
//! | `X` | 1, webhook | –, of a removed one |
//! | `X` | 2, webhook | –, of one whose inbox is gone |
//! | `e` | sequence of an event | [`EventRow`] |
//! | `T` | inbox, email | sequence of the event of one that was thrown away |
//! | `E` | sequence of an event | how many [`DeliveryRow`]s are about it |
//! | `d` | webhook, event, type | [`DeliveryRow`] |
//! | `v` | id of a delivery, event | webhook, type |
//! | `n` | webhook, lane, time, event, type | when it is due, or ended |
//! | `Q` | webhook | [`QueueRow`] |
//! | `N` | when its next delivery is due, webhook | –, of one that is served |
//! | `F` | – | where the record lies that says how far events are dispatched |
//! | `G` | segment | [`QueuedIn`]: its live records of webhooks, events and deliveries |
//!
//! A record is live while a row points to it with a [`Place`]: what no row points to says nothing that a rebuild
//! would miss, and a segment without live records can be deleted (ADR 0015).

mod queue;
pub(super) mod queue_key;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(super) use queue::{
    About, DeliveryRow, EventRow, Front, Happened, Lane, Line, QueueRow, QueuedIn, ScopeRow, Slot, WebhookRow,
    inbox_hash,
};

use super::record::{Blob, IdempotencyHashes, InboxHead, MailHead};
use crate::Part;
use restante_model::{EmailId, Inbox, InboxHash, InboxKey, RemovalReason, Timestamp};

/// The version of these rows: an index with others is made anew. Raise it with every change of a key or a row.
pub(super) const ROWS_VERSION: u32 = 8;

/// Where a record lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) offset: u64,
    /// Bytes of the whole record, or the share of one of several that it is about.
    pub(super) len: u64,
    /// Where its body begins, counted from `offset`.
    pub(super) body: u32,
}

impl Place {
    /// Whether both are the same record.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.segment, self.offset) == (other.segment, other.offset)
    }

    /// The record as one of `count` that it is about sees it.
    pub(super) fn share(self, count: usize) -> Self {
        Self {
            len: self.len.div_ceil(count.max(1) as u64),
            ..self
        }
    }

    /// Where the blobs of the record lie.
    pub(super) fn blobs(&self, blobs: &[Blob]) -> Vec<BlobAt> {
        let mut offset = self.offset + u64::from(self.body);
        let at = |blob: &Blob| {
            let from = offset;
            offset += u64::from(blob.len);
            BlobAt {
                segment: self.segment,
                offset: from,
                len: blob.len,
                crc: blob.crc,
            }
        };
        blobs.iter().map(at).collect()
    }
}

/// Where a blob lies, and what it must sum to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlobAt {
    pub(super) segment: u32,
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) crc: u32,
}

/// The position up to which the index has applied the log, and totals that would need a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) segment: u32,
    pub(super) offset: u64,
    /// The salt of that segment: in another file the offset means nothing.
    pub(super) salt: [u8; 8],
    pub(super) last_sequence: u64,
    pub(super) inboxes: u64,
    pub(super) emails: u64,
    pub(super) live_bytes: u64,
    /// Of these, what emails take.
    pub(super) mail_bytes: u64,
    /// Whether the log was once replayed to its end and what it left behind was removed.
    pub(super) is_swept: bool,
    /// The last sequence that a webhook or an event was given.
    pub(super) last_queue: u64,
    /// All events up to this one are dispatched.
    pub(super) dispatched: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InboxRow {
    pub(super) place: Place,
    pub(super) address: String,
    pub(super) hash: [u8; 32],
    pub(super) created_at: u64,
    pub(super) expires_at: u64,
    pub(super) email_auth: bool,
    /// Length and checksum of the client's key, if it is encrypted.
    pub(super) key: Option<(u32, u32)>,
    pub(super) idempotency: Option<IdempotencyHashes>,
    /// Segments that may hold earlier records of it.
    pub(super) copies: Vec<u32>,
    pub(super) spam_analysis: bool,
    pub(super) persistent: bool,
    /// What is done to its mail: JSON.
    pub(super) chaos: Option<Bytes>,
    /// The record that says so; none if the record of the inbox does.
    pub(super) chaos_set: Option<Place>,
}

impl InboxRow {
    /// The row of an inbox whose record lies at `place`.
    pub(super) fn new(head: &InboxHead, place: Place) -> Self {
        Self {
            place,
            address: head.address.clone(),
            hash: head.hash,
            created_at: head.created_at,
            expires_at: head.expires_at,
            email_auth: head.email_auth,
            key: head.key.map(|blob| (blob.len, blob.crc)),
            idempotency: head.idempotency,
            copies: head.copies.clone(),
            spam_analysis: head.spam_analysis,
            persistent: head.persistent,
            chaos: head.chaos.clone(),
            chaos_set: None,
        }
    }

    /// The records that it points to.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        std::iter::once(self.place).chain(self.chaos_set)
    }

    /// Bytes of these records.
    pub(super) fn record_bytes(&self) -> u64 {
        self.places().map(|place| place.len).sum()
    }

    /// Where the client's key lies.
    pub(super) fn key_at(&self) -> Option<BlobAt> {
        let (len, crc) = self.key?;
        Some(BlobAt {
            segment: self.place.segment,
            offset: self.place.offset + u64::from(self.place.body),
            len,
            crc,
        })
    }

    /// All segments that may hold a record of it.
    pub(super) fn held_in(&self) -> Vec<u32> {
        let mut segments = self.copies.clone();
        segments.push(self.place.segment);
        segments.sort_unstable();
        segments.dedup();
        segments
    }

    /// Its place in the order of expiry; none if it never expires.
    pub(super) fn expiry(&self, inbox: InboxKey) -> Option<Vec<u8>> {
        let ends = self.expires_at != Inbox::NEVER.unix_ms();
        ends.then(|| key::expiry(self.expires_at, inbox))
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        now.unix_ms() >= self.expires_at
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RetiredRow {
    pub(super) inbox: InboxRow,
    pub(super) reason: RemovalReason,
    /// The record that retired it; none if the record of the inbox says so itself.
    pub(super) retired: Option<Place>,
    /// Its mail is removed up to and with this id.
    pub(super) reaped: Option<[u8; 16]>,
    /// The record that says so; none if the record of the inbox does.
    pub(super) reaped_by: Option<Place>,
}

impl RetiredRow {
    /// The records that it points to.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        let later = [self.retired, self.reaped_by].into_iter().flatten();
        self.inbox.places().chain(later)
    }
}

/// An inbox that is gone, while segments may hold a record that says that it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReapedRow {
    /// The record that says that it is gone.
    pub(super) place: Place,
    /// Those segments.
    pub(super) held_in: Vec<u32>,
}

/// An email that was deleted, while its inbox is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeletedRow {
    pub(super) sequence: u64,
    pub(super) place: Place,
}

/// Totals of an inbox. Every change of its mail changes this row: equal rows mean that nothing happened in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CountRow {
    pub(super) emails: u64,
    pub(super) bytes: u64,
    /// Emails removed so far.
    pub(super) removals: u64,
    /// Read marks and signatures so far.
    pub(super) marks: u64,
    /// The email that was committed first, of those that are left.
    pub(super) oldest: Option<AtEnd>,
    /// The one that was committed last.
    pub(super) newest: Option<AtEnd>,
    /// Up to where emails were evicted.
    pub(super) evicted: Option<Evicted>,
}

/// The email of an inbox that was committed first, or last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AtEnd {
    pub(super) sequence: u64,
    pub(super) received_at: u64,
}

/// Nothing of an inbox is left up to and with a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Evicted {
    pub(super) through: u64,
    /// The record that says so.
    pub(super) place: Place,
}

impl CountRow {
    /// Its places in the orders of oldest and newest emails.
    pub(super) fn ends(&self, inbox: InboxKey) -> [Option<Vec<u8>>; 2] {
        [
            self.oldest.map(|oldest| key::oldest(oldest.received_at, inbox)),
            self.newest.map(|newest| key::newest(newest.received_at, inbox)),
        ]
    }

    /// Whether an email with this sequence was evicted.
    pub(super) fn is_evicted(&self, sequence: u64) -> bool {
        self.evicted.is_some_and(|evicted| sequence <= evicted.through)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MailRow {
    pub(super) place: Place,
    pub(super) received_at: u64,
    pub(super) sequence: u64,
    pub(super) is_read: bool,
    /// The record that marked it as read; none if the record of the email says so itself.
    pub(super) read_mark: Option<Place>,
    /// Which signatures have been attached: bit 0 parsed, bit 1 raw, bit 2 metadata.
    pub(super) signatures: u8,
    /// Bytes of all parts, attached signatures among them.
    pub(super) bytes: u64,
    /// Part, length and checksum, in the order of the body.
    pub(super) parts: Vec<(Part, u32, u32)>,
}

impl MailRow {
    /// The row of an email whose record lies at `place`.
    pub(super) fn new(head: &MailHead, place: Place) -> Self {
        Self {
            place,
            received_at: head.received_at,
            sequence: head.sequence,
            is_read: head.is_read,
            read_mark: None,
            signatures: 0,
            bytes: head.parts.iter().map(|(_, blob)| u64::from(blob.len)).sum(),
            parts: head
                .parts
                .iter()
                .map(|(part, blob)| (*part, blob.len, blob.crc))
                .collect(),
        }
    }

    /// Where a part lies, if the email came with it.
    pub(super) fn part(&self, wanted: Part) -> Option<BlobAt> {
        let mut offset = self.place.offset + u64::from(self.place.body);
        for (part, len, crc) in &self.parts {
            if *part == wanted {
                return Some(BlobAt {
                    segment: self.place.segment,
                    offset,
                    len: *len,
                    crc: *crc,
                });
            }
            offset += u64::from(*len);
        }
        None
    }

    pub(super) fn has_signature(&self, part: Part) -> bool {
        self.signatures & signature_bit(part) != 0
    }
}

/// The bit of [`MailRow::signatures`]; 0 for a part that is no signature.
pub(super) fn signature_bit(part: Part) -> u8 {
    match part {
        Part::ParsedSignature => 1,
        Part::RawSignature => 2,
        Part::MetadataSignature => 4,
        Part::Metadata | Part::Facts | Part::Raw | Part::Parsed => 0,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SignatureRow {
    pub(super) place: Place,
    pub(super) len: u32,
    pub(super) crc: u32,
}

impl SignatureRow {
    pub(super) fn blob(&self) -> BlobAt {
        BlobAt {
            segment: self.place.segment,
            offset: self.place.offset + u64::from(self.place.body),
            len: self.len,
            crc: self.crc,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IdempotencyRow {
    pub(super) inbox: [u8; 16],
    pub(super) body: [u8; 32],
    pub(super) created_at: u64,
}

/// A row as the index stores it.
pub(super) fn encode<T: Serialize>(row: &T) -> Vec<u8> {
    postcard::to_stdvec(row).expect("rows are plain data, which postcard always encodes")
}

/// A row back from its bytes.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, postcard::Error> {
    postcard::from_bytes(bytes)
}

/// Keys of the index.
pub(super) mod key {
    use std::ops::Range;

    use super::{EmailId, InboxHash, InboxKey, Part, signature_bit};

    pub(in super::super) const META: &[u8] = b"M";
    pub(in super::super) const RETIRED: &[u8] = b"R";
    pub(in super::super) const EXPIRY: &[u8] = b"x";
    pub(in super::super) const HASH: &[u8] = b"h";
    pub(in super::super) const COUNTS: &[u8] = b"C";
    pub(in super::super) const SEGMENTS: &[u8] = b"g";
    pub(in super::super) const HELD: &[u8] = b"y";
    pub(in super::super) const OLDEST: &[u8] = b"o";
    pub(in super::super) const NEWEST: &[u8] = b"l";

    pub(super) fn join(prefix: u8, parts: &[&[u8]]) -> Vec<u8> {
        let mut key = Vec::with_capacity(1 + parts.iter().map(|part| part.len()).sum::<usize>());
        key.push(prefix);
        for part in parts {
            key.extend_from_slice(part);
        }
        key
    }

    pub(in super::super) fn inbox(inbox: InboxKey) -> Vec<u8> {
        join(b'I', &[inbox.as_bytes()])
    }

    pub(in super::super) fn retired(inbox: InboxKey) -> Vec<u8> {
        join(b'R', &[inbox.as_bytes()])
    }

    pub(in super::super) fn counts(inbox: InboxKey) -> Vec<u8> {
        join(b'C', &[inbox.as_bytes()])
    }

    pub(in super::super) fn address(address: &str) -> Vec<u8> {
        join(b'a', &[address.as_bytes()])
    }

    pub(in super::super) fn hash(hash: &InboxHash) -> Vec<u8> {
        join(b'h', &[hash.as_bytes()])
    }

    pub(in super::super) fn idempotency(key: &[u8; 32]) -> Vec<u8> {
        join(b'i', &[key])
    }

    pub(in super::super) fn expiry(expires_at: u64, inbox: InboxKey) -> Vec<u8> {
        join(b'x', &[&expires_at.to_be_bytes(), inbox.as_bytes()])
    }

    pub(in super::super) fn mails(inbox: InboxKey) -> Vec<u8> {
        join(b'm', &[inbox.as_bytes()])
    }

    pub(in super::super) fn mail(inbox: InboxKey, email: EmailId) -> Vec<u8> {
        join(b'm', &[inbox.as_bytes(), email.as_bytes()])
    }

    pub(in super::super) fn signature(inbox: InboxKey, email: EmailId, part: Part) -> Vec<u8> {
        join(b's', &[inbox.as_bytes(), email.as_bytes(), &[signature_bit(part)]])
    }

    pub(in super::super) fn sequences(inbox: InboxKey) -> Vec<u8> {
        join(b'q', &[inbox.as_bytes()])
    }

    pub(in super::super) fn sequence(inbox: InboxKey, sequence: u64) -> Vec<u8> {
        join(b'q', &[inbox.as_bytes(), &sequence.to_be_bytes()])
    }

    pub(in super::super) fn deleted(inbox: InboxKey) -> Vec<u8> {
        join(b't', &[inbox.as_bytes()])
    }

    pub(in super::super) fn deleted_mail(inbox: InboxKey, email: EmailId) -> Vec<u8> {
        join(b't', &[inbox.as_bytes(), email.as_bytes()])
    }

    pub(in super::super) fn deletion(inbox: InboxKey, sequence: u64) -> Vec<u8> {
        join(b'u', &[inbox.as_bytes(), &sequence.to_be_bytes()])
    }

    pub(in super::super) fn oldest(received_at: u64, inbox: InboxKey) -> Vec<u8> {
        join(b'o', &[&received_at.to_be_bytes(), inbox.as_bytes()])
    }

    /// In seconds, so that a stream of mail does not move its inbox with every email.
    pub(in super::super) fn newest(received_at: u64, inbox: InboxKey) -> Vec<u8> {
        join(b'l', &[&(received_at / 1000).to_be_bytes(), inbox.as_bytes()])
    }

    pub(in super::super) fn reaped(inbox: InboxKey) -> Vec<u8> {
        join(b'z', &[inbox.as_bytes()])
    }

    pub(in super::super) fn held_in(segment: u32) -> Vec<u8> {
        join(b'y', &[&segment.to_be_bytes()])
    }

    pub(in super::super) fn held(segment: u32, inbox: InboxKey) -> Vec<u8> {
        join(b'y', &[&segment.to_be_bytes(), inbox.as_bytes()])
    }

    pub(in super::super) fn segment(segment: u32) -> Vec<u8> {
        join(b'g', &[&segment.to_be_bytes()])
    }

    /// The segment of a key that begins with one.
    pub(in super::super) fn segment_of(key: &[u8]) -> Option<u32> {
        Some(u32::from_be_bytes(key.get(1..5)?.try_into().ok()?))
    }

    /// The 16 bytes of an id at the end of a key.
    pub(in super::super) fn last_id(key: &[u8]) -> Option<[u8; 16]> {
        key.last_chunk::<16>().copied()
    }

    /// The eight bytes of a number after the prefix and `skip` more bytes.
    pub(in super::super) fn number_at(key: &[u8], skip: usize) -> Option<u64> {
        let bytes = key.get(1 + skip..1 + skip + 8)?;
        Some(u64::from_be_bytes(bytes.try_into().ok()?))
    }

    /// All keys that begin with `prefix`.
    pub(in super::super) fn all(prefix: &[u8]) -> Range<Vec<u8>> {
        prefix.to_vec()..end_of(prefix)
    }

    /// The first key after all those that begin with `prefix`.
    pub(in super::super) fn end_of(prefix: &[u8]) -> Vec<u8> {
        let mut end = prefix.to_vec();
        while let Some(last) = end.pop() {
            if last < u8::MAX {
                end.push(last + 1);
                break;
            }
        }
        end
    }
}
