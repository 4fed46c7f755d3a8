//! From records to rows: the only place that says what a record means to the index.
//!
//! The committer and the replay of the log run the same code, so an index made anew equals the one that was lost.
//! Compaction moves records to the end of the log: a replay can meet the mail of an inbox before the inbox, and marks
//! or a deletion of an email that it meets later or never. So every record is applied to whatever is there:
//! totals count the mail of inboxes that are there, and what an email or an inbox is replaces what it was.

mod delivery;
mod event;
mod inbox;
mod live;
mod mail;
mod webhook;

use restante_model::{EmailId, InboxKey, WebhookId};

use super::index::IndexError;
use super::record::Head;
use super::rows::Place;
use super::view::View;
pub(super) use inbox::forget_segment;
pub(super) use mail::{forget_mail, record_bytes};

/// Applies one record that lies at `place`.
pub(super) fn apply(view: &mut View<'_>, head: &Head, place: Place) -> Result<(), IndexError> {
    if head.is_of_queue() && place.segment < view.floor {
        return Ok(());
    }
    let id = |inbox: &[u8; 16], email: &[u8; 16]| (InboxKey::from_bytes(*inbox), EmailId::from_bytes(*email));
    match head {
        Head::InboxStored(stored) => inbox::stored(view, stored, place),
        Head::InboxesRetired { inboxes, reason, .. } => {
            let share = place.share(inboxes.len());
            for inbox in inboxes {
                inbox::retired(view, InboxKey::from_bytes(*inbox), *reason, share)?;
            }
            Ok(())
        }
        Head::MailStored(stored) => mail::stored(view, stored, place),
        Head::MailRead { inbox, email, .. } => mail::read(view, id(inbox, email), place),
        Head::MailDeleted {
            inbox, email, sequence, ..
        } => mail::deleted(view, id(inbox, email), *sequence, place),
        Head::SignatureAttached {
            inbox,
            email,
            part,
            blob,
        } => mail::attached(view, id(inbox, email), *part, *blob, place),
        Head::MailReaped { inbox, through, .. } => {
            inbox::mail_reaped(view, InboxKey::from_bytes(*inbox), *through, place)
        }
        Head::MailEvicted { inbox, through, .. } => mail::evicted(view, InboxKey::from_bytes(*inbox), *through, place),
        Head::InboxReaped { inbox, held_in } => inbox::reaped(view, InboxKey::from_bytes(*inbox), held_in, place),
        Head::ChaosSet { inbox, chaos, .. } => {
            inbox::chaos_set(view, InboxKey::from_bytes(*inbox), chaos.as_ref(), place)
        }
        Head::WebhookStored(stored) => webhook::stored(view, stored, place),
        Head::WebhookChanged { webhook, state } => {
            webhook::changed(view, WebhookId::from_bytes(*webhook), state, place)
        }
        Head::WebhookReaped { webhook } => webhook::reaped(view, WebhookId::from_bytes(*webhook)),
        Head::EventStored(stored) => event::arrived(view, stored, place),
        Head::ThrownAway(thrown) => event::thrown_away(view, thrown, place),
        Head::EventsRaised(raised) => event::removed(view, raised, place),
        Head::EventsForgotten { events } => event::forgotten(view, events),
        Head::EventsDispatched { through, last } => event::dispatched(view, *through, *last, place),
        Head::DeliveriesQueued { at, deliveries } => delivery::queued(view, *at, deliveries, place),
        Head::DeliveryStored(stored) => delivery::stored(view, stored, place),
        Head::DeliveryChanged {
            webhook,
            event,
            event_type,
            state,
        } => {
            let about = delivery::about(*event, *event_type);
            delivery::changed(view, (WebhookId::from_bytes(*webhook), about), *state, place)
        }
        Head::DeliveriesForgotten { webhook, deliveries } => {
            delivery::forgotten(view, WebhookId::from_bytes(*webhook), deliveries)
        }
    }
}
