//! The format of the segment log: what one record holds and how it is framed.
//!
//! A segment file is a header followed by records. All integers of headers and frames are little-endian.
//!
//! | Bytes | Header field | Meaning |
//! |---|---|---|
//! | 8 | magic | `rstSEGMT` |
//! | 4 | format | [`FORMAT`] |
//! | 4 | number | the number of the segment, which is also its name |
//! | 8 | salt | random; it goes into every checksum, so that no mail can hold what looks like a record of this file |
//!
//! | Bytes | Frame field | Meaning |
//! |---|---|---|
//! | 4 | magic | `rstR` |
//! | 4 | head | length of the head |
//! | 4 | body | length of the body: the blobs that the head describes, one after the other |
//! | 4 | following | how many records of the same call follow this one |
//! | 8 | group | where in this file the group began that was synced with this record |
//! | 4 | crc | CRC-32 of the salt, the 24 bytes before, and the head |
//!
//! The head is a postcard [`Head`]; each blob has its own CRC-32 in it, so an index is rebuilt from heads alone.
//! `group` tells a torn tail from damage: a broken record that a later group follows was once synced.
//!
//! Discriminants of [`Head`], and fields within a variant, are never reordered or removed: a new kind is appended,
//! and a changed one is a new kind.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{NewEmail, NewInbox, Part};
use restante_model::{EmailId, InboxKey, InboxMode, RemovalReason, Timestamp};

/// The version of the format that this build reads and writes; the stamp carries it too.
pub(super) const FORMAT: u32 = 1;
/// Bytes of the header of a segment file.
pub(super) const FILE_HEADER: usize = 24;
/// Bytes of a frame.
pub(super) const FRAME: usize = 28;
/// Bytes of the longest head that is written, and so of the longest that is believed.
pub(super) const HEAD_MAX: u32 = 5 * 1024;
/// Ids in one record, at most; a call with more writes several records.
pub(super) const IDS_MAX: usize = 256;

pub(super) const FRAME_MAGIC: [u8; 4] = *b"rstR";
const FILE_MAGIC: [u8; 8] = *b"rstSEGMT";

/// What happened. The order of variants is the format: append only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Head {
    /// An inbox took its address. The blob is the client's key.
    InboxCreated {
        inbox: [u8; 16],
        address: String,
        hash: [u8; 32],
        created_at: u64,
        expires_at: u64,
        email_auth: bool,
        /// SHA-256 of the idempotency key and of the request's body.
        idempotency: Option<([u8; 32], [u8; 32])>,
        key: Option<Blob>,
    },
    /// Inboxes ended; their mail is removed by later records.
    InboxesRetired {
        inboxes: Vec<[u8; 16]>,
        reason: RemovalReason,
        at: u64,
    },
    /// An email was stored. The blobs are its parts in this order, then the event for webhooks.
    MailAccepted {
        inbox: [u8; 16],
        email: [u8; 16],
        sequence: u64,
        received_at: u64,
        parts: Vec<(Part, Blob)>,
        event: Option<Blob>,
    },
    /// An email was marked as read.
    MailRead { inbox: [u8; 16], email: [u8; 16], at: u64 },
    /// Emails were removed.
    MailRemoved {
        inbox: [u8; 16],
        emails: Vec<[u8; 16]>,
        reason: RemovalReason,
        at: u64,
        /// Whether some webhook wanted to hear of it.
        event_wanted: bool,
    },
    /// A signature was added to an email. The blob is the signature.
    SignatureAttached {
        inbox: [u8; 16],
        email: [u8; 16],
        part: Part,
        blob: Blob,
    },
    /// The sequences of deleted emails of a retired inbox were forgotten, up to and with this email id.
    SequencesForgotten { inbox: [u8; 16], through: [u8; 16] },
    /// Nothing is left of a retired inbox.
    InboxReaped { inbox: [u8; 16] },
}

/// Length and checksum of a blob in the body of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Blob {
    pub(super) len: u32,
    pub(super) crc: u32,
}

impl Blob {
    fn of(bytes: &[u8]) -> Self {
        Self {
            len: u32::try_from(bytes.len()).expect("the size limit of a message is far below 4 GiB"),
            crc: crc32fast::hash(bytes),
        }
    }
}

impl Head {
    /// The blobs of the body, in order.
    pub(super) fn blobs(&self) -> Vec<Blob> {
        match self {
            Self::InboxCreated { key, .. } => key.iter().copied().collect(),
            Self::MailAccepted { parts, event, .. } => parts.iter().map(|(_, blob)| *blob).chain(*event).collect(),
            Self::SignatureAttached { blob, .. } => vec![*blob],
            _ => Vec::new(),
        }
    }
}

/// A record to be written: its head and the blobs that the head describes.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) head: Head,
    pub(super) blobs: Vec<Bytes>,
}

impl Record {
    /// A record without blobs.
    pub(super) fn bare(head: Head) -> Self {
        Self {
            head,
            blobs: Vec::new(),
        }
    }

