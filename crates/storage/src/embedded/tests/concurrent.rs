//! Readers see states that were, whatever the committer does meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::Retention;
use crate::conformance::order::status_of;
use crate::conformance::{START, create, email, everything, is_shown, plain_inbox, request};

/// Emails between those that come and go, so that a scan takes long enough to be overtaken.
const BETWEEN: usize = 3000;

/// Stores an email whose id begins with this byte.
async fn deposit_at(store: &Embedded, inbox: &Inbox, first_byte: u8) -> EmailId {
    let new = email_at(inbox, first_byte);
    let id = new.id;
    store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    id
}

fn email_at(inbox: &Inbox, first_byte: u8) -> NewEmail {
    let mut new = email(inbox, "one of many");
    let mut bytes = *new.id.as_bytes();
    bytes[0] = first_byte;
    new.id = EmailId::from_bytes(bytes);
    new
}

async fn delete(store: &Embedded, inbox: &Inbox, id: EmailId) {
    assert_eq!(
        store.delete_email(inbox.key, id, RemovalReason::Manual, START).await,
        Ok(true)
    );
}

/// At every moment there is an email at the low end of the ids, at the high end, or at both.
async fn swing(store: Arc<Embedded>, inbox: Inbox, mut low: EmailId, is_done: Arc<AtomicBool>) {
    while !is_done.load(Ordering::Relaxed) {
        let high = deposit_at(&store, &inbox, 3).await;
        delete(&store, &inbox, low).await;
        low = deposit_at(&store, &inbox, 1).await;
        delete(&store, &inbox, high).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_a_state_that_was() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Embedded::open(&config(dir.path())).unwrap());
    let inbox = create(&*store, "busy").await;
    let between = (0..BETWEEN).map(|_| email_at(&inbox, 2)).collect();
    store.accept(between, &Retention::UNLIMITED, START).await.unwrap();
    let low = deposit_at(&store, &inbox, 1).await;
    let is_done = Arc::new(AtomicBool::new(false));
    let swinging =
        tokio::task::JoinSet::from_iter([swing(Arc::clone(&store), inbox.clone(), low, Arc::clone(&is_done))]);
    for _ in 0..60 {
        let page = store.list(inbox.key, everything(&[]), START).await.unwrap();
        assert!(
            (BETWEEN + 1..=BETWEEN + 2).contains(&page.emails.len()),
            "{}",
            page.emails.len() - BETWEEN
        );
        let count = store.sync(inbox.key, START).await.unwrap().unwrap().email_count;
        assert!((BETWEEN as u64 + 1..=BETWEEN as u64 + 2).contains(&count));
        let arrivals = store.arrivals(inbox.key, 0, 10_000, START).await.unwrap();
        assert!((BETWEEN + 1..=BETWEEN + 2).contains(&arrivals.len()));
    }
    is_done.store(true, Ordering::Relaxed);
    swinging.join_all().await;
    let page = store.list(inbox.key, everything(&[]), START).await.unwrap();
    let ids: Vec<_> = page.emails.iter().map(|email| email.id).collect();
    assert_eq!(store.sync(inbox.key, START).await, Ok(Some(status_of(&ids))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_saw_an_inbox_gone_never_sees_it_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Embedded::open(&config(dir.path())).unwrap());
    for _ in 0..50 {
        let inbox = plain_inbox("short-lived", 60_000);
        store.create_inbox(request(&inbox), START).await.unwrap();
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (store, inbox) = (Arc::clone(&store), inbox.clone());
            readers.spawn(async move {
                while store.inbox(&inbox.address, START).await.unwrap().is_some() {
                    tokio::task::yield_now().await;
                }
                for _ in 0..20 {
                    assert!(!is_shown(&*store, &inbox, START).await);
                    assert_eq!(store.sync(inbox.key, START).await, Ok(None));
                }
            });
        }
        assert_eq!(store.retire(&[inbox.key], RemovalReason::Manual, START).await, Ok(1));
        assert!(!is_shown(&*store, &inbox, START).await);
        readers.join_all().await;
    }
}
