//! When attempts are made, and what stays the same between them.

use std::time::Duration;

use restante_model::Clock;
use restante_testkit::receiver::Answer;
use restante_webhook::{DeliveryStatus, Signable, Switch, sign};

use crate::fixture::Fixture;

/// The delays before the attempts after the first (docs/spec/interface.md, "Delivery").
const DELAYS: [Duration; 4] = [
    Duration::from_secs(30),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(4),
];

#[tokio::test]
async fn five_attempts_follow_the_schedule_to_the_millisecond() {
    let mut world = Fixture::new().await;
    world.receiver.script(vec![Answer::status(500); 4]);
    let id = world.webhook().await;
    world.start();
    world.mail("one").await;
    let mut sent_at = Vec::new();
    for (attempts, delay) in (1..).zip(DELAYS) {
        let delivery = world.attempted(id, attempts).await;
        sent_at.push(world.clock.now());
        assert_eq!(delivery.status, DeliveryStatus::Pending);
        assert_eq!(delivery.status_code, Some(500));
        assert_eq!(delivery.next_attempt_at, Some(world.clock.now().after(delay)));
        world.pass(delay);
    }
    sent_at.push(world.clock.now());
    let delivery = world.attempted(id, 5).await;
    assert_eq!(delivery.status, DeliveryStatus::Success);
    assert_eq!((delivery.error, delivery.next_attempt_at), (None, None));
    assert_eq!(delivery.completed_at, Some(world.clock.now()));
    world.stop().await;

    let (requests, webhook) = (world.receiver.requests(), world.get(id).await);
    assert_eq!(requests.len(), 5);
    for ((request, at), attempt) in requests.iter().zip(sent_at).zip(1..) {
        let signable = Signable {
            event_id: &delivery.event_id.to_string(),
            event_type: delivery.event_type,
            delivery_id: &delivery.id.to_string(),
            attempt,
            timestamp: at.unix_secs(),
            body: &requests[0].body,
        };
        for (name, value) in sign(&signable, &webhook.secret, None) {
            assert_eq!(request.header(name), Some(value.as_str()), "attempt {attempt}");
        }
        assert_eq!(request.body, requests[0].body);
        assert_eq!(request.json()["id"], delivery.event_id.to_string());
    }
    let activity = webhook.activity;
    assert_eq!(
        (activity.successful, activity.failed, activity.failures_in_a_row),
        (1, 4, 0)
    );
    assert_eq!(activity.last.unwrap().started_at, world.clock.now().unix_ms());
}

#[tokio::test]
async fn after_the_last_attempt_a_delivery_has_failed_and_its_webhook_is_disabled() {
    let mut world = Fixture::new().await;
    world.receiver.always(Answer::status(410).body("gone"));
    let id = world.webhook().await;
    world.start();
    world.mail("one").await;
    for (attempts, delay) in (1..).zip(DELAYS) {
        world.attempted(id, attempts).await;
        assert_eq!(world.get(id).await.switch, Switch::Enabled);
        world.pass(delay);
    }
    let delivery = world.attempted(id, 5).await;
    assert_eq!(delivery.status, DeliveryStatus::Failed);
    assert_eq!(delivery.next_attempt_at, None);
    assert_eq!(delivery.response.as_deref(), Some("gone"));
    assert!(delivery.error.is_some());
    assert_eq!(world.get(id).await.switch, Switch::DisabledByFailures);
}

#[tokio::test]
async fn a_retry_that_becomes_due_is_made_without_being_told() {
    let mut world = Fixture::new().await;
    world.receiver.script([Answer::status(500)]);
    let id = world.webhook().await;
    world.start();
    world.mail("one").await;
    world.attempted(id, 1).await;
    // The dispatcher sees that the retry is due in 50 ms; nobody tells it when these have passed.
    world.pass(Duration::from_millis(29_950));
    world.clock.advance(Duration::from_millis(50));
    assert_eq!(world.attempted(id, 2).await.status, DeliveryStatus::Success);
}

#[tokio::test]
async fn the_schedule_goes_on_across_a_restart() {
    let mut world = Fixture::new().await;
    world.receiver.script([Answer::status(500), Answer::status(500)]);
    let id = world.webhook().await;
    world.start();
    world.mail("one").await;
    let first = world.attempted(id, 1).await;
    world.pass(DELAYS[0]);
    world.attempted(id, 2).await;
    let mut world = world.restart().await;
    world.clock.advance(DELAYS[1]);
    world.start();
    let third = world.attempted(id, 3).await;
    assert_eq!(third.status, DeliveryStatus::Success);
    assert_eq!((third.id, third.event_id), (first.id, first.event_id));
    let attempts = world.receiver.requests();
    let attempts: Vec<_> = attempts
        .iter()
        .filter_map(|request| request.header("x-vault-attempt"))
        .collect();
    assert_eq!(attempts, ["1", "2", "3"]);
}
