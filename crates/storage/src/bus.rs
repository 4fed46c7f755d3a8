//! The [`Bus`]: tells whoever waits that something was committed. It carries hints only; the truth is in the store.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use restante_model::InboxKey;
use tokio::sync::{Notify, mpsc};

use crate::Arrival;

/// How many notices wait for one subscriber before it gets a [`Notice::Gap`] instead.
const QUEUE: usize = 256;

/// Something was committed, or notices were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// An email was stored.
    Mail(Arrival),
    /// Notices were lost, or never made: the subscriber must read the store, up to [`Bus::position`].
    Gap,
}

/// Carries notices from those who commit to those who watch, in the order of the commits.
///
/// Whoever has seen a notice has therefore seen all before it: one sequence says what a watcher was told.
/// An arrival that is published before one that was committed earlier waits for that one.
/// A notice costs nothing for inboxes that nobody watches, and only the watchers of its inbox are woken.
#[derive(Debug, Clone)]
pub struct Bus {
    state: Arc<Mutex<State>>,
    work: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    /// Every arrival up to this sequence is published.
    position: u64,
    /// Arrivals behind one that is not published yet, by sequence.
    waiting: BTreeMap<u64, Arrival>,
    watchers: HashMap<InboxKey, Vec<Watcher>>,
    next_id: u64,
}

#[derive(Debug, Clone)]
struct Watcher {
    id: u64,
    queue: mpsc::Sender<Signal>,
    lagged: Arc<AtomicBool>,
}

/// What the queue of a watcher holds.
#[derive(Debug, Clone, Copy)]
enum Signal {
    Mail(Arrival),
    /// Look at the flag.
    Wake,
}

impl Bus {
    /// A bus without subscribers, for a store whose last commit sequence is `position`.
    pub fn starting_after(position: u64) -> Self {
        let state = State {
            position,
            ..State::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            work: Arc::new(Notify::new()),
        }
    }

    /// Says that the queue of webhooks may have work: an event was raised, a webhook was changed, a delivery is due at
    /// once.
    pub fn announce_work(&self) {
        self.work.notify_one();
    }

    /// Waits for the next [`Bus::announce_work`], or for one that nobody has waited for yet. One task waits.
    pub async fn work(&self) {
        self.work.notified().await;
    }

    /// Every arrival up to this sequence is published.
    pub fn position(&self) -> u64 {
        self.lock().position
    }

    /// Publishes arrivals, those that wait for them included; never blocks.
    pub fn publish(&self, arrivals: &[Arrival]) {
        let mut state = self.lock();
        let known = state.position;
        let new = arrivals.iter().filter(|arrival| arrival.sequence > known);
        state.waiting.extend(new.map(|arrival| (arrival.sequence, *arrival)));
        state.release();
    }

    /// Goes on after `sequence` when it is not known which emails up to it were stored: watchers read the store.
    pub fn skip_to(&self, sequence: u64) {
        let mut state = self.lock();
        if sequence > state.position {
            state.position = sequence;
            state.waiting = state.waiting.split_off(&(sequence + 1));
            for watcher in state.watchers.values().flatten() {
                watcher.lagged.store(true, Ordering::Release);
                let _ = watcher.queue.try_send(Signal::Wake);
            }
        }
        state.release();
    }

