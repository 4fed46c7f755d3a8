//! Retries outlive the process, with their number, their moment and their ids.

use std::sync::mpsc;
use std::time::Duration;

use restante_model::EventType;
use restante_testkit::receiver::{Answer, Receiver};
use serde_json::Value;

use super::{Told, hook, log, start, told, until};
use crate::daemon::{Daemon, now};
use crate::peer::Peer;

const BOB: &str = "bob@restante.test";

/// A webhook with one delivery whose first attempt has failed, and is known to have.
fn failed_once(server: &Daemon, receiver: &Receiver) -> String {
    receiver.script([Answer::status(500).body("not now")]);
    server.create(BOB, None);
    let hook = hook(server, "/api/webhooks", &receiver.url("/"), &[EventType::EmailReceived]);
    Peer::greeted(server.smtp).deliver(&[BOB], b"Subject: a\r\n\r\n");
    let path = format!("/api/webhooks/{}", hook["id"].as_str().unwrap());
    until(
        "the first attempt is recorded",
        || log(server, &path),
        |log| log.len() == 1 && log[0]["attempt"] == 1,
    );
    path
}

#[test]
fn a_retry_comes_at_its_moment_though_the_server_was_killed() {
    let home = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let server = start(home.path(), &[]);
    let path = failed_once(&server, &receiver);
    let failed = now();
    let (sender, retried) = mpsc::sync_channel(1);
    receiver.by_rule(move |_| {
        // Nobody listens any more when the test has ended.
        let _ = sender.try_send(now());
        Answer::status(200)
    });
    let before = log(&server, &path);
    server.kill();
    let server = start(home.path(), &[]);
    assert_eq!(log(&server, &path), before, "what the log says is kept");
    let came = retried.recv_timeout(Duration::from_mins(1)).expect("it is tried again");
    let waited = came - failed;
    // The log was read a moment after the attempt had failed.
    assert!(
        waited > Duration::from_secs(25) && waited < Duration::from_secs(45),
        "{waited:?}"
    );
    let [first, second] = told(&receiver).try_into().unwrap();
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(Told { attempt: 1, ..second }, first, "all else is the same");
    until(
        "the second attempt is recorded",
        || log(&server, &path),
        |log| log[0]["attempt"] == 2 && log[0]["statusCode"] == 200,
    );
    server.stop();
}

#[test]
fn statistics_log_and_numbers_go_on_where_they_were() {
    let home = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let mut server = start(home.path(), &[]);
    let path = failed_once(&server, &receiver);
    receiver.always(Answer::status(503));
    // By hand, since the schedule takes its time. One attempt less than what disables it.
    for attempt in 2..=4 {
        server.kill();
        server = start(home.path(), &[]);
        let delivery = log(&server, &path)[0]["id"].as_str().unwrap().to_owned();
        let again = format!("{path}/deliveries/{delivery}/redeliver");
        assert_eq!(
            server.request("POST", &again, None).expect_status(202).json()["id"],
            delivery.as_str()
        );
        let log = until(
            "the attempt is recorded",
            || log(&server, &path),
            |log| log[0]["attempt"] == attempt,
        );
        assert_eq!((log.len(), &log[0]["id"]), (1, &Value::from(delivery)));
    }
    let attempts: Vec<_> = told(&receiver).into_iter().map(|told| told.attempt).collect();
    assert_eq!(attempts, [1, 2, 3, 4]);
    let hook = server.get(&path);
    assert_eq!(hook["enabled"], true);
    assert_eq!(hook["stats"]["failedDeliveries"], 4);
    assert_eq!(hook["stats"]["totalDeliveries"], 4);
    server.stop();
}
