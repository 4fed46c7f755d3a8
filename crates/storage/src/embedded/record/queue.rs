//! What the records of webhooks, events and deliveries say.
//!
//! Every one of them is absolute: it says what something is from here on, or that it is gone. So the last one of each
//! thing decides, whatever a replay knows of what was before.

use bytes::Bytes;
use restante_model::{EventType, RemovalReason};
use serde::{Deserialize, Serialize};

use super::{Blob, Head, IDS_MAX, IdempotencyHashes, Record};
use crate::{Activity, Switch, Topics};

/// Removals in one record, at most.
pub(in super::super) const EVENTS_MAX: usize = 128;
/// Deliveries in one record, at most.
pub(in super::super) const DELIVERIES_MAX: usize = 100;

/// What a webhook is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct WebhookHead {
    pub(in super::super) webhook: [u8; 16],
    /// Whose it is; none if it is global.
    pub(in super::super) inbox: Option<[u8; 16]>,
    /// Its place in the order of creation.
    pub(in super::super) sequence: u64,
    pub(in super::super) created_at: u64,
    pub(in super::super) idempotency: Option<IdempotencyHashes>,
    pub(in super::super) state: WebhookState,
    pub(in super::super) config: Blob,
}

/// What may change of a webhook beside its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct WebhookState {
    pub(in super::super) topics: Topics,
    pub(in super::super) revision: u64,
    pub(in super::super) updated_at: Option<u64>,
    pub(in super::super) switch: Switch,
    pub(in super::super) activity: Activity,
    /// When its inbox was gone.
    pub(in super::super) orphaned_at: Option<u64>,
    /// What it leaves is to be removed.
    pub(in super::super) is_removed: bool,
}

/// What is to be told of an email that arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct ArrivalHead {
    pub(in super::super) sequence: u64,
    pub(in super::super) inbox: [u8; 16],
    pub(in super::super) email: [u8; 16],
    pub(in super::super) at: u64,
    pub(in super::super) data: Blob,
}

/// What is to be told of emails that were removed: all of it, as nothing may be left of their inbox by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct RemovalsHead {
    pub(in super::super) inbox: [u8; 16],
    pub(in super::super) address: String,
    pub(in super::super) hash: [u8; 32],
    pub(in super::super) reason: RemovalReason,
    pub(in super::super) at: u64,
    /// The events and their emails.
    pub(in super::super) emails: Vec<(u64, [u8; 16])>,
}

/// A delivery that is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct QueuedHead {
    pub(in super::super) webhook: [u8; 16],
    pub(in super::super) event: u64,
    pub(in super::super) event_type: EventType,
    pub(in super::super) event_id: [u8; 16],
}

/// What a delivery is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct DeliveryHead {
    pub(in super::super) webhook: [u8; 16],
    pub(in super::super) event: u64,
    pub(in super::super) event_type: EventType,
    pub(in super::super) event_id: [u8; 16],
    pub(in super::super) created_at: u64,
    pub(in super::super) state: DeliveryState,
    pub(in super::super) report: Option<Blob>,
}

/// What may change of a delivery beside the report of its last attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct DeliveryState {
    /// Attempts that were settled.
    pub(in super::super) attempts: u32,
    /// No retry follows its next attempt.
    pub(in super::super) is_single: bool,
    pub(in super::super) standing: Standing,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) enum Standing {
    Queued { due: u64 },
    Succeeded { at: u64 },
    Failed { at: u64 },
}

impl Record {
    /// A webhook with its configuration.
    pub(in super::super) fn webhook(mut head: WebhookHead, config: Bytes) -> Self {
        head.config = Blob::of(&config);
        Self {
            head: Head::WebhookStored(head),
            blobs: vec![config],
        }
    }

    /// An arrival with what came with it.
    pub(in super::super) fn arrival(mut head: ArrivalHead, data: Bytes) -> Self {
        head.data = Blob::of(&data);
        Self {
            head: Head::EventStored(head),
            blobs: vec![data],
        }
    }

