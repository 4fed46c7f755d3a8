//! Rows of webhooks, events and deliveries.
//!
//! All rows beside [`WebhookRow`], [`EventRow`], [`DeliveryRow`] and the place of the last record of dispatching follow from these, whatever the order
//! in which their records came.

use restante_model::{EventType, InboxHash, InboxKey, RemovalReason};
use serde::{Deserialize, Serialize};

use super::{BlobAt, Place};
use crate::embedded::record::{
    ArrivalHead, Blob, DeliveryHead, DeliveryState, IdempotencyHashes, QueuedHead, RemovalsHead, Standing, WebhookHead,
    WebhookState,
};
use crate::{Switch, Topic, WebhookScope};

/// A webhook that is not reaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct WebhookRow {
    /// The record that holds its configuration.
    pub(in super::super) place: Place,
    /// The record that says what changed since.
    pub(in super::super) changed: Option<Place>,
    pub(in super::super) inbox: Option<[u8; 16]>,
    pub(in super::super) sequence: u64,
    pub(in super::super) created_at: u64,
    pub(in super::super) idempotency: Option<IdempotencyHashes>,
    pub(in super::super) state: WebhookState,
    pub(in super::super) config: Blob,
}

impl WebhookRow {
    /// The row of a webhook whose record lies at `place`.
    pub(in super::super) fn new(head: &WebhookHead, place: Place) -> Self {
        Self {
            place,
            changed: None,
            inbox: head.inbox,
            sequence: head.sequence,
            created_at: head.created_at,
            idempotency: head.idempotency,
            state: head.state,
            config: head.config,
        }
    }

    /// The record that says what this row says, were it written again.
    pub(in super::super) fn head(&self, webhook: [u8; 16]) -> WebhookHead {
        WebhookHead {
            webhook,
            inbox: self.inbox,
            sequence: self.sequence,
            created_at: self.created_at,
            idempotency: self.idempotency,
            state: self.state,
            config: self.config,
        }
    }

    pub(in super::super) fn scope(&self) -> WebhookScope {
        match self.inbox {
            None => WebhookScope::Global,
            Some(inbox) => WebhookScope::Inbox(InboxKey::from_bytes(inbox)),
        }
    }

    /// The records that it points to.
    pub(in super::super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        std::iter::once(self.place).chain(self.changed)
    }

    /// Where its configuration lies.
    pub(in super::super) fn config_at(&self) -> BlobAt {
        self.place.first_blob(self.config)
    }

    /// Whether it is to be sent what is queued.
    pub(in super::super) fn is_served(&self) -> bool {
        self.state.switch == Switch::Enabled && !self.state.is_removed
    }

    /// Whether new events of this kind are queued for it.
    pub(in super::super) fn hears(&self, topic: Topic) -> bool {
        let topics = self.state.topics;
        self.is_served()
            && match topic {
                Topic::Arrivals => topics.arrivals,
                Topic::Removals => topics.removals,
            }
    }
}

/// What webhooks of a scope there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct ScopeRow {
    /// Those that are neither removed nor of an inbox that is known to be gone.
    pub(in super::super) webhooks: u64,
    /// Those that hear of arrivals.
    pub(in super::super) arrivals: u64,
    /// Those that hear of removals.
    pub(in super::super) removals: u64,
    /// Those that are not removed.
    pub(in super::super) listed: u64,
    /// The sequence of the first of these.
    pub(in super::super) first: Option<u64>,
}

impl ScopeRow {
    pub(in super::super) fn hears(&self, topic: Topic) -> bool {
        let count = match topic {
            Topic::Arrivals => self.arrivals,
            Topic::Removals => self.removals,
        };
        count > 0
    }
}

/// An event that is not dispatched, or of which a delivery is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct EventRow {
    pub(in super::super) place: Place,
    pub(in super::super) inbox: [u8; 16],
    pub(in super::super) email: [u8; 16],
    pub(in super::super) happened: Happened,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) enum Happened {
    Arrived {
        at: u64,
        data: Blob,
    },
    ThrownAway {
        at: u64,
        data: Blob,
    },
    Removed {
        reason: RemovalReason,
        at: u64,
        address: String,
        hash: [u8; 32],
    },
}

impl EventRow {
    pub(in super::super) fn arrived(head: &ArrivalHead, place: Place) -> Self {
        Self {
            place,
            inbox: head.inbox,
            email: head.email,
            happened: Happened::Arrived {
                at: head.at,
                data: head.data,
            },
        }
    }

    pub(in super::super) fn thrown_away(head: &ArrivalHead, place: Place) -> Self {
        Self {
            happened: Happened::ThrownAway {
                at: head.at,
                data: head.data,
            },
            ..Self::arrived(head, place)
        }
    }

    pub(in super::super) fn removed(head: &RemovalsHead, email: [u8; 16], share: Place) -> Self {
        Self {
            place: share,
            inbox: head.inbox,
            email,
            happened: Happened::Removed {
                reason: head.reason,
                at: head.at,
                address: head.address.clone(),
                hash: head.hash,
            },
        }
    }

