//! Connections are kept for a while, and what happens to them meanwhile is no failure of the target.

use std::time::Duration;

use restante_testkit::receiver::{Answer, Receiver};

use super::bench::{attempt, failure, sender};

#[tokio::test]
async fn connections_are_used_again() {
    let receiver = Receiver::start();
    let sender = sender();
    for _ in 0..5 {
        assert!(sender.send(&attempt(&receiver.url("/"))).await.is_success());
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_target_that_closes_after_each_answer_never_fails() {
    let receiver = Receiver::start();
    receiver.always(Answer::status(200).then_closed());
    let sender = sender();
    for _ in 0..50 {
        let outcome = sender.send(&attempt(&receiver.url("/"))).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
    assert_eq!(receiver.connections(), 50);
}

/// The race that no client wins: the target closes a kept connection while a request is on its way.
#[tokio::test]
async fn a_kept_connection_that_closes_is_replaced_once_within_the_attempt() {
    let receiver = Receiver::start();
    let sender = sender();
    receiver.script([Answer::status(200), Answer::closed(), Answer::status(200)]);
    for _ in 0..2 {
        let outcome = sender.send(&attempt(&receiver.url("/"))).await;
        assert!(outcome.is_success(), "{outcome:?}");
    }
    let connections: Vec<_> = receiver.requests().iter().map(|request| request.connection).collect();
    assert_eq!(connections, [1, 1, 2]);

    receiver.script([Answer::status(200), Answer::closed(), Answer::closed()]);
    assert!(sender.send(&attempt(&receiver.url("/"))).await.is_success());
    let outcome = sender.send(&attempt(&receiver.url("/"))).await;
    assert_eq!(failure(&outcome), "the target closed the connection without an answer");
    assert_eq!(receiver.requests().len(), 6);
}

#[tokio::test]
async fn a_target_that_never_answered_gets_one_request_an_attempt() {
    let receiver = Receiver::start();
    receiver.always(Answer::closed());
    let sender = sender();
    for _ in 0..2 {
        sender.send(&attempt(&receiver.url("/"))).await;
    }
    assert_eq!(receiver.requests().len(), 2);
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed() {
    let receivers = [Receiver::start(), Receiver::start()];
    let sender = sender();
    for receiver in &receivers {
        assert!(sender.send(&attempt(&receiver.url("/"))).await.is_success());
    }
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10)).await;
    for receiver in &receivers {
        receiver.wait_for_no_connection().await;
    }
}

#[tokio::test]
async fn attempts_to_one_target_go_side_by_side() {
    let receiver = Receiver::start();
    receiver.always(Answer::status(200).held());
    let sender = sender();
    let attempt = attempt(&receiver.url("/"));
    let sending = async { tokio::join!(sender.send(&attempt), sender.send(&attempt), sender.send(&attempt)) };
    let releasing = async {
        receiver.wait_for(3).await;
        receiver.release();
    };
    let ((first, second, third), ()) = tokio::join!(sending, releasing);
    assert!(first.is_success() && second.is_success() && third.is_success());
    assert_eq!((receiver.connections(), receiver.most_in_flight()), (3, 3));
}
