//! Webhooks and their queue: after a start, and the rows that follow from others.

use std::collections::BTreeMap;

use proptest::prelude::*;
use restante_model::{DeliveryId, EventId, WebhookId};

use super::super::due::due_of;
use super::super::queue_rows::QueueRows;
use super::super::rows::{
    About, DeliveryRow, EventRow, Front, Lane, Line, QueueRow, ScopeRow, Slot, WebhookRow, decode, encode, key,
    queue_key,
};
use super::model::runtime;
use super::player::{Act, Player, act};
use super::*;
use crate::conformance::queue::{RULES, claim, log, queue};
use crate::conformance::webhooks::{of, subscribe};
use crate::conformance::{START, after_ms, create};
use crate::{AttemptVerdict, LeasedDelivery, START_SPREAD, SettleRules, Settlement, Topic, WebhookScope, WebhookStore};

/// Rows by their keys.
type Found = BTreeMap<Vec<u8>, Vec<u8>>;

fn settlement(delivery: &LeasedDelivery, retry_at: Option<Timestamp>) -> Settlement {
    Settlement {
        lease: delivery.lease,
        started_at: START,
        verdict: AttemptVerdict::Failed { retry_at },
        report: Bytes::from_static(b"report"),
    }
}

#[tokio::test]
async fn what_was_leased_is_claimed_again_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(&config(dir.path())).unwrap();
    let inbox = create(&store, "inbox").await;
    let webhook = subscribe(&store, of(&inbox)).await;
    let events = queue(&store, &inbox, 5, &[webhook]).await;
    let given = claim(&store, 3, START).await.deliveries;
    assert_eq!(given.len(), 3);
    let before = log(&store, webhook).await;
    let store = reopened(store, dir.path());
    assert_eq!(log(&store, webhook).await, before);
    let again = claim(&store, 9, START).await.deliveries;
    let claimed: Vec<_> = again.iter().map(|delivery| delivery.lease.event).collect();
    let expected: Vec<_> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(claimed, expected, "first attempts wait for nothing");
    assert!(again.iter().all(|delivery| delivery.attempts == 0));
}

#[tokio::test]
async fn overdue_retries_are_spread_after_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(&config(dir.path())).unwrap();
    let inbox = create(&store, "inbox").await;
    let webhook = subscribe(&store, of(&inbox)).await;
    queue(&store, &inbox, 60, &[webhook]).await;
    let given = claim(&store, 99, START).await.deliveries;
    let rules = SettleRules {
        disable_after: 1000,
        ..RULES
    };
    let settlements = given.iter().map(|given| settlement(given, Some(after_ms(1000))));
    store.settle(settlements.collect(), &rules, START).await.unwrap();
    let mut store = reopened(store, dir.path());
    for start in [after_ms(500_000), after_ms(600_000)] {
        let (mut now, mut steps, mut claimed) = (start, 0, 0);
        loop {
            let claim = claim(&store, 99, now).await;
            steps += usize::from(!claim.deliveries.is_empty());
            claimed += claim.deliveries.len();
            // The ends of leases lie far behind.
            match claim.next_due.filter(|due| *due < start.after(START_SPREAD)) {
                Some(next) => now = next,
                None => break,
            }
        }
        assert_eq!(claimed, 60);
        assert!(steps > 40, "they are due at {steps} moments");
        store = reopened(store, dir.path());
    }
}

