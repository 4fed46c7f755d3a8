//! The [`Bus`]: tells whoever waits that something was committed. It carries hints only; the truth is in the store.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use restante_model::InboxKey;
use tokio::sync::mpsc;

use crate::Arrival;

/// How many notices wait for one subscriber before it gets a [`Notice::Gap`] instead.
const QUEUE: usize = 256;

/// Something was committed, or notices were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// An email was stored.
    Mail(Arrival),
    /// Notices were dropped because the subscriber did not keep up: it must read the store.
    Gap,
}

/// Carries notices from those who commit to those who watch.
///
/// A notice costs nothing for inboxes that nobody watches, and only the watchers of its inbox are woken.
#[derive(Debug, Clone, Default)]
pub struct Bus {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    next_id: AtomicU64,
    watchers: Mutex<HashMap<InboxKey, Vec<Watcher>>>,
}

#[derive(Debug, Clone)]
struct Watcher {
    id: u64,
    queue: mpsc::Sender<Arrival>,
    lagged: Arc<AtomicBool>,
}

impl Bus {
    /// A bus without subscribers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells the watchers of the inbox; never blocks.
    pub fn publish(&self, arrival: Arrival) {
        let watchers = self.shared.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        for watcher in watchers.get(&arrival.inbox).into_iter().flatten() {
            if watcher.queue.try_send(arrival).is_err() {
                watcher.lagged.store(true, Ordering::Release);
            }
        }
    }

    /// Watches inboxes; what is published from now on arrives.
    pub fn subscribe(&self, inboxes: HashSet<InboxKey>) -> Subscription {
        let (queue, notices) = mpsc::channel(QUEUE);
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let lagged = Arc::new(AtomicBool::new(false));
        let mut watchers = self.shared.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        for inbox in &inboxes {
            let watcher = Watcher {
                id,
                queue: queue.clone(),
                lagged: Arc::clone(&lagged),
            };
            watchers.entry(*inbox).or_default().push(watcher);
        }
        Subscription {
            id,
            inboxes,
            notices,
            lagged,
            shared: Arc::clone(&self.shared),
        }
    }
}

/// The receiving end of [`Bus::subscribe`]; dropping it ends the subscription.
#[derive(Debug)]
pub struct Subscription {
    id: u64,
    inboxes: HashSet<InboxKey>,
    notices: mpsc::Receiver<Arrival>,
    lagged: Arc<AtomicBool>,
    shared: Arc<Shared>,
}

impl Subscription {
    /// Waits for the next notice; `None` if no inbox is watched.
    ///
    /// Cancel safe: a notice is either returned or stays queued.
    pub async fn next(&mut self) -> Option<Notice> {
        let arrival = self.notices.recv().await?;
        if self.lagged.swap(false, Ordering::AcqRel) {
            // What is still queued is older than what was lost: the reader of the store sees it all.
            while self.notices.try_recv().is_ok() {}
            return Some(Notice::Gap);
        }
        Some(Notice::Mail(arrival))
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut watchers = self.shared.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        for inbox in &self.inboxes {
            if let Some(list) = watchers.get_mut(inbox) {
                list.retain(|watcher| watcher.id != self.id);
                if list.is_empty() {
                    watchers.remove(inbox);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use restante_model::{EmailId, Timestamp};

    use super::*;

    fn arrival(inbox: InboxKey, sequence: u64) -> Arrival {
        Arrival {
            inbox,
            email: EmailId::new(Timestamp::from_unix_ms(0)),
            sequence,
        }
    }

    #[tokio::test]
    async fn only_watchers_of_the_inbox_hear() {
        let bus = Bus::new();
        let (one, two) = (InboxKey::from_bytes([1; 16]), InboxKey::from_bytes([2; 16]));
        let mut first = bus.subscribe(HashSet::from([one]));
        let mut both = bus.subscribe(HashSet::from([one, two]));
        let (for_two, for_one) = (arrival(two, 1), arrival(one, 2));
        bus.publish(for_two);
        bus.publish(for_one);
        assert_eq!(first.next().await, Some(Notice::Mail(for_one)));
        assert_eq!(both.next().await, Some(Notice::Mail(for_two)));
        assert_eq!(both.next().await, Some(Notice::Mail(for_one)));
    }

    #[tokio::test]
    async fn a_subscriber_that_lags_gets_one_gap_and_then_goes_on() {
        let bus = Bus::new();
        let inbox = InboxKey::from_bytes([1; 16]);
        let mut subscription = bus.subscribe(HashSet::from([inbox]));
        for sequence in 0..=QUEUE as u64 {
            bus.publish(arrival(inbox, sequence));
        }
        assert_eq!(subscription.next().await, Some(Notice::Gap));
        let after = arrival(inbox, 1000);
        bus.publish(after);
        assert_eq!(subscription.next().await, Some(Notice::Mail(after)));
    }

    #[tokio::test]
    async fn a_dropped_subscription_leaves_nothing_behind() {
        let bus = Bus::new();
        let inbox = InboxKey::from_bytes([1; 16]);
        drop(bus.subscribe(HashSet::from([inbox])));
        assert!(bus.shared.watchers.lock().unwrap().is_empty());
    }
}
