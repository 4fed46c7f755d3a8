//! A watch hears each arrival once, in whatever way it comes.

use std::collections::HashSet;
use std::time::Duration;

use restante_inbox::{Watch, WatchError};
use restante_model::EmailId;
use tokio::time::timeout;

use crate::fixture::Fixture;

const MESSAGE: &str = "Subject: a\r\n\r\n";

async fn next(watch: &mut Watch) -> EmailId {
    timeout(Duration::from_secs(5), watch.next())
        .await
        .expect("an arrival in time")
        .unwrap()
        .email
}

async fn hears_nothing(watch: &mut Watch) -> bool {
    timeout(Duration::from_millis(50), watch.next()).await.is_err()
}

#[tokio::test]
async fn a_live_watch_hears_its_inboxes_only() {
    let fixture = Fixture::new();
    let alice = fixture.create("alice@restante.test").await.unwrap();
    let bob = fixture.create("bob@restante.test").await.unwrap();
    fixture.deposit(&[&alice], MESSAGE).await;
    let mut watch = fixture.inboxes.watch(&[alice.hash], None).await.unwrap();
    fixture.deposit(&[&bob], MESSAGE).await;
    let ids = fixture.deposit(&[&alice], MESSAGE).await;
    assert_eq!(next(&mut watch).await, ids[0]);
    assert!(hears_nothing(&mut watch).await);
}

#[tokio::test]
async fn an_arrival_is_told_only_when_it_is_announced() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    let mut watch = fixture.inboxes.watch(&[inbox.hash], None).await.unwrap();
    let prepared = fixture
        .inboxes
        .prepare(fixture.message(&[&inbox], MESSAGE))
        .await
        .unwrap();
    let announcement = fixture.inboxes.deposit(prepared).await.unwrap();
    assert!(hears_nothing(&mut watch).await);
    let id = announcement.ids().next().unwrap();
    drop(announcement);
    assert_eq!(next(&mut watch).await, id);
}

#[tokio::test]
async fn a_replay_begins_after_the_named_email_even_if_it_was_deleted() {
    let fixture = Fixture::new();
    let alice = fixture.create("alice@restante.test").await.unwrap();
    let bob = fixture.create("bob@restante.test").await.unwrap();
    let mut ids = Vec::new();
    for round in 0..200 {
        let to = if round % 2 == 0 { &alice } else { &bob };
        ids.extend(fixture.deposit(&[to], MESSAGE).await);
    }
    fixture.inboxes.delete_email(&bob, ids[9]).await.unwrap();
    fixture.inboxes.delete_email(&alice, ids[20]).await.unwrap();
    let mut watch = fixture
        .inboxes
        .watch(&[alice.hash, bob.hash], Some(ids[9]))
        .await
        .unwrap();
    ids.extend(fixture.deposit(&[&bob], MESSAGE).await);
    for (place, id) in ids.iter().enumerate().skip(10).filter(|(place, _)| *place != 20) {
        assert_eq!(next(&mut watch).await, *id, "{place}");
    }
    assert!(hears_nothing(&mut watch).await);
}

#[tokio::test]
async fn an_unknown_id_gives_no_replay() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    fixture.deposit(&[&inbox], MESSAGE).await;
    let unknown = EmailId::from_bytes([9; 16]);
    let mut watch = fixture.inboxes.watch(&[inbox.hash], Some(unknown)).await.unwrap();
    assert!(hears_nothing(&mut watch).await);
}

#[tokio::test]
async fn a_watch_that_lags_misses_nothing_and_hears_nothing_twice() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    fixture.deposit(&[&inbox], MESSAGE).await;
    let mut watch = fixture.inboxes.watch(&[inbox.hash], None).await.unwrap();
    let mut sent = fixture.deposit(&[&inbox], MESSAGE).await;
    assert_eq!(next(&mut watch).await, sent[0]);
    for _ in 0..400 {
        sent.extend(fixture.deposit(&[&inbox], MESSAGE).await);
    }
    let mut heard = HashSet::from([sent[0]]);
    while heard.len() < sent.len() {
        assert!(heard.insert(next(&mut watch).await));
    }
    assert_eq!(heard, sent.into_iter().collect());
    assert!(hears_nothing(&mut watch).await);
}

#[tokio::test]
async fn a_later_inbox_at_the_address_does_not_reach_the_old_watch() {
    let fixture = Fixture::new();
    let old = fixture.create("bob@restante.test").await.unwrap();
    let mut watch = fixture.inboxes.watch(&[old.hash], None).await.unwrap();
    fixture.inboxes.delete("bob@restante.test").await.unwrap();
    let new = fixture.create("bob@restante.test").await.unwrap();
    assert_eq!(old.hash, new.hash);
    fixture.deposit(&[&new], MESSAGE).await;
    assert!(hears_nothing(&mut watch).await);
}

#[tokio::test]
async fn unknown_hashes_among_known_are_ignored_and_alone_refused() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    let unknown = restante_model::InboxHash::from_bytes([1; 32]);
    assert!(fixture.inboxes.watch(&[unknown, inbox.hash], None).await.is_ok());
    assert_eq!(
        fixture.inboxes.watch(&[unknown], None).await.unwrap_err(),
        WatchError::NoInbox
    );
}

#[tokio::test]
async fn a_client_that_comes_back_hears_what_was_stored_earlier_but_announced_later() {
    let fixture = Fixture::new();
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    let prepared = fixture
        .inboxes
        .prepare(fixture.message(&[&inbox], MESSAGE))
        .await
        .unwrap();
    let held_back = fixture.inboxes.deposit(prepared).await.unwrap();
    let early = held_back.ids().next().unwrap();
    let late = fixture.deposit(&[&inbox], MESSAGE).await[0];

    let mut watch = fixture.inboxes.watch(&[inbox.hash], None).await.unwrap();
    assert!(hears_nothing(&mut watch).await, "what was stored later waits");
    drop(held_back);
    assert_eq!(next(&mut watch).await, early);
    let mut back = fixture.inboxes.watch(&[inbox.hash], Some(early)).await.unwrap();
    assert_eq!(next(&mut back).await, late);
    assert!(hears_nothing(&mut back).await);
    assert_eq!(next(&mut watch).await, late);
}
