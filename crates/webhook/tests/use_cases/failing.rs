//! What failures do to a webhook.

use std::time::Duration;

use restante_model::{EmailId, EventType};
use restante_testkit::receiver::Answer;
use restante_webhook::{DeliveryStatus, DeliveryView, Owner, Switch, UpdateRequest};

use crate::fixture::{Fixture, Targets, policy, until};

fn enabled(enabled: bool) -> UpdateRequest {
    UpdateRequest {
        enabled: Some(enabled),
        ..UpdateRequest::default()
    }
}

#[tokio::test]
async fn five_failures_in_a_row_disable_a_webhook_and_its_retries_go_on_when_it_is_enabled_again() {
    let mut world = Fixture::new().await;
    world.receiver.script(vec![Answer::status(503); 5]);
    let id = world.webhook().await;
    world.start();
    for _ in 0..5 {
        world.mail("one").await;
    }
    world
        .log_when(id, |log| {
            log.iter().filter(|delivery| delivery.attempts == 1).count() == 5
        })
        .await;
    let webhook = world.get(id).await;
    assert_eq!(webhook.switch, Switch::DisabledByFailures);
    assert_eq!(webhook.activity.failures_in_a_row, 5);

    world.pass(Duration::from_hours(1));
    world.mail("while it is disabled").await;
    world.stop().await;
    assert_eq!(world.receiver.requests().len(), 5);
    assert_eq!(world.log(id).await.len(), 5, "new events are not queued");

    let webhook = world.webhooks.update(&Owner::Global, id, enabled(true)).await.unwrap();
    assert_eq!(
        (webhook.switch, webhook.activity.failures_in_a_row),
        (Switch::Enabled, 0)
    );
    world.start();
    let log = world
        .log_when(id, |log| log.iter().all(|delivery| delivery.attempts == 2))
        .await;
    assert!(log.iter().all(|delivery| delivery.status == DeliveryStatus::Success));
    let activity = world.get(id).await.activity;
    assert_eq!((activity.successful, activity.failed), (5, 5));
}

#[tokio::test]
async fn the_outcome_of_an_attempt_counts_though_the_webhook_was_disabled_meanwhile() {
    let mut world = Fixture::new().await;
    world.receiver.always(Answer::status(200).held());
    let id = world.webhook().await;
    world.start();
    for _ in 0..12 {
        world.mail("one").await;
    }
    world.receiver.wait_for(10).await;
    world.log_when(id, |log| log.len() == 12).await;
    world.webhooks.update(&Owner::Global, id, enabled(false)).await.unwrap();
    world.receiver.release();
    let successful = async || {
        let activity = world.get(id).await.activity;
        (activity.successful == 10).then_some(())
    };
    until(successful).await;
    world.stop().await;
    assert_eq!(
        world.receiver.requests().len(),
        10,
        "what waited for its turn is not sent"
    );
    assert_eq!(world.get(id).await.switch, Switch::DisabledManually);
    let waiting = world
        .log(id)
        .await
        .into_iter()
        .filter(|delivery| delivery.status == DeliveryStatus::Pending);
    assert_eq!(waiting.count(), 2);
}

#[tokio::test]
async fn retries_beyond_the_limit_end_the_oldest_and_count_as_failed() {
    let mut policy = policy();
    policy.max_retries_queued = 2;
    let mut world = Fixture::with(policy, Targets::All).await;
    world.receiver.always(Answer::status(500));
    let id = world.webhook().await;
    world.start();
    for count in 1..=3 {
        world.mail("one").await;
        world
            .log_when(id, |log| {
                log.iter().filter(|delivery| delivery.attempts == 1).count() == count
            })
            .await;
    }
    let log = world
        .log_when(id, |log| {
            log.iter().any(|delivery| delivery.status == DeliveryStatus::Failed)
        })
        .await;
    let statuses: Vec<_> = log.iter().map(|delivery| delivery.status).collect();
    assert_eq!(
        statuses,
        [DeliveryStatus::Pending, DeliveryStatus::Pending, DeliveryStatus::Failed]
    );
    let activity = world.get(id).await.activity;
    assert_eq!((activity.failed, activity.failures_in_a_row), (4, 3));
}

#[tokio::test]
async fn an_event_that_cannot_be_read_fails_at_once_and_the_next_goes_on() {
    let mut world = Fixture::new().await;
    let id = world.webhook().await;
    world.start();
    world
        .accept(&world.inbox, EmailId::new(crate::fixture::START), b"no event".to_vec())
        .await;
    world.mail("a good one").await;
    let log = world
        .log_when(id, |log| {
            log.len() == 2 && log.iter().all(|delivery| delivery.attempts == 1)
        })
        .await;
    assert_eq!(log[0].status, DeliveryStatus::Success);
    assert_eq!(log[1].status, DeliveryStatus::Failed);
    assert_eq!(log[1].error.as_deref(), Some("the data of the event cannot be read"));
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_webhook_that_may_not_be_used_any_more_fails_in_its_log_and_is_disabled() {
    let mut world = Fixture::new().await;
    let id = world.webhook_for(&EventType::ALL).await;
    let mut policy = policy();
    policy.allow_http = false;
    world.set_policy(policy);
    world.start();
    let email = world.mail("one").await;
    world.delete(email).await;
    let log = world
        .log_when(id, |log| {
            log.len() == 3 && log.iter().all(|delivery| delivery.status == DeliveryStatus::Failed)
        })
        .await;
    for delivery in log {
        let error = delivery.error.unwrap();
        assert!(error.contains("url must begin with https://"), "{error}");
    }
    world.mail("two").await;
    let is_disabled = async || (world.get(id).await.switch == Switch::DisabledByFailures).then_some(());
    until(is_disabled).await;
    assert_eq!(world.receiver.requests().len(), 0);
}

#[tokio::test]
async fn a_webhook_that_cannot_be_read_fails_in_its_log() {
    let mut world = Fixture::new().await;
    let id = world.webhook().await;
    world.lose_key();
    world.start();
    world.mail("one").await;
    let is_so =
        |log: &[DeliveryView]| log.len() == 2 && log.iter().all(|delivery| delivery.status == DeliveryStatus::Failed);
    for delivery in world.log_when(id, is_so).await {
        assert_eq!(
            delivery.error.as_deref(),
            Some("the stored configuration cannot be read")
        );
    }
}
