//! What the records of the segment log say. How they are framed: [`super::frame`].
//!
//! A record says either what an inbox or an email is from here on, or what happened to it. The first kind is written
//! when it is new, and again when compaction moves it: the later one then replaces the earlier with all its history.
//!
//! Discriminants of [`Head`], and fields within a variant, are never reordered or removed: a new kind is appended,
//! and a changed one is a new kind.

mod queue;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub(super) use queue::{
    ArrivalHead, DeliveryHead, DeliveryState, QueuedHead, RemovalsHead, Standing, WebhookHead, WebhookState,
};

use super::frame::FRAME;
use crate::{NewEmail, NewInbox, Part};
use restante_model::{EmailId, EventType, InboxKey, InboxMode, RemovalReason, Timestamp};

/// Ids in one record, at most; a call with more writes several records.
pub(super) const IDS_MAX: usize = 256;

/// The order of variants is the format: append only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Head {
    /// An inbox as it is from here on. The blob is the client's key.
    InboxStored(InboxHead),
    /// Inboxes ended; their mail is removed by later records.
    InboxesRetired {
        inboxes: Vec<[u8; 16]>,
        reason: RemovalReason,
        at: u64,
    },
    /// An email as it is from here on, without the signatures that were added to it.
    /// The blobs are its parts in this order.
    MailStored(MailHead),
    /// An email was marked as read.
    MailRead { inbox: [u8; 16], email: [u8; 16], at: u64 },
    /// An email of an inbox that goes on was removed.
    MailDeleted {
        inbox: [u8; 16],
        email: [u8; 16],
        /// Its commit sequence, which is remembered until the inbox is reaped.
        sequence: u64,
        reason: RemovalReason,
        at: u64,
    },
    /// A signature was added to an email. The blob is the signature.
    SignatureAttached {
        inbox: [u8; 16],
        email: [u8; 16],
        part: Part,
        blob: Blob,
    },
    /// The emails of a retired inbox, and what is remembered of deleted ones, were removed up to and with this id.
    MailReaped {
        inbox: [u8; 16],
        through: [u8; 16],
        at: u64,
    },
    /// Nothing is left of a retired inbox.
    InboxReaped {
        inbox: [u8; 16],
        /// The segments that may hold a record of the inbox: this one counts as long as they are there.
        held_in: Vec<u32>,
    },
    /// The emails of an inbox that goes on, and what is remembered of deleted ones, were removed up to and with this
    /// commit sequence, with the reason `eviction`. It says what earlier ones of the inbox said.
    MailEvicted { inbox: [u8; 16], through: u64, at: u64 },
    /// A webhook as it is from here on. The blob is its configuration.
    WebhookStored(WebhookHead),
    /// A webhook as it is from here on, but for what never changes and its configuration.
    WebhookChanged { webhook: [u8; 16], state: WebhookState },
    /// Nothing is left of a removed webhook.
    WebhookReaped { webhook: [u8; 16] },
    /// An email arrived, and some webhook wants to hear of it. The blob is what came with it.
    EventStored(ArrivalHead),
    /// Emails of an inbox were removed, and some webhook wants to hear of it.
    EventsRaised(RemovalsHead),
    /// These events are not needed any more.
    EventsForgotten { events: Vec<u64> },
    /// All events up to this one are dispatched. It says what earlier ones said.
    EventsDispatched {
        through: u64,
        /// The last sequence of the queue that was given: the webhook or event that had it may be gone.
        last: u64,
    },
    /// Deliveries are queued, due at once.
    DeliveriesQueued { at: u64, deliveries: Vec<QueuedHead> },
    /// A delivery as it is from here on. The blob is the report of its last attempt.
    DeliveryStored(DeliveryHead),
    /// A delivery as it is from here on, but for what never changes and the report.
    DeliveryChanged {
        webhook: [u8; 16],
        event: u64,
        event_type: EventType,
        state: DeliveryState,
    },
    /// Deliveries of a webhook are not remembered any more.
    DeliveriesForgotten {
        webhook: [u8; 16],
        deliveries: Vec<(u64, EventType)>,
    },
    /// An email came and was thrown away, and some webhook wants to hear of it. The blob is what came with it.
    ThrownAway(ArrivalHead),
    /// What is done to the mail of an inbox from here on. It says what earlier ones said, and the record of the inbox.
    ChaosSet {
        inbox: [u8; 16],
        /// JSON, as [`crate::chaos_json`] has it.
        chaos: Option<Bytes>,
        at: u64,
    },
}

