//! Webhooks that end: removed ones, and those whose inbox is gone.

use std::sync::Arc;

use restante_model::{EventId, EventType, Inbox, RemovalReason, Timestamp, WebhookId};

use super::events::{pending, tell};
use super::queue::{claim, log, queue, settle};
use super::webhooks::{of, subscribe, switch};
use super::{START, create};
use crate::{AttemptVerdict, NewDelivery, ORPHAN_LIFE, Store, WebhookScope};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    what_a_removed_webhook_leaves_goes_in_chunks(&*open().await).await;
    a_disabled_webhook_goes_with_its_inbox(&*open().await).await;
    the_last_removals_are_told(&*open().await).await;
    no_webhook_outlives_its_inbox_for_long(&*open().await).await;
    many_end_in_bounded_steps(&*open().await).await;
    a_round_over_those_that_wait_goes_on_with_later_calls(&*open().await).await;
}

async fn end(store: &dyn Store, inbox: &Inbox) {
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
}

async fn reap_all(store: &dyn Store, now: Timestamp) -> usize {
    let mut rows = 0;
    loop {
        let reaped = store.reap_webhooks(7, now).await.unwrap();
        assert!(reaped.rows <= 7, "{reaped:?}");
        rows += reaped.rows;
        if !reaped.more {
            return rows;
        }
    }
}

/// Whether anything is left of a webhook.
async fn is_there(store: &dyn Store, id: WebhookId) -> bool {
    let config = store.webhook_config(id).await.unwrap();
    config.is_some() || !log(store, id).await.is_empty()
}

async fn what_a_removed_webhook_leaves_goes_in_chunks(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let (gone, stays) = (
        subscribe(store, of(&inbox)).await,
        subscribe(store, WebhookScope::Global).await,
    );
    queue(store, &inbox, 30, &[gone, stays]).await;
    assert_eq!(store.reap_webhooks(7, START).await.unwrap().rows, 0);
    store.remove_webhook(gone, START).await.unwrap();
    let first = store.reap_webhooks(7, START).await.unwrap();
    assert_eq!((first.rows, first.more), (7, true));
    assert_eq!(log(store, gone).await.len(), 23);
    assert_eq!(reap_all(store, START).await, 24, "the rest, and the webhook");
    assert_eq!((log(store, gone).await.len(), log(store, stays).await.len()), (0, 30));
    assert_eq!(claim(store, 99, START).await.deliveries.len(), 30);
}

async fn a_disabled_webhook_goes_with_its_inbox(store: &dyn Store) {
    let (inbox, other) = (create(store, "inbox").await, create(store, "other").await);
    let disabled = subscribe(store, of(&inbox)).await;
    let (enabled, elsewhere) = (subscribe(store, of(&inbox)).await, subscribe(store, of(&other)).await);
    queue(store, &inbox, 2, &[disabled, enabled]).await;
    switch(store, disabled, false).await;
    switch(store, elsewhere, false).await;
    end(store, &inbox).await;
    reap_all(store, START).await;
    let left = [disabled, enabled, elsewhere].map(async |id| is_there(store, id).await);
    let [disabled, enabled, elsewhere] = left;
    assert_eq!((disabled.await, enabled.await, elsewhere.await), (false, true, true));
}

