//! Deliveries that are queued once more.

use std::sync::Arc;

use restante_model::{DeliveryId, EventId, EventType, RemovalReason, WebhookId};

use super::events::{pending, tell};
use super::queue::{claim, log, queue, settle};
use super::webhooks::{of, subscribe, switch};
use super::{START, after_ms, create};
use crate::{AttemptVerdict, DeliveryState, NewDelivery, RedeliverError, Store, WebhookScope};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    a_finished_delivery_is_attempted_once(&*open().await).await;
    a_queued_delivery_becomes_due(&*open().await).await;
    nothing_changes_while_an_attempt_is_under_way(&*open().await).await;
    what_is_gone_is_not_delivered_again(&*open().await).await;
    a_removal_is_told_again_without_its_email(&*open().await).await;
}

const RETRY: AttemptVerdict = AttemptVerdict::Failed {
    retry_at: Some(after_ms(30_000)),
};
const FAILED: AttemptVerdict = AttemptVerdict::Failed { retry_at: None };

/// A webhook with one delivery that was attempted once.
async fn attempted(store: &dyn Store, verdict: AttemptVerdict) -> (WebhookId, DeliveryId) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    queue(store, &inbox, 1, &[webhook]).await;
    let given = claim(store, 9, START).await.deliveries;
    settle(store, &given, verdict, START).await;
    (webhook, log(store, webhook).await[0].id)
}

async fn a_finished_delivery_is_attempted_once(store: &dyn Store) {
    let (webhook, id) = attempted(store, FAILED).await;
    for (attempts, verdict) in [(1, RETRY), (2, AttemptVerdict::Succeeded)] {
        let now = after_ms(u64::from(attempts));
        store.redeliver(webhook, id, now).await.unwrap();
        let found = log(store, webhook).await.remove(0);
        assert_eq!(
            (found.id, found.attempts, found.state),
            (id, attempts, DeliveryState::Queued { due: now })
        );
        let report = format!("attempt {attempts}");
        assert_eq!(
            found.report.as_deref(),
            Some(report.as_bytes()),
            "the last report stays"
        );
        let given = claim(store, 9, now).await.deliveries;
        assert!(given[0].is_single);
        assert_eq!((given.len(), given[0].attempts), (1, attempts));
        settle(store, &given, verdict, now).await;
        let found = log(store, webhook).await.remove(0);
        let expected = match verdict {
            AttemptVerdict::Succeeded => DeliveryState::Succeeded { at: now },
            // No retry follows, whatever is asked for.
            AttemptVerdict::Failed { .. } => DeliveryState::Failed { at: now },
        };
        assert_eq!((found.attempts, found.state), (attempts + 1, expected));
        assert_eq!(claim(store, 9, after_ms(90_000)).await.deliveries, []);
    }
    switch(store, webhook, false).await;
    store.redeliver(webhook, id, START).await.unwrap();
    assert_eq!(claim(store, 9, START).await.deliveries, [], "it waits with its webhook");
    switch(store, webhook, true).await;
    assert_eq!(claim(store, 9, START).await.deliveries.len(), 1);
}

async fn a_queued_delivery_becomes_due(store: &dyn Store) {
    let (webhook, id) = attempted(store, RETRY).await;
    assert_eq!(claim(store, 9, after_ms(1)).await.deliveries, []);
    store.redeliver(webhook, id, after_ms(1)).await.unwrap();
    let given = claim(store, 9, after_ms(1)).await.deliveries;
    assert_eq!((given.len(), given[0].attempts, given[0].is_single), (1, 1, false));
    settle(store, &given, RETRY, after_ms(1)).await;
    let found = log(store, webhook).await.remove(0);
    let queued = DeliveryState::Queued { due: after_ms(30_000) };
    assert_eq!((found.attempts, found.state), (2, queued), "it goes on by the schedule");
}

async fn nothing_changes_while_an_attempt_is_under_way(store: &dyn Store) {
    let (webhook, id) = attempted(store, RETRY).await;
    let given = claim(store, 9, after_ms(30_000)).await.deliveries;
    store.redeliver(webhook, id, after_ms(40_000)).await.unwrap();
    let found = log(store, webhook).await.remove(0);
    assert_eq!(found.state, DeliveryState::Queued { due: after_ms(30_000) });
    assert_eq!(claim(store, 9, after_ms(40_000)).await.deliveries, []);
    settle(store, &given, AttemptVerdict::Succeeded, after_ms(40_000)).await;
    let found = log(store, webhook).await.remove(0);
    assert_eq!(found.state, DeliveryState::Succeeded { at: after_ms(40_000) });
}

async fn what_is_gone_is_not_delivered_again(store: &dyn Store) {
    let (webhook, id) = attempted(store, FAILED).await;
    let other = subscribe(store, WebhookScope::Global).await;
    for (webhook, id) in [
        (webhook, DeliveryId::from_bytes([7; 16])),
        (other, id),
        (WebhookId::random(), id),
    ] {
        assert_eq!(
            store.redeliver(webhook, id, START).await,
            Err(RedeliverError::NoDelivery)
        );
    }
    assert!(store.remove_webhook(other, START).await.unwrap());
    let inbox = store.inboxes(None, 1, START).await.unwrap().inboxes.remove(0);
    let email = super::ids(store, &inbox, START).await[0];
    let manual = RemovalReason::Manual;
    assert!(store.delete_email(inbox.key, email, manual, START).await.unwrap());
    assert_eq!(store.redeliver(webhook, id, START).await, Err(RedeliverError::NoEvent));
    assert!(matches!(
        log(store, webhook).await[0].state,
        DeliveryState::Failed { .. }
    ));
    assert!(store.remove_webhook(webhook, START).await.unwrap());
    assert_eq!(
        store.redeliver(webhook, id, START).await,
        Err(RedeliverError::NoDelivery)
    );
}

async fn a_removal_is_told_again_without_its_email(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    let email = tell(store, &inbox, "mail").await;
    let manual = RemovalReason::Manual;
    store.delete_email(inbox.key, email, manual, START).await.unwrap();
    let event = pending(store).await.remove(1);
    let deleted = NewDelivery {
        webhook,
        event: event.sequence,
        event_type: EventType::EmailDeleted,
        event_id: EventId::of(email, EventType::EmailDeleted, Some(manual)),
    };
    store.dispatch(event.sequence, vec![deleted], START).await.unwrap();
    let given = claim(store, 9, START).await.deliveries;
    settle(store, &given, AttemptVerdict::Succeeded, START).await;
    let id = DeliveryId::of(deleted.event_id, webhook);
    store.redeliver(webhook, id, START).await.unwrap();
    assert_eq!(claim(store, 9, START).await.deliveries.len(), 1);
    assert_eq!(store.event(event.sequence).await, Ok(Some(event)));
}
