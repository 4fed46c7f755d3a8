//! Webhooks, and one that hears of every email that arrives.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, EventId, EventType, Timestamp, WebhookId};
use restante_storage::queue_item::{DeliveryItemState, EventItemKind};
use restante_storage::{
    AttemptVerdict, Claim, Embedded, Happening, NewDelivery, NewWebhook, QueueItem, SettleRules, Settlement, Store,
    ThrownAway, Topics, WebhookScope, WebhookStore, WebhookUpdate,
};

use super::{NOW, Numbers, create, say};

/// The webhook that hears of all mail.
const LISTENER: WebhookId = WebhookId::from_bytes([1; 16]);
const LIMIT: u64 = 100_000;
const RULES: SettleRules = SettleRules {
    disable_after: u32::MAX,
    max_retries: 10_000,
    keep_finished: 50,
};

/// What comes with the arrival of an email.
pub(super) fn data(id: EmailId) -> Bytes {
    Bytes::from(format!("event of {id}"))
}

fn config(number: u64) -> Bytes {
    Bytes::from(format!("configuration {number}"))
}

fn new_webhook(id: WebhookId, arrivals: bool) -> NewWebhook {
    NewWebhook {
        id,
        scope: WebhookScope::Global,
        topics: Topics {
            arrivals,
            removals: !arrivals,
        },
        config: config(0),
        idempotency: None,
    }
}

/// Makes the one that hears of all mail, in the first round.
pub(super) async fn listen(store: &Embedded) {
    if store.webhook(LISTENER, NOW).await.expect("the store reads").is_none() {
        let created = store.create_webhook(new_webhook(LISTENER, true), LIMIT, NOW).await;
        created.expect("the store takes a webhook");
    }
}

/// Webhooks that come, change and go.
pub(super) async fn change(store: Arc<Embedded>, round: u64) {
    let mut numbers = Numbers(round + 7_000);
    loop {
        let id = WebhookId::random();
        let created = store.create_webhook(new_webhook(id, false), LIMIT, NOW).await;
        created.expect("the store takes a webhook");
        say(&format!("hook {id} 0"));
        for number in 1..numbers.below(4) {
            let found = store.webhook(id, NOW).await.expect("the store reads");
            let found = found.expect("nobody removes it meanwhile");
            say(&format!("hooking {id} {number}"));
            let update = WebhookUpdate {
                id,
                revision: found.revision,
                config: Some((config(number), found.topics)),
                enabled: None,
            };
            // Outcomes of its deliveries do not change the revision.
            store.update_webhook(update, NOW).await.expect("the store changes it");
            say(&format!("hook {id} {number}"));
        }
        if numbers.below(10) > 0 {
            say(&format!("unhooking {id}"));
            assert_eq!(store.remove_webhook(id, NOW).await, Ok(true));
            say(&format!("unhooked {id}"));
        }
        store.reap_webhooks(50, NOW).await.expect("the store reaps");
    }
}

