//! Expiry is exact, and what expired or was removed is gone for everyone.

use std::time::Duration;

use restante_inbox::{CreateRequest, DepositError, ListRequest, ReadError, RecipientError};

use crate::fixture::{Fixture, path};

const ALL: ListRequest = ListRequest {
    before: None,
    limit: 100,
    include_content: false,
};

#[tokio::test]
async fn an_inbox_is_gone_from_the_very_moment_of_its_expiry() {
    let fixture = Fixture::new();
    let request = CreateRequest {
        address: Some("bob@restante.test".into()),
        ttl: restante_inbox::TtlWish::Secs(60),
        ..CreateRequest::default()
    };
    let inbox = fixture.inboxes.create(request).await.unwrap();
    let ids = fixture.deposit(&[&inbox], "Subject: a\r\n\r\nb\r\n").await;

    fixture.clock.advance(Duration::from_millis(59_999));
    assert!(fixture.inboxes.find("bob@restante.test").await.is_ok());
    assert!(fixture.inboxes.recipient(&path("bob@restante.test")).await.is_ok());
    assert_eq!(fixture.inboxes.list(&inbox, &ALL).await.unwrap().emails.len(), 1);

    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(
        fixture.inboxes.find("bob@restante.test").await.unwrap_err(),
        ReadError::NoInbox
    );
    let refused = fixture.inboxes.recipient(&path("bob@restante.test")).await.unwrap_err();
    assert_eq!(refused, RecipientError::NoInbox);
    // Who found the inbox a moment before does not see an empty one.
    assert_eq!(
        fixture.inboxes.list(&inbox, &ALL).await.unwrap_err(),
        ReadError::NoInbox
    );
    assert_eq!(
        fixture.inboxes.email(&inbox, ids[0]).await.unwrap_err(),
        ReadError::NoEmail
    );
    let prepared = fixture
        .inboxes
        .prepare(fixture.message(&[&inbox], "Subject: late\r\n\r\n"))
        .await
        .unwrap();
    assert_eq!(fixture.inboxes.deposit(prepared).await.unwrap_err(), DepositError::Gone);
}

#[tokio::test]
async fn an_expired_address_is_free_and_its_next_inbox_is_empty() {
    let fixture = Fixture::new();
    let old = fixture.create("bob@restante.test").await.unwrap();
    fixture.deposit(&[&old], "Subject: old\r\n\r\n").await;
    fixture.advance_secs(3600);
    let new = fixture.create("bob@restante.test").await.unwrap();
    assert!(fixture.inboxes.list(&new, &ALL).await.unwrap().emails.is_empty());
    assert_eq!(fixture.inboxes.sync_status(&new).await.unwrap().email_count, 0);
}

#[tokio::test]
async fn a_sweep_ends_what_expired_and_says_when_to_come_back() {
    let fixture = Fixture::new();
    let early = fixture.create("early@restante.test").await.unwrap();
    fixture.deposit(&[&early], "Subject: a\r\n\r\n").await;
    fixture.advance_secs(10);
    let late = fixture.create("late@restante.test").await.unwrap();
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), Some(early.expires_at));
    fixture.advance_secs(3590);
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), Some(late.expires_at));
    fixture.advance_secs(10);
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), None);
}

#[tokio::test]
async fn if_one_recipient_is_gone_nobody_gets_the_message() {
    let fixture = Fixture::new();
    let alice = fixture.create("alice@restante.test").await.unwrap();
    let bob = fixture.create("bob@restante.test").await.unwrap();
    let prepared = fixture
        .inboxes
        .prepare(fixture.message(&[&alice, &bob], "Subject: a\r\n\r\n"))
        .await
        .unwrap();
    fixture.inboxes.delete("bob@restante.test").await.unwrap();
    assert_eq!(fixture.inboxes.deposit(prepared).await.unwrap_err(), DepositError::Gone);
    assert!(fixture.inboxes.list(&alice, &ALL).await.unwrap().emails.is_empty());
}

#[tokio::test]
async fn all_inboxes_end_at_once_however_many() {
    let fixture = Fixture::new();
    for _ in 0..3 {
        fixture.inboxes.create(CreateRequest::default()).await.unwrap();
    }
    assert_eq!(fixture.inboxes.delete_all().await.unwrap(), 3);
    assert_eq!(fixture.inboxes.delete_all().await.unwrap(), 0);
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), None);
}
