//! What the server counts of its work (docs/spec/additions.md, "Metrics"): each number moves by what was done, and by
//! nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use restante_envelope::DecapsulationKey;
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::mail::EMPTY;
use crate::harness::{TestServer, shape};
use crate::peer::Peer;

mod checked;
mod refused;
mod storage;

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";

fn metrics(server: &TestServer) -> Value {
    server.get("/api/metrics").expect_status(200).json()
}

/// The same once no mail client is connected any more: the server learns a little later that one has left.
fn settled(server: &TestServer) -> Value {
    let began = Instant::now();
    loop {
        let metrics = metrics(server);
        if metrics["connections"]["active"] == 0 {
            return metrics;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "clients stay: {metrics}");
    }
}

/// Every count by its path. What depends on how fast the machine is, is no count.
fn counts(metrics: &Value) -> BTreeMap<String, i64> {
    let mut counts = BTreeMap::new();
    collect(metrics, "", &mut counts);
    counts.retain(|path, _| path != "uptimeSeconds" && !path.contains("processingTime"));
    counts
}

fn collect(value: &Value, path: &str, counts: &mut BTreeMap<String, i64>) {
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            collect(value, &path, counts);
        }
    } else if let Some(number) = value.as_i64() {
        counts.insert(path.to_owned(), number);
    }
}

/// Asserts that exactly these counts move, by so much, while something is done.
#[track_caller]
fn assert_moves<T>(server: &TestServer, expected: &[(&str, i64)], act: impl FnOnce() -> T) -> T {
    let before = counts(&settled(server));
    let done = act();
    let after = counts(&settled(server));
    let mut moved: BTreeMap<_, _> = after
        .iter()
        .map(|(path, now)| (path.as_str(), now - before[path]))
        .collect();
    moved.retain(|_, by| *by != 0);
    assert_eq!(moved, expected.iter().copied().collect());
    done
}

fn start_with_clock(variables: &[(&str, &str)]) -> (TestServer, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    (TestServer::start_with_clock(variables, clock.clone()), clock)
}

/// Mail of one client that none of its inboxes has checked.
fn unchecked(emails: i64) -> Vec<(&'static str, i64)> {
    vec![
        ("connections.total", 1),
        ("auth.spf.skipped", emails),
        ("auth.dkim.skipped", emails),
        ("auth.dmarc.skipped", emails),
        ("auth.reverseDns.skipped", emails),
        ("spam.skipped", 1),
    ]
}