    /// An email that was thrown away, with what came with it.
    pub(in super::super) fn thrown_away(mut head: ArrivalHead, data: Bytes) -> Self {
        head.data = Blob::of(&data);
        Self {
            head: Head::ThrownAway(head),
            blobs: vec![data],
        }
    }

    /// A delivery with the report of its last attempt.
    pub(in super::super) fn delivery(mut head: DeliveryHead, report: Option<Bytes>) -> Self {
        head.report = report.as_deref().map(Blob::of);
        Self {
            head: Head::DeliveryStored(head),
            blobs: report.into_iter().collect(),
        }
    }

    /// Removals, in as many records as their number needs.
    pub(in super::super) fn removals(head: &RemovalsHead) -> Vec<Self> {
        let record = |emails: &[(u64, [u8; 16])]| {
            Self::bare(Head::EventsRaised(RemovalsHead {
                emails: emails.to_vec(),
                ..head.clone()
            }))
        };
        head.emails.chunks(EVENTS_MAX).map(record).collect()
    }

    /// Events are not needed any more.
    pub(in super::super) fn events_forgotten(events: &[u64]) -> Vec<Self> {
        let record = |events: &[u64]| {
            Self::bare(Head::EventsForgotten {
                events: events.to_vec(),
            })
        };
        events.chunks(IDS_MAX).map(record).collect()
    }

    /// Deliveries are queued.
    pub(in super::super) fn queued(deliveries: &[QueuedHead], at: u64) -> Vec<Self> {
        let record = |deliveries: &[QueuedHead]| {
            Self::bare(Head::DeliveriesQueued {
                at,
                deliveries: deliveries.to_vec(),
            })
        };
        deliveries.chunks(DELIVERIES_MAX).map(record).collect()
    }

