//! Leased deliveries that wait for their turn, one lane a webhook.

use std::collections::{HashMap, VecDeque};

use restante_model::WebhookId;
use restante_storage::{Lease, LeasedDelivery};

/// Attempts under way of one webhook (docs/spec/interface.md, "Limits").
const RUNNING_BY_WEBHOOK: usize = 10;
/// Attempts under way in all.
const RUNNING: usize = 100;

/// Who waits, and how many attempts are under way.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    by_webhook: HashMap<WebhookId, Lane>,
    running: usize,
    waiting: usize,
}

#[derive(Debug, Default)]
struct Lane {
    waiting: VecDeque<LeasedDelivery>,
    running: usize,
}

impl Lanes {
    /// Puts deliveries at the end of their lanes.
    pub(super) fn add(&mut self, deliveries: Vec<LeasedDelivery>) {
        self.waiting += deliveries.len();
        for delivery in deliveries {
            self.by_webhook
                .entry(delivery.lease.webhook)
                .or_default()
                .waiting
                .push_back(delivery);
        }
    }

    /// The next delivery that may be attempted: of the webhook with the fewest attempts under way.
    pub(super) fn start_next(&mut self) -> Option<LeasedDelivery> {
        if self.running >= RUNNING {
            return None;
        }
        let may_start = |lane: &&mut Lane| !lane.waiting.is_empty() && lane.running < RUNNING_BY_WEBHOOK;
        let lane = self
            .by_webhook
            .values_mut()
            .filter(may_start)
            .min_by_key(|lane| lane.running)?;
        let next = lane.waiting.pop_front()?;
        lane.running += 1;
        self.running += 1;
        self.waiting -= 1;
        Some(next)
    }

    /// An attempt has ended.
    pub(super) fn ended(&mut self, webhook: WebhookId) {
        self.running -= 1;
        if let Some(lane) = self.by_webhook.get_mut(&webhook) {
            lane.running -= 1;
            if lane.running == 0 && lane.waiting.is_empty() {
                self.by_webhook.remove(&webhook);
            }
        }
    }

    /// Takes out those of a webhook that wait.
    pub(super) fn clear(&mut self, webhook: WebhookId) -> Vec<Lease> {
        let Some(lane) = self.by_webhook.get_mut(&webhook) else {
            return Vec::new();
        };
        let cleared: Vec<_> = lane.waiting.drain(..).map(|delivery| delivery.lease).collect();
        if lane.running == 0 {
            self.by_webhook.remove(&webhook);
        }
        self.waiting -= cleared.len();
        cleared
    }

    /// Takes out all that wait.
    pub(super) fn clear_all(&mut self) -> Vec<Lease> {
        self.waiting = 0;
        let waiting = self.by_webhook.values_mut().flat_map(|lane| lane.waiting.drain(..));
        let cleared = waiting.map(|delivery| delivery.lease).collect();
        self.by_webhook.retain(|_, lane| lane.running > 0);
        cleared
    }

    /// Deliveries that wait or are attempted.
    pub(super) fn len(&self) -> usize {
        self.waiting + self.running
    }
}

#[cfg(test)]
mod tests {
    use restante_model::{EmailId, EventId, EventType};

    use super::*;

    const DEAD: WebhookId = WebhookId::from_bytes([1; 16]);
    const ALIVE: WebhookId = WebhookId::from_bytes([2; 16]);

    fn leased(webhook: WebhookId, events: std::ops::Range<u64>) -> Vec<LeasedDelivery> {
        let event_id = EventId::of(EmailId::from_bytes([0; 16]), EventType::EmailStored, None);
        let one = |event| LeasedDelivery {
            lease: Lease {
                webhook,
                event,
                event_type: EventType::EmailStored,
                token: event,
            },
            event_id,
            attempts: 0,
            is_single: false,
        };
        events.map(one).collect()
    }

    fn started(lanes: &mut Lanes) -> Vec<(WebhookId, u64)> {
        let next = std::iter::from_fn(|| lanes.start_next());
        next.map(|delivery| (delivery.lease.webhook, delivery.lease.event))
            .collect()
    }

    #[test]
    fn ten_of_one_webhook_are_under_way_in_the_order_of_their_events() {
        let mut lanes = Lanes::default();
        lanes.add(leased(DEAD, 0..12));
        let expected: Vec<_> = (0..10).map(|event| (DEAD, event)).collect();
        assert_eq!(started(&mut lanes), expected);
        lanes.add(leased(ALIVE, 0..1));
        assert_eq!(started(&mut lanes), [(ALIVE, 0)]);
        lanes.ended(DEAD);
        assert_eq!(started(&mut lanes), [(DEAD, 10)]);
        assert_eq!(lanes.len(), 12);
    }

    #[test]
    fn a_hundred_are_under_way_in_all_and_who_has_fewest_goes_first() {
        let mut lanes = Lanes::default();
        for webhook in 0..11 {
            lanes.add(leased(WebhookId::from_bytes([webhook; 16]), 0..20));
        }
        let started_all = started(&mut lanes);
        assert_eq!(started_all.len(), 100);
        for webhook in 0..11 {
            let id = WebhookId::from_bytes([webhook; 16]);
            let of_it = started_all.iter().filter(|(webhook, _)| *webhook == id).count();
            assert!((9..=10).contains(&of_it), "{of_it}");
        }
        lanes.ended(DEAD);
        assert_eq!(started(&mut lanes).len(), 1);
    }

    #[test]
    fn what_is_cleared_is_given_back_and_nothing_is_left() {
        let mut lanes = Lanes::default();
        lanes.add(leased(DEAD, 0..15));
        lanes.add(leased(ALIVE, 0..2));
        assert_eq!(started(&mut lanes).len(), 12);
        assert_eq!(lanes.clear(DEAD).len(), 5);
        assert_eq!(lanes.clear(ALIVE).len(), 0);
        lanes.add(leased(DEAD, 20..21));
        assert_eq!(lanes.clear_all().len(), 1);
        for _ in 0..10 {
            lanes.ended(DEAD);
        }
        for _ in 0..2 {
            lanes.ended(ALIVE);
        }
        assert_eq!(lanes.len(), 0);
        assert!(lanes.by_webhook.is_empty());
    }
}
