//! What webhooks hear of removals: one event for each email, with its reason, whoever removed it; and who is woken.

use std::time::Duration;

use restante_inbox::{CreateRequest, InboxPolicy};
use restante_model::{Clock as _, RemovalReason};
use restante_storage::{Happening, Retention};

use tokio::time::timeout;

use crate::fixture::{Fixture, policy};
use crate::hooked::{ARRIVALS, REMOVALS};

const MESSAGE: &str = "Subject: a\r\n\r\nb\r\n";
const BOB: &str = "bob@restante.test";

/// Emails of an inbox that is removed: more than one step of the task removes, or a few where that does not matter.
const MANY: usize = 300;
const FEW: usize = 3;

/// A way in which emails go.
#[derive(Debug, Clone, Copy)]
enum Way {
    OneByOne,
    Inbox,
    AllInboxes,
    Expiry,
    /// As mail comes that there is no room for.
    Full,
    /// The task finds more than may be.
    Age,
}

impl Way {
    const ALL: [(Self, RemovalReason); 6] = [
        (Self::OneByOne, RemovalReason::Manual),
        (Self::Inbox, RemovalReason::Manual),
        (Self::AllInboxes, RemovalReason::Manual),
        (Self::Expiry, RemovalReason::Ttl),
        (Self::Full, RemovalReason::Eviction),
        (Self::Age, RemovalReason::Eviction),
    ];

    fn policy(self, count: usize) -> InboxPolicy {
        let retention = match self {
            Self::Full => Retention {
                max_emails: count as u64,
                ..Retention::UNLIMITED
            },
            Self::Age => Retention {
                max_age: Some(Duration::from_mins(1)),
                ..Retention::UNLIMITED
            },
            _ => Retention::UNLIMITED,
        };
        InboxPolicy { retention, ..policy() }
    }
}

/// Each way, for a webhook of all inboxes and for one of the inbox alone, which is gone before its mail is.
#[tokio::test]
async fn every_way_of_removal_is_told_once_an_email_with_its_reason() {
    for (way, reason) in Way::ALL {
        for (is_global, count) in [(true, MANY), (false, FEW)] {
            let fixture = Fixture::with(way.policy(count));
            let request = CreateRequest {
                address: Some(BOB.into()),
                ttl: restante_inbox::TtlWish::Secs(120),
                ..CreateRequest::default()
            };
            let inbox = fixture.inboxes.create(request).await.unwrap();
            let beside = fixture.create("beside@restante.test").await.unwrap();
            if is_global {
                fixture.hook(REMOVALS).await;
            } else {
                fixture.hook_inbox(&inbox, REMOVALS).await;
            }
            let mut ids = Vec::new();
            for _ in 0..count {
                ids.extend(fixture.deposit(&[&inbox], MESSAGE).await);
            }
            assert_eq!(fixture.removals().await, [], "{way:?}");
            fixture.was_woken().await;
            match way {
                Way::OneByOne => {
                    for id in &ids {
                        fixture.inboxes.delete_email(&inbox, *id).await.unwrap();
                    }
                }
                Way::Inbox => fixture.inboxes.delete(BOB).await.unwrap(),
                Way::AllInboxes => assert_eq!(fixture.inboxes.delete_all().await.unwrap(), 2),
                Way::Expiry => fixture.advance_secs(120),
                Way::Full => {
                    for _ in 0..count {
                        fixture.deposit(&[&inbox], MESSAGE).await;
                    }
                }
                Way::Age => fixture.advance_secs(60),
            }
            match way {
                Way::OneByOne => assert!(fixture.was_woken().await),
                Way::Full => woken_by_the_task(&fixture).await,
                _ => {
                    fixture.was_woken().await;
                    fixture.inboxes.sweep().await.unwrap();
                    assert!(fixture.was_woken().await, "{way:?}");
                }
            }
            let expected: Vec<_> = ids.iter().map(|id| (*id, reason)).collect();
            let mut removals = fixture.removals().await;
            removals.sort_unstable_by_key(|(id, _)| *id);
            assert_eq!(removals.len(), count, "{way:?}, global: {is_global}");
            assert!(removals == expected, "{way:?}, global: {is_global}");
            for event in fixture.raised().await {
                let Happening::Removed {
                    at,
                    inbox_address,
                    inbox_hash,
                    ..
                } = event.happening
                else {
                    panic!("nobody listens to arrivals")
                };
                assert_eq!(at, fixture.clock.now());
                assert_eq!((inbox_address.as_str(), inbox_hash), (BOB, inbox.hash));
            }
            drop(beside);
        }
    }
}

