//! Events: what raises them, and in which order.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use restante_model::{EmailId, Inbox, RemovalReason, Timestamp};

use super::webhooks::{MANY, of, subscribe, switch, webhook};
use super::{START, after_ms, create, email, plain_inbox, request};
use crate::{AcceptError, Happening, NewEmail, Retention, Store, StoredEvent, WebhookScope};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    an_event_comes_with_mail_if_it_is_wanted(&*open().await).await;
    mail_without_a_wanted_event_is_refused(&*open().await).await;
    nothing_is_raised_that_nobody_wants(&*open().await).await;
    a_deletion_raises_one_event(&*open().await).await;
    the_end_of_an_inbox_raises_one_event_for_each_email(&*open().await).await;
    eviction_raises_one_event_for_each_email(&*open().await).await;
    mail_that_goes_as_it_comes_raises_both_events(&*open().await).await;
}

/// An email with an event that names it.
pub(super) fn told(inbox: &Inbox, name: &str) -> NewEmail {
    NewEmail {
        event: Some(Bytes::from(format!("event of {name}"))),
        ..email(inbox, name)
    }
}

/// Stores an email with its event and gives its id.
pub(crate) async fn tell(store: &dyn Store, inbox: &Inbox, name: &str) -> EmailId {
    let new = told(inbox, name);
    let id = new.id;
    store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    id
}

/// All events that are not dispatched.
pub(super) async fn pending(store: &dyn Store) -> Vec<StoredEvent> {
    let events = store.events(10_000).await.unwrap();
    assert!(events.is_sorted_by(|a, b| a.sequence < b.sequence), "{events:?}");
    for event in &events {
        assert_eq!(store.event(event.sequence).await, Ok(Some(event.clone())));
    }
    events
}

/// Which emails were removed, and why.
async fn removals(store: &dyn Store, inbox: &Inbox, at: Timestamp) -> BTreeMap<EmailId, RemovalReason> {
    let mut removed = BTreeMap::new();
    for event in pending(store).await {
        let Happening::Removed { reason, .. } = event.happening else {
            continue;
        };
        let expected = Happening::Removed {
            reason,
            at,
            inbox_address: inbox.address.as_str().to_owned(),
            inbox_hash: inbox.hash,
        };
        assert_eq!((event.inbox, &event.happening), (inbox.key, &expected));
        assert_eq!(store.event_data(event.sequence).await, Ok(None));
        assert_eq!(removed.insert(event.email, reason), None, "one event for each email");
    }
    removed
}

fn all_of(ids: &[EmailId], reason: RemovalReason) -> BTreeMap<EmailId, RemovalReason> {
    ids.iter().map(|id| (*id, reason)).collect()
}

/// A webhook that hears of removals alone.
async fn watch(store: &dyn Store, scope: WebhookScope) {
    let mut new = webhook(scope);
    new.topics.arrivals = false;
    store.create_webhook(new, MANY, START).await.unwrap();
}

async fn an_event_comes_with_mail_if_it_is_wanted(store: &dyn Store) {
    let (inbox, other) = (create(store, "inbox").await, create(store, "other").await);
    subscribe(store, of(&inbox)).await;
    let emails = vec![told(&inbox, "one"), told(&other, "two"), told(&inbox, "three")];
    let ids: Vec<_> = emails.iter().map(|email| email.id).collect();
    for _ in 0..2 {
        // Known mail raises nothing.
        store
            .accept(emails.clone(), &Retention::UNLIMITED, START)
            .await
            .unwrap();
    }
    let events = pending(store).await;
    let found: Vec<_> = events.iter().map(|event| (event.inbox, event.email)).collect();
    assert_eq!(found, [(inbox.key, ids[0]), (inbox.key, ids[2])]);
    for (event, name) in events.iter().zip(["one", "three"]) {
        assert_eq!(event.happening, Happening::Arrived);
        let data = store.event_data(event.sequence).await.unwrap();
        assert_eq!(data, Some(Bytes::from(format!("event of {name}"))));
    }
    assert_eq!(store.events(1).await.unwrap(), events[..1]);
    assert_eq!(store.event(events[1].sequence + 1).await, Ok(None));
}

async fn mail_without_a_wanted_event_is_refused(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let known = email(&inbox, "known");
    let send = async |emails: Vec<NewEmail>| store.accept(emails, &Retention::UNLIMITED, START).await;
    send(vec![known.clone()]).await.unwrap();
    let id = subscribe(store, WebhookScope::Global).await;
    send(vec![known]).await.unwrap();
    let emails = vec![told(&inbox, "with"), email(&inbox, "without")];
    assert_eq!(send(emails.clone()).await, Err(AcceptError::EventWanted));
    assert_eq!(
        super::ids(store, &inbox, START).await.len(),
        1,
        "nothing is stored then"
    );
    assert_eq!(pending(store).await, []);
    switch(store, id, false).await;
    send(emails).await.unwrap();
    assert_eq!(pending(store).await, [], "and nothing is kept that nobody wants");
}

