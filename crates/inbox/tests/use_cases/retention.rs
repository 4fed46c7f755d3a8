//! Mail that is not to stay goes: the oldest for the newest, and what has reached its age.

use std::time::Duration;

use restante_inbox::{DepositError, InboxPolicy};
use restante_model::{Clock as _, Timestamp};
use restante_storage::Retention;
use tokio::time::timeout;

use crate::fixture::{Fixture, policy};

const MESSAGE: &str = "Subject: a\r\n\r\nb\r\n";

fn keeping(retention: Retention) -> Fixture {
    Fixture::with(InboxPolicy { retention, ..policy() })
}

#[tokio::test]
async fn a_full_inbox_keeps_the_newest() {
    let fixture = keeping(Retention {
        max_emails: 3,
        ..Retention::UNLIMITED
    });
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.extend(fixture.deposit(&[&inbox], MESSAGE).await);
        let status = fixture.inboxes.sync_status(&inbox).await.unwrap();
        assert_eq!(status.email_count, ids.len().min(3) as u64);
    }
    for (number, id) in ids.into_iter().enumerate() {
        assert_eq!(fixture.inboxes.email(&inbox, id).await.is_ok(), number >= 2, "{number}");
    }
}

#[tokio::test]
async fn a_message_beyond_all_storage_is_refused_and_removes_nothing() {
    let fixture = keeping(Retention {
        max_bytes: 4_000,
        ..Retention::UNLIMITED
    });
    let (bob, eve) = (
        fixture.create("bob@restante.test").await.unwrap(),
        fixture.create("eve@restante.test").await.unwrap(),
    );
    let kept = fixture.deposit(&[&bob], MESSAGE).await;
    for (recipients, bytes) in [(vec![&bob], 4_000), (vec![&bob, &eve], 2_000)] {
        let raw = format!("Subject: a\r\n\r\n{}\r\n", "x".repeat(bytes));
        let prepared = fixture
            .inboxes
            .prepare(fixture.message(&recipients, &raw))
            .await
            .unwrap();
        let refused = fixture.inboxes.deposit(prepared).await.unwrap_err();
        assert_eq!(refused, DepositError::BeyondStorage);
    }
    assert!(fixture.inboxes.email(&bob, kept[0]).await.is_ok());
    assert_eq!(fixture.inboxes.sync_status(&eve).await.unwrap().email_count, 0);
}

#[tokio::test]
async fn a_sweep_removes_what_has_reached_its_age_and_comes_back_for_the_next() {
    let fixture = keeping(Retention {
        max_age: Some(Duration::from_mins(1)),
        ..Retention::UNLIMITED
    });
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), Some(inbox.expires_at));
    let first = fixture.clock.now();
    fixture.deposit(&[&inbox], MESSAGE).await;
    fixture.advance_secs(10);
    let second = fixture.clock.now();
    fixture.deposit(&[&inbox], MESSAGE).await;
    let due = |received: Timestamp| Some(received.after(Duration::from_mins(1)));
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), due(first));
    fixture.clock.advance(Duration::from_millis(49_999));
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), due(first));
    assert_eq!(fixture.inboxes.sync_status(&inbox).await.unwrap().email_count, 2);
    fixture.clock.advance(Duration::from_millis(1));
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), due(second));
    assert_eq!(fixture.inboxes.sync_status(&inbox).await.unwrap().email_count, 1);
    fixture.advance_secs(10);
    assert_eq!(fixture.inboxes.sweep().await.unwrap(), Some(inbox.expires_at));
    assert_eq!(fixture.inboxes.sync_status(&inbox).await.unwrap().email_count, 0);
}

/// More goes for one large message than one step removes: the task does the rest without being told.
#[tokio::test]
async fn a_large_message_takes_the_place_of_many() {
    const MANY: u64 = 600;
    let fixture = keeping(Retention {
        max_bytes: 900_000,
        ..Retention::UNLIMITED
    });
    let inbox = fixture.create("bob@restante.test").await.unwrap();
    for _ in 0..MANY {
        fixture.deposit(&[&inbox], MESSAGE).await;
    }
    assert_eq!(fixture.inboxes.sync_status(&inbox).await.unwrap().email_count, MANY);
    let inboxes = fixture.inboxes.clone();
    let task = async { inboxes.run_expiry().await };
    let is_done = async {
        let raw = format!("Subject: a\r\n\r\n{}\r\n", "x".repeat(898_000));
        fixture.deposit(&[&inbox], &raw).await;
        while fixture.inboxes.sync_status(&inbox).await.unwrap().email_count > 10 {
            tokio::task::yield_now().await;
        }
    };
    let done = timeout(Duration::from_secs(20), async {
        tokio::select! {
            () = task => unreachable!("it never ends"),
            () = is_done => {}
        }
    });
    done.await.expect("the task evicts");
}

#[tokio::test]
async fn a_stream_that_comes_back_after_an_evicted_email_hears_all_that_is_left() {
    let fixture = keeping(Retention {
        max_emails: 2,
        ..Retention::UNLIMITED
    });
    let bob = fixture.create("bob@restante.test").await.unwrap();
    let eve = fixture.create("eve@restante.test").await.unwrap();
    let heard = fixture.deposit(&[&bob], MESSAGE).await;
    let mut left = fixture.deposit(&[&eve], MESSAGE).await;
    fixture.deposit(&[&bob], MESSAGE).await;
    for _ in 0..2 {
        left.extend(fixture.deposit(&[&bob], MESSAGE).await);
    }
    let hashes = [bob.hash, eve.hash];
    let mut watch = fixture.inboxes.watch(&hashes, Some(heard[0])).await.unwrap();
    for id in &left {
        assert_eq!(watch.next().await.unwrap().email, *id);
    }
    // An email that is still known says exactly where to go on, whatever the other inbox evicted.
    let mut watch = fixture.inboxes.watch(&hashes, Some(left[0])).await.unwrap();
    assert_eq!(watch.next().await.unwrap().email, left[1]);
}