    /// An inbox is created.
    pub(super) fn created(new: &NewInbox) -> Self {
        let inbox = &new.inbox;
        let key = match &inbox.mode {
            InboxMode::Plain => None,
            InboxMode::Encrypted { key } => Some(Bytes::copy_from_slice(key.as_bytes())),
        };
        Self {
            head: Head::InboxCreated {
                inbox: *inbox.key.as_bytes(),
                address: inbox.address.as_str().to_owned(),
                hash: *inbox.hash.as_bytes(),
                created_at: inbox.created_at.unix_ms(),
                expires_at: inbox.expires_at.unix_ms(),
                email_auth: inbox.email_auth,
                idempotency: new.idempotency.map(|seen| (seen.key, seen.body)),
                key: key.as_deref().map(Blob::of),
            },
            blobs: key.into_iter().collect(),
        }
    }

    /// An email is stored.
    pub(super) fn accepted(email: NewEmail, sequence: u64) -> Self {
        let event = email.event.as_deref().map(Blob::of);
        Self {
            head: Head::MailAccepted {
                inbox: *email.inbox.as_bytes(),
                email: *email.id.as_bytes(),
                sequence,
                received_at: email.received_at.unix_ms(),
                parts: email
                    .parts
                    .iter()
                    .map(|(part, bytes)| (*part, Blob::of(bytes)))
                    .collect(),
                event,
            },
            blobs: email
                .parts
                .into_iter()
                .map(|(_, bytes)| bytes)
                .chain(email.event)
                .collect(),
        }
    }

    /// A signature is added.
    pub(super) fn signature(inbox: InboxKey, email: EmailId, part: Part, bytes: Bytes) -> Self {
        Self {
            head: Head::SignatureAttached {
                inbox: *inbox.as_bytes(),
                email: *email.as_bytes(),
                part,
                blob: Blob::of(&bytes),
            },
            blobs: vec![bytes],
        }
    }

    /// Inboxes end, in as many records as their number needs.
    pub(super) fn retired(inboxes: &[[u8; 16]], reason: RemovalReason, at: Timestamp) -> Vec<Self> {
        let record = |ids: &[[u8; 16]]| {
            Self::bare(Head::InboxesRetired {
                inboxes: ids.to_vec(),
                reason,
                at: at.unix_ms(),
            })
        };
        inboxes.chunks(IDS_MAX).map(record).collect()
    }

    /// Bytes of the blobs, for the size of a group.
    pub(super) fn body_bytes(&self) -> usize {
        self.blobs.iter().map(Bytes::len).sum()
    }
}

/// The fixed-size start of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) head: u32,
    pub(super) body: u32,
    pub(super) following: u32,
    pub(super) group: u64,
}

impl Frame {
    /// Bytes of the whole record.
    pub(super) fn record_len(&self) -> u64 {
        FRAME as u64 + u64::from(self.head) + u64::from(self.body)
    }

    /// The frame of a head, with its checksum.
    pub(super) fn encode(&self, salt: Salt, head: &[u8]) -> [u8; FRAME] {
        let mut bytes = [0; FRAME];
        bytes[..4].copy_from_slice(&FRAME_MAGIC);
        bytes[4..8].copy_from_slice(&self.head.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.body.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.following.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.group.to_le_bytes());
        let crc = checksum(salt, &bytes[..24], head);
        bytes[24..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a frame; `None` if these bytes cannot be one. Its checksum is judged by [`Frame::decode_head`].
    pub(super) fn decode(bytes: &[u8; FRAME]) -> Option<Self> {
        if bytes[..4] != FRAME_MAGIC {
            return None;
        }
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let frame = Self {
            head: u32_at(4),
            body: u32_at(8),
            following: u32_at(12),
            group: u64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i])),
        };
        (frame.head <= HEAD_MAX).then_some(frame)
    }

    /// Reads the head if it and the frame match the checksum, and the blobs fill the body.
    pub(super) fn decode_head(&self, salt: Salt, frame: &[u8; FRAME], head: &[u8]) -> Option<Head> {
        if frame[24..] != checksum(salt, &frame[..24], head).to_le_bytes() {
            return None;
        }
        let decoded: Head = postcard::from_bytes(head).ok()?;
        let body: u64 = decoded.blobs().iter().map(|blob| u64::from(blob.len)).sum();
        (body == u64::from(self.body)).then_some(decoded)
    }
}

fn checksum(Salt(salt): Salt, frame: &[u8], head: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt);
    hasher.update(frame);
    hasher.update(head);
    hasher.finalize()
}

/// What makes the checksums of one segment file its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Salt(pub(super) [u8; 8]);

/// The header of the segment file with this number.
pub(super) fn file_header(segment: u32, Salt(salt): Salt) -> [u8; FILE_HEADER] {
    let mut bytes = [0; FILE_HEADER];
    bytes[..8].copy_from_slice(&FILE_MAGIC);
    bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    bytes[12..16].copy_from_slice(&segment.to_le_bytes());
    bytes[16..].copy_from_slice(&salt);
    bytes
}