async fn the_last_removals_are_told(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    let email = tell(store, &inbox, "mail").await;
    let arrived = pending(store).await.remove(0);
    store.dispatch(arrived.sequence, Vec::new(), START).await.unwrap();
    end(store, &inbox).await;
    reap_all(store, START).await;
    assert!(is_there(store, webhook).await, "its mail is not removed yet");
    while store.reap(10, START).await.unwrap().more {}
    reap_all(store, START).await;
    assert!(is_there(store, webhook).await, "the removal is not dispatched yet");
    let event = pending(store).await.remove(0);
    let heard = store.subscribers(inbox.key).await.unwrap();
    assert_eq!((event.email, heard[0].id), (email, webhook));
    let deleted = NewDelivery {
        webhook,
        event: event.sequence,
        event_type: EventType::EmailDeleted,
        event_id: EventId::of(email, EventType::EmailDeleted, Some(RemovalReason::Manual)),
    };
    store.dispatch(event.sequence, vec![deleted], START).await.unwrap();
    reap_all(store, START).await;
    let given = claim(store, 9, START).await.deliveries;
    assert_eq!(given.len(), 1);
    let again = AttemptVerdict::Failed { retry_at: Some(START) };
    settle(store, &given, again, START).await;
    reap_all(store, START).await;
    assert!(is_there(store, webhook).await, "a retry follows");
    let given = claim(store, 9, Timestamp::from_unix_ms(START.unix_ms() + 30_000))
        .await
        .deliveries;
    settle(store, &given, AttemptVerdict::Succeeded, START).await;
    reap_all(store, START).await;
    assert!(!is_there(store, webhook).await);
    assert_eq!(store.event(event.sequence).await, Ok(None));
}

async fn no_webhook_outlives_its_inbox_for_long(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 3, &[webhook]).await;
    end(store, &inbox).await;
    reap_all(store, START).await;
    let end = START.after(ORPHAN_LIFE);
    reap_all(store, Timestamp::from_unix_ms(end.unix_ms() - 1)).await;
    assert!(is_there(store, webhook).await);
    reap_all(store, end).await;
    assert!(!is_there(store, webhook).await);
    assert_eq!(claim(store, 9, end).await.deliveries, []);
}

async fn many_end_in_bounded_steps(store: &dyn Store) {
    let mut webhooks = Vec::new();
    for n in 0..40 {
        let inbox = create(store, &format!("inbox{n}")).await;
        for _ in 0..4 {
            webhooks.push(subscribe(store, of(&inbox)).await);
        }
        end(store, &inbox).await;
    }
    while store.reap(100, START).await.unwrap().more {}
    assert_eq!(reap_all(store, START).await, 320, "each is noted and removed");
    for id in webhooks {
        assert!(!is_there(store, id).await);
    }
    assert_eq!(store.reap_webhooks(7, START).await.unwrap().rows, 0);
}

/// More than a call looks at.
async fn a_round_over_those_that_wait_goes_on_with_later_calls(store: &dyn Store) {
    let mut webhooks = Vec::new();
    for n in 0..60 {
        let inbox = create(store, &format!("inbox{n}")).await;
        let mut own = Vec::new();
        for _ in 0..5 {
            own.push(subscribe(store, of(&inbox)).await);
        }
        queue(store, &inbox, 1, &own).await;
        webhooks.extend(own);
        end(store, &inbox).await;
    }
    while store.reap(100, START).await.unwrap().more {}
    let last = pending(store).await.last().unwrap().sequence;
    store.dispatch(last, Vec::new(), START).await.unwrap();
    reap_all(store, START).await;
    for _ in 0..3 {
        let nothing = store.reap_webhooks(256, START).await.unwrap();
        assert_eq!(
            (nothing.rows, nothing.more),
            (0, false),
            "they wait, and nobody for them"
        );
    }
    webhooks.sort_unstable();
    for id in [webhooks[299], webhooks[0], webhooks[150]] {
        let given = claim(store, 1000, START).await.deliveries;
        let (done, others): (Vec<_>, Vec<_>) = given.into_iter().partition(|given| given.lease.webhook == id);
        store.release(&others.iter().map(|given| given.lease).collect::<Vec<_>>());
        settle(store, &done, AttemptVerdict::Succeeded, START).await;
        for _ in 0..2 {
            reap_all(store, START).await;
        }
        assert!(!is_there(store, id).await, "a round takes two calls");
    }
    for id in [1, 149, 298] {
        assert!(is_there(store, webhooks[id]).await);
    }
}
