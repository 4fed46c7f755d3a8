//! Names and lives of inboxes.

use std::sync::Arc;

use restante_envelope::DecapsulationKey;
use restante_model::{Inbox, InboxHash, InboxKey, InboxMode, RemovalReason};

use super::{START, after_ms, create, deposit, ids, is_shown, plain_inbox, repeatable, request};
use crate::{AcceptError, CreateError, Created, Retention, Store};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    a_new_inbox_is_found_by_both_names(&*open().await).await;
    an_encrypted_inbox_keeps_its_key(&*open().await).await;
    taken_names_are_refused(&*open().await).await;
    a_repeated_create_is_harmless(&*open().await).await;
    expiry_is_exact(&*open().await).await;
    an_expired_address_is_free_and_empty(&*open().await).await;
    a_race_for_an_address_has_one_winner(open().await).await;
    an_idempotency_key_gives_the_first_inbox(&*open().await).await;
    an_idempotency_key_is_forgotten(&*open().await).await;
    pages_go_by_hash(&*open().await).await;
    the_next_expiry_is_told(&*open().await).await;
}

async fn a_new_inbox_is_found_by_both_names(store: &dyn Store) {
    let other = plain_inbox("other", 60_000);
    let inbox = create(store, "one").await;
    assert!(is_shown(store, &inbox, START).await);
    assert!(!is_shown(store, &other, START).await);
    let found = store.inbox(&inbox.address, START).await.unwrap().unwrap();
    assert_eq!(
        (&found.address, found.hash, found.email_auth),
        (&inbox.address, inbox.hash, true)
    );
    assert_eq!(
        (found.created_at, found.expires_at),
        (inbox.created_at, inbox.expires_at)
    );
    assert!(!found.mode.is_encrypted());
}

fn encrypted(local: &str) -> Inbox {
    let key = DecapsulationKey::generate().encapsulation_key().clone();
    Inbox {
        hash: InboxHash::of_key(&key),
        mode: InboxMode::Encrypted { key },
        ..plain_inbox(local, 60_000)
    }
}

async fn an_encrypted_inbox_keeps_its_key(store: &dyn Store) {
    let inbox = encrypted("sealed");
    store.create_inbox(request(&inbox), START).await.unwrap();
    let found = store.inbox(&inbox.address, START).await.unwrap().unwrap();
    let (InboxMode::Encrypted { key: stored }, InboxMode::Encrypted { key: given }) = (&found.mode, &inbox.mode) else {
        panic!("an encrypted inbox came back plain");
    };
    assert_eq!(stored.as_bytes(), given.as_bytes());
    assert!(is_shown(store, &inbox, START).await);
}

async fn taken_names_are_refused(store: &dyn Store) {
    let inbox = encrypted("a");
    store.create_inbox(request(&inbox), START).await.unwrap();
    let same_address = plain_inbox("a", 60_000);
    let refused = store.create_inbox(request(&same_address), after_ms(59_999)).await;
    assert!(matches!(refused, Err(CreateError::AddressTaken)), "{refused:?}");
    let same_key = Inbox {
        hash: inbox.hash,
        mode: inbox.mode.clone(),
        ..plain_inbox("b", 60_000)
    };
    let refused = store.create_inbox(request(&same_key), after_ms(59_999)).await;
    assert!(matches!(refused, Err(CreateError::KeyTaken)), "{refused:?}");
    assert!(store.inbox(&same_key.address, START).await.unwrap().is_none());
    // At its expiry both names are free.
    let created = store.create_inbox(request(&same_key), after_ms(60_000)).await;
    assert!(matches!(created, Ok(Created::New)), "{created:?}");
}

async fn a_repeated_create_is_harmless(store: &dyn Store) {
    let inbox = create(store, "again").await;
    let id = deposit(store, &inbox, "kept").await;
    let repeated = store.create_inbox(request(&inbox), START).await;
    assert!(matches!(repeated, Ok(Created::New)), "{repeated:?}");
    assert_eq!(ids(store, &inbox, START).await, [id]);
    assert_eq!(store.usage().await.unwrap().inboxes, 1);
}

async fn expiry_is_exact(store: &dyn Store) {
    let inbox = plain_inbox("brief", 60_000);
    store.create_inbox(request(&inbox), START).await.unwrap();
    let id = deposit(store, &inbox, "mail").await;
    let (alive, gone) = (after_ms(59_999), after_ms(60_000));
    assert!(is_shown(store, &inbox, alive).await && !is_shown(store, &inbox, gone).await);
    assert_eq!(store.inboxes(None, 10, alive).await.unwrap().inboxes.len(), 1);
    assert_eq!(store.inboxes(None, 10, gone).await.unwrap().inboxes.len(), 0);
    assert_eq!(ids(store, &inbox, alive).await, [id]);
    assert_eq!(ids(store, &inbox, gone).await, []);
    assert!(store.email(inbox.key, id, &[], alive).await.unwrap().is_some());
    assert!(store.email(inbox.key, id, &[], gone).await.unwrap().is_none());
    assert!(store.sync(inbox.key, alive).await.unwrap().is_some());
    assert_eq!(store.sync(inbox.key, gone).await.unwrap(), None);
    assert_eq!(store.arrivals(inbox.key, 0, 10, alive).await.unwrap().len(), 1);
    assert_eq!(store.arrivals(inbox.key, 0, 10, gone).await.unwrap(), []);
    assert!(!store.mark_read(inbox.key, id, gone).await.unwrap());
    assert!(store.mark_read(inbox.key, id, alive).await.unwrap());
    let late = store
        .accept(vec![super::email(&inbox, "late")], &Retention::UNLIMITED, gone)
        .await;
    assert_eq!(late, Err(AcceptError::Gone));
    assert!(
        !store
            .delete_email(inbox.key, id, RemovalReason::Manual, gone)
            .await
            .unwrap()
    );
    assert!(
        store
            .delete_email(inbox.key, id, RemovalReason::Manual, alive)
            .await
            .unwrap()
    );
}

