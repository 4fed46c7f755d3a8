//! Commit sequences, and the hash over the ids of an inbox.

use std::sync::Arc;

use restante_envelope::digest::sha256;
use restante_model::{EmailId, Inbox, RemovalReason};

use super::{START, create, deposit, early_id, email, ids};
use crate::{Retention, Store, SyncStatus};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    the_hash_is_over_the_shown_ids(&*open().await).await;
    the_hash_follows_every_change(&*open().await).await;
    arrivals_come_in_commit_order(&*open().await).await;
    a_deleted_email_keeps_its_sequence(&*open().await).await;
    concurrent_mail_gets_distinct_sequences(open().await).await;
}

/// The status as the interface defines it: over the ids, sorted and joined with commas.
pub fn status_of(ids: &[EmailId]) -> SyncStatus {
    let mut shown: Vec<String> = ids.iter().map(ToString::to_string).collect();
    shown.sort_unstable();
    SyncStatus {
        email_count: ids.len() as u64,
        emails_hash: sha256(shown.join(",").as_bytes()),
    }
}

async fn assert_status(store: &dyn Store, inbox: &Inbox) {
    let expected = status_of(&ids(store, inbox, START).await);
    // Twice: the second answer may come from a cache.
    for _ in 0..2 {
        assert_eq!(store.sync(inbox.key, START).await.unwrap(), Some(expected));
    }
}

async fn the_hash_is_over_the_shown_ids(store: &dyn Store) {
    let inbox = create(store, "hashed").await;
    let empty = store.sync(inbox.key, START).await.unwrap().unwrap();
    assert_eq!((empty.email_count, empty.emails_hash), (0, sha256(b"")));
    let id = deposit(store, &inbox, "one").await;
    let one = store.sync(inbox.key, START).await.unwrap().unwrap();
    assert_eq!(
        (one.email_count, one.emails_hash),
        (1, sha256(id.to_string().as_bytes()))
    );
}

async fn the_hash_follows_every_change(store: &dyn Store) {
    let inbox = create(store, "changing").await;
    let early = early_id();
    let mut stored = Vec::new();
    for number in 0..5 {
        stored.push(deposit(store, &inbox, &number.to_string()).await);
        assert_status(store, &inbox).await;
    }
    // An id below those that are there.
    let mut late = email(&inbox, "made early, committed late");
    late.id = early;
    store.accept(vec![late], &Retention::UNLIMITED, START).await.unwrap();
    assert_status(store, &inbox).await;
    for id in [stored[2], early, stored[4], stored[0]] {
        assert!(
            store
                .delete_email(inbox.key, id, RemovalReason::Manual, START)
                .await
                .unwrap()
        );
        assert_status(store, &inbox).await;
        deposit(store, &inbox, "another").await;
        assert_status(store, &inbox).await;
    }
    // One goes and one comes between two looks: the count is the same, the hash is not.
    store
        .delete_email(inbox.key, stored[3], RemovalReason::Manual, START)
        .await
        .unwrap();
    deposit(store, &inbox, "in its place").await;
    assert_status(store, &inbox).await;
    store.mark_read(inbox.key, stored[1], START).await.unwrap();
    assert_status(store, &inbox).await;
}

async fn arrivals_come_in_commit_order(store: &dyn Store) {
    let (inbox, other) = (create(store, "mine").await, create(store, "other").await);
    assert_eq!(store.last_sequence().await.unwrap(), 0);
    let mut first = email(&inbox, "made first, committed last");
    first.id = early_id();
    let mut expected = Vec::new();
    for new in [email(&inbox, "a"), email(&other, "b"), email(&inbox, "c"), first] {
        let arrivals = store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
        expected.extend(arrivals.into_iter().filter(|arrival| arrival.inbox == inbox.key));
    }
    assert!(expected.is_sorted_by_key(|arrival| arrival.sequence));
    assert_eq!(store.last_sequence().await.unwrap(), expected[2].sequence);
    assert_eq!(store.arrivals(inbox.key, 0, 10, START).await.unwrap(), expected);
    assert_eq!(store.arrivals(inbox.key, 0, 2, START).await.unwrap(), expected[..2]);
    assert_eq!(
        store
            .arrivals(inbox.key, expected[0].sequence, 10, START)
            .await
            .unwrap(),
        expected[1..]
    );
    assert_eq!(
        store
            .arrivals(inbox.key, expected[2].sequence, 10, START)
            .await
            .unwrap(),
        []
    );
    assert_eq!(store.arrivals(inbox.key, u64::MAX, 10, START).await.unwrap(), []);
}

async fn a_deleted_email_keeps_its_sequence(store: &dyn Store) {
    let inbox = create(store, "remembered").await;
    let ids = [deposit(store, &inbox, "one").await, deposit(store, &inbox, "two").await];
    let first = store.sequence_of(inbox.key, ids[0]).await.unwrap();
    assert!(first.is_some());
    assert_eq!(store.sequence_of(inbox.key, EmailId::new(START)).await.unwrap(), None);
    store
        .delete_email(inbox.key, ids[0], RemovalReason::Manual, START)
        .await
        .unwrap();
    assert_eq!(store.sequence_of(inbox.key, ids[0]).await.unwrap(), first);
    let arrivals = store.arrivals(inbox.key, 0, 10, START).await.unwrap();
    assert_eq!(
        arrivals.iter().map(|arrival| arrival.email).collect::<Vec<_>>(),
        [ids[1]]
    );
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    while store.reap(1, START).await.unwrap().more {}
    for id in ids {
        assert_eq!(store.sequence_of(inbox.key, id).await.unwrap(), None);
    }
    assert_eq!(store.last_sequence().await.unwrap(), 2);
}

async fn concurrent_mail_gets_distinct_sequences(store: Arc<dyn Store>) {
    let inbox = create(&*store, "busy").await;
    let mut senders = tokio::task::JoinSet::new();
    for sender in 0..8 {
        let (store, inbox) = (Arc::clone(&store), inbox.clone());
        senders.spawn(async move {
            for number in 0..25 {
                deposit(&*store, &inbox, &format!("{sender} {number}")).await;
            }
        });
    }
    while let Some(sent) = senders.join_next().await {
        sent.unwrap();
    }
    let arrivals = store.arrivals(inbox.key, 0, 1000, START).await.unwrap();
    let sequences: Vec<_> = arrivals.iter().map(|arrival| arrival.sequence).collect();
    assert_eq!(sequences, (1..=200).collect::<Vec<_>>());
    assert_eq!(store.last_sequence().await.unwrap(), 200);
    assert_status(&*store, &inbox).await;
}
