//! One target that takes everything and answers nothing, beside much mail and a target that answers.

use restante_model::EventType;
use restante_testkit::receiver::{Answer, Receiver, Stage};

use super::{hook, log, start, until};
use crate::memory::memory;
use crate::peer::Peer;

const BOB: &str = "bob@restante.test";

/// Attempts of one webhook at a time (interface, Limits).
const IN_FLIGHT: usize = 10;

/// Emails; `cargo xtask bench` has more.
const MANY: usize = 2_000;

/// Bytes of each body, which an event holds whole.
const BODY_BYTES: usize = 40_000;

/// What all of it may take of memory: much less than what waits for the dead target, which is on the disk.
const MAX_RISE: u64 = 40 << 20;

#[test]
fn a_dead_target_delays_nobody_and_takes_no_memory() {
    let home = tempfile::tempdir().unwrap();
    let (good, dead) = (Receiver::start(), Receiver::start());
    dead.always(Answer::stalled(Stage::BeforeStatus));
    let variables = [("WEBHOOK_TIMEOUT", "120000")];
    let server = start(home.path(), &variables);
    server.create(BOB, None);
    for target in [&dead, &good] {
        hook(&server, "/api/webhooks", &target.url("/"), &[EventType::EmailReceived]);
    }
    let before = memory(&server, "VmHWM");
    let line = format!("{}\r\n", "x".repeat(78));
    let message = format!("Subject: a\r\n\r\n{}", line.repeat(BODY_BYTES / line.len()));
    let mut peer = Peer::greeted(server.smtp);
    for _ in 0..MANY {
        peer.deliver(&[BOB], message.as_bytes());
    }
    good.block_for(MANY);
    let rise = memory(&server, "VmHWM") - before;
    assert!(rise < MAX_RISE, "{rise} bytes more");
    assert_eq!(good.requests().len(), MANY, "each once");
    assert_eq!(dead.requests().len(), IN_FLIGHT, "the others wait");
    server.kill();
}

#[test]
fn a_target_that_never_answers_is_given_up_and_nothing_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let dead = Receiver::start();
    dead.always(Answer::stalled(Stage::InHeaders));
    let server = start(home.path(), &[("WEBHOOK_TIMEOUT", "2000")]);
    server.create(BOB, None);
    let hook = hook(&server, "/api/webhooks", &dead.url("/"), &[EventType::EmailReceived]);
    let path = format!("/api/webhooks/{}", hook["id"].as_str().unwrap());
    let mut peer = Peer::greeted(server.smtp);
    for _ in 0..20 {
        peer.deliver(&[BOB], b"Subject: a\r\n\r\n");
    }
    until(
        "it is given up",
        || server.get(&path),
        |hook| hook["enabled"] == false && hook["disabledReason"] == "failures",
    );
    let parked = log(&server, &path);
    assert!(parked.iter().any(|delivery| delivery["attempt"] == 1), "{parked:?}");
    server.kill();

    // What was queued goes on when somebody enables it, in another life of the server.
    let server = start(home.path(), &[]);
    dead.always(Answer::status(200));
    let enable = serde_json::json!({ "enabled": true });
    let _ = server.request("PATCH", &path, Some(&enable)).expect_status(200);
    let unheard = parked.iter().filter(|delivery| delivery["attempt"] != 1).count();
    assert!(unheard > 0, "{parked:?}");
    until(
        "those that were never attempted are told",
        || log(&server, &path),
        |log| log.iter().filter(|delivery| delivery["statusCode"] == 200).count() >= unheard,
    );
    server.stop();
}
