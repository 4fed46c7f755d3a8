//! The queue: dispatching events and claiming deliveries.

use std::sync::Arc;
use std::time::Duration;

use restante_model::{DeliveryId, EventId, EventType, Inbox, Timestamp, WebhookId};

use super::events::{pending, tell};
use super::webhooks::{of, subscribe, switch};
use super::{START, after_ms, create};
use crate::{
    AttemptVerdict, Claim, Claimed, DeliveriesAfter, DeliveryState, LeasedDelivery, NewDelivery, SettleRules, Settled,
    Settlement, Store, StoredDelivery, StoredEvent, WebhookScope,
};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    dispatched_events_are_queued_once(&*open().await).await;
    an_event_goes_with_its_last_delivery(&*open().await).await;
    the_disabled_and_the_gone_are_left_out(&*open().await).await;
    a_webhook_hears_of_nothing_from_before_it_was_made(&*open().await).await;
    much_is_dispatched_at_once(&*open().await).await;
    first_attempts_go_in_the_order_of_events(&*open().await).await;
    those_with_the_fewest_leases_go_first(&*open().await).await;
    a_claim_says_when_the_next_is_due(&*open().await).await;
    a_lease_ends_with_its_time(&*open().await).await;
    a_disabled_webhook_gets_nothing(&*open().await).await;
}

/// How long leases hold.
pub(super) const LEASE: Duration = Duration::from_mins(1);

/// The limits of the interface.
pub(crate) const RULES: SettleRules = SettleRules {
    disable_after: 5,
    max_retries: 100,
    keep_finished: 100,
};

/// An arrival, for a webhook.
pub(crate) fn delivery(webhook: WebhookId, event: &StoredEvent) -> NewDelivery {
    NewDelivery {
        webhook,
        event: event.sequence,
        event_type: EventType::EmailReceived,
        event_id: EventId::of(event.email, EventType::EmailReceived, None),
    }
}

/// Stores so many emails, and queues their arrival for these webhooks.
pub(crate) async fn queue(store: &dyn Store, inbox: &Inbox, emails: usize, webhooks: &[WebhookId]) -> Vec<StoredEvent> {
    for n in 0..emails {
        tell(store, inbox, &format!("{n}")).await;
    }
    let events = pending(store).await;
    let pairs = events
        .iter()
        .flat_map(|event| webhooks.iter().map(move |id| delivery(*id, event)));
    let through = events.last().map_or(0, |event| event.sequence);
    store.dispatch(through, pairs.collect(), START).await.unwrap();
    assert_eq!(pending(store).await, []);
    events
}

/// Claims so many deliveries, all of one webhook if there are no others.
pub(crate) async fn claim(store: &dyn Store, max: usize, now: Timestamp) -> Claimed {
    let claim = Claim {
        max,
        max_per_webhook: 1000,
        lease: LEASE,
    };
    store.claim_deliveries(&claim, now).await.unwrap()
}

/// Settles deliveries, all with the same outcome.
pub(super) async fn settle(
    store: &dyn Store,
    deliveries: &[LeasedDelivery],
    verdict: AttemptVerdict,
    now: Timestamp,
) -> Settled {
    let settlement = |delivery: &LeasedDelivery| Settlement {
        lease: delivery.lease,
        started_at: now,
        verdict,
        report: format!("attempt {}", delivery.attempts + 1).into(),
    };
    let settlements = deliveries.iter().map(settlement).collect();
    store.settle(settlements, &RULES, now).await.unwrap()
}

/// All deliveries of a webhook, the latest event first.
pub(crate) async fn log(store: &dyn Store, webhook: WebhookId) -> Vec<StoredDelivery> {
    let page = DeliveriesAfter {
        before: None,
        limit: 10_000,
    };
    let page = store.deliveries(webhook, page).await.unwrap();
    assert!(!page.more);
    page.deliveries
}

fn events_of(claimed: &Claimed) -> Vec<u64> {
    claimed.deliveries.iter().map(|delivery| delivery.lease.event).collect()
}

fn sequences(events: &[StoredEvent]) -> Vec<u64> {
    events.iter().map(|event| event.sequence).collect()
}