/// The task wakes who sends to webhooks.
async fn woken_by_the_task(fixture: &Fixture) {
    let woken = async {
        tokio::select! {
            () = fixture.inboxes.run_expiry() => unreachable!("it never ends"),
            () = fixture.bus.work() => {}
        }
    };
    timeout(Duration::from_secs(20), woken)
        .await
        .expect("who tells is woken");
}

#[tokio::test]
async fn removals_that_nobody_wants_to_hear_of_raise_nothing() {
    for topics in [None, Some(ARRIVALS)] {
        let fixture = Fixture::new();
        let inbox = fixture.create(BOB).await.unwrap();
        let eve = fixture.create("eve@restante.test").await.unwrap();
        fixture.hook_inbox(&eve, REMOVALS).await;
        if let Some(topics) = topics {
            fixture.hook(topics).await;
        }
        let ids = fixture.deposit(&[&inbox], MESSAGE).await;
        fixture.deposit(&[&inbox], MESSAGE).await;
        fixture.inboxes.delete_email(&inbox, ids[0]).await.unwrap();
        fixture.inboxes.delete(BOB).await.unwrap();
        fixture.inboxes.sweep().await.unwrap();
        assert_eq!(fixture.removals().await, []);
    }
}

/// An email that is gone already goes without a word.
#[tokio::test]
async fn an_email_is_told_gone_once() {
    let fixture = Fixture::new();
    let inbox = fixture.create(BOB).await.unwrap();
    fixture.hook(REMOVALS).await;
    let ids = fixture.deposit(&[&inbox], MESSAGE).await;
    fixture.inboxes.delete_email(&inbox, ids[0]).await.unwrap();
    assert!(fixture.inboxes.delete_email(&inbox, ids[0]).await.is_err());
    fixture.inboxes.delete(BOB).await.unwrap();
    fixture.inboxes.sweep().await.unwrap();
    fixture.inboxes.sweep().await.unwrap();
    assert_eq!(fixture.removals().await, [(ids[0], RemovalReason::Manual)]);
}

/// Mail wakes whoever sends to webhooks only if there is something to send.
#[tokio::test]
async fn mail_that_nobody_hears_of_wakes_nobody() {
    let fixture = Fixture::with(Way::Full.policy(FEW));
    let inbox = fixture.create(BOB).await.unwrap();
    let eve = fixture.create("eve@restante.test").await.unwrap();
    fixture.hook_inbox(&eve, ARRIVALS).await;
    fixture.deposit(&[&inbox], MESSAGE).await;
    assert!(!fixture.was_woken().await);
    fixture.deposit(&[&eve], MESSAGE).await;
    assert!(fixture.was_woken().await);
    fixture.inboxes.sweep().await.unwrap();
    assert!(!fixture.was_woken().await, "a sweep that finds nothing");
}

/// Large mail takes the place of mail of another inbox, whose own webhook hears of it.
#[tokio::test]
async fn mail_that_goes_for_mail_of_another_inbox_wakes_who_tells() {
    let retention = Retention {
        max_bytes: 100_000,
        ..Retention::UNLIMITED
    };
    let fixture = Fixture::with(InboxPolicy { retention, ..policy() });
    let inbox = fixture.create(BOB).await.unwrap();
    let eve = fixture.create("eve@restante.test").await.unwrap();
    fixture.hook_inbox(&eve, REMOVALS).await;
    let large = format!("Subject: a\r\n\r\n{}\r\n", "x".repeat(60_000));
    let ids = fixture.deposit(&[&eve], &large).await;
    fixture.was_woken().await;
    fixture.deposit(&[&inbox], &large).await;
    woken_by_the_task(&fixture).await;
    assert_eq!(fixture.removals().await, [(ids[0], RemovalReason::Eviction)]);
}