/// The salt of a file, if these bytes are the header of the segment with this number.
pub(super) fn salt_of(header: &[u8; FILE_HEADER], segment: u32) -> Option<Salt> {
    let salt = Salt(*header.last_chunk()?);
    (*header == file_header(segment, salt)).then_some(salt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as format 1 has it: this test fails when the format changes without a new version.
    #[test]
    fn the_format_is_pinned() {
        let key = Blob {
            len: 3,
            crc: 0x0102_0304,
        };
        let (inbox, email) = ([1; 16], [2; 16]);
        let heads = [
            (
                Head::InboxCreated {
                    inbox,
                    address: "a@b".to_owned(),
                    hash: [3; 32],
                    created_at: 1,
                    expires_at: 300,
                    email_auth: true,
                    idempotency: Some(([4; 32], [5; 32])),
                    key: Some(key),
                },
                format!(
                    "00{}0361406203{}01ac020101{}{}010384868808",
                    "01".repeat(16),
                    "03".repeat(31),
                    "04".repeat(32),
                    "05".repeat(32)
                ),
            ),
            (
                Head::InboxesRetired {
                    inboxes: vec![inbox],
                    reason: RemovalReason::Ttl,
                    at: 1,
                },
                format!("0101{}0101", "01".repeat(16)),
            ),
            (
                Head::MailAccepted {
                    inbox,
                    email,
                    sequence: 7,
                    received_at: 128,
                    parts: vec![(Part::Metadata, key), (Part::RawSignature, key)],
                    event: None,
                },
                format!(
                    "02{}{}0780010200038486880805038486880800",
                    "01".repeat(16),
                    "02".repeat(16)
                ),
            ),
            (
                Head::MailRead { inbox, email, at: 1 },
                format!("03{}{}01", "01".repeat(16), "02".repeat(16)),
            ),
            (
                Head::MailRemoved {
                    inbox,
                    emails: vec![email, email],
                    reason: RemovalReason::Eviction,
                    at: 1,
                    event_wanted: true,
                },
                format!("04{}02{}020101", "01".repeat(16), "02".repeat(32)),
            ),
            (
                Head::SignatureAttached {
                    inbox,
                    email,
                    part: Part::ParsedSignature,
                    blob: key,
                },
                format!("05{}{}040384868808", "01".repeat(16), "02".repeat(16)),
            ),
            (
                Head::SequencesForgotten { inbox, through: email },
                format!("06{}{}", "01".repeat(16), "02".repeat(16)),
            ),
            (Head::InboxReaped { inbox }, format!("07{}", "01".repeat(16))),
        ];
        for (head, expected) in heads {
            let bytes = postcard::to_stdvec(&head).unwrap();
            assert_eq!(hex(&bytes), expected, "{head:?}");
        }
    }

    #[test]
    fn the_longest_head_is_one_with_all_ids() {
        let ids = vec![[u8::MAX; 16]; IDS_MAX];
        let many = Head::MailRemoved {
            inbox: [1; 16],
            emails: ids,
            reason: RemovalReason::Ttl,
            at: u64::MAX,
            event_wanted: true,
        };
        let longest = postcard::to_stdvec(&many).unwrap().len();
        // The others hold one address, or six parts.
        let others = restante_model::address::ADDRESS_MAX + 512;
        assert!((others..=HEAD_MAX as usize).contains(&longest), "{longest}");
    }

    #[test]
    fn the_frame_is_pinned() {
        let (frame, head) = a_frame();
        let bytes = frame.encode(Salt(*b"saltsalt"), &head);
        assert_eq!(hex(&bytes), "7273745211000000000000000100000018000000000000005359bbf2");
        let header = file_header(7, Salt(*b"saltsalt"));
        assert_eq!(hex(&header), "7273745345474d54010000000700000073616c7473616c74");
    }

    #[test]
    fn a_frame_is_read_with_the_salt_of_its_file_only() {
        let (frame, head) = a_frame();
        let salt = Salt(*b"saltsalt");
        let bytes = frame.encode(salt, &head);
        assert_eq!(Frame::decode(&bytes), Some(frame));
        assert_eq!(
            frame.decode_head(salt, &bytes, &head),
            Some(Head::InboxReaped { inbox: [1; 16] })
        );
        assert_eq!(frame.decode_head(Salt([0; 8]), &bytes, &head), None);
        let header = file_header(7, salt);
        assert_eq!((salt_of(&header, 7), salt_of(&header, 8)), (Some(salt), None));
    }

    fn a_frame() -> (Frame, Vec<u8>) {
        let head = postcard::to_stdvec(&Head::InboxReaped { inbox: [1; 16] }).unwrap();
        let frame = Frame {
            head: u32::try_from(head.len()).unwrap(),
            body: 0,
            following: 1,
            group: 24,
        };
        (frame, head)
    }

    fn hex(bytes: &[u8]) -> String {
        use std::fmt::Write;
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
