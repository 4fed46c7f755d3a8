//! What is stored, and how much more can be.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{BOB, EVE, start_with_clock};
use crate::harness::mail::{EMPTY, RICH};
use crate::harness::{TestServer, shape};

fn storage(server: &TestServer) -> Value {
    server.get("/api/metrics/storage").expect_status(200).json()
}

fn number(storage: &Value, name: &str) -> u64 {
    storage[name].as_u64().unwrap_or_else(|| panic!("{name}: {storage}"))
}

#[test]
fn an_empty_store_has_no_oldest_email() {
    let server = TestServer::start(&[("STORAGE_MAX_BYTES", "1000000")]);
    let answer = server.get("/api/metrics/storage").expect_status(200);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_snapshot!("storage", shape(&answer.body));
}

#[test]
fn what_is_used_is_not_available_until_it_is_deleted() {
    let server = TestServer::start(&[("STORAGE_MAX_BYTES", "1000000")]);
    server.create_plain(BOB);
    let id = server.send_raw(BOB, RICH);
    let full = storage(&server);
    let used = number(&full, "usedBytes");
    assert!(used >= RICH.len() as u64, "{full}");
    assert!(number(&full, "liveBytes") > used, "the inbox too: {full}");
    assert_eq!(number(&full, "availableBytes"), 1_000_000 - used);
    assert_eq!(
        (&full["maxBytes"], &full["storedEmails"]),
        (&json!(1_000_000), &json!(1))
    );
    server
        .delete(&format!("/api/inboxes/{BOB}/emails/{id}"))
        .expect_status(204);
    let empty = storage(&server);
    assert_eq!((&empty["usedBytes"], &empty["storedEmails"]), (&json!(0), &json!(0)));
    assert_eq!(empty["availableBytes"], 1_000_000);
}

#[test]
fn a_full_disk_leaves_nothing_available() {
    let server = TestServer::start(&[("STORAGE_MIN_FREE_BYTES", "1000000000000000")]);
    assert_eq!(storage(&server)["availableBytes"], 0);
}

#[test]
fn the_ages_are_those_of_the_oldest_and_the_newest_email() {
    let (server, clock) = start_with_clock(&[("LOCAL_INBOX_DEFAULT_TTL", "86400")]);
    server.create_plain(BOB);
    server.create_plain(EVE);
    for address in [BOB, EVE, BOB] {
        server.send_raw(address, EMPTY);
        clock.advance(Duration::from_millis(10_500));
    }
    let ages = |server: &TestServer| {
        let storage = storage(server);
        ["oldestEmailAgeSeconds", "newestEmailAgeSeconds"].map(|name| number(&storage, name))
    };
    assert_eq!(ages(&server), [31, 10]);
    server.delete(&format!("/api/inboxes/{BOB}")).expect_status(204);
    assert_eq!(ages(&server), [21, 21]);
}

#[test]
fn mail_that_made_room_is_counted_as_evicted() {
    let server = TestServer::start(&[("INBOX_MAX_EMAILS", "2")]);
    server.create_plain(BOB);
    server.send_many(BOB, 5);
    let storage = storage(&server);
    assert_eq!(
        (&storage["storedEmails"], &storage["evictedEmails"]),
        (&json!(2), &json!(3))
    );
}
