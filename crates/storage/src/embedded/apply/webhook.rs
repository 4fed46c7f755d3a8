//! Records of webhooks.

use restante_model::{InboxKey, WebhookId};

use super::super::index::{IndexError, Rows};
use super::super::queue_rows::QueueRows;
use super::super::record::{IdempotencyHashes, WebhookHead, WebhookState};
use super::super::rows::{Place, ScopeRow, WebhookRow, key, queue_key};
use super::super::view::View;
use super::live::{point_queue, unpoint_queue};
use crate::{Topic, WebhookScope};

pub(super) fn stored(view: &mut View<'_>, head: &WebhookHead, place: Place) -> Result<(), IndexError> {
    view.meta.last_queue = view.meta.last_queue.max(head.sequence);
    let id = WebhookId::from_bytes(head.webhook);
    let old = view.webhook(id)?;
    replace(view, id, old.as_ref(), Some(WebhookRow::new(head, place)))
}

pub(super) fn changed(
    view: &mut View<'_>,
    id: WebhookId,
    state: &WebhookState,
    place: Place,
) -> Result<(), IndexError> {
    let Some(old) = view.webhook(id)? else { return Ok(()) };
    let new = WebhookRow {
        state: *state,
        changed: Some(place),
        ..old.clone()
    };
    replace(view, id, Some(&old), Some(new))
}

pub(super) fn reaped(view: &mut View<'_>, id: WebhookId) -> Result<(), IndexError> {
    let old = view.webhook(id)?;
    replace(view, id, old.as_ref(), None)
}

/// Notes whether an inbox that has webhooks is gone. To be called when the one or the other changes.
pub(super) fn note_deserted(view: &mut View<'_>, inbox: InboxKey) -> Result<(), IndexError> {
    if view.scope(WebhookScope::Inbox(inbox))?.webhooks == 0 {
        return Ok(());
    }
    if view.inbox(inbox)?.is_none() {
        view.put_raw(queue_key::deserted(inbox), &[]);
    } else {
        view.delete(queue_key::deserted(inbox));
    }
    Ok(())
}

fn replace(
    view: &mut View<'_>,
    id: WebhookId,
    old: Option<&WebhookRow>,
    new: Option<WebhookRow>,
) -> Result<(), IndexError> {
    let (before, after) = (old.map(Shown::of), new.as_ref().map(Shown::of));
    if before != after {
        before.map_or(Ok(()), |shown| shown.hide(view, id))?;
        after.map_or(Ok(()), |shown| shown.show(view, id))?;
    }
    for place in new.iter().flat_map(WebhookRow::places) {
        point_queue(view, place)?;
    }
    for place in old.into_iter().flat_map(WebhookRow::places) {
        unpoint_queue(view, place)?;
    }
    match new {
        Some(new) => view.put(queue_key::webhook(id), &new),
        None => view.delete(queue_key::webhook(id)),
    }
    Ok(())
}

/// What other rows say of a webhook: most changes of it change nothing of that.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    scope: WebhookScope,
    sequence: u64,
    idempotency: Option<IdempotencyHashes>,
    is_removed: bool,
    is_orphan: bool,
    hears: [bool; 2],
    is_served: bool,
}

impl Shown {
    fn of(webhook: &WebhookRow) -> Self {
        Self {
            scope: webhook.scope(),
            sequence: webhook.sequence,
            idempotency: webhook.idempotency,
            is_removed: webhook.state.is_removed,
            is_orphan: webhook.state.orphaned_at.is_some(),
            hears: [Topic::Arrivals, Topic::Removals].map(|topic| webhook.hears(topic)),
            is_served: webhook.is_served(),
        }
    }

    fn show(&self, view: &mut View<'_>, id: WebhookId) -> Result<(), IndexError> {
        if let Some((name, _)) = &self.idempotency {
            view.put_raw(queue_key::repeat(name, self.sequence), id.as_bytes());
        }
        if let Some(work) = self.work(id) {
            view.put_raw(work, &[]);
        }
        if self.is_served
            && let Some(due) = view.queue(id)?.next_due()
        {
            view.put_raw(queue_key::due(due, id), &[]);
        }
        let mut totals = view.scope(self.scope)?;
        self.count(&mut totals, |total| total + 1);
        if !self.is_removed {
            view.put_raw(queue_key::webhook_in_scope(self.scope, self.sequence), id.as_bytes());
            totals.first = totals.first.into_iter().chain([self.sequence]).min();
        }
        self.put_totals(view, &totals)
    }

    /// The opposite of [`Shown::show`].
    fn hide(&self, view: &mut View<'_>, id: WebhookId) -> Result<(), IndexError> {
        if let Some((name, _)) = &self.idempotency {
            view.delete(queue_key::repeat(name, self.sequence));
        }
        if let Some(work) = self.work(id) {
            view.delete(work);
        }
        if self.is_served
            && let Some(due) = view.queue(id)?.next_due()
        {
            view.delete(queue_key::due(due, id));
        }
        let mut totals = view.scope(self.scope)?;
        self.count(&mut totals, |total| total.saturating_sub(1));
        if !self.is_removed {
            view.delete(queue_key::webhook_in_scope(self.scope, self.sequence));
            if totals.first == Some(self.sequence) {
                totals.first = self.following(view, &totals)?;
            }
        }
        self.put_totals(view, &totals)
    }

    /// The row that says what is to be done with it.
    fn work(&self, id: WebhookId) -> Option<Vec<u8>> {
        match (self.is_removed, self.is_orphan) {
            (true, _) => Some(queue_key::removed(id)),
            (false, true) => Some(queue_key::orphan(id)),
            (false, false) => None,
        }
    }

    fn count(&self, totals: &mut ScopeRow, change: impl Fn(u64) -> u64) {
        let counts = [
            (&mut totals.listed, !self.is_removed),
            (&mut totals.webhooks, !self.is_removed && !self.is_orphan),
            (&mut totals.arrivals, self.hears[0]),
            (&mut totals.removals, self.hears[1]),
        ];
        for (total, counts) in counts {
            if counts {
                *total = change(*total);
            }
        }
    }

    /// The first webhook of the scope behind this one.
    fn following(&self, view: &View<'_>, totals: &ScopeRow) -> Result<Option<u64>, IndexError> {
        if totals.listed == 0 {
            return Ok(None);
        }
        let prefix = queue_key::in_scope(self.scope);
        let keys = queue_key::webhook_in_scope(self.scope, self.sequence + 1)..key::end_of(&prefix);
        let next = view.range(keys, 1)?;
        let (name, _) = next.first().ok_or(IndexError::Missing)?;
        Ok(key::number_at(name, prefix.len() - 1))
    }

    fn put_totals(&self, view: &mut View<'_>, totals: &ScopeRow) -> Result<(), IndexError> {
        let name = queue_key::scope(self.scope);
        if *totals == ScopeRow::default() {
            view.delete(name);
        } else {
            view.put(name, totals);
        }
        let WebhookScope::Inbox(inbox) = self.scope else {
            return Ok(());
        };
        if totals.webhooks == 0 {
            view.delete(queue_key::deserted(inbox));
            return Ok(());
        }
        note_deserted(view, inbox)
    }
}
