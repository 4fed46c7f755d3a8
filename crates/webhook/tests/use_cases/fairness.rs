//! How much is under way at a time, and who waits for whom.

use restante_model::EventType;
use restante_testkit::receiver::{Answer, Receiver, Stage};
use restante_webhook::DeliveryStatus;

use crate::fixture::{Fixture, request};

const STORED: [EventType; 1] = [EventType::EmailStored];

#[tokio::test]
async fn ten_of_a_webhook_and_a_hundred_in_all_are_under_way() {
    const WEBHOOKS: usize = 11;
    const MAILS: usize = 12;
    let mut world = Fixture::new().await;
    world.receiver.always(Answer::status(200).held());
    for number in 0..WEBHOOKS {
        world
            .create(request(&world.receiver.url(&format!("/{number}")), &STORED))
            .await;
    }
    for _ in 0..MAILS {
        world.mail("one").await;
    }
    world.start();
    let requests = world.receiver.wait_for(100).await;
    for number in 0..WEBHOOKS {
        let of_it = requests
            .iter()
            .filter(|request| request.target == format!("/{number}"))
            .count();
        assert!(of_it <= 10, "{of_it} of webhook {number}");
    }
    world.receiver.always(Answer::status(200));
    world.receiver.release();
    world.receiver.wait_for(WEBHOOKS * MAILS).await;
    world.stop().await;
    assert_eq!(world.receiver.most_in_flight(), 100);
    assert_eq!(world.receiver.requests().len(), WEBHOOKS * MAILS);
}

#[tokio::test]
async fn one_dead_target_delays_nobody_else() {
    const MAILS: usize = 100;
    let mut world = Fixture::new().await;
    let dead = Receiver::start();
    dead.always(Answer::stalled(Stage::BeforeStatus));
    world.create(request(&dead.url("/dead"), &STORED)).await;
    let alive = world.webhook().await;
    world.start();
    for _ in 0..MAILS {
        world.mail("one").await;
    }
    world.receiver.wait_for(MAILS).await;
    let is_done = |delivery: &restante_webhook::DeliveryView| delivery.status == DeliveryStatus::Success;
    world
        .log_when(alive, |log| log.len() == MAILS && log.iter().all(is_done))
        .await;
    // The first attempts at the dead target have not come to their time-out yet.
    assert_eq!(dead.wait_for(10).await.len(), 10);
}