/// Mail that is thrown away, and of which webhooks are told.
pub(super) async fn throw_away(store: Arc<Embedded>, round: u64) {
    let inbox = create(&store, &format!("hole{round}")).await;
    let mut numbers = Numbers(round + 9_000);
    loop {
        let arrival = || {
            let id = EmailId::new(NOW);
            let event = data(id);
            let inbox = inbox.key;
            ThrownAway { inbox, id, event }
        };
        let arrivals: Vec<_> = (0..=numbers.below(3)).map(|_| arrival()).collect();
        store.tell(arrivals.clone(), NOW).await.expect("the store is told");
        for arrival in arrivals {
            say(&format!("thrown {}", arrival.id));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Queues and settles; now and then an attempt fails and is tried again.
pub(super) async fn deliver(store: Arc<Embedded>, round: u64) {
    let mut numbers = Numbers(round + 8_000);
    let mut now = NOW;
    loop {
        now = now.after(Duration::from_secs(10));
        dispatch(&store, now).await;
        let claim = Claim {
            max: 64,
            max_per_webhook: 48,
            lease: Duration::from_mins(1),
        };
        let claimed = store.claim_deliveries(&claim, now).await.expect("the store claims");
        let mut told = Vec::new();
        let mut settlements = Vec::new();
        for claimed in claimed.deliveries {
            let is_success = numbers.below(8) > 0;
            if is_success && claimed.lease.webhook == LISTENER {
                say(&format!("telling {}", claimed.event_id));
                told.push(claimed.event_id);
            }
            settlements.push(Settlement {
                lease: claimed.lease,
                started_at: now,
                verdict: if is_success {
                    AttemptVerdict::Succeeded
                } else {
                    AttemptVerdict::Failed { retry_at: Some(now) }
                },
                report: Bytes::from_static(b"report"),
            });
        }
        if settlements.is_empty() {
            tokio::task::yield_now().await;
            continue;
        }
        store.settle(settlements, &RULES, now).await.expect("the store settles");
        for event in told {
            say(&format!("told {event}"));
        }
    }
}

async fn dispatch(store: &Embedded, now: Timestamp) {
    let events = store.events(64).await.expect("the store reads");
    let Some(last) = events.last() else { return };
    let mut deliveries = Vec::new();
    for event in &events {
        let (event_type, reason) = match event.happening {
            Happening::Arrived | Happening::ThrownAway => (EventType::EmailReceived, None),
            Happening::Removed { reason, .. } => (EventType::EmailDeleted, Some(reason)),
        };
        let is_arrival = reason.is_none();
        for webhook in store.subscribers(event.inbox).await.expect("the store reads") {
            if webhook.topics.arrivals == is_arrival {
                deliveries.push(NewDelivery {
                    webhook: webhook.id,
                    event: event.sequence,
                    event_type,
                    event_id: EventId::of(event.email, event_type, reason),
                });
            }
        }
    }
    let dispatched = store.dispatch(last.sequence, deliveries, now).await;
    dispatched.expect("the store dispatches");
}

/// What the children were told of webhooks.
#[derive(Default)]
pub(super) struct Heard {
    /// The configurations that each of them may have.
    configs: HashMap<String, Vec<u64>>,
    unhooking: HashSet<String>,
    unhooked: HashSet<String>,
    /// Events whose outcome may be settled, and whose is.
    telling: HashSet<String>,
    told: HashSet<String>,
    /// Emails that were thrown away.
    thrown: HashSet<String>,
}

impl Heard {
    /// Takes a line, if it is about webhooks.
    pub(super) fn hear(&mut self, words: &[&str]) -> bool {
        match words {
            ["hook", id, number] => {
                let number = number.parse().expect("a number");
                self.configs.insert((*id).to_owned(), vec![number]);
            }
            ["hooking", id, number] => {
                let number = number.parse().expect("a number");
                self.configs.entry((*id).to_owned()).or_default().push(number);
            }
            ["unhooking", id] => drop(self.unhooking.insert((*id).to_owned())),
            ["unhooked", id] => drop(self.unhooked.insert((*id).to_owned())),
            ["telling", event] => drop(self.telling.insert((*event).to_owned())),
            ["thrown", email] => drop(self.thrown.insert((*email).to_owned())),
            ["told", event] => drop(self.told.insert((*event).to_owned())),
            _ => return false,
        }
        true
    }

    /// Compares with what the store holds; `stored` are the acknowledged emails that were not thrown away.
    pub(super) async fn compare(&self, store: &Embedded, stored: &HashMap<String, u64>) {
        self.compare_webhooks(store).await;
        let waiting = waiting(store).await;
        for email in stored.keys().chain(&self.thrown) {
            let id = email.parse().expect("an id");
            let event = EventId::of(id, EventType::EmailReceived, None).to_string();
            let is_told = self.telling.contains(&event);
            assert!(is_told || waiting.contains(&event), "nobody is told of {email}");
            let is_settled = self.told.contains(&event);
            assert!(!is_settled || !waiting.contains(&event), "{email} is told again");
        }
    }

    async fn compare_webhooks(&self, store: &Embedded) {
        for (id, numbers) in &self.configs {
            let webhook = id.parse().expect("an id");
            let found = store.webhook(webhook, NOW).await.expect("the store reads");
            assert!(found.is_none() || !self.unhooked.contains(id), "{id} came back");
            if found.is_none() {
                assert!(self.unhooking.contains(id), "{id} was acknowledged and is lost");
                continue;
            }
            let (_, found) = store
                .webhook_config(webhook)
                .await
                .expect("it is whole")
                .expect("it is there");
            assert!(
                numbers.iter().any(|number| config(*number) == found),
                "{id} is {found:?}"
            );
        }
    }

    pub(super) fn check_that_much_happened(&self) {
        assert!(!self.told.is_empty() && !self.unhooked.is_empty() && !self.thrown.is_empty());
    }
}

/// The events of arrivals that are not dispatched, or queued for the one that hears of all.
async fn waiting(store: &Embedded) -> HashSet<String> {
    let (mut place, mut dispatched) = (None, 0);
    let mut waiting = HashSet::new();
    loop {
        let page = store.queue_items(place, 1_000).await.expect("the store reads");
        assert_eq!(page.damaged, 0, "nothing is damaged");
        for item in page.items {
            match item {
                QueueItem::Dispatched { through, .. } => dispatched = through,
                QueueItem::Event(event) if event.sequence > dispatched => {
                    let email = EmailId::from_bytes(event.email);
                    if let EventItemKind::Arrived(bytes) | EventItemKind::ThrownAway(bytes) = event.what {
                        assert_eq!(bytes, data(email));
                        waiting.insert(EventId::of(email, EventType::EmailReceived, None).to_string());
                    }
                }
                QueueItem::Delivery(delivery) if delivery.webhook == *LISTENER.as_bytes() => {
                    if let DeliveryItemState::Queued(_) = delivery.state {
                        waiting.insert(EventId::from_bytes(delivery.event_id).to_string());
                    }
                }
                _ => {}
            }
        }
        match page.next {
            Some(next) => place = Some(next),
            None => return waiting,
        }
    }
}