async fn dispatched_events_are_queued_once(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    for n in 0..3 {
        tell(store, &inbox, &format!("{n}")).await;
    }
    let events = pending(store).await;
    let first = delivery(webhook, &events[0]);
    let stored = NewDelivery {
        event_type: EventType::EmailStored,
        event_id: EventId::of(events[0].email, EventType::EmailStored, None),
        ..first
    };
    let unknown = NewDelivery {
        event: events[2].sequence + 9,
        ..first
    };
    let early = delivery(webhook, &events[2]);
    for _ in 0..2 {
        let deliveries = vec![first, first, stored, early, unknown];
        store
            .dispatch(events[1].sequence, deliveries, after_ms(4))
            .await
            .unwrap();
        assert_eq!(pending(store).await, events[2..]);
        let found = log(store, webhook).await;
        let expected = |new: &NewDelivery| StoredDelivery {
            id: DeliveryId::of(new.event_id, webhook),
            event_id: new.event_id,
            event_type: new.event_type,
            attempts: 0,
            state: DeliveryState::Queued { due: after_ms(4) },
            created_at: after_ms(4),
            report: None,
        };
        assert_eq!(found, [expected(&stored), expected(&first)]);
    }
    store.dispatch(u64::MAX, Vec::new(), START).await.unwrap();
    assert_eq!(pending(store).await, []);
    tell(store, &inbox, "later").await;
    assert_eq!(pending(store).await.len(), 1, "what comes later is dispatched later");
}

async fn an_event_goes_with_its_last_delivery(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let (one, two) = (subscribe(store, of(&inbox)).await, subscribe(store, of(&inbox)).await);
    tell(store, &inbox, "unheard").await;
    let unheard = pending(store).await.remove(0).sequence;
    store.dispatch(unheard, Vec::new(), START).await.unwrap();
    assert_eq!(store.event(unheard).await, Ok(None));
    let event = queue(store, &inbox, 1, &[one, two]).await.remove(0);
    for id in [one, two] {
        assert_eq!(store.event(event.sequence).await, Ok(Some(event.clone())));
        assert!(store.event_data(event.sequence).await.unwrap().is_some());
        assert!(store.remove_webhook(id, START).await.unwrap());
        while store.reap_webhooks(10, START).await.unwrap().more {}
    }
    assert_eq!(store.event(event.sequence).await, Ok(None));
    assert_eq!(store.event_data(event.sequence).await, Ok(None));
}

async fn the_disabled_and_the_gone_are_left_out(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let ids = [subscribe(store, of(&inbox)).await, subscribe(store, of(&inbox)).await];
    let stays = subscribe(store, WebhookScope::Global).await;
    tell(store, &inbox, "mail").await;
    switch(store, ids[0], false).await;
    store.remove_webhook(ids[1], START).await.unwrap();
    let event = pending(store).await.remove(0);
    let told = [ids[0], ids[1], WebhookId::random(), stays];
    let deliveries = told.iter().map(|id| delivery(*id, &event)).collect();
    store.dispatch(event.sequence, deliveries, START).await.unwrap();
    let queued = [
        log(store, ids[0]).await,
        log(store, ids[1]).await,
        log(store, stays).await,
    ];
    assert_eq!(queued.map(|log| log.len()), [0, 0, 1]);
}

async fn a_webhook_hears_of_nothing_from_before_it_was_made(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let first = subscribe(store, WebhookScope::Global).await;
    tell(store, &inbox, "before").await;
    let second = subscribe(store, WebhookScope::Global).await;
    tell(store, &inbox, "behind").await;
    let events = pending(store).await;
    let pairs = events
        .iter()
        .flat_map(|event| [first, second].map(|id| delivery(id, event)));
    store
        .dispatch(events[1].sequence, pairs.collect(), START)
        .await
        .unwrap();
    assert_eq!(log(store, first).await.len(), 2);
    let heard: Vec<_> = log(store, second)
        .await
        .iter()
        .map(|delivery| delivery.event_id)
        .collect();
    assert_eq!(heard, [delivery(second, &events[1]).event_id]);
}

async fn much_is_dispatched_at_once(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhooks = [
        subscribe(store, of(&inbox)).await,
        subscribe(store, WebhookScope::Global).await,
    ];
    let events = queue(store, &inbox, 300, &webhooks).await;
    for id in webhooks {
        let found = log(store, id).await;
        let ids = found.iter().rev().map(|delivery| delivery.id);
        let expected = events
            .iter()
            .map(|event| DeliveryId::of(delivery(id, event).event_id, id));
        assert!(ids.eq(expected));
    }
    for n in 0..300 {
        tell(store, &inbox, &format!("unheard {n}")).await;
    }
    let last = pending(store).await.last().unwrap().sequence;
    store.dispatch(last, Vec::new(), START).await.unwrap();
    assert_eq!(pending(store).await, []);
    assert_eq!(store.event(last).await, Ok(None));
}