    /// Where what came with an arrival lies.
    pub(in super::super) fn data_at(&self) -> Option<BlobAt> {
        match &self.happened {
            Happened::Arrived { data, .. } | Happened::ThrownAway { data, .. } => Some(self.place.first_blob(*data)),
            Happened::Removed { .. } => None,
        }
    }
}

/// Names a delivery among those of its webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(in super::super) struct About {
    pub(in super::super) event: u64,
    pub(in super::super) event_type: EventType,
}

/// A delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct DeliveryRow {
    /// The record that holds its report, if it has one.
    pub(in super::super) place: Place,
    /// The record that says what changed since.
    pub(in super::super) changed: Option<Place>,
    pub(in super::super) event_id: [u8; 16],
    pub(in super::super) created_at: u64,
    pub(in super::super) state: DeliveryState,
    pub(in super::super) report: Option<Blob>,
}

impl DeliveryRow {
    pub(in super::super) fn queued(head: &QueuedHead, at: u64, share: Place) -> Self {
        Self {
            place: share,
            changed: None,
            event_id: head.event_id,
            created_at: at,
            state: DeliveryState {
                attempts: 0,
                is_single: false,
                standing: Standing::Queued { due: at },
            },
            report: None,
        }
    }

    pub(in super::super) fn new(head: &DeliveryHead, place: Place) -> Self {
        Self {
            place,
            changed: None,
            event_id: head.event_id,
            created_at: head.created_at,
            state: head.state,
            report: head.report,
        }
    }

    /// The record that says what this row says, were it written again.
    pub(in super::super) fn head(&self, webhook: [u8; 16], about: About) -> DeliveryHead {
        DeliveryHead {
            webhook,
            event: about.event,
            event_type: about.event_type,
            event_id: self.event_id,
            created_at: self.created_at,
            state: self.state,
            report: self.report,
        }
    }

    /// The records that it points to.
    pub(in super::super) fn places(&self) -> impl Iterator<Item = Place> + use<> {
        std::iter::once(self.place).chain(self.changed)
    }

    /// Where its report lies.
    pub(in super::super) fn report_at(&self) -> Option<BlobAt> {
        Some(self.place.first_blob(self.report?))
    }

    /// Where it stands in line.
    pub(in super::super) fn slot(&self, about: About) -> Slot {
        let (lane, at) = match self.state.standing {
            Standing::Queued { due } if self.state.attempts == 0 && !self.state.is_single => (Lane::First, due),
            Standing::Queued { due } => (Lane::Retry, due),
            Standing::Succeeded { at } | Standing::Failed { at } => (Lane::Finished, at),
        };
        Slot { lane, at, about }
    }
}

/// The lines of deliveries of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Lane {
    /// First attempts, in the order of their events.
    First,
    /// Later attempts, in the order of when they are due.
    Retry,
    /// Deliveries that are not attempted any more, in the order of their ends.
    Finished,
}

/// A place in such a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Slot {
    pub(in super::super) lane: Lane,
    /// When it is due, or ended.
    pub(in super::super) at: u64,
    pub(in super::super) about: About,
}

/// The deliveries of a webhook: all of them in the order of their events, and the lines that they stand in.
///
/// No look at one begins before its front, since what went from there left marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct QueueRow {
    pub(in super::super) all: Line<About>,
    pub(in super::super) first: Line<Front>,
    pub(in super::super) retry: Line<Front>,
    pub(in super::super) finished: Line<Front>,
}

impl QueueRow {
    pub(in super::super) fn lane_mut(&mut self, lane: Lane) -> &mut Line<Front> {
        match lane {
            Lane::First => &mut self.first,
            Lane::Retry => &mut self.retry,
            Lane::Finished => &mut self.finished,
        }
    }

    /// When its next delivery is due: a first attempt always is, whatever the clock said when it was queued.
    pub(in super::super) fn next_due(&self) -> Option<u64> {
        if self.first.front.is_some() {
            return Some(0);
        }
        self.retry.front.map(|front| front.at)
    }
}

/// How many there are, and the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Line<T> {
    pub(in super::super) count: u64,
    pub(in super::super) front: Option<T>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { count: 0, front: None }
    }
}

/// The first in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct Front {
    pub(in super::super) at: u64,
    pub(in super::super) about: About,
}

/// What rows of the queue point to in a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) struct QueuedIn {
    /// How often.
    pub(in super::super) records: u64,
    /// Bytes of the records, or of their shares.
    pub(in super::super) bytes: u64,
}

impl Place {
    /// Where the only blob of the record lies.
    fn first_blob(&self, blob: Blob) -> BlobAt {
        BlobAt {
            segment: self.segment,
            offset: self.offset + u64::from(self.body),
            len: blob.len,
            crc: blob.crc,
        }
    }
}

/// The hash in a row.
pub(in super::super) fn inbox_hash(bytes: &[u8; 32]) -> InboxHash {
    InboxHash::from_bytes(*bytes)
}
