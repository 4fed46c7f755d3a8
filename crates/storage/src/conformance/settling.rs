//! What comes of attempts.

use std::sync::Arc;

use restante_model::{DeliveryId, WebhookId};

use super::queue::{RULES, claim, delivery, log, queue, settle};
use super::webhooks::{of, subscribe, switch};
use super::{START, after_ms, create};
use crate::{
    Activity, AttemptVerdict, DeliveriesAfter, DeliveryState, LastAttempt, SettleRules, Settled, Settlement, Store,
    Switch,
};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    outcomes_are_counted(&*open().await).await;
    an_outcome_counts_once(&*open().await).await;
    failures_in_a_row_disable(&*open().await).await;
    outcomes_count_while_disabled(&*open().await).await;
    too_many_retries_end_the_oldest(&*open().await).await;
    the_last_deliveries_are_kept(&*open().await).await;
    deliveries_are_paged(&*open().await).await;
    a_removed_webhook_takes_no_outcome(&*open().await).await;
}

const RETRY: AttemptVerdict = AttemptVerdict::Failed {
    retry_at: Some(after_ms(30_000)),
};
const FAILED: AttemptVerdict = AttemptVerdict::Failed { retry_at: None };

async fn activity(store: &dyn Store, id: WebhookId) -> Activity {
    store.webhook(id, START).await.unwrap().unwrap().activity
}

async fn outcomes_are_counted(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    let events = queue(store, &inbox, 1, &[webhook]).await;
    let given = claim(store, 9, START).await.deliveries;
    let settled = settle(store, &given, RETRY, after_ms(1)).await;
    assert_eq!(settled, Settled::default());
    let found = log(store, webhook).await.remove(0);
    assert_eq!(
        (found.attempts, found.state),
        (1, DeliveryState::Queued { due: after_ms(30_000) })
    );
    assert_eq!(found.report.as_deref(), Some(b"attempt 1".as_slice()));
    let last = |ms, succeeded| {
        Some(LastAttempt {
            started_at: after_ms(ms).unix_ms(),
            succeeded,
        })
    };
    let expected = Activity {
        successful: 0,
        failed: 1,
        failures_in_a_row: 1,
        last: last(1, false),
    };
    assert_eq!(activity(store, webhook).await, expected);
    let given = claim(store, 9, after_ms(30_000)).await.deliveries;
    assert_eq!(given[0].event_id, delivery(webhook, &events[0]).event_id);
    settle(store, &given, AttemptVerdict::Succeeded, after_ms(30_001)).await;
    let found = log(store, webhook).await.remove(0);
    assert_eq!(
        (found.attempts, found.state),
        (2, DeliveryState::Succeeded { at: after_ms(30_001) })
    );
    assert_eq!(found.report.as_deref(), Some(b"attempt 2".as_slice()));
    let expected = Activity {
        successful: 1,
        failed: 1,
        failures_in_a_row: 0,
        last: last(30_001, true),
    };
    assert_eq!(activity(store, webhook).await, expected);
    assert_eq!(claim(store, 9, after_ms(10_000_000)).await.deliveries, []);
    let stored = store.webhook(webhook, START).await.unwrap().unwrap();
    assert_eq!(
        (stored.revision, stored.updated_at),
        (1, None),
        "no delivery is a change"
    );
}

async fn an_outcome_counts_once(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 2, &[webhook]).await;
    let given = claim(store, 9, START).await.deliveries;
    settle(store, &[given[0], given[0]], FAILED, START).await;
    settle(store, &given[..1], AttemptVerdict::Succeeded, START).await;
    store.release(&[given[1].lease]);
    settle(store, &given[1..], FAILED, START).await;
    let counted = activity(store, webhook).await;
    assert_eq!((counted.failed, counted.successful), (1, 0));
    let found = log(store, webhook).await;
    assert_eq!(found[1].state, DeliveryState::Failed { at: START });
    assert_eq!((found[0].attempts, found[0].report.clone()), (0, None));
}

async fn failures_in_a_row_disable(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 12, &[webhook]).await;
    let fail = async |count: usize| {
        let given = claim(store, count, START).await.deliveries;
        assert_eq!(given.len(), count);
        settle(store, &given, RETRY, START).await
    };
    assert_eq!(fail(4).await, Settled::default());
    let given = claim(store, 1, START).await.deliveries;
    settle(store, &given, AttemptVerdict::Succeeded, START).await;
    assert_eq!(fail(4).await, Settled::default(), "a success ends the row");
    assert_eq!(fail(1).await.disabled, [webhook]);
    let stored = store.webhook(webhook, START).await.unwrap().unwrap();
    assert_eq!(
        (stored.switch, stored.activity.failures_in_a_row),
        (Switch::DisabledByFailures, 5)
    );
    assert_eq!(store.subscribers(inbox.key).await, Ok(vec![]));
    assert_eq!(claim(store, 99, after_ms(90_000)).await.deliveries, []);
    let enabled = switch(store, webhook, true).await;
    assert_eq!(
        (enabled.switch, enabled.activity.failures_in_a_row),
        (Switch::Enabled, 0)
    );
    assert_eq!((enabled.activity.failed, enabled.activity.successful), (9, 1));
    let parked = claim(store, 99, after_ms(90_000)).await.deliveries;
    assert_eq!(
        parked.len(),
        11,
        "what was parked goes on: 2 first attempts and 9 retries"
    );
}