/// What follows from the webhooks, events and deliveries of a store, in keys and values as the index has them.
fn derived(found: &Found) -> Found {
    let mut rows = Found::new();
    let mut scopes: BTreeMap<Vec<u8>, ScopeRow> = BTreeMap::new();
    let mut queues: BTreeMap<WebhookId, QueueRow> = BTreeMap::new();
    let mut events: BTreeMap<u64, u32> = BTreeMap::new();
    for (name, value) in prefixed(found, queue_key::DELIVERIES) {
        let (webhook, about) = queue_key::delivery_of(name).unwrap();
        let row: DeliveryRow = decode(value).unwrap();
        *events.entry(about.event).or_default() += 1;
        let id = DeliveryId::of(EventId::from_bytes(row.event_id), webhook);
        let named = queue_key::named(webhook, about.event_type).to_vec();
        rows.insert(queue_key::name(id, about.event), named);
        let slot = row.slot(about);
        rows.insert(queue_key::slot(webhook, slot), slot.at.to_be_bytes().to_vec());
        stand(queues.entry(webhook).or_default(), slot);
    }
    for (event, count) in events {
        rows.insert(queue_key::event_deliveries(event), encode(&count));
    }
    for (name, value) in prefixed(found, queue_key::WEBHOOKS) {
        let id = WebhookId::from_bytes(key::last_id(name).unwrap());
        let row: WebhookRow = decode(value).unwrap();
        count(scopes.entry(queue_key::scope(row.scope())).or_default(), &row);
        if !row.state.is_removed {
            let name = queue_key::webhook_in_scope(row.scope(), row.sequence);
            rows.insert(name, id.as_bytes().to_vec());
        }
        if let WebhookScope::Inbox(inbox) = row.scope()
            && !row.state.is_removed
            && row.state.orphaned_at.is_none()
            && !found.contains_key(&key::inbox(inbox))
        {
            rows.insert(queue_key::deserted(inbox), Vec::new());
        }
        match (row.state.is_removed, row.state.orphaned_at) {
            (true, _) => rows.insert(queue_key::removed(id), Vec::new()),
            (false, Some(_)) => rows.insert(queue_key::orphan(id), Vec::new()),
            (false, None) => None,
        };
        let due = queues.get(&id).and_then(QueueRow::next_due).filter(|_| row.is_served());
        rows.extend(due.map(|due| (queue_key::due(due, id), Vec::new())));
    }
    scopes.retain(|_, totals| *totals != ScopeRow::default());
    rows.extend(scopes.iter().map(|(name, totals)| (name.clone(), encode(totals))));
    rows.extend(queues.iter().map(|(id, queue)| (queue_key::queue(*id), encode(queue))));
    rows
}

fn prefixed<'a>(found: &'a Found, prefix: &[u8]) -> impl Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)> {
    found.range(key::all(prefix))
}

fn count(totals: &mut ScopeRow, row: &WebhookRow) {
    totals.arrivals += u64::from(row.hears(Topic::Arrivals));
    totals.removals += u64::from(row.hears(Topic::Removals));
    if !row.state.is_removed {
        totals.listed += 1;
        totals.webhooks += u64::from(row.state.orphaned_at.is_none());
        totals.first = totals.first.into_iter().chain([row.sequence]).min();
    }
}

/// Puts a delivery in its line, by comparing keys.
fn stand(queue: &mut QueueRow, slot: Slot) {
    let webhook = WebhookId::from_bytes([0; 16]);
    let key_of = |front: &Front| {
        let (at, about) = (front.at, front.about);
        queue_key::slot(webhook, Slot { at, about, ..slot })
    };
    let Line { count, front } = match slot.lane {
        Lane::First => &mut queue.first,
        Lane::Retry => &mut queue.retry,
        Lane::Finished => &mut queue.finished,
    };
    *count += 1;
    let new = Front {
        at: slot.at,
        about: slot.about,
    };
    *front = (*front).into_iter().chain([new]).min_by_key(key_of);
    queue.all.count += 1;
    queue.all.front = queue.all.front.into_iter().chain([slot.about]).min();
}

fn check(store: &Embedded) -> Result<(), TestCaseError> {
    let index = store.shared.index().unwrap();
    let rows = index.iter(vec![0]..vec![u8::MAX]);
    let found: Found = rows
        .map(|row| row.map(|(name, value)| (name.to_vec(), value.to_vec())).unwrap())
        .collect();
    let is_derived = |name: &Vec<u8>| b"kwXEvnQN".contains(&name[0]);
    let are: Found = found
        .iter()
        .filter(|(name, _)| is_derived(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    prop_assert_eq!(are, derived(&found));
    let due = prefixed(&found, queue_key::DUE).map(|(name, _)| due_of(name).unwrap());
    prop_assert_eq!(store.shared.due.all(), due.collect());
    let dispatched = index.meta().unwrap().dispatched;
    for (name, value) in prefixed(&found, queue_key::EVENTS) {
        let sequence = key::number_at(name, 0).unwrap();
        let _: EventRow = decode(value).unwrap();
        let is_needed = sequence > dispatched || index.event_deliveries(sequence).unwrap() > 0;
        prop_assert!(is_needed, "event {} is kept for nothing", sequence);
    }
    for (name, _) in prefixed(&found, queue_key::DELIVERIES) {
        let (_, About { event, .. }) = queue_key::delivery_of(name).unwrap();
        prop_assert!(
            found.contains_key(&queue_key::event(event)),
            "event {} is gone too early",
            event
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn rows_of_the_queue_follow_from_its_webhooks_and_deliveries(acts in proptest::collection::vec(act(), 1..80)) {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(&config(dir.path())).unwrap();
        let mut player = Player::new();
        for act in &acts {
            runtime().block_on(player.act(&store, act));
            check(&store)?;
        }
        let reaped = Act::ReapWebhooks(100);
        runtime().block_on(player.act(&store, &reaped));
        check(&store)?;
    }
}
