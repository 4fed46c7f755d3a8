//! When webhooks are due, in memory as the index has it.
//!
//! Claims look at it all the time, and rows that come and go leave marks in the index, which every look would go
//! through again.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use restante_model::{Timestamp, WebhookId};

use super::index::{Index, IndexError};
use super::rows::{key, queue_key};

/// When each webhook is due that has something queued and is served.
#[derive(Debug, Default)]
pub(super) struct Due(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    webhooks: BTreeSet<(u64, WebhookId)>,
    /// Whose first attempt was leased last: those behind it are next.
    served: Option<WebhookId>,
}

/// A webhook becomes due at a time, or is not any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DueChange {
    pub(super) at: u64,
    pub(super) webhook: WebhookId,
    pub(super) is_due: bool,
}

/// Webhooks with something due.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DueNow {
    /// Those with first attempts, in turn.
    pub(super) first: Vec<WebhookId>,
    /// Those with retries only, those that wait longest first.
    pub(super) retry: Vec<WebhookId>,
    /// When the next is due.
    pub(super) next: Option<u64>,
}

impl Due {
    /// Takes what an index says.
    pub(super) fn load(&self, index: &Index) -> Result<(), IndexError> {
        let rows = index.iter(key::all(queue_key::DUE));
        let webhooks = rows.map(|row| due_of(&row?.0)).collect::<Result<_, _>>()?;
        self.lock().webhooks = webhooks;
        Ok(())
    }

    /// Takes what a commit changed.
    pub(super) fn change(&self, changes: &[DueChange]) {
        if changes.is_empty() {
            return;
        }
        let mut state = self.lock();
        for change in changes {
            let entry = (change.at, change.webhook);
            if change.is_due {
                state.webhooks.insert(entry);
            } else {
                state.webhooks.remove(&entry);
            }
        }
    }

    /// Says that a first attempt of a webhook was leased.
    pub(super) fn serve(&self, webhook: WebhookId) {
        self.lock().served = Some(webhook);
    }

    /// What is due: so many webhooks of each kind, at most.
    pub(super) fn at(&self, now: Timestamp, limit: usize) -> DueNow {
        let state = self.lock();
        let of = |(_, webhook): &(u64, WebhookId)| *webhook;
        let lowest = WebhookId::from_bytes([0; 16]);
        let behind = (0, state.served.unwrap_or(lowest));
        let retries = (1, lowest);
        let turn = state
            .webhooks
            .range(behind..retries)
            .skip_while(|entry| **entry == behind);
        let around = state.webhooks.range(..=behind);
        let later = (now.unix_ms().saturating_add(1).max(1), lowest);
        DueNow {
            first: turn.chain(around).take(limit).map(of).collect(),
            retry: state.webhooks.range(retries..later).take(limit).map(of).collect(),
            next: state.webhooks.range(later..).next().map(|(at, _)| *at),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> BTreeSet<(u64, WebhookId)> {
        self.lock().webhooks.clone()
    }
}

/// What the key of a row says.
pub(super) fn due_of(name: &[u8]) -> Result<(u64, WebhookId), IndexError> {
    let at = key::number_at(name, 0).ok_or(IndexError::Missing)?;
    let webhook = key::last_id(name).ok_or(IndexError::Missing)?;
    Ok((at, WebhookId::from_bytes(webhook)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> WebhookId {
        WebhookId::from_bytes([number + 1; 16])
    }

    fn due(entries: &[(u64, u8)]) -> Due {
        let due = Due::default();
        let changes = entries.iter().map(|(at, webhook)| DueChange {
            at: *at,
            webhook: id(*webhook),
            is_due: true,
        });
        due.change(&changes.collect::<Vec<_>>());
        due
    }

    fn at(due: &Due, now: u64, limit: usize) -> (Vec<WebhookId>, Vec<WebhookId>, Option<u64>) {
        let found = due.at(Timestamp::from_unix_ms(now), limit);
        (found.first, found.retry, found.next)
    }

    #[test]
    fn first_attempts_are_served_in_turn_and_retries_by_their_time() {
        let due = due(&[(0, 0), (0, 1), (0, 2), (7, 3), (5, 4), (9, 5)]);
        assert_eq!(at(&due, 7, 9), (vec![id(0), id(1), id(2)], vec![id(4), id(3)], Some(9)));
        due.serve(id(1));
        assert_eq!(at(&due, 4, 9), (vec![id(2), id(0), id(1)], vec![], Some(5)));
        assert_eq!(at(&due, 9, 2), (vec![id(2), id(0)], vec![id(4), id(3)], None));
        due.serve(id(2));
        assert_eq!(at(&due, 0, 2), (vec![id(0), id(1)], vec![], Some(5)));
    }

    #[test]
    fn what_is_not_due_any_more_is_gone() {
        let due = due(&[(0, 1), (5, 2)]);
        due.change(&[DueChange {
            at: 0,
            webhook: id(1),
            is_due: false,
        }]);
        assert_eq!(at(&due, 9, 9), (vec![], vec![id(2)], None));
    }
}
