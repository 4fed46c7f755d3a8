//! The log of deliveries, and making one again.

use restante_model::{DeliveryId, EventId, EventType};
use restante_testkit::receiver::Answer;
use restante_webhook::{DeliveriesRequest, DeliveryStatus, Owner, WebhookError};

use crate::fixture::{Fixture, request};

#[tokio::test]
async fn the_log_shows_the_last_hundred_newest_first_and_page_by_page() {
    let mut world = Fixture::new().await;
    world.receiver.always(Answer::status(200).body("x".repeat(2000)));
    let id = world.webhook().await;
    world.start();
    let mut emails = Vec::new();
    for _ in 0..105 {
        emails.push(world.mail("one").await);
    }
    world.receiver.wait_for(105).await;
    let is_done = |log: &[restante_webhook::DeliveryView]| {
        log.len() == 100 && log.iter().all(|delivery| delivery.status == DeliveryStatus::Success)
    };
    let log = world.log_when(id, is_done).await;
    // Attempts under way end in any order, and what ended first goes first.
    assert!(log.is_sorted_by_key(|delivery| {
        let place = |email| EventId::of(email, EventType::EmailStored, None) == delivery.event_id;
        std::cmp::Reverse(emails.iter().position(|email| place(*email)))
    }));
    assert_eq!(log[0].response.as_ref().map(String::len), Some(1024));
    assert_eq!(log[0].status_code, Some(200));
    assert!(log[0].duration_ms.is_some_and(|ms| ms > 0));

    let mut paged = Vec::new();
    let mut before = None;
    loop {
        let page = DeliveriesRequest { limit: 30, before };
        let page = world.webhooks.deliveries(&Owner::Global, id, page).await.unwrap();
        paged.extend(page.deliveries.iter().map(|delivery| delivery.id));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(paged, log.iter().map(|delivery| delivery.id).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_delivery_is_made_once_more_with_the_next_number() {
    let mut world = Fixture::new().await;
    world.receiver.script([Answer::status(200), Answer::status(500)]);
    let id = world.webhook().await;
    world.start();
    world.mail("one").await;
    let first = world.attempted(id, 1).await;
    world.webhooks.redeliver(&Owner::Global, id, first.id).await.unwrap();
    let again = world.attempted(id, 2).await;
    assert_eq!(again.id, first.id);
    assert_eq!(
        (again.status, again.next_attempt_at),
        (DeliveryStatus::Failed, None),
        "once"
    );
    world.stop().await;
    let requests = world.receiver.requests();
    let attempts: Vec<_> = requests
        .iter()
        .filter_map(|request| request.header("x-vault-attempt"))
        .collect();
    assert_eq!(attempts, ["1", "2"]);
    assert_eq!(requests[0].body, requests[1].body);
}

#[tokio::test]
async fn nothing_is_made_again_that_is_unknown_or_whose_email_is_gone() {
    let mut world = Fixture::new().await;
    let id = world.webhook().await;
    let other = world
        .create(request(&world.receiver.url("/other"), &[EventType::EmailDeleted]))
        .await
        .id;
    world.start();
    let email = world.mail("one").await;
    let delivery = world.attempted(id, 1).await.id;
    let webhooks = world.webhooks.clone();
    let refusal = async |id, delivery| webhooks.redeliver(&Owner::Global, id, delivery).await.unwrap_err();
    let unknown = DeliveryId::from_bytes([1; 16]);
    assert_eq!(refusal(id, unknown).await, WebhookError::NoDelivery);
    assert_eq!(refusal(other, delivery).await, WebhookError::NoDelivery);
    let elsewhere = webhooks.redeliver(&world.owner(), id, delivery).await;
    assert_eq!(elsewhere.unwrap_err(), WebhookError::NoWebhook);
    world.delete(email).await;
    assert_eq!(refusal(id, delivery).await, WebhookError::NoEvent);
}
