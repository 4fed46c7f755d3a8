//! The bodies of the three types of event, and what they show of an email at most (interface, "Events", "Limits").

use std::sync::Arc;

use insta::assert_snapshot;
use restante_model::Timestamp;
use restante_testkit::FakeClock;

use super::*;
use crate::harness::mail::RICH;
use crate::harness::shape;

fn body(request: &restante_testkit::receiver::Request) -> String {
    String::from_utf8(request.body.clone()).unwrap()
}

/// What one webhook is told first.
fn told(variables: &[(&str, &str)], event: &str, act: impl FnOnce(&TestServer)) -> String {
    let receiver = Receiver::start();
    let server = start(variables);
    server.create_plain(BOB);
    Hook::new(&server, GLOBAL, &receiver, &[event]);
    act(&server);
    body(&receiver.block_for(1)[0])
}

#[test]
fn an_arrival_is_told_field_by_field() {
    let received = told(&[], "email.received", |server| {
        server.send_raw(BOB, RICH);
    });
    assert_snapshot!("event_received", shape(&received));
    let stored = told(&[], "email.stored", |server| {
        server.send_raw(BOB, RICH);
    });
    assert_snapshot!("event_stored", shape(&stored));
}

#[test]
fn an_arrival_of_the_least_mail_has_no_field_that_does_not_apply() {
    let received = told(&[], "email.received", |server| {
        server.send_raw("bob+tag@restante.test", "\r\n");
    });
    assert_snapshot!("event_received_least", shape(&received));
}

#[test]
fn an_arrival_at_an_encrypted_inbox_is_told_too() {
    let receiver = Receiver::start();
    let server = start(&[]);
    let key = restante_envelope::DecapsulationKey::generate();
    let inbox = server.create_encrypted(BOB, &key);
    Hook::new(&server, &webhooks_of(BOB), &receiver, &["email.received"]);
    server.send_raw(BOB, "Subject: sealed\r\n\r\nhi\r\n");
    let data = receiver.block_for(1)[0].json()["data"].clone();
    assert_eq!(data["inboxId"], inbox["inboxHash"]);
    assert_eq!(
        (&data["subject"], &data["textBody"]),
        (&json!("sealed"), &json!("hi\n"))
    );
}

#[test]
fn a_removal_says_why() {
    let delete_email = |server: &TestServer| {
        let id = server.send_raw(BOB, "\r\n");
        server
            .delete(&format!("/api/inboxes/{BOB}/emails/{id}"))
            .expect_status(204);
    };
    assert_snapshot!("event_deleted", shape(&told(&[], "email.deleted", delete_email)));
    let evict = |server: &TestServer| {
        server.send_many(BOB, 2);
    };
    let delete_inbox = |server: &TestServer| {
        server.send_raw(BOB, "\r\n");
        server.delete(&format!("/api/inboxes/{BOB}")).expect_status(204);
    };
    let delete_all = |server: &TestServer| {
        server.send_raw(BOB, "\r\n");
        server.delete("/api/inboxes").expect_status(200);
    };
    let reason = |event: String| serde_json::from_str::<Value>(&event).unwrap()["data"]["reason"].clone();
    let one_email = [("INBOX_MAX_EMAILS", "1")];
    assert_eq!(reason(told(&one_email, "email.deleted", evict)), "eviction");
    assert_eq!(reason(told(&[], "email.deleted", delete_inbox)), "manual");
    assert_eq!(reason(told(&[], "email.deleted", delete_all)), "manual");
}

#[test]
fn an_inbox_that_is_deleted_tells_its_own_webhooks_of_each_email() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    Hook::new(&server, &webhooks_of(BOB), &receiver, &["email.deleted"]);
    let mut ids = server.send_many(BOB, 3);
    server.delete(&format!("/api/inboxes/{BOB}")).expect_status(204);
    let mut told: Vec<_> = receiver
        .block_for(3)
        .iter()
        .map(|request| request.json()["data"]["id"].as_str().unwrap().to_owned())
        .collect();
    told.sort();
    ids.sort();
    assert_eq!(told, ids);
}

