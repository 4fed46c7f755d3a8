//! From queued deliveries to outcomes.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use restante_storage::{Claim, LeasedDelivery, ReadError, SettleRules, Settled, Settlement, Unavailable};
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempt::{Ended, attempt, broken_off};
use super::lanes::Lanes;
use super::recent::Recent;
use super::{LONGEST_SLEEP, PAUSE};
use crate::Webhooks;

/// Leases of one webhook: those under way, and enough to go on with while outcomes are written.
const LEASES_BY_WEBHOOK: usize = 64;
/// Leases in all.
const LEASES: usize = 640;
/// Leases end with their outcome, or when they are given back; this is for those of a process that hangs.
const LEASE: Duration = Duration::from_hours(1);
/// Failures in a row that disable a webhook (docs/spec/interface.md, "Delivery").
const DISABLE_AFTER: u32 = 5;
/// Finished deliveries of a webhook that its log shows.
const KEEP_FINISHED: usize = 100;

/// What is being settled, and what comes of it.
type Settling<'a> = Pin<Box<dyn Future<Output = Result<Settled, (Unavailable, Vec<Settlement>)>> + Send + 'a>>;

/// Claims, sends, settles.
pub(super) struct Courier<'a> {
    webhooks: &'a Webhooks,
    recent: &'a Arc<Recent>,
    /// Told by the router when deliveries may be due.
    queued: &'a Notify,
    lanes: Lanes,
    running: JoinSet<Ended>,
    /// What each task attempts, in case it breaks off.
    tasks: HashMap<Id, LeasedDelivery>,
    /// Outcomes that are not written yet.
    outcomes: Vec<Settlement>,
    settling: Option<Settling<'a>>,
    /// How many outcomes are being settled.
    in_settling: usize,
    next_claim: Instant,
    /// The store is left alone until then.
    paused_until: Option<Instant>,
    /// Said once, until the store works again.
    is_in_trouble: bool,
}

impl<'a> Courier<'a> {
    pub(super) fn new(webhooks: &'a Webhooks, recent: &'a Arc<Recent>, queued: &'a Notify) -> Self {
        Self {
            webhooks,
            recent,
            queued,
            lanes: Lanes::default(),
            running: JoinSet::new(),
            tasks: HashMap::new(),
            outcomes: Vec::new(),
            settling: None,
            in_settling: 0,
            next_claim: Instant::now(),
            paused_until: None,
            is_in_trouble: false,
        }
    }

