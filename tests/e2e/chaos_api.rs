//! Asking for faults over HTTP: what is set, shown and refused (interface additions, "Chaos").

use std::sync::Arc;

use insta::assert_snapshot;
use restante_model::{SystemClock, Timestamp};
use restante_testkit::FakeClock;
use serde_json::{Value, json};

use crate::harness::{API_KEY, Answer, TestServer, shape};

const ON: (&str, &str) = ("CHAOS_ENABLED", "true");
const INBOX: &str = "/api/inboxes/bob@restante.test";
const PATH: &str = "/api/inboxes/bob@restante.test/chaos";

/// A server where the inbox of the tests may ask for faults.
fn server() -> TestServer {
    let server = TestServer::start(&[ON]);
    server.create_plain("bob@restante.test");
    server
}

fn set(server: &TestServer, chaos: &Value) -> Answer {
    server.request("POST", PATH, Some(chaos))
}

/// Every section, each of them switched on and nothing more.
fn everything() -> Value {
    let on = json!({ "enabled": true });
    json!({
        "enabled": true, "expiresAt": "2026-01-25T12:41:16+01:00", "latency": on, "connectionDrop": on,
        "randomError": on, "greylist": on, "blackhole": on,
    })
}

#[test]
fn nothing_is_asked_for_until_it_is() {
    let server = server();
    let answer = server.get(PATH).expect_status(200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.body, r#"{"enabled":false}"#);
}

#[test]
fn what_is_set_is_shown_with_its_defaults_until_it_is_taken_away() {
    let server = server();
    let answer = set(&server, &everything()).expect_status(200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_snapshot!("everything", shape(&answer.body));
    assert_eq!(server.get(PATH).expect_status(200).body, answer.body);
    for _ in 0..2 {
        assert_eq!(server.delete(PATH).expect_status(204).body, "");
        assert_eq!(server.get(PATH).expect_status(200).body, r#"{"enabled":false}"#);
    }
}

#[test]
fn a_post_replaces_all_that_was_set() {
    let server = server();
    set(&server, &everything()).expect_status(200);
    let greylist = json!({ "enabled": true, "greylist": { "enabled": true, "maxAttempts": 3 } });
    let expected = json!({
        "enabled": true,
        "greylist": { "enabled": true, "retryWindowMs": 300_000, "maxAttempts": 3, "trackBy": "ip_sender" },
    });
    assert_eq!(set(&server, &greylist).expect_status(200).json(), expected);
    assert_eq!(server.get(PATH).json(), expected);
    let off = set(&server, &json!({ "enabled": false })).expect_status(200);
    assert_eq!(off.body, r#"{"enabled":false}"#);
    assert_eq!(server.get(PATH).body, off.body);
}

/// One that is over is shown as it was set: clients see why nothing happens.
#[test]
fn an_end_that_is_past_is_taken() {
    let server = server();
    let past = json!({ "enabled": true, "expiresAt": "2001-09-09T01:46:40Z", "blackhole": { "enabled": true } });
    let shown = set(&server, &past).expect_status(200).json();
    assert_eq!(shown["expiresAt"], "2001-09-09T01:46:40.000Z");
    assert_eq!(shown["enabled"], true);
    server.send_raw("bob@restante.test", "Subject: a\r\n\r\nb\r\n");
    assert_eq!(server.email_ids("bob@restante.test").len(), 1, "it is off");
}

#[test]
fn every_error_is_named_by_its_path() {
    let server = server();
    for (body, message) in [
        (json!({}), json!("enabled is required")),
        (json!({ "enabled": "yes" }), json!("enabled must be a boolean")),
        (
            json!({ "enabled": true, "latency": { "enabled": true, "maxDelayMs": 60_001 } }),
            json!("latency.maxDelayMs must be a whole number from 0 to 60000"),
        ),
        (
            json!({ "enabled": true, "latency": {}, "jitter": true }),
            json!(["latency.enabled is required", "property jitter should not exist"]),
        ),
        (
            json!({ "enabled": true, "expiresAt": "tomorrow" }),
            json!("expiresAt must be an ISO 8601 timestamp with an offset, from 1970 on"),
        ),
    ] {
        let answer = set(&server, &body).expect_status(400);
        assert_eq!(answer.json()["message"], message, "{body}");
    }
    let headers = [("X-API-Key", API_KEY)];
    let empty = server.bare_request("POST", PATH, &headers, "").expect_status(400);
    assert_eq!(empty.json()["message"], "enabled is required");
    let json = [headers[0], ("Content-Type", "application/json")];
    let huge = r#"{"enabled":true,"latency":{"enabled":true,"probability":1e999}}"#;
    server.bare_request("POST", PATH, &json, huge).expect_status(400);
    let body = json!({ "enabled": true });
    let delete = server.request("DELETE", PATH, Some(&body)).expect_status(400);
    assert_eq!(delete.json()["message"], "property enabled should not exist");
    assert_eq!(server.get(PATH).body, r#"{"enabled":false}"#, "nothing was set");
}

#[test]
fn the_body_is_refused_before_the_inbox_and_that_before_the_setting() {
    let nobody = "/api/inboxes/eve@restante.test/chaos";
    for (settings, known) in [(&[ON][..], None), (&[], Some(403))] {
        let server = TestServer::start(settings);
        server.create_plain("bob@restante.test");
        let good = json!({ "enabled": true });
        for (method, body) in [("GET", None), ("POST", Some(&good)), ("DELETE", None)] {
            let answer = server.request(method, nobody, body).expect_status(404);
            assert_eq!(answer.json()["message"], "Inbox not found: eve@restante.test");
            if let Some(status) = known {
                let answer = server.request(method, PATH, body).expect_status(status);
                assert_snapshot!("switched_off", shape(&answer.body));
            }
        }
        for path in [PATH, nobody] {
            server.request("POST", path, Some(&json!({}))).expect_status(400);
            server.bare_request("GET", path, &[], "").expect_status(401);
            let headers = [("X-API-Key", API_KEY), ("Content-Type", "text/plain")];
            server
                .bare_request("POST", path, &headers, "enabled")
                .expect_status(415);
        }
        let put = server.request("PUT", PATH, Some(&good)).expect_status(405);
        assert_eq!(put.json()["message"], "Method not allowed: PUT");
    }
}

#[test]
fn an_inbox_that_has_expired_has_none() {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[ON], clock.clone());
    let body = json!({ "emailAddress": "bob@restante.test", "ttl": 60, "chaos": { "enabled": true } });
    server.create(&body).expect_status(201);
    clock.advance(std::time::Duration::from_mins(1));
    for (method, body) in [
        ("GET", None),
        ("POST", Some(json!({ "enabled": true }))),
        ("DELETE", None),
    ] {
        server.request(method, PATH, body.as_ref()).expect_status(404);
    }
    server
        .create(&json!({ "emailAddress": "bob@restante.test" }))
        .expect_status(201);
    assert_eq!(server.get(PATH).body, r#"{"enabled":false}"#, "its next one is another");
}

#[test]
fn a_creation_may_ask_for_it_and_its_answer_alone_shows_it() {
    let server = TestServer::start(&[ON]);
    let body = json!({ "emailAddress": "bob@restante.test", "chaos": everything() });
    let answer = server.create(&body).expect_status(201);
    assert_snapshot!("inbox_with_faults", shape(&answer.body));
    assert_eq!(server.get(PATH).json(), answer.json()["chaos"]);
    assert!(server.get(INBOX).json().get("chaos").is_none());
    assert!(server.get("/api/inboxes").json()["inboxes"][0].get("chaos").is_none());
    for none in [json!({}), json!({ "chaos": null })] {
        let inbox = server.create(&none).expect_status(201).json();
        assert!(inbox.get("chaos").is_none());
    }
    let off = server
        .create(&json!({ "chaos": { "enabled": false } }))
        .expect_status(201);
    assert_eq!(off.json()["chaos"], json!({ "enabled": false }));
}

#[test]
fn a_creation_is_checked_for_it_even_where_it_is_ignored() {
    for settings in [&[ON][..], &[]] {
        let server = TestServer::start(settings);
        for (chaos, message) in [
            (json!(true), "chaos must be an object"),
            (json!({}), "chaos.enabled is required"),
            (
                json!({ "enabled": true, "latency": { "enabled": true, "maxDelayMs": 60_001 } }),
                "chaos.latency.maxDelayMs must be a whole number from 0 to 60000",
            ),
            (
                json!({ "enabled": true, "delay": 1 }),
                "property chaos.delay should not exist",
            ),
        ] {
            let answer = server.create(&json!({ "chaos": chaos })).expect_status(400);
            assert_eq!(answer.json()["message"], message);
        }
        assert_eq!(server.get("/api/inboxes").json()["inboxes"], json!([]));
    }
}

#[test]
fn where_it_is_off_a_creation_that_asks_for_it_gets_an_inbox_without() {
    let server = TestServer::start(&[]);
    let body =
        json!({ "emailAddress": "bob@restante.test", "chaos": { "enabled": true, "blackhole": { "enabled": true } } });
    let inbox = server.create(&body).expect_status(201).json();
    assert!(inbox.get("chaos").is_none());
    server.send_raw("bob@restante.test", "Subject: a\r\n\r\nb\r\n");
    assert_eq!(server.email_ids("bob@restante.test").len(), 1);
    // It was never asked for: a later start that allows it does not find it.
    let server = TestServer::start_in(server.stop(), &[ON], Arc::new(SystemClock));
    assert_eq!(server.get(PATH).body, r#"{"enabled":false}"#);
}

#[test]
fn it_survives_a_restart_and_one_where_it_is_off() {
    let server = TestServer::start(&[ON]);
    let body = json!({ "emailAddress": "eve@restante.test", "chaos": everything() });
    let asked = server.create(&body).expect_status(201).json()["chaos"].clone();
    server.create_plain("bob@restante.test");
    let blackhole = json!({ "enabled": true, "blackhole": { "enabled": true } });
    let shown = set(&server, &blackhole).expect_status(200).body;

    let server = TestServer::start_in(server.stop(), &[], Arc::new(SystemClock));
    server.get(PATH).expect_status(403);
    server.send_raw("bob@restante.test", "Subject: a\r\n\r\nb\r\n");
    assert_eq!(server.email_ids("bob@restante.test").len(), 1, "it is not done");

    let server = TestServer::start_in(server.stop(), &[ON], Arc::new(SystemClock));
    assert_eq!(server.get(PATH).expect_status(200).body, shown);
    assert_eq!(server.get("/api/inboxes/eve@restante.test/chaos").json(), asked);
    server.delete(PATH).expect_status(204);
    let server = TestServer::start_in(server.stop(), &[ON], Arc::new(SystemClock));
    assert_eq!(server.get(PATH).body, r#"{"enabled":false}"#);
}

#[test]
fn a_repeated_creation_gets_the_first_answer_whatever_was_set_meanwhile() {
    let server = TestServer::start(&[ON]);
    let body = json!({ "emailAddress": "bob@restante.test", "chaos": everything() }).to_string();
    let create = |server: &TestServer| {
        let headers = [
            ("X-API-Key", API_KEY),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", "key"),
        ];
        let answer = server.bare_request("POST", "/api/inboxes", &headers, &body);
        answer.expect_status(201).body
    };
    let first = create(&server);
    set(&server, &json!({ "enabled": false })).expect_status(200);
    assert_eq!(create(&server), first);
    assert_eq!(server.get(PATH).body, r#"{"enabled":false}"#);
    let server = TestServer::start_in(server.stop(), &[ON], Arc::new(SystemClock));
    assert_eq!(create(&server), first);
}