    /// Deliveries of a webhook are not remembered any more.
    pub(in super::super) fn deliveries_forgotten(webhook: [u8; 16], deliveries: &[(u64, EventType)]) -> Vec<Self> {
        let record = |deliveries: &[(u64, EventType)]| {
            Self::bare(Head::DeliveriesForgotten {
                webhook,
                deliveries: deliveries.to_vec(),
            })
        };
        deliveries.chunks(IDS_MAX).map(record).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::frame::HEAD_MAX;
    use super::super::hex;
    use super::*;
    use crate::LastAttempt;

    const KEY: Blob = Blob {
        len: 3,
        crc: 0x0102_0304,
    };

    fn state() -> WebhookState {
        WebhookState {
            topics: Topics {
                arrivals: true,
                removals: false,
            },
            revision: 7,
            updated_at: Some(300),
            switch: Switch::DisabledByFailures,
            activity: Activity {
                successful: 1,
                failed: 2,
                failures_in_a_row: 3,
                last: Some(LastAttempt {
                    started_at: 4,
                    succeeded: true,
                }),
            },
            orphaned_at: Some(5),
            is_removed: true,
        }
    }

    fn delivery_state(standing: Standing) -> DeliveryState {
        DeliveryState {
            attempts: 5,
            is_single: true,
            standing,
        }
    }

    fn heads() -> [Head; 14] {
        let (webhook, inbox, email, event_id) = ([1; 16], [2; 16], [3; 16], [4; 16]);
        let change = |standing| Head::DeliveryChanged {
            webhook,
            event: 9,
            event_type: EventType::EmailDeleted,
            state: delivery_state(standing),
        };
        [
            Head::WebhookStored(WebhookHead {
                webhook,
                inbox: Some(inbox),
                sequence: 8,
                created_at: 6,
                idempotency: Some(([5; 32], [6; 32])),
                state: state(),
                config: KEY,
            }),
            Head::WebhookChanged {
                webhook,
                state: state(),
            },
            Head::WebhookReaped { webhook },
            Head::EventStored(ArrivalHead {
                sequence: 9,
                inbox,
                email,
                at: 1,
                data: KEY,
            }),
            Head::EventsRaised(RemovalsHead {
                inbox,
                address: "a@b".to_owned(),
                hash: [7; 32],
                reason: RemovalReason::Ttl,
                at: 1,
                emails: vec![(9, email)],
            }),
            Head::EventsForgotten { events: vec![9, 300] },
            Head::EventsDispatched { through: 300, last: 9 },
            Head::DeliveriesQueued {
                at: 1,
                deliveries: vec![QueuedHead {
                    webhook,
                    event: 9,
                    event_type: EventType::EmailStored,
                    event_id,
                }],
            },
            Head::DeliveryStored(DeliveryHead {
                webhook,
                event: 9,
                event_type: EventType::EmailReceived,
                event_id,
                created_at: 1,
                state: delivery_state(Standing::Queued { due: 300 }),
                report: Some(KEY),
            }),
            change(Standing::Queued { due: 2 }),
            change(Standing::Succeeded { at: 2 }),
            change(Standing::Failed { at: 2 }),
            Head::DeliveriesForgotten {
                webhook,
                deliveries: vec![(9, EventType::EmailDeleted)],
            },
            Head::ThrownAway(ArrivalHead {
                sequence: 9,
                inbox,
                email,
                at: 1,
                data: KEY,
            }),
        ]
    }

    /// As the test of the other records: it fails when the format changes without a new version.
    #[test]
    fn the_format_of_the_queue_is_pinned() {
        let [webhook, inbox, email, event_id] = ["01", "02", "03", "04"].map(|byte| byte.repeat(16));
        let state = "01000701ac020201020301040101050 1".replace(' ', "");
        let [key, body, hash] = ["05", "06", "07"].map(|byte| byte.repeat(32));
        let expected = [
            format!("09{webhook}01{inbox}080601{key}{body}{state}0384868808"),
            format!("0a{webhook}{state}"),
            format!("0b{webhook}"),
            format!("0c09{inbox}{email}010384868808"),
            format!("0d{inbox}03614062{hash}0101 0109{email}").replace(' ', ""),
            "0e0209ac02".to_owned(),
            "0fac0209".to_owned(),
            format!("100101{webhook}0901{event_id}"),
            format!("11{webhook}0900{event_id}01050100ac02010384868808"),
            format!("12{webhook}090205010002"),
            format!("12{webhook}090205010102"),
            format!("12{webhook}090205010202"),
            format!("13{webhook}010902"),
            format!("1409{inbox}{email}010384868808"),
        ];
        for (head, expected) in heads().iter().zip(expected) {
            assert_eq!(hex(&postcard::to_stdvec(head).unwrap()), expected, "{head:?}");
        }
    }

    #[test]
    fn the_longest_heads_of_the_queue_fit() {
        let removals = RemovalsHead {
            inbox: [1; 16],
            address: "a".repeat(restante_model::address::ADDRESS_MAX),
            hash: [2; 32],
            reason: RemovalReason::Eviction,
            at: u64::MAX,
            emails: vec![(u64::MAX, [3; 16]); 300],
        };
        let queued = QueuedHead {
            webhook: [4; 16],
            event: u64::MAX,
            event_type: EventType::EmailDeleted,
            event_id: [5; 16],
        };
        let forgotten = (u64::MAX, EventType::EmailDeleted);
        let records = [
            Record::removals(&removals),
            Record::events_forgotten(&[u64::MAX; 300]),
            Record::queued(&[queued; 300], u64::MAX),
            Record::deliveries_forgotten([6; 16], &[forgotten; 300]),
        ];
        for record in records.iter().flatten() {
            let head = postcard::to_stdvec(&record.head).unwrap();
            assert!(head.len() <= HEAD_MAX as usize, "{}", head.len());
        }
        let counts: Vec<_> = records.iter().map(Vec::len).collect();
        assert_eq!(counts, [3, 2, 3, 2]);
    }
}
