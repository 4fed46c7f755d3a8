//! Queueing a delivery once more.

use std::sync::Arc;

use restante_model::{DeliveryId, EmailId, InboxKey, Timestamp, WebhookId};

use super::{Decision, Operation, Room, is_live};
use crate::RedeliverError;
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::leases::Leases;
use crate::embedded::queue_rows::QueueRows;
use crate::embedded::record::{DeliveryState, Head, Record, Standing};
use crate::embedded::rows::{About, Happened, Lane};
use crate::embedded::view::View;

/// [`crate::WebhookStore::redeliver`].
pub(in super::super) struct Redeliver {
    pub(in super::super) webhook: WebhookId,
    pub(in super::super) delivery: DeliveryId,
    pub(in super::super) leases: Arc<Leases>,
    pub(in super::super) now: Timestamp,
}

impl Operation for Redeliver {
    type Answer = Result<(), RedeliverError>;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<Self::Answer>, IndexError> {
        let gone = Ok(Decision::nothing(Err(RedeliverError::NoDelivery)));
        if view.visible_webhook(self.webhook, self.now)?.is_none() {
            return gone;
        }
        let Some(about) = view.delivery_named(self.webhook, self.delivery)? else {
            return gone;
        };
        let row = view.delivery(self.webhook, about)?.ok_or(IndexError::Missing)?;
        let due = self.now.unix_ms();
        let slot = row.slot(about);
        let is_pending = slot.lane == Lane::First || (slot.lane == Lane::Retry && slot.at <= due);
        let attempts = row.state.attempts;
        if is_pending || self.leases.is_under_way(self.webhook, about, attempts, self.now) {
            return Ok(Decision::nothing(Ok(())));
        }
        if slot.lane == Lane::Finished && !can_be_told(view, about, self.now)? {
            return Ok(Decision::nothing(Err(RedeliverError::NoEvent)));
        }
        let record = Record::bare(Head::DeliveryChanged {
            webhook: *self.webhook.as_bytes(),
            event: about.event,
            event_type: about.event_type,
            state: DeliveryState {
                attempts,
                is_single: row.state.is_single || slot.lane == Lane::Finished,
                standing: Standing::Queued { due },
            },
        });
        Ok(Decision::write(vec![record], Ok(())))
    }
}

/// Whether an event is there, and the email whose arrival it tells; of one that was thrown away, its inbox.
fn can_be_told(view: &View<'_>, about: About, now: Timestamp) -> Result<bool, IndexError> {
    let Some(event) = view.event(about.event)? else {
        return Ok(false);
    };
    let (inbox, email) = (InboxKey::from_bytes(event.inbox), EmailId::from_bytes(event.email));
    match event.happened {
        Happened::Removed { .. } => Ok(true),
        Happened::Arrived { .. } => Ok(view.mail(inbox, email)?.is_some()),
        Happened::ThrownAway { .. } => is_live(view, inbox, now),
    }
}
