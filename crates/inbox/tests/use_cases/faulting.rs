//! What is done to the mail of an inbox: asked for at its creation, set, replaced, taken away.

use std::sync::Arc;

use restante_inbox::{CreateRequest, Idempotency, InboxPolicy, ReadError};
use restante_model::ChaosConfig;
use restante_model::chaos::{Blackhole, Latency};

use crate::fixture::{Fixture, policy};

const ADDRESS: &str = "bob@restante.test";

fn silence() -> ChaosConfig {
    ChaosConfig {
        enabled: true,
        blackhole: Some(Blackhole {
            enabled: true,
            trigger_webhooks: true,
        }),
        ..ChaosConfig::default()
    }
}

fn delay() -> ChaosConfig {
    ChaosConfig {
        enabled: true,
        latency: Some(Latency {
            enabled: true,
            min_delay_ms: 1,
            max_delay_ms: 60_000,
            jitter: true,
            probability: 0.1,
        }),
        ..ChaosConfig::default()
    }
}

fn request(chaos: Option<ChaosConfig>) -> CreateRequest {
    CreateRequest {
        address: Some(ADDRESS.into()),
        chaos,
        ..CreateRequest::default()
    }
}

/// What is set for the inbox, as whoever sends mail to it finds it.
async fn found(fixture: &Fixture) -> Option<ChaosConfig> {
    let inbox = fixture.inboxes.find(ADDRESS).await.unwrap();
    inbox.chaos.as_deref().cloned()
}

#[tokio::test]
async fn what_a_creation_asks_for_holds_from_the_first_mail_on() {
    let fixture = Fixture::new();
    let inbox = fixture.inboxes.create(request(Some(silence()))).await.unwrap();
    assert_eq!(inbox.chaos, Some(Arc::new(silence())));
    assert_eq!(found(&fixture).await, Some(silence()));
}

#[tokio::test]
async fn where_inboxes_may_not_ask_for_faults_they_get_none() {
    let fixture = Fixture::with(InboxPolicy {
        chaos_available: false,
        ..policy()
    });
    let inbox = fixture.inboxes.create(request(Some(silence()))).await.unwrap();
    assert_eq!(inbox.chaos, None);
    assert_eq!(found(&fixture).await, None);
}

#[tokio::test]
async fn what_is_set_replaces_all_that_was() {
    let fixture = Fixture::new();
    let inbox = fixture.inboxes.create(request(None)).await.unwrap();
    assert_eq!(found(&fixture).await, None);
    for chaos in [silence(), delay(), ChaosConfig::default(), delay()] {
        fixture.inboxes.set_chaos(&inbox, chaos.clone()).await.unwrap();
        assert_eq!(found(&fixture).await, Some(chaos));
    }
    for _ in 0..2 {
        fixture.inboxes.clear_chaos(&inbox).await.unwrap();
        assert_eq!(found(&fixture).await, None);
    }
}

#[tokio::test]
async fn of_an_inbox_that_is_gone_nothing_is_set() {
    let fixture = Fixture::new();
    let removed = fixture.create(ADDRESS).await.unwrap();
    fixture.inboxes.delete(ADDRESS).await.unwrap();
    let next = fixture.create(ADDRESS).await.unwrap();
    let set = fixture.inboxes.set_chaos(&removed, silence()).await;
    assert_eq!(set.unwrap_err(), ReadError::NoInbox);
    assert_eq!(
        fixture.inboxes.clear_chaos(&removed).await.unwrap_err(),
        ReadError::NoInbox
    );
    assert_eq!(found(&fixture).await, None, "the next at its address is another");
    fixture.advance_secs(3600);
    let set = fixture.inboxes.set_chaos(&next, silence()).await;
    assert_eq!(set.unwrap_err(), ReadError::NoInbox);
}

#[tokio::test]
async fn a_repeated_creation_does_not_take_back_what_was_set_meanwhile() {
    let fixture = Fixture::new();
    let create = || CreateRequest {
        idempotency: Some(Idempotency {
            key: [1; 32],
            body: [2; 32],
        }),
        ..request(Some(silence()))
    };
    let first = fixture.inboxes.create(create()).await.unwrap();
    fixture.inboxes.set_chaos(&first, delay()).await.unwrap();
    let again = fixture.inboxes.create(create()).await.unwrap();
    assert_eq!(first.key, again.key);
    assert_eq!(found(&fixture).await, Some(delay()));
}
