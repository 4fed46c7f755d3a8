//! Events of mail that is not stored.

use std::sync::Arc;

use bytes::Bytes;
use restante_model::{EmailId, EventId, EventType, Inbox, InboxKey, RemovalReason, Timestamp, WebhookId};

use super::events::{pending, tell};
use super::queue::{claim, delivery, log, settle};
use super::webhooks::{MANY, of, subscribe, switch, webhook};
use super::{START, after_ms, create, plain_inbox, request};
use crate::{AttemptVerdict, Happening, RedeliverError, Store, StoredEvent, ThrownAway, WebhookScope};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    it_is_told_in_the_order_of_calls(&*open().await).await;
    nothing_is_told_that_nobody_wants(&*open().await).await;
    nothing_is_told_of_an_inbox_that_is_gone(&*open().await).await;
    a_repetition_is_harmless(&*open().await).await;
    no_mail_is_left_and_no_removal_follows(&*open().await).await;
    its_data_stays_as_long_as_a_delivery(&*open().await).await;
    it_is_delivered_again_as_long_as_its_inbox_is_there(&*open().await).await;
}

/// Mail that is thrown away, with an event that names it.
pub fn thrown_away(inbox: &Inbox, name: &str) -> ThrownAway {
    ThrownAway {
        inbox: inbox.key,
        id: EmailId::new(START),
        event: Bytes::from(format!("event of {name}")),
    }
}

/// Tells of mail that is thrown away and gives its id.
async fn throw(store: &dyn Store, inbox: &Inbox, name: &str) -> EmailId {
    let new = thrown_away(inbox, name);
    let id = new.id;
    store.tell(vec![new], START).await.unwrap();
    id
}

/// Queues it as what it is told as.
async fn dispatched(store: &dyn Store, webhooks: &[WebhookId]) -> StoredEvent {
    let event = pending(store).await.remove(0);
    let deliveries = webhooks.iter().map(|id| delivery(*id, &event)).collect();
    store.dispatch(event.sequence, deliveries, START).await.unwrap();
    event
}

async fn it_is_told_in_the_order_of_calls(store: &dyn Store) {
    let (one, two) = (create(store, "one").await, create(store, "two").await);
    subscribe(store, WebhookScope::Global).await;
    let first = throw(store, &one, "first").await;
    let second = tell(store, &one, "second").await;
    let together = vec![thrown_away(&two, "third"), thrown_away(&one, "fourth")];
    let [third, fourth] = [together[0].id, together[1].id];
    store.tell(together, START).await.unwrap();
    store.tell(Vec::new(), START).await.unwrap();
    let events = pending(store).await;
    let found: Vec<_> = events.iter().map(|event| (event.inbox, event.email)).collect();
    assert_eq!(
        found,
        [(one.key, first), (one.key, second), (two.key, third), (one.key, fourth)]
    );
    let away = |event: &StoredEvent| event.happening == Happening::ThrownAway;
    assert_eq!(events.iter().map(away).collect::<Vec<_>>(), [true, false, true, true]);
    assert_eq!(events[1].happening, Happening::Arrived);
    for (event, name) in events.iter().zip(["first", "second", "third", "fourth"]) {
        let data = store.event_data(event.sequence).await.unwrap();
        assert_eq!(data, Some(Bytes::from(format!("event of {name}"))));
    }
}

async fn nothing_is_told_that_nobody_wants(store: &dyn Store) {
    let (inbox, other) = (create(store, "inbox").await, create(store, "other").await);
    throw(store, &inbox, "without a webhook").await;
    let mut removals = webhook(of(&inbox));
    removals.topics.arrivals = false;
    removals.topics.removals = true;
    store.create_webhook(removals, MANY, START).await.unwrap();
    let others = subscribe(store, of(&other)).await;
    throw(store, &inbox, "with one that wants removals").await;
    switch(store, others, false).await;
    throw(store, &other, "with one that is disabled").await;
    assert_eq!(pending(store).await, []);
    switch(store, others, true).await;
    let both = vec![thrown_away(&inbox, "unwanted"), thrown_away(&other, "wanted")];
    let wanted = both[1].id;
    store.tell(both, START).await.unwrap();
    let emails: Vec<_> = pending(store).await.iter().map(|event| event.email).collect();
    assert_eq!(emails, [wanted]);
}