async fn first_attempts_go_in_the_order_of_events(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    let events = sequences(&queue(store, &inbox, 6, &[webhook]).await);
    let first = claim(store, 2, START).await;
    assert_eq!(events_of(&first), events[..2]);
    assert!(first.next_due.is_some_and(|due| due <= START), "there is more at once");
    assert!(
        first
            .deliveries
            .iter()
            .all(|delivery| delivery.attempts == 0 && !delivery.is_single)
    );
    assert_eq!(events_of(&claim(store, 2, START).await), events[2..4]);
    store.release(&[first.deliveries[1].lease]);
    assert_eq!(events_of(&claim(store, 2, START).await), [events[1], events[4]]);
    let mut tokens: Vec<_> = first.deliveries.iter().map(|delivery| delivery.lease.token).collect();
    let again = claim(store, 9, START).await;
    assert_eq!(events_of(&again), events[5..]);
    tokens.extend(again.deliveries.iter().map(|delivery| delivery.lease.token));
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 3);
}

async fn those_with_the_fewest_leases_go_first(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let busy = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 30, &[busy]).await;
    let (one, two) = (subscribe(store, of(&inbox)).await, subscribe(store, of(&inbox)).await);
    queue(store, &inbox, 2, &[busy, one, two]).await;
    let few = |max| Claim {
        max,
        max_per_webhook: 10,
        lease: LEASE,
    };
    let of = |claimed: &Claimed, id| {
        claimed
            .deliveries
            .iter()
            .filter(|delivery| delivery.lease.webhook == id)
            .count()
    };
    let first = store.claim_deliveries(&few(3), START).await.unwrap();
    assert_eq!([busy, one, two].map(|id| of(&first, id)), [1, 1, 1]);
    store.release(&[first
        .deliveries
        .iter()
        .find(|given| given.lease.webhook == two)
        .unwrap()
        .lease]);
    let second = store.claim_deliveries(&few(1), START).await.unwrap();
    assert_eq!(of(&second, two), 1);
    let rest = store.claim_deliveries(&few(100), START).await.unwrap();
    assert_eq!([busy, one, two].map(|id| of(&rest, id)), [9, 1, 1]);
    let none = store.claim_deliveries(&few(100), START).await.unwrap();
    assert_eq!(none.deliveries, []);
}

async fn a_claim_says_when_the_next_is_due(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    assert_eq!(claim(store, 9, START).await.next_due, None);
    queue(store, &inbox, 1, &[webhook]).await;
    let given = claim(store, 9, START).await.deliveries;
    let later = AttemptVerdict::Failed {
        retry_at: Some(after_ms(30_000)),
    };
    settle(store, &given, later, START).await;
    let early = claim(store, 9, after_ms(29_999)).await;
    assert_eq!((early.deliveries.len(), early.next_due), (0, Some(after_ms(30_000))));
    let due = claim(store, 9, after_ms(30_000)).await.deliveries;
    assert_eq!((due.len(), due[0].attempts), (1, 1));
    let two = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 3, &[two]).await;
    let one_each = Claim {
        max: 9,
        max_per_webhook: 1,
        lease: LEASE,
    };
    let given = store.claim_deliveries(&one_each, after_ms(30_001)).await.unwrap();
    assert_eq!(given.deliveries.len(), 1);
    let waits = given.next_due.is_none_or(|due| due > after_ms(30_001));
    assert!(
        waits,
        "what waits for the end of a lease is not due: {:?}",
        given.next_due
    );
}

async fn a_lease_ends_with_its_time(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 1, &[webhook]).await;
    let first = claim(store, 9, START).await.deliveries;
    let end = START.after(LEASE);
    let before = Timestamp::from_unix_ms(end.unix_ms() - 1);
    assert_eq!(claim(store, 9, before).await.deliveries, []);
    let second = claim(store, 9, end).await.deliveries;
    assert_eq!(second.len(), 1);
    settle(store, &first, AttemptVerdict::Succeeded, end).await;
    let found = log(store, webhook).await;
    assert_eq!(found[0].attempts, 0, "an outcome that comes too late is ignored");
    store.release(&[first[0].lease]);
    assert_eq!(claim(store, 9, end).await.deliveries, [], "and ends no lease of others");
    settle(store, &second, AttemptVerdict::Succeeded, end).await;
    let found = log(store, webhook).await;
    assert_eq!(
        (found[0].attempts, found[0].state),
        (1, DeliveryState::Succeeded { at: end })
    );
}

async fn a_disabled_webhook_gets_nothing(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let (one, two) = (subscribe(store, of(&inbox)).await, subscribe(store, of(&inbox)).await);
    queue(store, &inbox, 2, &[one, two]).await;
    switch(store, one, false).await;
    let given = claim(store, 9, START).await.deliveries;
    assert!(given.iter().all(|delivery| delivery.lease.webhook == two));
    assert_eq!(
        (given.len(), log(store, one).await.len()),
        (2, 2),
        "its queue is parked"
    );
    switch(store, one, true).await;
    let given = claim(store, 9, START).await.deliveries;
    assert!(given.iter().all(|delivery| delivery.lease.webhook == one));
    assert_eq!(given.len(), 2, "and goes on");
}
