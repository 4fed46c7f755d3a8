//! What webhooks hear of a message that is thrown away, and that nobody else does.

use restante_inbox::{DepositError, ListRequest};
use restante_model::Inbox;
use restante_storage::Happening;

use crate::fixture::{Fixture, SEALING_BYTES};
use crate::hooked::{ARRIVALS, REMOVALS};

const MESSAGE: &str = "From: App <app@sender.test>\r\nSubject: hushhush\r\n\r\nwhispers\r\n";

/// How many emails an inbox has.
async fn kept(fixture: &Fixture, inbox: &Inbox) -> usize {
    let request = ListRequest {
        before: None,
        limit: 100,
        include_content: false,
    };
    fixture.inboxes.list(inbox, &request).await.unwrap().emails.len()
}

#[tokio::test]
async fn those_who_listen_hear_all_that_an_arrival_tells() {
    let fixture = Fixture::new();
    let bob = fixture.create("bob@restante.test").await.unwrap();
    let (eve, _key) = fixture.create_encrypted("eve@restante.test").await;
    fixture.hook(ARRIVALS).await;
    fixture.was_woken().await;
    let deposit = fixture.message(&[&bob, &eve], MESSAGE);
    let announcement = fixture.inboxes.tell_of(deposit).await.unwrap();
    let ids: Vec<_> = announcement.ids().collect();
    assert!(!fixture.was_woken().await, "the 250 comes first");
    drop(announcement);
    assert!(fixture.was_woken().await);

    let raised = fixture.raised().await;
    assert_eq!(raised.iter().map(|event| event.email).collect::<Vec<_>>(), ids);
    for (event, inbox) in raised.iter().zip([&bob, &eve]) {
        assert_eq!(event.happening, Happening::ThrownAway);
        let told = fixture.told(event).await;
        assert_eq!(told.inbox_hash, inbox.hash);
        assert_eq!(
            (told.subject.as_str(), told.text.as_deref()),
            ("hushhush", Some("whispers\n"))
        );
        assert_eq!(kept(&fixture, inbox).await, 0);
    }
    assert_eq!(
        (fixture.bus.position(), ids[0] < ids[1]),
        (0, true),
        "no stream hears of it"
    );
}

#[tokio::test]
async fn nobody_hears_who_does_not_listen_to_arrivals() {
    let fixture = Fixture::new();
    let bob = fixture.create("bob@restante.test").await.unwrap();
    let silent = fixture.create("silent@restante.test").await.unwrap();
    fixture.hook(REMOVALS).await;
    fixture.hook_inbox(&bob, ARRIVALS).await;
    let deposit = fixture.message(&[&silent, &bob], MESSAGE);
    let ids: Vec<_> = fixture.inboxes.tell_of(deposit).await.unwrap().ids().collect();
    let raised: Vec<_> = fixture.raised().await.iter().map(|event| event.email).collect();
    assert_eq!(
        (ids.len(), raised),
        (2, vec![ids[1]]),
        "each has an id, one is heard of"
    );
}

#[tokio::test]
async fn without_memory_nobody_is_told() {
    let fixture = Fixture::new();
    let inboxes = [
        fixture.create("bob@restante.test").await.unwrap(),
        fixture.create("eve@restante.test").await.unwrap(),
    ];
    fixture.hook(ARRIVALS).await;
    let large = format!("{MESSAGE}{}", "x".repeat(SEALING_BYTES));
    let told = fixture
        .inboxes
        .tell_of(fixture.message(&inboxes.each_ref(), &large))
        .await;
    assert_eq!(told.map(drop), Err(DepositError::TooLarge));
    assert!(fixture.raised().await.is_empty());
}

#[tokio::test]
async fn an_encrypted_inbox_takes_no_memory_for_what_is_not_sealed() {
    let fixture = Fixture::new();
    let mut inboxes = Vec::new();
    for n in 0..3 {
        inboxes.push(fixture.create_encrypted(&format!("n{n}@restante.test")).await.0);
    }
    let large = format!("{MESSAGE}{}", "x".repeat(SEALING_BYTES / 4));
    let message = || fixture.message(&inboxes.iter().collect::<Vec<_>>(), &large);
    assert_eq!(
        fixture.inboxes.prepare(message()).await.map(drop),
        Err(DepositError::TooLarge)
    );
    assert_eq!(fixture.inboxes.tell_of(message()).await.unwrap().ids().count(), 3);
}
