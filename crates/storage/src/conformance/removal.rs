//! Retiring and reaping.

use std::sync::Arc;

use restante_model::{Inbox, InboxKey, RemovalReason};

use super::{START, after_ms, create, deposit, email, ids, is_shown, plain_inbox, request};
use crate::{AcceptError, Created, Reaped, Retention, Store};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    a_retired_inbox_is_gone_at_once(&*open().await).await;
    retiring_counts_the_living(&*open().await).await;
    expired_inboxes_are_retired(&*open().await).await;
    reaping_goes_in_chunks(&*open().await).await;
    no_limit_is_too_large_to_reap(&*open().await).await;
    reaping_leaves_the_next_life_alone(&*open().await).await;
}

async fn a_retired_inbox_is_gone_at_once(store: &dyn Store) {
    let inbox = create(store, "retired").await;
    let id = deposit(store, &inbox, "mail").await;
    assert!(is_shown(store, &inbox, START).await);
    assert_eq!(
        store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap(),
        1
    );
    assert!(!is_shown(store, &inbox, START).await);
    assert_eq!(ids(store, &inbox, START).await, []);
    assert!(store.email(inbox.key, id, &[], START).await.unwrap().is_none());
    assert_eq!(store.sync(inbox.key, START).await.unwrap(), None);
    assert_eq!(store.arrivals(inbox.key, 0, 10, START).await.unwrap(), []);
    assert_eq!(
        store
            .accept(vec![email(&inbox, "late")], &Retention::UNLIMITED, START)
            .await,
        Err(AcceptError::Gone)
    );
    assert!(!store.mark_read(inbox.key, id, START).await.unwrap());
    assert!(
        !store
            .delete_email(inbox.key, id, RemovalReason::Manual, START)
            .await
            .unwrap()
    );
    assert!(store.inboxes(None, 10, START).await.unwrap().inboxes.is_empty());
    assert_eq!(store.next_expiry().await.unwrap(), None);
}

async fn retiring_counts_the_living(store: &dyn Store) {
    let (one, two) = (create(store, "one").await, create(store, "two").await);
    let brief = plain_inbox("brief", 60_000);
    store.create_inbox(request(&brief), START).await.unwrap();
    let never = InboxKey::new(START);
    let keys = [one.key, never, brief.key, one.key];
    assert_eq!(
        store
            .retire(&keys, RemovalReason::Manual, after_ms(60_000))
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        store
            .retire(&keys, RemovalReason::Manual, after_ms(60_000))
            .await
            .unwrap(),
        0
    );
    assert_eq!(store.retire(&[], RemovalReason::Manual, START).await.unwrap(), 0);
    assert!(is_shown(store, &two, START).await && !is_shown(store, &brief, START).await);
    assert_eq!(store.usage().await.unwrap().inboxes, 1);
}

async fn expired_inboxes_are_retired(store: &dyn Store) {
    for (local, ttl_ms) in [("a", 60_000), ("b", 60_000), ("c", 60_001), ("d", 90_000)] {
        store
            .create_inbox(request(&plain_inbox(local, ttl_ms)), START)
            .await
            .unwrap();
    }
    assert_eq!(store.retire_expired(10, after_ms(59_999)).await.unwrap(), 0);
    assert_eq!(store.retire_expired(1, after_ms(60_000)).await.unwrap(), 1);
    assert_eq!(store.retire_expired(10, after_ms(60_000)).await.unwrap(), 1);
    assert_eq!(store.next_expiry().await.unwrap(), Some(after_ms(60_001)));
    assert_eq!(store.retire_expired(10, after_ms(100_000)).await.unwrap(), 2);
    assert_eq!(store.next_expiry().await.unwrap(), None);
}

async fn reaping_goes_in_chunks(store: &dyn Store) {
    let nothing = Reaped { emails: 0, more: false };
    assert_eq!(store.reap(10, START).await.unwrap(), nothing);
    let inboxes = [create(store, "one").await, create(store, "two").await];
    let kept = create(store, "kept").await;
    let mut stored = Vec::new();
    for inbox in [&inboxes[0], &inboxes[1], &kept] {
        for number in 0..5 {
            stored.push(deposit(store, inbox, &number.to_string()).await);
        }
    }
    assert!(
        store
            .delete_email(inboxes[0].key, stored[1], RemovalReason::Manual, START)
            .await
            .unwrap()
    );
    store
        .retire(&inboxes.clone().map(|inbox| inbox.key), RemovalReason::Manual, START)
        .await
        .unwrap();
    let mut emails = 0;
    let mut calls = 0;
    loop {
        let reaped = store.reap(3, START).await.unwrap();
        assert!(reaped.emails <= 3);
        emails += reaped.emails;
        calls += 1;
        assert!(calls < 20, "reaping does not end");
        if !reaped.more {
            break;
        }
    }
    assert_eq!(emails, 9);
    assert_eq!(store.reap(3, START).await.unwrap(), nothing);
    assert_eq!(ids(store, &kept, START).await.len(), 5);
    assert_eq!(store.usage().await.unwrap().emails, 5);
    for (inbox, id) in inboxes
        .iter()
        .flat_map(|inbox| [(inbox, stored[0]), (inbox, stored[5])])
    {
        assert_eq!(store.sequence_of(inbox.key, id).await.unwrap(), None);
    }
}

async fn no_limit_is_too_large_to_reap(store: &dyn Store) {
    let inbox = create(store, "large").await;
    let emails: Vec<_> = (0..600).map(|number| email(&inbox, &number.to_string())).collect();
    store.accept(emails, &Retention::UNLIMITED, START).await.unwrap();
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    let mut reaped = store.reap(usize::MAX, START).await.unwrap();
    let (mut emails, mut calls) = (reaped.emails, 1);
    while reaped.more {
        reaped = store.reap(usize::MAX, START).await.unwrap();
        emails += reaped.emails;
        calls += 1;
        assert!(calls < 100, "reaping does not end");
    }
    assert_eq!(emails, 600);
}

async fn reaping_leaves_the_next_life_alone(store: &dyn Store) {
    let old = create(store, "twice").await;
    deposit(store, &old, "old").await;
    store.retire(&[old.key], RemovalReason::Manual, START).await.unwrap();
    let new = Inbox {
        key: InboxKey::new(START),
        ..old.clone()
    };
    let created = store.create_inbox(request(&new), START).await;
    assert!(matches!(created, Ok(Created::New)), "{created:?}");
    let id = deposit(store, &new, "new").await;
    assert_eq!(store.reap(100, START).await.unwrap(), Reaped { emails: 1, more: false });
    assert!(is_shown(store, &new, START).await);
    assert_eq!(ids(store, &new, START).await, [id]);
    assert_eq!(store.next_expiry().await.unwrap(), Some(new.expires_at));
}