async fn nothing_is_raised_that_nobody_wants(store: &dyn Store) {
    let (inbox, other) = (create(store, "inbox").await, create(store, "other").await);
    watch(store, of(&inbox)).await;
    let mut deaf = webhook(of(&other));
    deaf.topics.removals = false;
    store.create_webhook(deaf.clone(), MANY, START).await.unwrap();
    let quiet = tell(store, &inbox, "quiet").await;
    let heard = tell(store, &other, "heard").await;
    let manual = RemovalReason::Manual;
    assert!(store.delete_email(other.key, heard, manual, START).await.unwrap());
    assert!(store.delete_email(inbox.key, quiet, manual, START).await.unwrap());
    let events = pending(store).await;
    let found: Vec<_> = events.iter().map(|event| event.email).collect();
    assert_eq!(found, [heard, quiet]);
    assert_eq!(events[0].happening, Happening::Arrived);
    assert_ne!(events[1].happening, Happening::Arrived);
}

async fn a_deletion_raises_one_event(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    subscribe(store, WebhookScope::Global).await;
    let id = tell(store, &inbox, "mail").await;
    for expected in [true, false] {
        let deleted = store
            .delete_email(inbox.key, id, RemovalReason::Manual, after_ms(3))
            .await;
        assert_eq!(deleted, Ok(expected));
    }
    assert_eq!(
        removals(store, &inbox, after_ms(3)).await,
        all_of(&[id], RemovalReason::Manual)
    );
    assert_eq!(pending(store).await.len(), 2);
}

async fn the_end_of_an_inbox_raises_one_event_for_each_email(store: &dyn Store) {
    for (name, reason, now) in [
        ("manual", RemovalReason::Manual, START),
        ("ttl", RemovalReason::Ttl, after_ms(60_000)),
    ] {
        let inbox = plain_inbox(name, 60_000);
        store.create_inbox(request(&inbox), START).await.unwrap();
        watch(store, of(&inbox)).await;
        let mut ids = Vec::new();
        for n in 0..9 {
            ids.push(tell(store, &inbox, &format!("{n}")).await);
        }
        // One was deleted before, and is told of once.
        let first = ids.remove(0);
        let manual = RemovalReason::Manual;
        store.delete_email(inbox.key, first, manual, START).await.unwrap();
        let seen = pending(store).await.last().map_or(0, |event| event.sequence);
        store.dispatch(seen, Vec::new(), START).await.unwrap();
        store.retire(&[inbox.key], reason, now).await.unwrap();
        assert_eq!(pending(store).await, [], "nothing is removed yet");
        while store.reap(4, now).await.unwrap().more {}
        assert_eq!(removals(store, &inbox, now).await, all_of(&ids, reason));
        let last = pending(store).await.last().unwrap().sequence;
        store.dispatch(last, Vec::new(), START).await.unwrap();
    }
}

async fn eviction_raises_one_event_for_each_email(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    watch(store, WebhookScope::Global).await;
    let mut ids = Vec::new();
    for n in 0..9 {
        ids.push(tell(store, &inbox, &format!("{n}")).await);
    }
    let limit = |max_emails| Retention {
        max_emails,
        ..Retention::UNLIMITED
    };
    while store.evict(&limit(6), 2, after_ms(5)).await.unwrap().more {}
    assert_eq!(
        removals(store, &inbox, after_ms(5)).await,
        all_of(&ids[..3], RemovalReason::Eviction)
    );
    let emails = vec![told(&inbox, "new"), told(&inbox, "newer")];
    store.accept(emails, &limit(5), after_ms(5)).await.unwrap();
    assert_eq!(
        removals(store, &inbox, after_ms(5)).await,
        all_of(&ids[..6], RemovalReason::Eviction)
    );
}

async fn mail_that_goes_as_it_comes_raises_both_events(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    subscribe(store, of(&inbox)).await;
    let emails: Vec<_> = (0..4).map(|n| told(&inbox, &format!("{n}"))).collect();
    let ids: Vec<_> = emails.iter().map(|email| email.id).collect();
    let one = Retention {
        max_emails: 1,
        ..Retention::UNLIMITED
    };
    store.accept(emails, &one, START).await.unwrap();
    let arrived: Vec<_> = pending(store)
        .await
        .into_iter()
        .filter(|event| event.happening == Happening::Arrived)
        .map(|event| event.email)
        .collect();
    assert_eq!(arrived, ids);
    assert_eq!(
        removals(store, &inbox, START).await,
        all_of(&ids[..3], RemovalReason::Eviction)
    );
}
