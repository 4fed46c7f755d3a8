//! What a kill leaves behind.

use std::collections::BTreeSet;
use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use restante_testkit::receiver::{Answer, Stage};
use restante_webhook::DeliveryStatus;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::fixture::Fixture;

#[tokio::test]
async fn nothing_is_lost_between_the_event_and_its_outcome() {
    let mut world = Fixture::new().await;
    world.receiver.always(Answer::status(200).held());
    let id = world.webhook().await;
    world.start();
    for _ in 0..15 {
        world.mail("before").await;
    }
    let before = world.receiver.wait_for(10).await;
    let mut world = world.restart().await;
    // Stored while no dispatcher runs.
    world.mail("between").await;
    world.receiver.always(Answer::status(200));
    world.receiver.release();
    world.start();
    let is_done = |log: &[restante_webhook::DeliveryView]| {
        log.len() == 16 && log.iter().all(|delivery| delivery.status == DeliveryStatus::Success)
    };
    let log = world.log_when(id, is_done).await;
    let after = world.receiver.requests().split_off(10);
    let ids = |requests: &[restante_testkit::receiver::Request]| -> BTreeSet<String> {
        let names = requests
            .iter()
            .map(|request| request.header("x-vault-delivery").unwrap().to_owned());
        names.collect()
    };
    let all: BTreeSet<_> = log.iter().map(|delivery| delivery.id.to_string()).collect();
    assert_eq!(ids(&after), all);
    assert!(
        ids(&before).is_subset(&all),
        "an attempt that was broken off is made again under the same id"
    );
    assert!(log.iter().all(|delivery| delivery.attempts == 1));
}

#[tokio::test]
async fn overdue_retries_are_spread_over_the_first_half_minute() {
    let mut world = Fixture::new().await;
    world.receiver.script(vec![Answer::status(500); 4]);
    let id = world.webhook().await;
    world.start();
    for _ in 0..4 {
        world.mail("one").await;
    }
    world
        .log_when(id, |log| {
            log.len() == 4 && log.iter().all(|delivery| delivery.attempts == 1)
        })
        .await;
    let mut world = world.restart().await;
    world.clock.advance(Duration::from_hours(1));
    world.start();
    world.mail("new").await;
    world
        .log_when(id, |log| {
            log.first()
                .is_some_and(|delivery| delivery.status == DeliveryStatus::Success)
        })
        .await;
    let requests = world.receiver.requests();
    assert!(requests.len() < 9, "a new event does not wait for the overdue ones");
    world.pass(Duration::from_secs(30));
    world
        .log_when(id, |log| {
            log.iter().all(|delivery| delivery.status == DeliveryStatus::Success)
        })
        .await;
    assert_eq!(world.receiver.requests().len(), 9);
}

#[tokio::test]
async fn a_dispatcher_that_stops_settles_what_is_under_way() {
    let mut world = Fixture::new().await;
    world.receiver.always(Answer::status(200).held());
    let id = world.webhook().await;
    world.start();
    for _ in 0..12 {
        world.mail("one").await;
    }
    world.receiver.wait_for(10).await;
    world.receiver.always(Answer::status(200));
    world.receiver.release();
    world.stop().await;
    let log = world.log(id).await;
    let done = log
        .iter()
        .filter(|delivery| delivery.status == DeliveryStatus::Success)
        .count();
    assert!(done >= 10, "{done}");
    assert_eq!(done, world.receiver.requests().len());
}

#[tokio::test]
async fn a_dispatcher_that_stops_sleeps_until_what_is_under_way_ends() {
    let world = Fixture::new().await;
    let answers = [Answer::stalled(Stage::BeforeStatus), Answer::status(200).held()];
    world.receiver.script(answers);
    let id = world.webhook().await;
    let (stop, polls) = (CancellationToken::new(), Arc::new(AtomicUsize::new(0)));
    let mut dispatcher = JoinSet::new();
    dispatcher.spawn({
        let (webhooks, stop, polls) = (world.webhooks.clone(), stop.clone(), Arc::clone(&polls));
        async move {
            let mut running = Box::pin(webhooks.run_dispatcher(stop));
            poll_fn(|context| {
                polls.fetch_add(1, Ordering::Relaxed);
                running.as_mut().poll(context)
            })
            .await;
        }
    });
    world.mail("one").await;
    world.mail("two").await;
    world.receiver.wait_for(2).await;
    stop.cancel();
    world.receiver.release();
    world
        .log_when(id, |log| {
            log.iter().any(|delivery| delivery.status == DeliveryStatus::Success)
        })
        .await;
    let before = polls.load(Ordering::Relaxed);
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let polls = polls.load(Ordering::Relaxed) - before;
    assert!(polls < 100, "{polls} times it found nothing to do");
    dispatcher.shutdown().await;
}
