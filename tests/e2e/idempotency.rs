//! Repeating a creation safely: the header `Idempotency-Key` (decisions, section 2).

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use restante_envelope::{DecapsulationKey, base64url};
use restante_model::{SystemClock, Timestamp};
use restante_testkit::FakeClock;
use serde_json::json;

use crate::harness::{API_KEY, Answer, TestServer, shape};

/// Sends the creation with an `Idempotency-Key`.
fn create_once(server: &TestServer, key: &str, body: &str) -> Answer {
    let headers = [
        ("X-API-Key", API_KEY),
        ("Content-Type", "application/json"),
        ("Idempotency-Key", key),
    ];
    server.bare_request("POST", "/api/inboxes", &headers, body)
}

#[test]
fn a_repeated_request_with_its_idempotency_key_gets_the_first_answer() {
    let now = Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap();
    let clock = Arc::new(FakeClock::at(now));
    let server = TestServer::start_with_clock(&[], clock.clone());
    let key = base64url::encode(DecapsulationKey::generate().encapsulation_key().as_bytes());
    let requests = [
        ("one", r#"{"emailAddress":"bob@restante.test"}"#.to_owned()),
        ("two", "{}".to_owned()),
        (
            "three",
            format!(r#"{{"encryption":"encrypted","clientKemPk":"{key}"}}"#),
        ),
    ];
    let answers = requests
        .each_ref()
        .map(|(name, body)| create_once(&server, name, body).expect_status(201).body);
    clock.advance(Duration::from_millis(599_999));
    for ((name, body), first) in requests.iter().zip(&answers) {
        assert_eq!(&create_once(&server, name, body).expect_status(201).body, first);
    }
    let answer = create_once(&server, "two", r#"{"ttl":60}"#).expect_status(409);
    assert_snapshot!("reused", shape(&answer.body));
    assert_eq!(
        server.get("/api/inboxes").json()["inboxes"].as_array().unwrap().len(),
        3
    );
    // Ten minutes later the keys are forgotten.
    clock.advance(Duration::from_millis(1));
    create_once(&server, "one", &requests[0].1).expect_status(409);
    assert_ne!(create_once(&server, "two", "{}").expect_status(201).body, answers[1]);
}

#[test]
fn an_idempotency_key_has_at_most_255_characters() {
    let server = TestServer::start(&[]);
    create_once(&server, &"k".repeat(255), "{}").expect_status(201);
    for key in ["k".repeat(256), String::new()] {
        let answer = create_once(&server, &key, "{}").expect_status(400);
        assert_eq!(
            answer.json()["message"],
            "Idempotency-Key must have 1 to 255 characters"
        );
    }
}

#[test]
fn equal_requests_at_the_same_time_create_one_inbox() {
    let server = TestServer::start(&[]);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let requests: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| create_once(&server, "key", "{}").body))
            .collect();
        requests.into_iter().map(|request| request.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    let taken = json!({ "emailAddress": "bob@restante.test" });
    let statuses: Vec<_> = std::thread::scope(|scope| {
        let requests: Vec<_> = (0..8).map(|_| scope.spawn(|| server.create(&taken).status)).collect();
        requests.into_iter().map(|request| request.join().unwrap()).collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 201).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 409).count(),
        7,
        "{statuses:?}"
    );
    assert_eq!(
        server.get("/api/inboxes").json()["inboxes"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn an_idempotency_key_is_used_up_by_a_creation_only_and_survives_a_restart() {
    let server = TestServer::start(&[]);
    let body = r#"{"emailAddress":"bob@restante.test"}"#;
    create_once(&server, "key", r#"{"ttl":59}"#).expect_status(400);
    server.create_plain("bob@restante.test");
    create_once(&server, "key", body).expect_status(409);
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
    let first = create_once(&server, "key", body).expect_status(201).body;
    let server = TestServer::start_in(server.stop(), &[], Arc::new(SystemClock));
    assert_eq!(create_once(&server, "key", body).expect_status(201).body, first);
}