#[test]
fn a_server_that_has_just_started_has_counted_nothing() {
    let (server, clock) = start_with_clock(&[]);
    let answer = server.get("/api/metrics").expect_status(200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_snapshot!("metrics", shape(&answer.body));
    clock.advance(Duration::from_millis(61_999));
    assert_eq!(metrics(&server)["uptimeSeconds"], 61);
}

#[test]
fn metrics_need_the_key() {
    let server = TestServer::start(&[]);
    for path in ["/api/metrics", "/api/metrics/storage"] {
        server.bare_request("GET", path, &[], "").expect_status(401);
        server
            .bare_request("GET", path, &[("X-API-Key", "wrong")], "")
            .expect_status(401);
        server.request("POST", path, Some(&json!({}))).expect_status(405);
    }
}

#[test]
fn connections_are_counted_while_they_are_open_and_after() {
    let server = TestServer::start(&[]);
    let (first, second) = (Peer::greeted(server.smtp), Peer::greeted(server.smtp));
    let now = metrics(&server);
    assert_eq!(now["connections"], json!({ "total": 2, "active": 2, "rejected": 0 }));
    drop(first);
    drop(second);
    assert_eq!(
        settled(&server)["connections"],
        json!({ "total": 2, "active": 0, "rejected": 0 })
    );
}

#[test]
fn inboxes_are_counted_as_they_come_and_go() {
    let server = TestServer::start(&[]);
    let created = [("inboxes.created", 1), ("inboxes.active", 1)];
    let deleted = |count: i64| [("inboxes.deleted", count), ("inboxes.active", -count)];
    assert_moves(&server, &created, || server.create_plain(BOB));
    assert_moves(&server, &[], || {
        let taken = json!({ "emailAddress": BOB });
        server.create(&taken).expect_status(409);
        server.create(&json!({ "ttl": 59 })).expect_status(400);
    });
    assert_moves(&server, &deleted(1), || server.delete(&format!("/api/inboxes/{BOB}")));
    assert_moves(&server, &[], || {
        server.delete(&format!("/api/inboxes/{BOB}")).expect_status(204)
    });
    server.create_plain(BOB);
    server.create_plain(EVE);
    assert_moves(&server, &deleted(2), || {
        server.delete("/api/inboxes").expect_status(200)
    });
}

#[test]
fn a_repeated_creation_is_counted_once() {
    let server = TestServer::start(&[]);
    let headers = [
        ("X-API-Key", crate::harness::API_KEY),
        ("Idempotency-Key", "one"),
        ("Content-Type", "application/json"),
    ];
    assert_moves(&server, &[("inboxes.created", 1), ("inboxes.active", 1)], || {
        for _ in 0..2 {
            server
                .bare_request("POST", "/api/inboxes", &headers, "{}")
                .expect_status(201);
        }
    });
}

#[test]
fn an_inbox_that_expires_is_counted_as_deleted_and_as_expired() {
    let (server, clock) = start_with_clock(&[]);
    server.create(&json!({ "ttl": 60 })).expect_status(201);
    let began = Instant::now();
    clock.advance(Duration::from_mins(1));
    // A new inbox has the expiry task look at the clock of this test.
    server.create_plain(EVE);
    let expected = json!({ "created": 2, "deleted": 1, "expired": 1, "active": 1 });
    while metrics(&server)["inboxes"] != expected {
        assert!(began.elapsed() < Duration::from_secs(10), "{}", metrics(&server));
    }
}

#[test]
fn a_message_is_counted_once_and_in_each_inbox() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    server.create_encrypted(EVE, &DecapsulationKey::generate());
    let stored = |emails, bytes| {
        let mail = [
            ("emails.received", 1),
            ("emails.recipients", emails),
            ("emails.receivedBytes", bytes),
        ];
        [unchecked(emails), mail.into()].concat()
    };
    assert_moves(&server, &stored(1, 2), || server.send_raw(BOB, EMPTY));
    assert_moves(&server, &stored(1, 4), || server.send_raw(EVE, "hi\r\n"));
    assert_moves(&server, &stored(2, 2), || server.send_to(&[BOB, EVE], EMPTY));
    let tagged = ["bob+tag@restante.test", BOB, "BOB@restante.test", EVE];
    assert_moves(&server, &stored(2, 2), || server.send_to(&tagged, EMPTY));
}

#[test]
fn the_time_that_mail_took_is_known() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    server.send_many(BOB, 20);
    let emails = metrics(&server)["emails"].take();
    let (average, total) = (
        emails["processingTimeMs"].as_f64().unwrap(),
        &emails["processingTimeTotalMs"],
    );
    assert!(average > 0.0 && average < 10_000.0, "{emails}");
    let total = total.as_f64().unwrap();
    assert!((average * 20.0 - total).abs() <= 1.0, "{emails}");
}

#[test]
fn the_days_of_the_certificate_are_those_of_the_one_in_use() {
    let (server, clock) = start_with_clock(&[("TLS_SELF_SIGNED", "true")]);
    let certificate = |server: &TestServer| metrics(server)["certificate"].take();
    let first = certificate(&server);
    let expires_at = Timestamp::parse(first["expiresAt"].as_str().unwrap()).unwrap();
    let left = Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap().until(expires_at);
    let days = left.as_secs() / 86_400;
    assert!(days > 0);
    assert_eq!(first["daysLeft"], days);
    clock.advance(Duration::from_hours(24));
    assert_eq!(certificate(&server)["daysLeft"], days - 1);
    clock.advance(left);
    assert_eq!(certificate(&server)["daysLeft"], 0);
    assert_eq!(certificate(&server)["expiresAt"], first["expiresAt"]);
}

#[test]
fn nothing_of_a_mail_is_in_a_metric() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    server.create_encrypted(EVE, &DecapsulationKey::generate());
    let marked = "From: marker@sender.test\r\nSubject: marker\r\nX-Marker: marker\r\n\r\nmarker\r\n";
    server.send_to(&[BOB, EVE], marked);
    for path in ["/api/metrics", "/api/metrics/storage"] {
        let body = server.get(path).expect_status(200).body;
        assert!(!body.contains("marker") && !body.contains("sender"), "{body}");
    }
}
