//! A player of random acts on inboxes, webhooks and their queue.

use proptest::prelude::*;
use restante_model::{DeliveryId, EventId, EventType, WebhookId};

use super::*;
use crate::conformance::traits::chaos;
use crate::conformance::{START, email, plain_inbox, request};
use crate::{
    AcceptError, AttemptVerdict, Claim, NewDelivery, NewWebhook, Retention, SettleRules, Settlement, ThrownAway, Topic,
    Topics, WebhookScope, WebhookStore, WebhookUpdate,
};

/// Something that happens to inboxes, webhooks and their queue. Numbers choose among what there was, modulo how much.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Advance(u64),
    CreateInbox,
    /// A webhook of all inboxes, or of one.
    CreateWebhook {
        of: Option<usize>,
        removals: bool,
        config: usize,
    },
    Update {
        number: usize,
        enabled: Option<bool>,
        config: Option<usize>,
    },
    Remove(usize),
    Accept {
        inboxes: Vec<usize>,
        data: usize,
    },
    /// Mail that is thrown away.
    Tell {
        inboxes: Vec<usize>,
        data: usize,
    },
    SetChaos(usize, u64),
    Delete(usize),
    Retire(usize),
    Reap(usize),
    ReapWebhooks(usize),
    Dispatch(usize),
    /// Every third attempt fails for good, every second one is tried again.
    Attempt {
        max: usize,
        salt: usize,
    },
    Redeliver(usize, usize),
}

pub(super) fn act() -> impl Strategy<Value = Act> {
    let number = 0..1000_usize;
    let create = (
        proptest::option::weighted(0.7, number.clone()),
        any::<bool>(),
        0..500_usize,
    );
    let update = (
        number.clone(),
        proptest::option::of(any::<bool>()),
        proptest::option::of(0..500_usize),
    );
    let mail = (proptest::collection::vec(number.clone(), 1..4), 0..600_usize);
    let accept = prop_oneof![
        3 => mail.clone().prop_map(|(inboxes, data)| Act::Accept { inboxes, data }),
        1 => mail.prop_map(|(inboxes, data)| Act::Tell { inboxes, data }),
        1 => (number.clone(), 0..100_u64).prop_map(|(number, to)| Act::SetChaos(number, to)),
    ];
    prop_oneof![
        2 => prop_oneof![4 => 0..60_000_u64, 1 => Just(6 * 3_600_000)].prop_map(Act::Advance),
        1 => Just(Act::CreateInbox),
        3 => create.prop_map(|(of, removals, config)| Act::CreateWebhook { of, removals, config }),
        2 => update.prop_map(|(number, enabled, config)| Act::Update { number, enabled, config }),
        1 => number.clone().prop_map(Act::Remove),
        8 => accept,
        4 => number.clone().prop_map(Act::Delete),
        1 => number.clone().prop_map(Act::Retire),
        1 => (1..4_usize).prop_map(Act::Reap),
        3 => (1..20_usize).prop_map(Act::ReapWebhooks),
        6 => (1..9_usize).prop_map(Act::Dispatch),
        8 => (1..9_usize, number.clone()).prop_map(|(max, salt)| Act::Attempt { max, salt }),
        1 => (number.clone(), number).prop_map(|(webhook, delivery)| Act::Redeliver(webhook, delivery)),
    ]
}

const RULES: SettleRules = SettleRules {
    disable_after: 4,
    max_retries: 3,
    keep_finished: 4,
};

/// What was made so far.
#[derive(Debug)]
pub(super) struct Player {
    now: Timestamp,
    inboxes: Vec<Inbox>,
    emails: Vec<(InboxKey, EmailId)>,
    pub(super) webhooks: Vec<WebhookId>,
}

impl Player {
    pub(super) fn new() -> Self {
        Self {
            now: START,
            inboxes: Vec::new(),
            emails: Vec::new(),
            webhooks: Vec::new(),
        }
    }

    pub(super) async fn act(&mut self, store: &Embedded, act: &Act) {
        let now = self.now;
        match act {
            Act::Advance(ms) => self.now = Timestamp::from_unix_ms(now.unix_ms() + ms),
            Act::CreateInbox => {
                let mut inbox = plain_inbox(&format!("inbox{}", self.inboxes.len()), 0);
                inbox.expires_at = Timestamp::MAX;
                store.create_inbox(request(&inbox), now).await.unwrap();
                self.inboxes.push(inbox);
            }
            Act::CreateWebhook { of, removals, config } => self.create(store, *of, *removals, *config).await,
            Act::Update {
                number,
                enabled,
                config,
            } => {
                let Some(id) = pick(&self.webhooks, *number) else {
                    return;
                };
                let Some(found) = store.webhook(*id, now).await.unwrap() else {
                    return;
                };
                let update = WebhookUpdate {
                    id: *id,
                    revision: found.revision,
                    config: config.map(|config| (content(config), found.topics)),
                    enabled: *enabled,
                };
                store.update_webhook(update, now).await.unwrap();
            }
            Act::Remove(number) => {
                if let Some(id) = pick(&self.webhooks, *number) {
                    store.remove_webhook(*id, now).await.unwrap();
                }
            }
            Act::Accept { inboxes, data } => self.accept(store, inboxes, *data).await,
            Act::Tell { inboxes, data } => {
                let chosen = inboxes.iter().filter_map(|number| pick(&self.inboxes, *number));
                let arrivals = chosen.map(|inbox| ThrownAway {
                    inbox: inbox.key,
                    id: EmailId::new(START),
                    event: content(*data),
                });
                store.tell(arrivals.collect(), now).await.unwrap();
            }
            Act::SetChaos(number, to) => {
                if let Some(inbox) = pick(&self.inboxes, *number) {
                    let given = (to % 3 > 0).then(|| chaos(*to));
                    store.set_chaos(inbox.key, given, now).await.unwrap();
                }
            }
            Act::Delete(number) => {
                if let Some((inbox, id)) = pick(&self.emails, *number) {
                    let deleted = store.delete_email(*inbox, *id, RemovalReason::Manual, now).await;
                    deleted.unwrap();
                }
            }
            Act::Retire(number) => {
                if let Some(inbox) = pick(&self.inboxes, *number) {
                    store.retire(&[inbox.key], RemovalReason::Manual, now).await.unwrap();
                }
            }
            Act::Reap(limit) => drop(store.reap(*limit, now).await.unwrap()),
            Act::ReapWebhooks(limit) => drop(store.reap_webhooks(*limit, now).await.unwrap()),
            Act::Dispatch(limit) => dispatch(store, *limit, now).await,
            Act::Attempt { max, salt } => attempt(store, *max, *salt, now).await,
            Act::Redeliver(webhook, number) => self.redeliver(store, *webhook, *number).await,
        }
    }