    /// Watches inboxes; what is published from now on arrives.
    pub fn subscribe(&self, inboxes: HashSet<InboxKey>) -> Subscription {
        let (queue, signals) = mpsc::channel(QUEUE);
        let lagged = Arc::new(AtomicBool::new(false));
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        for inbox in &inboxes {
            let watcher = Watcher {
                id,
                queue: queue.clone(),
                lagged: Arc::clone(&lagged),
            };
            state.watchers.entry(*inbox).or_default().push(watcher);
        }
        Subscription {
            id,
            position: state.position,
            inboxes,
            signals,
            lagged,
            bus: self.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells the watchers of every arrival whose turn it is.
    fn release(&mut self) {
        while let Some(arrival) = self.waiting.remove(&(self.position + 1)) {
            self.position += 1;
            for watcher in self.watchers.get(&arrival.inbox).into_iter().flatten() {
                if watcher.queue.try_send(Signal::Mail(arrival)).is_err() {
                    watcher.lagged.store(true, Ordering::Release);
                }
            }
        }
    }
}

/// The receiving end of [`Bus::subscribe`]; dropping it ends the subscription.
#[derive(Debug)]
pub struct Subscription {
    id: u64,
    position: u64,
    inboxes: HashSet<InboxKey>,
    signals: mpsc::Receiver<Signal>,
    lagged: Arc<AtomicBool>,
    bus: Bus,
}

impl Subscription {
    /// The position of the bus when the subscription began: every later arrival is told.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Waits for the next notice; `None` if no inbox is watched.
    ///
    /// Cancel safe: a notice is either returned or stays queued.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            let signal = self.signals.recv().await?;
            if self.lagged.swap(false, Ordering::AcqRel) {
                // What is still queued is older than what was lost: the reader of the store sees it all.
                while self.signals.try_recv().is_ok() {}
                return Some(Notice::Gap);
            }
            if let Signal::Mail(arrival) = signal {
                return Some(Notice::Mail(arrival));
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.bus.lock();
        for inbox in &self.inboxes {
            if let Some(list) = state.watchers.get_mut(inbox) {
                list.retain(|watcher| watcher.id != self.id);
                if list.is_empty() {
                    state.watchers.remove(inbox);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use restante_model::{EmailId, Timestamp};

    use super::*;

    const ONE: InboxKey = InboxKey::from_bytes([1; 16]);
    const TWO: InboxKey = InboxKey::from_bytes([2; 16]);

    fn arrival(inbox: InboxKey, sequence: u64) -> Arrival {
        let email = EmailId::new(Timestamp::from_unix_ms(0));
        Arrival { inbox, email, sequence }
    }

    #[tokio::test]
    async fn only_watchers_of_the_inbox_hear() {
        let bus = Bus::starting_after(0);
        let mut first = bus.subscribe(HashSet::from([ONE]));
        let mut both = bus.subscribe(HashSet::from([ONE, TWO]));
        let (for_two, for_one) = (arrival(TWO, 1), arrival(ONE, 2));
        bus.publish(&[for_two]);
        bus.publish(&[for_one]);
        assert_eq!(first.next().await, Some(Notice::Mail(for_one)));
        assert_eq!(both.next().await, Some(Notice::Mail(for_two)));
        assert_eq!(both.next().await, Some(Notice::Mail(for_one)));
    }

    #[tokio::test]
    async fn arrivals_are_told_in_commit_order_whoever_publishes_first() {
        let bus = Bus::starting_after(10);
        let mut subscription = bus.subscribe(HashSet::from([ONE]));
        let arrivals = [arrival(TWO, 11), arrival(ONE, 12), arrival(ONE, 13), arrival(ONE, 14)];
        bus.publish(&arrivals[3..]);
        bus.publish(&arrivals[1..3]);
        assert_eq!(bus.position(), 10);
        bus.publish(&arrivals[..1]);
        assert_eq!(bus.position(), 14);
        for told in &arrivals[1..] {
            assert_eq!(subscription.next().await, Some(Notice::Mail(*told)));
        }
        bus.publish(&arrivals);
        assert_eq!(bus.position(), 14, "what is published twice is told once");
    }

    #[tokio::test]
    async fn a_subscriber_that_lags_gets_one_gap_and_then_goes_on() {
        let bus = Bus::starting_after(0);
        let mut subscription = bus.subscribe(HashSet::from([ONE]));
        let many = QUEUE as u64 + 1;
        for sequence in 1..=many {
            bus.publish(&[arrival(ONE, sequence)]);
        }
        assert_eq!(subscription.next().await, Some(Notice::Gap));
        let after = arrival(ONE, many + 1);
        bus.publish(&[after]);
        assert_eq!(subscription.next().await, Some(Notice::Mail(after)));
    }

    #[tokio::test]
    async fn what_is_not_known_is_skipped_and_every_watcher_reads_the_store() {
        let bus = Bus::starting_after(0);
        let mut subscription = bus.subscribe(HashSet::from([ONE]));
        let (waiting, later) = (arrival(ONE, 2), arrival(ONE, 5));
        bus.publish(&[waiting, later]);
        bus.skip_to(4);
        assert_eq!(subscription.next().await, Some(Notice::Gap));
        assert_eq!(bus.position(), 5);
    }

    #[tokio::test]
    async fn a_dropped_subscription_leaves_nothing_behind() {
        let bus = Bus::starting_after(0);
        drop(bus.subscribe(HashSet::from([ONE])));
        assert!(bus.lock().watchers.is_empty());
    }
}
