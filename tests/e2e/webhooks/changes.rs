//! PATCH, DELETE and repeated creations (interface, "States and transitions", "Webhook request shapes").

use std::sync::Arc;

use restante_model::Timestamp;
use restante_testkit::FakeClock;

use super::*;
use crate::harness::API_KEY;
use crate::harness::shape::is_moment;

fn everything() -> Value {
    json!({
        "template": "slack",
        "filter": { "mode": "any", "rules": [{ "field": "subject", "operator": "exists" }] },
        "description": "what it is for",
    })
}

#[test]
fn an_empty_change_changes_nothing_but_when_it_was_changed() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &everything()));
    assert_eq!(hook.created.get("updatedAt"), None);
    for body in [Some(json!({})), None] {
        let changed = server
            .request("PATCH", &hook.path, body.as_ref())
            .expect_status(200)
            .json();
        assert!(is_moment(changed["updatedAt"].as_str().unwrap()));
        let mut expected = hook.created.clone();
        expected["updatedAt"] = changed["updatedAt"].clone();
        expected.as_object_mut().unwrap().remove("secret");
        assert_eq!(changed, expected);
    }
}

#[test]
fn each_field_changes_alone() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &everything()));
    for (name, value) in [
        ("url", json!("http://127.0.0.1:2/other?x#y")),
        ("events", json!(["email.deleted", "email.deleted"])),
        ("template", json!("zapier")),
        ("template", json!({ "type": "custom", "body": "[]" })),
        ("filter", json!({ "mode": "all", "rules": [] })),
        ("description", json!("")),
        ("enabled", json!(false)),
        ("enabled", json!(true)),
    ] {
        let mut expected = hook.get(&server);
        let changed = hook.patch(&server, &json!({ name: value }));
        assert_eq!(changed[name], value);
        expected[name] = value;
        expected["updatedAt"] = changed["updatedAt"].clone();
        let mut now = hook.get(&server);
        now.as_object_mut().unwrap().remove("disabledReason");
        expected.as_object_mut().unwrap().remove("disabledReason");
        assert_eq!(now, expected, "{name}");
    }
}

#[test]
fn null_removes_what_may_be_absent() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &everything()));
    for name in ["template", "filter", "description"] {
        assert_eq!(hook.patch(&server, &json!({ name: null })).get(name), None);
        assert_eq!(hook.get(&server).get(name), None);
        // What is not there can be removed too.
        hook.patch(&server, &json!({ name: null }));
    }
}

#[test]
fn a_disabled_webhook_says_why_and_an_enabled_one_nothing() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    assert_eq!(hook.created["enabled"], true);
    hook.patch(&server, &json!({ "enabled": false }));
    let disabled = hook.get(&server);
    assert_eq!(
        (&disabled["enabled"], &disabled["disabledReason"]),
        (&json!(false), &json!("manual"))
    );
    for _ in 0..2 {
        hook.patch(&server, &json!({ "enabled": true }));
        let enabled = hook.get(&server);
        assert_eq!(
            (&enabled["enabled"], enabled.get("disabledReason")),
            (&json!(true), None)
        );
    }
}

#[test]
fn a_deleted_webhook_is_gone() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    let answer = server.delete(&hook.path).expect_status(204);
    assert_eq!(answer.body, "");
    for answer in [
        server.delete(&hook.path),
        server.get(&hook.path),
        patch(&server, &hook.path, &json!({})),
    ] {
        assert_refused(&answer, 404, format!("Webhook not found: {}", hook.id()));
    }
    assert_eq!(server.get(GLOBAL).json()["total"], 0);
}

/// Sends a POST with an `Idempotency-Key`.
fn post_once(server: &TestServer, path: &str, key: &str, body: &str) -> Answer {
    let headers = [
        ("X-API-Key", API_KEY),
        ("Content-Type", "application/json"),
        ("Idempotency-Key", key),
    ];
    server.bare_request("POST", path, &headers, body)
}

#[test]
fn a_repeated_creation_gets_the_first_webhook() {
    let now = Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap();
    let clock = Arc::new(FakeClock::at(now));
    let server = TestServer::start_with_clock(&[("WEBHOOK_ALLOW_HTTP", "true")], clock.clone());
    server.create_plain(BOB);
    let body = wanted(NOBODY, &["email.stored"], &json!({})).to_string();
    for (key, at) in [("one", GLOBAL.to_owned()), ("two", webhooks_of(BOB))] {
        let first = post_once(&server, &at, key, &body).expect_status(201).body;
        clock.advance(Duration::from_secs(599));
        assert_eq!(post_once(&server, &at, key, &body).expect_status(201).body, first);
        let other = wanted(NOBODY, &["email.deleted"], &json!({})).to_string();
        let reused = post_once(&server, &at, key, &other);
        assert_refused(&reused, 409, "Idempotency-Key was used with another request body");
        assert_eq!(server.get(&at).json()["total"], 1);
        clock.advance(Duration::from_secs(1));
        assert_ne!(post_once(&server, &at, key, &body).expect_status(201).body, first);
    }
    for key in ["k".repeat(256), String::new()] {
        let answer = post_once(&server, GLOBAL, &key, &body);
        assert_refused(&answer, 400, "Idempotency-Key must have 1 to 255 characters");
    }
}

#[test]
fn a_repeated_test_and_a_repeated_redelivery_are_made_once() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    for at in [GLOBAL, &webhooks_of(BOB)] {
        let hook = Hook::new(&server, at, &receiver, &["email.received"]);
        server.send_raw(BOB, "\r\n");
        hook.after(&server, 1);
        let before = receiver.requests().len();
        let path = hook.at("test");
        let first = post_once(&server, &path, "one", "").expect_status(200).body;
        assert_eq!(post_once(&server, &path, "one", "").expect_status(200).body, first);
        assert_eq!(receiver.requests().len(), before + 1);
        let reused = post_once(&server, &path, "one", "{}");
        assert_refused(&reused, 409, "Idempotency-Key was used with another request body");

        let delivery = hook.deliveries(&server)[0]["id"].as_str().unwrap().to_owned();
        let path = hook.at(&format!("deliveries/{delivery}/redeliver"));
        let first = post_once(&server, &path, "one", "").expect_status(202).body;
        hook.after(&server, 2);
        assert_eq!(post_once(&server, &path, "one", "").expect_status(202).body, first);
        post_once(&server, &path, "two", "").expect_status(202);
        hook.after(&server, 3);
        assert_eq!(receiver.requests().len(), before + 3);
        server.delete(&hook.path).expect_status(204);
        post_once(&server, &hook.at("test"), "other", "").expect_status(404);
    }
}

#[test]
fn a_rule_that_needs_no_value_shows_an_empty_one() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &everything()));
    assert_eq!(hook.get(&server)["filter"]["rules"][0]["value"], "");
}

#[test]
fn webhooks_survive_a_restart() {
    let server = start(&[]);
    server.create_plain(BOB);
    let global = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &everything()));
    let of_bob = Hook::create(
        &server,
        &webhooks_of(BOB),
        &wanted(NOBODY, &["email.deleted"], &json!({})),
    );
    of_bob.patch(&server, &json!({ "enabled": false }));
    let before = [global.get(&server), of_bob.get(&server)];
    let server = TestServer::start_in(
        server.stop(),
        &[("WEBHOOK_ALLOW_HTTP", "true")],
        Arc::new(restante_model::SystemClock),
    );
    assert_eq!([global.get(&server), of_bob.get(&server)], before);
    assert_eq!(before[0]["secret"], global.secret());
}
