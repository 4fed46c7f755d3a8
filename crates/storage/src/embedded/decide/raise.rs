//! Events that a call raises, if some webhook wants to hear of them.

use bytes::Bytes;
use restante_model::{EmailId, InboxKey, RemovalReason, Timestamp};

use crate::embedded::index::IndexError;
use crate::embedded::queue_rows::QueueRows;
use crate::embedded::record::{ArrivalHead, Blob, Record, RemovalsHead};
use crate::embedded::rows::InboxRow;
use crate::embedded::view::View;
use crate::{Topic, WebhookScope};

/// Gives events their sequences.
#[derive(Debug)]
pub(super) struct Raising<'a, 'v> {
    view: &'a View<'v>,
    next: u64,
    /// Whether global webhooks hear of a topic, once it is known.
    arrivals: Option<bool>,
    removals: Option<bool>,
}

impl<'a, 'v> Raising<'a, 'v> {
    pub(super) fn new(view: &'a View<'v>) -> Self {
        Self {
            view,
            next: view.meta.last_queue + 1,
            arrivals: None,
            removals: None,
        }
    }

    /// Whether some enabled webhook wants to hear of such events of an inbox.
    pub(super) fn wants(&mut self, inbox: InboxKey, topic: Topic) -> Result<bool, IndexError> {
        let known = match topic {
            Topic::Arrivals => &mut self.arrivals,
            Topic::Removals => &mut self.removals,
        };
        let is_global = match *known {
            Some(known) => known,
            None => *known.insert(self.view.scope(WebhookScope::Global)?.hears(topic)),
        };
        Ok(is_global || self.view.scope(WebhookScope::Inbox(inbox))?.hears(topic))
    }

    /// An email arrived.
    pub(super) fn arrival(&mut self, inbox: InboxKey, email: EmailId, data: Bytes, now: Timestamp) -> Record {
        Record::arrival(self.head(inbox, email, now), data)
    }

    /// An email came and was thrown away.
    pub(super) fn thrown_away(&mut self, inbox: InboxKey, email: EmailId, data: Bytes, now: Timestamp) -> Record {
        Record::thrown_away(self.head(inbox, email, now), data)
    }

    fn head(&mut self, inbox: InboxKey, email: EmailId, now: Timestamp) -> ArrivalHead {
        let head = ArrivalHead {
            sequence: self.next,
            inbox: *inbox.as_bytes(),
            email: *email.as_bytes(),
            at: now.unix_ms(),
            data: Blob::of(&[]),
        };
        self.next += 1;
        head
    }

    /// Emails of an inbox were removed, in this order.
    pub(super) fn removals(
        &mut self,
        inbox: InboxKey,
        row: &InboxRow,
        emails: &[[u8; 16]],
        reason: RemovalReason,
        now: Timestamp,
    ) -> Result<Vec<Record>, IndexError> {
        if emails.is_empty() || !self.wants(inbox, Topic::Removals)? {
            return Ok(Vec::new());
        }
        let first = self.next;
        self.next += emails.len() as u64;
        let head = RemovalsHead {
            inbox: *inbox.as_bytes(),
            address: row.address.clone(),
            hash: row.hash,
            reason,
            at: now.unix_ms(),
            emails: (first..).zip(emails.iter().copied()).collect(),
        };
        Ok(Record::removals(&head))
    }
}
