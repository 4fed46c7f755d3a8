//! Who is at work on which delivery: in memory only, so that after a crash everything is claimed again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use restante_model::{Timestamp, WebhookId};

use super::rows::About;
use crate::Lease;

/// The leases of a store.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<Table>);

/// See [`Leases`].
#[derive(Debug, Default)]
pub(super) struct Table {
    held: HashMap<(WebhookId, About), Held>,
    by_webhook: HashMap<WebhookId, usize>,
    last_token: u64,
    /// When deliveries were claimed first.
    opened_at: Option<Timestamp>,
}

/// A lease.
#[derive(Debug, Clone, Copy)]
struct Held {
    token: u64,
    until: Timestamp,
    /// Attempts that were settled when it was given: an outcome counts once.
    attempts: u32,
}

impl Leases {
    pub(super) fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends leases that were not given anew.
    pub(super) fn release(&self, leases: &[Lease]) {
        let mut table = self.lock();
        for lease in leases {
            let id = id_of(lease);
            if table.held.get(&id).is_some_and(|held| held.token == lease.token) {
                table.remove(id);
            }
        }
    }

    /// The attempts that were settled when a lease was given; `None` if it has ended.
    pub(super) fn attempts(&self, lease: &Lease, now: Timestamp) -> Option<u32> {
        let table = self.lock();
        let held = table.held.get(&id_of(lease))?;
        (held.token == lease.token && now < held.until).then_some(held.attempts)
    }

    /// Whether somebody makes the attempt of a delivery that follows so many: a lease outlives its outcome for a moment.
    pub(super) fn is_under_way(&self, webhook: WebhookId, about: About, attempts: u32, now: Timestamp) -> bool {
        let table = self.lock();
        let held = table.held.get(&(webhook, about));
        held.is_some_and(|held| now < held.until && held.attempts == attempts)
    }

    /// Whether somebody is at work on a delivery.
    pub(super) fn is_held(&self, webhook: WebhookId, about: About, now: Timestamp) -> bool {
        let table = self.lock();
        table.held.get(&(webhook, about)).is_some_and(|held| now < held.until)
    }
}

impl Table {
    /// Forgets the leases that have ended, and says when the first claim was.
    pub(super) fn begin(&mut self, now: Timestamp) -> Timestamp {
        let ended: Vec<_> = self.held.iter().filter(|(_, held)| now >= held.until).collect();
        let ended: Vec<_> = ended.into_iter().map(|(id, _)| *id).collect();
        for id in ended {
            self.remove(id);
        }
        *self.opened_at.get_or_insert(now)
    }

    /// Leases of a webhook.
    pub(super) fn of(&self, webhook: WebhookId) -> usize {
        self.by_webhook.get(&webhook).copied().unwrap_or_default()
    }

    pub(super) fn holds(&self, webhook: WebhookId, about: About) -> bool {
        self.held.contains_key(&(webhook, about))
    }

    /// When the next lease ends.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.held.values().map(|held| held.until).min()
    }

    /// Leases a delivery that nobody holds.
    pub(super) fn give(&mut self, webhook: WebhookId, about: About, attempts: u32, until: Timestamp) -> Lease {
        self.last_token += 1;
        let token = self.last_token;
        let held = Held { token, until, attempts };
        self.held.insert((webhook, about), held);
        *self.by_webhook.entry(webhook).or_default() += 1;
        Lease {
            webhook,
            event: about.event,
            event_type: about.event_type,
            token,
        }
    }

    fn remove(&mut self, id: (WebhookId, About)) {
        if self.held.remove(&id).is_none() {
            return;
        }
        let left = self.by_webhook.get(&id.0).map_or(0, |count| count - 1);
        if left == 0 {
            self.by_webhook.remove(&id.0);
        } else {
            self.by_webhook.insert(id.0, left);
        }
    }
}

/// What a lease is about.
pub(super) fn id_of(lease: &Lease) -> (WebhookId, About) {
    let about = About {
        event: lease.event,
        event_type: lease.event_type,
    };
    (lease.webhook, about)
}