/// SHA-256 of an idempotency key and of the request's body.
pub(super) type IdempotencyHashes = ([u8; 32], [u8; 32]);

/// What an inbox is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InboxHead {
    pub(super) inbox: [u8; 16],
    pub(super) address: String,
    pub(super) hash: [u8; 32],
    pub(super) created_at: u64,
    pub(super) expires_at: u64,
    pub(super) email_auth: bool,
    pub(super) idempotency: Option<IdempotencyHashes>,
    pub(super) key: Option<Blob>,
    /// Set once it is retired.
    pub(super) ended: Option<Ended>,
    /// Segments that may hold earlier records of it.
    pub(super) copies: Vec<u32>,
    pub(super) spam_analysis: bool,
    pub(super) persistent: bool,
    /// What is done to its mail: JSON, as [`crate::chaos_json`] has it.
    pub(super) chaos: Option<Bytes>,
}

/// How far the end of a retired inbox has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) reason: RemovalReason,
    /// Its mail is removed up to and with this id.
    pub(super) reaped: Option<[u8; 16]>,
}

/// What an email is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MailHead {
    pub(super) inbox: [u8; 16],
    pub(super) email: [u8; 16],
    pub(super) sequence: u64,
    pub(super) received_at: u64,
    pub(super) is_read: bool,
    pub(super) parts: Vec<(Part, Blob)>,
}

/// Length and checksum of a blob in the body of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Blob {
    pub(super) len: u32,
    pub(super) crc: u32,
}

