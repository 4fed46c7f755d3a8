//! The webhook system switched off: everything can be set and tested, nothing is sent.

use restante_model::EventType;
use restante_storage::WebhookStore as _;
use restante_webhook::Owner;

use crate::fixture::{Fixture, Targets, policy, request, until};

#[tokio::test]
async fn events_are_dispatched_to_nobody_so_that_none_pile_up() {
    let mut policy = policy();
    policy.is_enabled = false;
    let mut world = Fixture::with(policy, Targets::All).await;
    let id = world.webhook_for(&EventType::ALL).await;
    let (first, _) = (world.mail("one").await, world.mail("two").await);
    world.delete(first).await;
    assert_eq!(world.store.events(10).await.unwrap().len(), 3);
    world.start();
    let store = world.store.clone();
    until(async || store.events(10).await.unwrap().is_empty().then_some(())).await;
    world.stop().await;
    assert!(world.log(id).await.is_empty());
    assert!(world.receiver.requests().is_empty());
}

#[tokio::test]
async fn every_use_case_works_and_a_test_is_sent() {
    let mut policy = policy();
    policy.is_enabled = false;
    let world = Fixture::with(policy, Targets::All).await;
    let asked = request(&world.receiver.url("/hook"), &EventType::ALL);
    let webhook = world.create(asked).await;
    world
        .webhooks
        .rotate_secret(&Owner::Global, webhook.id, None)
        .await
        .unwrap();
    let change = restante_webhook::UpdateRequest::default();
    world.webhooks.update(&Owner::Global, webhook.id, change).await.unwrap();
    let outcome = world.webhooks.test(&Owner::Global, webhook.id).await.unwrap();
    assert!(outcome.success, "{outcome:?}");
    assert_eq!(world.receiver.requests().len(), 1);
}
