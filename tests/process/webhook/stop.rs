//! How a server with attempts under way stops.

use std::time::Duration;

use restante_model::EventType;
use restante_testkit::receiver::{Answer, Receiver, Stage};

use super::{Told, hook, log, start, told};
use crate::daemon::Daemon;
use crate::peer::Peer;

const BOB: &str = "bob@restante.test";

/// Container runtimes kill after ten seconds.
const GRACE: Duration = Duration::from_secs(10);

/// A server whose first attempt waits for an answer; the path of the webhook.
fn attempting(server: &Daemon, receiver: &Receiver) -> String {
    server.create(BOB, None);
    let hook = hook(server, "/api/webhooks", &receiver.url("/"), &[EventType::EmailReceived]);
    Peer::greeted(server.smtp).deliver(&[BOB], b"Subject: a\r\n\r\n");
    receiver.block_for(1);
    format!("/api/webhooks/{}", hook["id"].as_str().unwrap())
}

#[test]
fn an_attempt_that_gets_its_answer_in_time_is_recorded() {
    let home = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    receiver.always(Answer::status(201).held());
    let server = start(home.path(), &[]);
    let path = attempting(&server, &receiver);
    server.terminate();
    server.wait_for_log("stopping");
    receiver.release();
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.took < GRACE, "{:?}", ended.took);

    let server = start(home.path(), &[]);
    let log = log(&server, &path);
    assert_eq!(
        (log[0]["attempt"].as_u64(), log[0]["statusCode"].as_u64()),
        (Some(1), Some(201))
    );
    server.stop();
    assert_eq!(told(&receiver).len(), 1, "once is enough");
}

#[test]
fn an_attempt_that_gets_no_answer_holds_nobody_and_is_made_again() {
    let home = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    receiver.script([Answer::stalled(Stage::BeforeStatus)]);
    let server = start(home.path(), &[("WEBHOOK_TIMEOUT", "60000")]);
    let path = attempting(&server, &receiver);
    server.terminate();
    let ended = server.wait();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.took < GRACE, "{:?}", ended.took);

    let server = start(home.path(), &[]);
    receiver.block_for(2);
    let [first, second] = told(&receiver).try_into().unwrap();
    assert_eq!(
        Told {
            attempt: 1,
            ..second.clone()
        },
        first
    );
    assert_eq!(second.attempt, 1, "nothing was recorded of the first");
    server.stop();
    let server = start(home.path(), &[]);
    assert_eq!(log(&server, &path)[0]["statusCode"], 200);
    server.stop();
}