#[test]
fn an_inbox_that_expires_tells_of_its_emails() {
    let receiver = Receiver::start();
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[("WEBHOOK_ALLOW_HTTP", "true")], clock.clone());
    let body = json!({ "emailAddress": BOB, "ttl": 60 });
    server.create(&body).expect_status(201);
    Hook::new(&server, &webhooks_of(BOB), &receiver, &["email.deleted"]);
    let id = server.send_raw(BOB, "\r\n");
    clock.advance(Duration::from_mins(1));
    let event = until("the removal is told", || {
        // The task that removes sleeps on the real clock; an inbox that ends has it look at once.
        server.create_plain(EVE);
        server.delete(&format!("/api/inboxes/{EVE}")).expect_status(204);
        receiver
            .requests()
            .first()
            .map(restante_testkit::receiver::Request::json)
    });
    assert_eq!(event["createdAt"], 1_769_341_336);
    let data = &event["data"];
    assert_eq!((&data["id"], &data["reason"]), (&json!(id), &json!("ttl")));
    assert_eq!(data["deletedAt"], "2026-01-25T11:42:16.000Z");
}

/// The data of the arrival of a message.
fn data_of(variables: &[(&str, &str)], message: &str) -> Value {
    let event = told(variables, "email.received", |server| {
        server.send_raw(BOB, message);
    });
    serde_json::from_str::<Value>(&event).unwrap()["data"].take()
}

/// A message with so many headers, the values of which have so many characters.
fn with_headers(count: usize, value: usize) -> String {
    let value = "ü".repeat(value);
    let header = |index| format!("X-{index:02}: {value}\r\n");
    let headers = (0..count).map(header).collect::<Vec<_>>().concat();
    format!("{headers}\r\nhi\r\n")
}

#[test]
fn a_payload_shows_50_headers_of_1000_characters() {
    for (count, shown) in [(50, 50), (51, 50)] {
        let data = data_of(&[], &with_headers(count, 3));
        let headers = data["headers"].as_object().unwrap();
        assert_eq!(headers.len(), shown);
        assert_eq!((headers.get("x-49"), headers.get("x-50")), (Some(&json!("üüü")), None));
    }
    for (length, shown) in [(1000, 1000), (1001, 1000)] {
        let data = data_of(&[], &with_headers(1, length));
        assert_eq!(data["headers"]["x-00"].as_str().unwrap().chars().count(), shown);
    }
    let fewer = [("WEBHOOK_MAX_HEADERS", "2"), ("WEBHOOK_MAX_HEADER_VALUE_LEN", "4")];
    let data = data_of(&fewer, &with_headers(3, 5));
    assert_eq!(data["headers"], json!({ "x-00": "üüüü", "x-01": "üüüü" }));
    assert_eq!(
        data_of(&[("WEBHOOK_MAX_HEADERS", "0")], "A: b\r\n\r\n")["headers"],
        json!({})
    );
}

#[test]
fn bodies_are_cut_at_a_character_boundary() {
    let message = |text: &str| format!("Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n");
    let text = |variables: &[(&str, &str)], text: &str| {
        let data = data_of(variables, &message(text));
        data["textBody"].as_str().map(str::to_owned)
    };
    let long = "é".repeat(40_000);
    assert_eq!(text(&[], &long).unwrap().len(), 65_536);
    assert_eq!(text(&[("WEBHOOK_MAX_BODY_BYTES", "5")], &long).unwrap(), "éé");
    // What filters see is more than what this payload shows.
    assert_eq!(text(&[("WEBHOOK_MAX_BODY_BYTES", "6")], &long).unwrap(), "ééé");
}

#[test]
fn a_snippet_is_the_first_200_characters_of_the_text() {
    let snippet = |text: &str| {
        let message = format!("Content-Type: text/plain; charset=utf-8\r\n\r\n{text}");
        data_of(&[], &message)["snippet"].as_str().unwrap().to_owned()
    };
    let line = "é ü\n".repeat(100);
    let sent = line.replace('\n', "\r\n");
    assert_eq!(snippet(&sent), line.chars().take(200).collect::<String>());
    assert_eq!(snippet("\r\n"), "\n");
}