async fn outcomes_count_while_disabled(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 8, &[webhook]).await;
    let given = claim(store, 8, START).await.deliveries;
    switch(store, webhook, false).await;
    let settled = settle(store, &given, RETRY, START).await;
    assert_eq!(settled.disabled, []);
    let stored = store.webhook(webhook, START).await.unwrap().unwrap();
    assert_eq!((stored.switch, stored.activity.failed), (Switch::DisabledManually, 8));
}

async fn too_many_retries_end_the_oldest(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    let events = queue(store, &inbox, 6, &[webhook]).await;
    let rules = SettleRules {
        disable_after: 100,
        max_retries: 3,
        ..RULES
    };
    let mut ended = Vec::new();
    for _ in 0..3 {
        let given = claim(store, 2, START).await.deliveries;
        let settlement = |delivery: &crate::LeasedDelivery| Settlement {
            lease: delivery.lease,
            started_at: START,
            verdict: RETRY,
            report: "late".into(),
        };
        let settlements = given.iter().map(settlement).collect();
        ended.extend(store.settle(settlements, &rules, after_ms(1)).await.unwrap().ended);
    }
    let id = |n: usize| DeliveryId::of(delivery(webhook, &events[n]).event_id, webhook);
    assert_eq!(ended, [0, 1, 2].map(|n| (webhook, id(n))));
    let found = log(store, webhook).await;
    let failed = DeliveryState::Failed { at: after_ms(1) };
    let queued = DeliveryState::Queued { due: after_ms(30_000) };
    let states: Vec<_> = found.iter().rev().map(|delivery| delivery.state).collect();
    assert_eq!(states, [failed, failed, failed, queued, queued, queued]);
    assert!(
        found
            .iter()
            .all(|delivery| delivery.report.as_deref() == Some(b"late".as_slice()))
    );
    let counted = activity(store, webhook).await;
    assert_eq!(
        (counted.failed, counted.failures_in_a_row),
        (9, 6),
        "an end is no attempt"
    );
    assert_eq!(claim(store, 99, after_ms(30_000)).await.deliveries.len(), 3);
}

async fn the_last_deliveries_are_kept(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    let events = queue(store, &inbox, 9, &[webhook]).await;
    let rules = SettleRules {
        keep_finished: 3,
        ..RULES
    };
    for n in 0..4 {
        let given = claim(store, 2, after_ms(n)).await.deliveries;
        let settlement = |delivery: &crate::LeasedDelivery| Settlement {
            lease: delivery.lease,
            started_at: START,
            verdict: AttemptVerdict::Succeeded,
            report: "fine".into(),
        };
        let settlements = given.iter().map(settlement).collect();
        store.settle(settlements, &rules, after_ms(n)).await.unwrap();
    }
    let found: Vec<_> = log(store, webhook).await.iter().map(|delivery| delivery.id).collect();
    let expected = [8, 7, 6, 5].map(|n: usize| DeliveryId::of(delivery(webhook, &events[n]).event_id, webhook));
    assert_eq!(found, expected, "one is queued, and three are finished");
    for (n, event) in events.iter().enumerate() {
        assert_eq!(store.event(event.sequence).await.unwrap().is_some(), n >= 5, "{n}");
    }
}

async fn deliveries_are_paged(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let (webhook, other) = (subscribe(store, of(&inbox)).await, subscribe(store, of(&inbox)).await);
    queue(store, &inbox, 7, &[webhook, other]).await;
    let all: Vec<_> = log(store, webhook).await;
    let (mut paged, mut before) = (Vec::new(), None);
    loop {
        let page = store
            .deliveries(webhook, DeliveriesAfter { before, limit: 3 })
            .await
            .unwrap();
        assert_eq!(page.more, paged.len() + page.deliveries.len() < all.len());
        paged.extend(page.deliveries);
        before = paged.last().map(|delivery| delivery.id);
        if !page.more {
            break;
        }
    }
    assert_eq!(paged, all);
    let strange = log(store, other).await[0].id;
    let page = DeliveriesAfter {
        before: Some(strange),
        limit: 3,
    };
    assert_eq!(store.deliveries(webhook, page).await.unwrap().deliveries, []);
    assert_eq!(log(store, WebhookId::random()).await, []);
}

async fn a_removed_webhook_takes_no_outcome(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let (gone, stays) = (subscribe(store, of(&inbox)).await, subscribe(store, of(&inbox)).await);
    queue(store, &inbox, 1, &[gone, stays]).await;
    let given = claim(store, 9, START).await.deliveries;
    assert_eq!(given.len(), 2);
    assert!(store.remove_webhook(gone, START).await.unwrap());
    while store.reap_webhooks(10, START).await.unwrap().more {}
    settle(store, &given, FAILED, START).await;
    assert_eq!(log(store, gone).await, []);
    assert_eq!(activity(store, stays).await.failed, 1);
}