impl Blob {
    pub(super) fn of(bytes: &[u8]) -> Self {
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
            Self::InboxStored(inbox) => inbox.key.iter().copied().collect(),
            Self::MailStored(mail) => mail.parts.iter().map(|(_, blob)| *blob).collect(),
            Self::SignatureAttached { blob, .. } => vec![*blob],
            Self::WebhookStored(webhook) => vec![webhook.config],
            Self::EventStored(event) | Self::ThrownAway(event) => vec![event.data],
            Self::DeliveryStored(delivery) => delivery.report.into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether it is about webhooks, events or deliveries.
    pub(super) fn is_of_queue(&self) -> bool {
        match self {
            Self::InboxStored(_)
            | Self::InboxesRetired { .. }
            | Self::MailStored(_)
            | Self::MailRead { .. }
            | Self::MailDeleted { .. }
            | Self::SignatureAttached { .. }
            | Self::MailReaped { .. }
            | Self::InboxReaped { .. }
            | Self::MailEvicted { .. }
            | Self::ChaosSet { .. } => false,
            Self::WebhookStored(_)
            | Self::WebhookChanged { .. }
            | Self::WebhookReaped { .. }
            | Self::EventStored(_)
            | Self::EventsRaised(_)
            | Self::EventsForgotten { .. }
            | Self::EventsDispatched { .. }
            | Self::DeliveriesQueued { .. }
            | Self::DeliveryStored(_)
            | Self::DeliveryChanged { .. }
            | Self::DeliveriesForgotten { .. }
            | Self::ThrownAway(_) => true,
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
    pub(super) fn created(new: &NewInbox, chaos: Option<Bytes>) -> Self {
        let inbox = &new.inbox;
        let key = match &inbox.mode {
            InboxMode::Plain => None,
            InboxMode::Encrypted { key } => Some(Bytes::copy_from_slice(key.as_bytes())),
        };
        Self {
            head: Head::InboxStored(InboxHead {
                inbox: *inbox.key.as_bytes(),
                address: inbox.address.as_str().to_owned(),
                hash: *inbox.hash.as_bytes(),
                created_at: inbox.created_at.unix_ms(),
                expires_at: inbox.expires_at.unix_ms(),
                email_auth: inbox.email_auth,
                idempotency: new.idempotency.map(|seen| (seen.key, seen.body)),
                key: key.as_deref().map(Blob::of),
                ended: None,
                copies: Vec::new(),
                spam_analysis: inbox.spam_analysis,
                persistent: inbox.persistent,
                chaos,
            }),
            blobs: key.into_iter().collect(),
        }
    }

    /// An email is stored.
    pub(super) fn accepted(email: NewEmail, sequence: u64) -> Self {
        Self {
            head: Head::MailStored(MailHead {
                inbox: *email.inbox.as_bytes(),
                email: *email.id.as_bytes(),
                sequence,
                received_at: email.received_at.unix_ms(),
                is_read: false,
                parts: email
                    .parts
                    .iter()
                    .map(|(part, bytes)| (*part, Blob::of(bytes)))
                    .collect(),
            }),
            blobs: email.parts.into_iter().map(|(_, bytes)| bytes).collect(),
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

    /// Bytes that it takes in the log.
    pub(super) fn len(&self) -> u64 {
        let head = postcard::to_stdvec(&self.head).expect("heads are plain data, which postcard always encodes");
        (FRAME + head.len() + self.body_bytes()) as u64
    }

    /// Bytes of the blobs, for the size of a group.
    pub(super) fn body_bytes(&self) -> usize {
        self.blobs.iter().map(Bytes::len).sum()
    }
}

/// Bytes as text, to compare them with what is pinned.
#[cfg(test)]
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::super::frame::HEAD_MAX;
    use super::*;

    /// A record as format 5 has it: this test fails when the format changes without a new version.
    #[test]
    #[expect(clippy::too_many_lines, reason = "one case for each kind of record")]
    fn the_format_is_pinned() {
        let key = Blob {
            len: 3,
            crc: 0x0102_0304,
        };
        let (inbox, email) = ([1; 16], [2; 16]);
        let heads = [
            (
                Head::InboxStored(InboxHead {
                    inbox,
                    address: "a@b".to_owned(),
                    hash: [3; 32],
                    created_at: 1,
                    expires_at: 300,
                    email_auth: true,
                    idempotency: Some(([4; 32], [5; 32])),
                    key: Some(key),
                    ended: Some(Ended {
                        reason: RemovalReason::Eviction,
                        reaped: Some(email),
                    }),
                    copies: vec![9, 300],
                    spam_analysis: true,
                    persistent: false,
                    chaos: Some(Bytes::from_static(b"{}")),
                }),
                format!(
                    "00{}0361406203{}01ac020101{}{}010384868808010201{}0209ac02010001027b7d",
                    "01".repeat(16),
                    "03".repeat(31),
                    "04".repeat(32),
                    "05".repeat(32),
                    "02".repeat(16)
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
                Head::MailStored(MailHead {
                    inbox,
                    email,
                    sequence: 7,
                    received_at: 128,
                    is_read: true,
                    parts: vec![(Part::Metadata, key), (Part::RawSignature, key)],
                }),
                format!(
                    "02{}{}0780010102000384868808050384868808",
                    "01".repeat(16),
                    "02".repeat(16)
                ),
            ),
            (
                Head::MailRead { inbox, email, at: 1 },
                format!("03{}{}01", "01".repeat(16), "02".repeat(16)),
            ),
            (
                Head::MailDeleted {
                    inbox,
                    email,
                    sequence: 7,
                    reason: RemovalReason::Eviction,
                    at: 1,
                },
                format!("04{}{}070201", "01".repeat(16), "02".repeat(16)),
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
                Head::MailReaped {
                    inbox,
                    through: email,
                    at: 1,
                },
                format!("06{}{}01", "01".repeat(16), "02".repeat(16)),
            ),
            (
                Head::InboxReaped {
                    inbox,
                    held_in: vec![9],
                },
                format!("07{}0109", "01".repeat(16)),
            ),
            (
                Head::MailEvicted {
                    inbox,
                    through: 300,
                    at: 1,
                },
                format!("08{}ac0201", "01".repeat(16)),
            ),
            (
                Head::ChaosSet {
                    inbox,
                    chaos: Some(Bytes::from_static(b"{}")),
                    at: 1,
                },
                format!("15{}01027b7d01", "01".repeat(16)),
            ),
            (
                Head::ChaosSet {
                    inbox,
                    chaos: None,
                    at: 1,
                },
                format!("15{}0001", "01".repeat(16)),
            ),
        ];
        for (head, expected) in heads {
            let bytes = postcard::to_stdvec(&head).unwrap();
            assert_eq!(hex(&bytes), expected, "{head:?}");
        }
    }

    #[test]
    fn the_longest_head_is_one_with_all_ids() {
        let ids = vec![[u8::MAX; 16]; IDS_MAX];
        let many = Head::InboxesRetired {
            inboxes: ids,
            reason: RemovalReason::Ttl,
            at: u64::MAX,
        };
        let longest = postcard::to_stdvec(&many).unwrap().len();
        // The others hold one address, or six parts.
        let others = restante_model::address::ADDRESS_MAX + 512;
        assert!((others..=HEAD_MAX as usize).contains(&longest), "{longest}");
    }
}