    async fn create(&mut self, store: &Embedded, of: Option<usize>, removals: bool, config: usize) {
        let scope = match of.map(|number| pick(&self.inboxes, number)) {
            None => WebhookScope::Global,
            Some(Some(inbox)) => WebhookScope::Inbox(inbox.key),
            Some(None) => return,
        };
        let new = NewWebhook {
            id: WebhookId::random(),
            scope,
            topics: Topics {
                arrivals: true,
                removals,
            },
            config: content(config),
            idempotency: None,
        };
        let id = new.id;
        if store.create_webhook(new, 5, self.now).await.is_ok() {
            self.webhooks.push(id);
        }
    }

    async fn accept(&mut self, store: &Embedded, inboxes: &[usize], data: usize) {
        let chosen = inboxes.iter().filter_map(|number| pick(&self.inboxes, *number));
        let emails: Vec<_> = chosen
            .map(|inbox| NewEmail {
                event: Some(content(data)),
                ..email(inbox, "mail")
            })
            .collect();
        if emails.is_empty() {
            return;
        }
        match store.accept(emails.clone(), &Retention::UNLIMITED, self.now).await {
            Ok(_) => self.emails.extend(emails.iter().map(|email| (email.inbox, email.id))),
            Err(error) => assert_eq!(error, AcceptError::Gone),
        }
    }

    async fn redeliver(&self, store: &Embedded, webhook: usize, number: usize) {
        let Some(webhook) = pick(&self.webhooks, webhook) else {
            return;
        };
        let Some((_, email)) = pick(&self.emails, number) else {
            return;
        };
        let event = EventId::of(*email, EventType::EmailReceived, None);
        // Most of them are gone.
        let _ = store
            .redeliver(*webhook, DeliveryId::of(event, *webhook), self.now)
            .await;
    }
}

fn pick<T>(all: &[T], number: usize) -> Option<&T> {
    all.get(number.checked_rem(all.len())?)
}

fn content(len: usize) -> Bytes {
    Bytes::from(vec![u8::try_from(len % 251).unwrap(); len + 1])
}

/// Queues what the first events mean for those that listen.
pub(super) async fn dispatch(store: &Embedded, limit: usize, now: Timestamp) {
    let events = store.events(limit).await.unwrap();
    let Some(last) = events.last() else { return };
    let mut deliveries = Vec::new();
    for event in &events {
        let (topic, types, reason) = match event.happening {
            crate::Happening::Arrived | crate::Happening::ThrownAway => {
                let types: &[_] = &[EventType::EmailReceived, EventType::EmailStored];
                (Topic::Arrivals, types, None)
            }
            crate::Happening::Removed { reason, .. } => {
                let types: &[_] = &[EventType::EmailDeleted];
                (Topic::Removals, types, Some(reason))
            }
        };
        for webhook in store.subscribers(event.inbox).await.unwrap() {
            let hears = match topic {
                Topic::Arrivals => webhook.topics.arrivals,
                Topic::Removals => webhook.topics.removals,
            };
            deliveries.extend(types.iter().filter(|_| hears).map(|event_type| NewDelivery {
                webhook: webhook.id,
                event: event.sequence,
                event_type: *event_type,
                event_id: EventId::of(event.email, *event_type, reason),
            }));
        }
    }
    store.dispatch(last.sequence, deliveries, now).await.unwrap();
}

/// Claims and settles.
pub(super) async fn attempt(store: &Embedded, max: usize, salt: usize, now: Timestamp) {
    let claim = Claim {
        max,
        max_per_webhook: max,
        lease: std::time::Duration::from_mins(1),
    };
    let claimed = store.claim_deliveries(&claim, now).await.unwrap();
    let settlements = claimed
        .deliveries
        .iter()
        .enumerate()
        .map(|(number, claimed)| Settlement {
            lease: claimed.lease,
            started_at: now,
            verdict: match (number + salt) % 6 {
                0..=2 => AttemptVerdict::Succeeded,
                3 => AttemptVerdict::Failed { retry_at: None },
                _ => AttemptVerdict::Failed {
                    retry_at: Some(Timestamp::from_unix_ms(now.unix_ms() + 30_000)),
                },
            },
            report: content(salt % 300),
        });
    store.settle(settlements.collect(), &RULES, now).await.unwrap();
}