async fn nothing_is_told_of_an_inbox_that_is_gone(store: &dyn Store) {
    subscribe(store, WebhookScope::Global).await;
    let (retired, stays) = (create(store, "retired").await, create(store, "stays").await);
    let short = plain_inbox("short", 1_000);
    store.create_inbox(request(&short), START).await.unwrap();
    store
        .retire(&[retired.key], RemovalReason::Manual, START)
        .await
        .unwrap();
    let unknown = Inbox {
        key: InboxKey::new(START),
        ..stays.clone()
    };
    let all = [&retired, &short, &unknown, &stays].map(|inbox| thrown_away(inbox, "mail"));
    store.tell(all.to_vec(), after_ms(1_000)).await.unwrap();
    let emails: Vec<_> = pending(store).await.iter().map(|event| event.email).collect();
    assert_eq!(emails, [all[3].id]);
}

async fn a_repetition_is_harmless(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, of(&inbox)).await;
    let mail = thrown_away(&inbox, "mail");
    for _ in 0..2 {
        store.tell(vec![mail.clone(), mail.clone()], START).await.unwrap();
        assert_eq!(pending(store).await.len(), 1);
    }
    dispatched(store, &[webhook]).await;
    store.tell(vec![mail.clone()], START).await.unwrap();
    assert_eq!(pending(store).await, [], "as long as a delivery of it is kept");
    assert_eq!(log(store, webhook).await.len(), 1);
}

async fn no_mail_is_left_and_no_removal_follows(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let mut all = webhook(WebhookScope::Global);
    all.topics.removals = true;
    store.create_webhook(all, MANY, START).await.unwrap();
    let before = store.last_sequence().await.unwrap();
    let id = throw(store, &inbox, "mail").await;
    assert_eq!(store.last_sequence().await, Ok(before));
    assert_eq!(store.sequence_of(inbox.key, id).await, Ok(None));
    assert!(store.email(inbox.key, id, &[], START).await.unwrap().is_none());
    assert_eq!(store.usage().await.unwrap().emails, 0);
    assert_eq!(store.sync(inbox.key, START).await.unwrap().unwrap().email_count, 0);
    let deleted = store.delete_email(inbox.key, id, RemovalReason::Manual, START).await;
    assert_eq!(deleted, Ok(false));
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    while store.reap(10, START).await.unwrap().more {}
    let happened: Vec<_> = pending(store).await.into_iter().map(|event| event.happening).collect();
    assert_eq!(
        happened,
        [Happening::ThrownAway],
        "and what was told is still to be delivered"
    );
}

async fn its_data_stays_as_long_as_a_delivery(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let (one, two) = (
        subscribe(store, of(&inbox)).await,
        subscribe(store, WebhookScope::Global).await,
    );
    throw(store, &inbox, "unheard").await;
    let unheard = dispatched(store, &[]).await.sequence;
    assert_eq!(store.event_data(unheard).await, Ok(None));
    throw(store, &inbox, "heard").await;
    let event = dispatched(store, &[one, two]).await;
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    while store.reap(10, START).await.unwrap().more {}
    let given = claim(store, 9, START).await.deliveries;
    assert_eq!(given.len(), 2, "the end of its inbox does not end what is queued");
    settle(store, &given, AttemptVerdict::Succeeded, START).await;
    assert!(store.event_data(event.sequence).await.unwrap().is_some());
    // The webhook of the inbox ends by itself when all is told, and the other one takes the rest with it.
    while store.reap_webhooks(10, START).await.unwrap().more {}
    assert_eq!(log(store, one).await, []);
    assert!(store.event_data(event.sequence).await.unwrap().is_some());
    assert!(store.remove_webhook(two, START).await.unwrap());
    while store.reap_webhooks(10, START).await.unwrap().more {}
    assert_eq!(store.event(event.sequence).await, Ok(None));
    assert_eq!(store.event_data(event.sequence).await, Ok(None));
    assert_eq!(store.usage().await.unwrap().live_bytes, 0);
}

async fn it_is_delivered_again_as_long_as_its_inbox_is_there(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let webhook = subscribe(store, WebhookScope::Global).await;
    let email = throw(store, &inbox, "mail").await;
    dispatched(store, &[webhook]).await;
    let attempt = async |now: Timestamp| {
        let given = claim(store, 9, now).await.deliveries;
        let event_id = EventId::of(email, EventType::EmailReceived, None);
        assert_eq!((given.len(), given[0].event_id), (1, event_id));
        settle(store, &given, AttemptVerdict::Succeeded, now).await;
    };
    attempt(START).await;
    let id = log(store, webhook).await[0].id;
    store.redeliver(webhook, id, after_ms(1)).await.unwrap();
    attempt(after_ms(1)).await;
    assert_eq!(log(store, webhook).await[0].attempts, 2);
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    let again = store.redeliver(webhook, id, after_ms(2)).await;
    assert_eq!(again, Err(RedeliverError::NoEvent));
}
