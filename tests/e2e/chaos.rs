//! Faults that inboxes ask for, as clients meet them on the wire (additions, "Chaos").

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use restante_model::SystemClock;
use restante_testkit::receiver::Receiver;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{API_KEY, EventStream, TestServer};
use crate::peer::Peer;

mod blackholes;
mod clients;
mod combined;
mod endings;
mod greylists;
mod refusals;

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";
const MAIL: &[u8] = b"Subject: hi\r\n\r\nhi\r\n";
const PERMANENT: [&str; 5] = ["550 5.1.1 ", "551 5.1.6 ", "552 5.3.4 ", "553 5.1.3 ", "554 5.0.0 "];

/// A server where inboxes may ask for faults.
fn start(variables: &[(&str, &str)]) -> TestServer {
    TestServer::start(&[&[("CHAOS_ENABLED", "true")], variables].concat())
}

/// The same with the inbox `bob`, which asks for these.
fn with_bob(chaos: &Value) -> TestServer {
    let server = start(&[]);
    server.create_plain(BOB);
    set(&server, BOB, chaos);
    server
}

/// Has an inbox ask for faults and nothing else.
fn set(server: &TestServer, address: &str, chaos: &Value) {
    let mut body = json!({ "enabled": true });
    for (name, value) in chaos.as_object().unwrap() {
        body[name] = value.clone();
    }
    let path = format!("/api/inboxes/{address}/chaos");
    server.request("POST", &path, Some(&body)).expect_status(200);
}

/// Takes all faults of an inbox away.
fn clear(server: &TestServer, address: &str) {
    server
        .delete(&format!("/api/inboxes/{address}/chaos"))
        .expect_status(204);
}

fn connection_drop(graceful: bool) -> Value {
    json!({ "connectionDrop": { "enabled": true, "graceful": graceful } })
}

fn error(rate: f64, types: &[&str]) -> Value {
    json!({ "randomError": { "enabled": true, "errorRate": rate, "errorTypes": types } })
}

fn blackhole(trigger_webhooks: bool) -> Value {
    json!({ "blackhole": { "enabled": true, "triggerWebhooks": trigger_webhooks } })
}

/// What the end of a message for bob is answered, on a connection of its own.
fn answer(server: &TestServer) -> std::io::Result<String> {
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    peer.data(MAIL)
}

#[test]
fn where_faults_are_not_on_mail_arrives() {
    let server = start(&[]);
    let nothing = json!({ "enabled": true });
    let over = json!({ "enabled": true, "expiresAt": "2020-01-01T00:00:00Z", "connectionDrop": { "enabled": true } });
    let off = json!({ "enabled": false, "connectionDrop": { "enabled": true } });
    let none_on = json!({ "enabled": true, "connectionDrop": { "enabled": false }, "latency": { "enabled": false } });
    server.create_plain(BOB);
    for (count, chaos) in [nothing, over, off, none_on].iter().enumerate() {
        set(&server, BOB, chaos);
        assert!(answer(&server).unwrap().starts_with("250 2.0.0 Ok: msg_"), "{chaos}");
        assert_eq!(server.email_ids(BOB).len(), count + 1);
    }
}

#[test]
fn faults_that_come_with_the_creation_are_met_and_so_is_their_end() {
    let server = start(&[]);
    let mut body = json!({ "emailAddress": BOB, "encryption": "plain", "chaos": connection_drop(true) });
    body["chaos"]["enabled"] = true.into();
    server.create(&body).expect_status(201);
    assert_eq!(answer(&server).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    clear(&server, BOB);
    assert!(answer(&server).unwrap().starts_with("250 "));
}

#[test]
fn mail_that_a_test_makes_over_http_meets_no_fault() {
    let server = start(&[("SDK_DEVELOPMENT", "true")]);
    server.create_plain(BOB);
    set(&server, BOB, &connection_drop(false));
    let made = server.request("POST", "/api/test/emails", Some(&json!({ "to": BOB })));
    let id = made.expect_status(201).json()["emailId"].clone();
    assert_eq!(json!(server.email_ids(BOB)), json!([id]));
}

#[test]
fn a_late_reply_is_late_and_so_is_the_mail() {
    let latency = json!({ "enabled": true, "minDelayMs": 1500, "maxDelayMs": 1500 });
    let server = with_bob(&json!({ "latency": latency }));
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    assert!(peer.say("DATA").starts_with("354 "));
    let began = Instant::now();
    peer.send(b"Subject: hi\r\n\r\nhi\r\n.\r\n").unwrap();
    let early = server.email_ids(BOB);
    let looked = began.elapsed();
    assert!(peer.reply().unwrap().starts_with("250 "));
    assert!(began.elapsed() >= Duration::from_millis(1500), "{:?}", began.elapsed());
    // Whoever looks too late has seen nothing.
    assert!(early.is_empty() || looked >= Duration::from_millis(1500), "{early:?}");
    assert_eq!(server.email_ids(BOB).len(), 1);
}

#[test]
fn a_server_that_stops_says_so_to_who_waits_and_stores_nothing() {
    let latency = json!({ "enabled": true, "minDelayMs": 60_000, "maxDelayMs": 60_000 });
    let server = with_bob(&json!({ "latency": latency }));
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    assert!(peer.say("DATA").starts_with("354 "));
    peer.send(b"Subject: hi\r\n\r\nhi\r\n.\r\n").unwrap();
    let data = server.stop();
    assert_eq!(peer.rest(), "421 4.3.2 mx.restante.test Server is shutting down\r\n");
    let server = TestServer::start_in(data, &[("CHAOS_ENABLED", "true")], Arc::new(SystemClock));
    assert!(server.email_ids(BOB).is_empty());
}

#[test]
fn a_seed_says_the_same_on_every_server_and_for_every_inbox() {
    let codes = |seed: &str, address: &str| -> Vec<String> {
        let server = start(&[("CHAOS_SEED", seed)]);
        for inbox in [address, EVE] {
            server.create_plain(inbox);
            set(&server, inbox, &error(0.6, &["temporary", "permanent"]));
        }
        let send = |address| {
            let mut peer = Peer::greeted(server.smtp);
            peer.open_transaction(&[address]);
            peer.data(MAIL).unwrap()[..9].to_owned()
        };
        (0..24)
            .map(|n| {
                // What a neighbour gets in between changes nothing.
                for _ in 0..n % 3 {
                    send(EVE);
                }
                send(address)
            })
            .collect()
    };
    let first = codes("42", BOB);
    assert_eq!(codes("42", "somebody.else@restante.test"), first);
    assert_ne!(codes("43", BOB), first);
    let stored = first.iter().filter(|code| *code == "250 2.0.0").count();
    assert!((1..24).contains(&stored), "{first:?}");
}