    /// Goes on until it is told to stop and what is under way is settled.
    pub(super) async fn run(mut self, stop: &CancellationToken) {
        loop {
            let is_stopping = stop.is_cancelled();
            if is_stopping {
                self.webhooks.store().release(&self.lanes.clear_all());
                if self.is_done() {
                    return;
                }
            }
            self.paused_until = self.paused_until.filter(|until| Instant::now() < *until);
            if self.paused_until.is_none() {
                if !is_stopping {
                    self.claim_if_due().await;
                    self.start();
                }
                self.settle();
            }
            let wake_at = self.wake_at(is_stopping);
            tokio::select! {
                () = stop.cancelled(), if !is_stopping => {}
                () = self.queued.notified(), if !is_stopping => self.next_claim = Instant::now(),
                () = tokio::time::sleep_until(wake_at) => {}
                Some(task) = self.running.join_next_with_id() => self.gather(task),
                settled = settled(&mut self.settling) => self.settled(settled),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.running.is_empty() && self.outcomes.is_empty() && self.settling.is_none()
    }

    /// Leases that more may be claimed beside.
    fn room(&self) -> usize {
        LEASES.saturating_sub(self.lanes.len() + self.outcomes.len() + self.in_settling)
    }

    /// When there is something to do without having been told.
    ///
    /// Nothing is claimed while it stops: what is due then is none of its business, and would never let it sleep.
    fn wake_at(&self, is_stopping: bool) -> Instant {
        let longest = Instant::now() + LONGEST_SLEEP;
        match self.paused_until {
            Some(until) => until,
            None if is_stopping || self.room() == 0 => longest,
            None => self.next_claim.min(longest),
        }
    }

    async fn claim_if_due(&mut self) {
        let (now, room) = (Instant::now(), self.room());
        if now < self.next_claim || room == 0 {
            return;
        }
        let claim = Claim {
            max: room,
            max_per_webhook: LEASES_BY_WEBHOOK,
            lease: LEASE,
        };
        let moment = self.webhooks.now();
        match self.webhooks.store().claim_deliveries(&claim, moment).await {
            Ok(claimed) => {
                self.is_in_trouble = false;
                let until_due = claimed.next_due.map_or(LONGEST_SLEEP, |due| moment.until(due));
                // Without room for what is due now, whatever makes room wakes the loop.
                let is_stuck = claimed.deliveries.is_empty() && until_due.is_zero();
                self.next_claim = now
                    + if is_stuck {
                        LONGEST_SLEEP
                    } else {
                        until_due.min(LONGEST_SLEEP)
                    };
                self.lanes.add(claimed.deliveries);
            }
            Err(error) => self.pause("deliveries cannot be claimed", error),
        }
    }

    /// Begins the attempts that may be under way.
    fn start(&mut self) {
        while let Some(delivery) = self.lanes.start_next() {
            let (webhooks, recent) = (self.webhooks.clone(), Arc::clone(self.recent));
            let task = self.running.spawn(attempt(webhooks, recent, delivery));
            self.tasks.insert(task.id(), delivery);
        }
    }

    /// Takes what has ended by now.
    fn gather(&mut self, first: Result<(Id, Ended), JoinError>) {
        let mut next = Some(first);
        while let Some(task) = next {
            self.ended(task);
            next = self.running.try_join_next_with_id();
        }
    }

    fn ended(&mut self, task: Result<(Id, Ended), JoinError>) {
        let id = task.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some(delivery) = self.tasks.remove(&id) else { return };
        self.lanes.ended(delivery.lease.webhook);
        match task {
            Ok((_, Ended::Settled(settlement))) => self.outcomes.push(settlement),
            Ok((_, Ended::Unwanted)) => self.give_back(&delivery),
            Ok((_, Ended::Unavailable(error))) => {
                self.webhooks.store().release(&[delivery.lease]);
                self.pause("a delivery cannot be read", error.into());
            }
            Err(error) => {
                // It counts as an attempt: one that always breaks off ends with the schedule.
                tracing::error!(webhook = %delivery.lease.webhook, "an attempt broke off: {error}");
                self.outcomes.push(broken_off(self.webhooks, &delivery));
            }
        }
    }

    /// Gives back all leases of a webhook that is not to be sent anything.
    fn give_back(&mut self, delivery: &LeasedDelivery) {
        let mut leases = self.lanes.clear(delivery.lease.webhook);
        leases.push(delivery.lease);
        self.webhooks.store().release(&leases);
    }

    /// Begins to write the outcomes that there are, unless others are being written.
    fn settle(&mut self) {
        if self.settling.is_some() || self.outcomes.is_empty() {
            return;
        }
        let (webhooks, settlements) = (self.webhooks, std::mem::take(&mut self.outcomes));
        self.in_settling = settlements.len();
        self.settling = Some(Box::pin(async move {
            let rules = SettleRules {
                disable_after: DISABLE_AFTER,
                max_retries: webhooks.policy().max_retries_queued,
                keep_finished: KEEP_FINISHED,
            };
            let settled = webhooks.store().settle(settlements.clone(), &rules, webhooks.now());
            settled.await.map_err(|error| (error, settlements))
        }));
    }

    fn settled(&mut self, settled: Result<Settled, (Unavailable, Vec<Settlement>)>) {
        self.settling = None;
        self.in_settling = 0;
        match settled {
            Ok(settled) => {
                self.tell(&settled);
                // Leases have ended, so that there may be room again.
                self.next_claim = Instant::now();
            }
            Err((error, mut settlements)) => {
                settlements.append(&mut self.outcomes);
                self.outcomes = settlements;
                self.pause("outcomes cannot be written", error.into());
            }
        }
    }

    /// Says what nobody asked for.
    fn tell(&mut self, settled: &Settled) {
        for webhook in &settled.disabled {
            tracing::warn!(%webhook, failures = DISABLE_AFTER, "a webhook is disabled: attempts failed in a row");
            let waiting = self.lanes.clear(*webhook);
            self.webhooks.store().release(&waiting);
        }
        let mut ended = BTreeMap::<_, usize>::new();
        for (webhook, _) in &settled.ended {
            *ended.entry(*webhook).or_default() += 1;
        }
        for (webhook, ended) in ended {
            let limit = self.webhooks.policy().max_retries_queued;
            tracing::warn!(%webhook, ended, limit, "the oldest retries of a webhook ended: too many are queued");
        }
    }

    /// Leaves the store alone for a while; nothing is lost, since leases and outcomes are kept.
    fn pause(&mut self, what: &str, error: ReadError) {
        if !std::mem::replace(&mut self.is_in_trouble, true) {
            tracing::warn!("{what}: {error}");
        }
        self.paused_until = Some(Instant::now() + PAUSE);
    }
}

/// Waits for what is being settled; forever if nothing is.
async fn settled(settling: &mut Option<Settling<'_>>) -> Result<Settled, (Unavailable, Vec<Settlement>)> {
    match settling {
        Some(settling) => settling.await,
        None => std::future::pending().await,
    }
}
