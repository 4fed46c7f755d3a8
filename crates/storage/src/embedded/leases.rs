//! Who is at work on which delivery: in memory only, so that after a crash everything is claimed again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use restante_model::{Timestamp, WebhookId};

use super::rows::About;
use crate::Lease;

/// The leases of a store.
#[derive(Debug, Default)]
pub(super) struct Leases {
    table: Mutex<Table>,
    claims: Mutex<()>,
}

/// The leases at the beginning of a claim.
#[derive(Debug)]
pub(super) struct Begun {
    /// When deliveries were claimed first.
    pub(super) opened_at: Timestamp,
    /// When the next lease ends.
    pub(super) next_end: Option<Timestamp>,
    held: HashMap<WebhookId, Vec<About>>,
}

impl Begun {
    /// Leases of a webhook.
    pub(super) fn of(&self, webhook: WebhookId) -> &[About] {
        self.held.get(&webhook).map(Vec::as_slice).unwrap_or_default()
    }
}

/// See [`Leases`].
#[derive(Debug, Default)]
struct Table {
    held: HashMap<(WebhookId, About), Held>,
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
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims go one after the other: what nobody holds when one begins, nobody else leases before that ends.
    ///
    /// The table stays free meanwhile: the committer asks it, and a claim reads the index.
    pub(super) fn claim(&self) -> MutexGuard<'_, ()> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the leases that have ended, and says which there are.
    pub(super) fn begin(&self, now: Timestamp) -> Begun {
        let mut table = self.lock();
        table.held.retain(|_, held| now < held.until);
        let mut begun = Begun {
            opened_at: table.open(now),
            next_end: table.held.values().map(|held| held.until).min(),
            held: HashMap::new(),
        };
        for (webhook, about) in table.held.keys() {
            begun.held.entry(*webhook).or_default().push(*about);
        }
        begun
    }

    /// Leases a delivery that nobody holds.
    pub(super) fn give(&self, webhook: WebhookId, about: About, attempts: u32, until: Timestamp) -> Lease {
        let mut table = self.lock();
        table.last_token += 1;
        let token = table.last_token;
        let held = Held { token, until, attempts };
        table.held.insert((webhook, about), held);
        Lease {
            webhook,
            event: about.event,
            event_type: about.event_type,
            token,
        }
    }

    /// Ends leases that were not given anew.
    pub(super) fn release(&self, leases: &[Lease]) {
        let mut table = self.lock();
        for lease in leases {
            let id = id_of(lease);
            if table.held.get(&id).is_some_and(|held| held.token == lease.token) {
                table.held.remove(&id);
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
    /// When deliveries were claimed first. A clock that was set back begins anew.
    fn open(&mut self, now: Timestamp) -> Timestamp {
        let opened_at = self.opened_at.map_or(now, |opened_at| opened_at.min(now));
        self.opened_at = Some(opened_at);
        opened_at
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

#[cfg(test)]
mod tests {
    use restante_model::EventType;

    use super::*;

    const ABOUT: About = About {
        event: 1,
        event_type: EventType::EmailReceived,
    };

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_unix_ms(ms)
    }

    #[test]
    fn the_committer_does_not_wait_for_a_claim_under_way() {
        let (leases, webhook) = (Leases::default(), WebhookId::from_bytes([1; 16]));
        let claim = leases.claim();
        assert_eq!(leases.begin(at(5)).of(webhook), []);
        let lease = leases.give(webhook, ABOUT, 2, at(9));
        assert!(leases.is_held(webhook, ABOUT, at(8)));
        assert!(leases.is_under_way(webhook, ABOUT, 2, at(8)));
        assert_eq!(leases.attempts(&lease, at(8)), Some(2));
        assert_eq!(leases.begin(at(8)).of(webhook), [ABOUT]);
        leases.release(&[lease]);
        drop(claim);
        assert_eq!(leases.begin(at(8)).of(webhook), []);
    }

    #[test]
    fn leases_end_with_their_time_and_a_clock_that_was_set_back_begins_anew() {
        let (leases, webhook) = (Leases::default(), WebhookId::from_bytes([1; 16]));
        leases.give(webhook, ABOUT, 0, at(9));
        let begun = leases.begin(at(5));
        assert_eq!((begun.opened_at, begun.next_end), (at(5), Some(at(9))));
        assert_eq!(leases.begin(at(8)).opened_at, at(5));
        assert_eq!(leases.begin(at(3)).opened_at, at(3));
        let begun = leases.begin(at(9));
        assert_eq!((begun.of(webhook), begun.next_end), (&[][..], None));
    }
}