async fn an_expired_address_is_free_and_empty(store: &dyn Store) {
    let old = plain_inbox("reborn", 60_000);
    store.create_inbox(request(&old), START).await.unwrap();
    // Looked up, so that a cache may hold it.
    assert!(is_shown(store, &old, START).await);
    let id = deposit(store, &old, "for the first owner").await;
    let new = Inbox {
        key: InboxKey::new(START),
        expires_at: after_ms(120_000),
        ..old.clone()
    };
    let created = store.create_inbox(request(&new), after_ms(60_000)).await;
    assert!(matches!(created, Ok(Created::New)), "{created:?}");
    assert!(is_shown(store, &new, after_ms(60_000)).await);
    assert_eq!(ids(store, &new, after_ms(60_000)).await, []);
    assert!(store.email(new.key, id, &[], after_ms(60_000)).await.unwrap().is_none());
    // Even for a clock that is behind, the old life is over.
    assert!(store.email(old.key, id, &[], START).await.unwrap().is_none());
}

async fn a_race_for_an_address_has_one_winner(store: Arc<dyn Store>) {
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let store = Arc::clone(&store);
        racers.spawn(async move {
            let inbox = plain_inbox("contested", 60_000);
            (store.create_inbox(request(&inbox), START).await, inbox)
        });
    }
    let mut winners = Vec::new();
    while let Some(raced) = racers.join_next().await {
        match raced.unwrap() {
            (Ok(Created::New), inbox) => winners.push(inbox),
            (Err(CreateError::AddressTaken), _) => {}
            (other, _) => panic!("{other:?}"),
        }
    }
    assert_eq!(winners.len(), 1);
    assert!(is_shown(&*store, &winners[0], START).await);
}

async fn an_idempotency_key_gives_the_first_inbox(store: &dyn Store) {
    let first = plain_inbox("first", 3_600_000);
    let second = plain_inbox("second", 3_600_000);
    store.create_inbox(repeatable(&first, 1, 1), START).await.unwrap();
    let (within, after) = (after_ms(599_999), after_ms(600_000));
    let repeated = store.create_inbox(repeatable(&second, 1, 1), within).await;
    assert!(
        matches!(&repeated, Ok(Created::Repeated(inbox)) if inbox.key == first.key),
        "{repeated:?}"
    );
    let reused = store.create_inbox(repeatable(&second, 1, 2), within).await;
    assert!(matches!(reused, Err(CreateError::IdempotencyReused)), "{reused:?}");
    assert!(!is_shown(store, &second, START).await);
    let created = store.create_inbox(repeatable(&second, 1, 2), after).await;
    assert!(matches!(created, Ok(Created::New)), "{created:?}");
}

async fn an_idempotency_key_is_forgotten(store: &dyn Store) {
    let first = plain_inbox("first", 60_000);
    store.create_inbox(repeatable(&first, 1, 1), START).await.unwrap();
    let second = plain_inbox("second", 600_000);
    // Its inbox has expired.
    let created = store.create_inbox(repeatable(&second, 1, 2), after_ms(60_000)).await;
    assert!(matches!(created, Ok(Created::New)), "{created:?}");
    store
        .retire(&[second.key], RemovalReason::Manual, after_ms(60_001))
        .await
        .unwrap();
    let third = plain_inbox("third", 600_000);
    let created = store.create_inbox(repeatable(&third, 1, 3), after_ms(60_002)).await;
    assert!(matches!(created, Ok(Created::New)), "{created:?}");
}

async fn pages_go_by_hash(store: &dyn Store) {
    let mut hashes = Vec::new();
    for number in 0..7 {
        hashes.push(create(store, &format!("page{number}")).await.hash);
    }
    hashes.sort_unstable();
    let mut seen = Vec::new();
    loop {
        let page = store.inboxes(seen.last().copied(), 3, START).await.unwrap();
        seen.extend(page.inboxes.iter().map(|inbox| inbox.hash));
        assert_eq!(page.more, seen.len() < hashes.len());
        if !page.more {
            break;
        }
        assert_eq!(page.inboxes.len(), 3);
    }
    assert_eq!(seen, hashes);
}

async fn the_next_expiry_is_told(store: &dyn Store) {
    assert_eq!(store.next_expiry().await.unwrap(), None);
    let long = plain_inbox("long", 120_000);
    let short = plain_inbox("short", 60_000);
    store.create_inbox(request(&long), START).await.unwrap();
    store.create_inbox(request(&short), START).await.unwrap();
    assert_eq!(store.next_expiry().await.unwrap(), Some(short.expires_at));
    store.retire(&[short.key], RemovalReason::Manual, START).await.unwrap();
    assert_eq!(store.next_expiry().await.unwrap(), Some(long.expires_at));
}
