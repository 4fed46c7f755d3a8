//! Emails of plain inboxes: records, lists, content, source, read flag, removal (interface, "Emails").

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use serde_json::{Value, json};

use crate::harness::mail::{EMPTY, RICH};
use crate::harness::{TestServer, shape};

const EMAILS: &str = "/api/inboxes/bob@restante.test/emails";

/// A server with one plain inbox.
fn with_bob() -> TestServer {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    server
}

fn document(field: &Value) -> Value {
    serde_json::from_slice(&STANDARD.decode(field.as_str().unwrap()).unwrap()).unwrap()
}

#[test]
fn a_list_shows_metadata_and_content_only_when_asked() {
    let server = with_bob();
    assert_eq!(server.get(EMAILS).expect_status(200).body, "[]");
    let id = server.send_raw("bob+Tag@restante.test", RICH);
    let list = server.get(EMAILS).expect_status(200);
    assert_eq!(list.header("content-type"), "application/json");
    assert_snapshot!("list", shape(&list.body));
    assert_eq!(list.json()[0]["id"], id.as_str());
    let metadata = document(&list.json()[0]["metadata"]);
    assert_eq!(metadata["id"], id.as_str());
    assert_eq!(metadata["receivedAt"], list.json()[0]["receivedAt"]);

    assert_eq!(server.get(&format!("{EMAILS}?includeContent=false")).body, list.body);
    let whole = server.get(&format!("{EMAILS}?includeContent=true")).expect_status(200);
    assert_snapshot!("list_with_content", shape(&whole.body));
    for value in ["1", "TRUE", "yes", ""] {
        let answer = server
            .get(&format!("{EMAILS}?includeContent={value}"))
            .expect_status(400);
        assert_eq!(
            answer.json()["message"],
            "includeContent must be true or false",
            "{value}"
        );
    }
}

#[test]
fn one_email_is_its_record_with_content() {
    let server = with_bob();
    let id = server.send_raw("bob@restante.test", RICH);
    let email = server.get(&format!("{EMAILS}/{id}")).expect_status(200);
    let list = server.get(&format!("{EMAILS}?includeContent=true"));
    assert_eq!(format!("[{}]", email.body), list.body);
    assert_eq!(
        server.get(&format!("{EMAILS}/{id}")).body,
        email.body,
        "the second read is the first"
    );
    assert_eq!(email.json()["isRead"], false, "reading does not mark as read");
}

#[test]
fn an_email_without_anything_still_has_every_field() {
    let server = with_bob();
    let id = server.send_raw("bob@restante.test", EMPTY);
    assert_snapshot!(
        "empty_email",
        shape(&server.get(&format!("{EMAILS}/{id}")).expect_status(200).body)
    );
}

#[test]
fn the_source_is_byte_exact_after_our_received_field() {
    let server = with_bob();
    let odd = "Subject:  odd  \r\n\tfolded\r\nX-Empty:\r\n\r\n.dot\r\n..\r\nbare \u{1}\tcontrol, Grüße\r\n\r\n\r\n";
    for message in [RICH, EMPTY, odd] {
        let id = server.send_raw("bob@restante.test", message);
        let answer = server.get(&format!("{EMAILS}/{id}/raw")).expect_status(200);
        assert_snapshot!("raw", shape(&answer.body));
        assert_eq!(answer.json()["id"], id.as_str());
        let raw = STANDARD.decode(answer.json()["raw"].as_str().unwrap()).unwrap();
        let raw = String::from_utf8(raw).unwrap();
        let received = raw
            .strip_suffix(message)
            .unwrap_or_else(|| panic!("{raw:?} ends in {message:?}"));
        assert!(
            received.starts_with("Received: from ") && received.ends_with("\r\n"),
            "{received:?}"
        );
        let lines: Vec<_> = received.trim_end().split("\r\n").collect();
        assert!(
            lines[1..].iter().all(|line| line.starts_with([' ', '\t'])),
            "one field: {received:?}"
        );
        for part in [
            "127.0.0.1",
            "by mx.restante.test",
            "ESMTP",
            &id,
            "for <bob@restante.test>",
            "(envelope-from <alice@sender.test>)",
        ] {
            assert!(received.contains(part), "{part} in {received:?}");
        }
    }
}

#[test]
fn an_email_is_found_in_its_own_inbox_only() {
    let server = with_bob();
    server.create_plain("eve@restante.test");
    let id = server.send_raw("eve@restante.test", EMPTY);
    let unknown = "msg_0123456789abcdef0123456789abcdef";
    let answer = server.get(&format!("{EMAILS}/{unknown}")).expect_status(404);
    assert_snapshot!("unknown_email", shape(&answer.body));
    for id in [id.as_str(), unknown, "x", "inbox", &id.to_uppercase(), "msg_%20"] {
        let shown = id.replace("%20", " ");
        for (method, rest) in [("GET", ""), ("GET", "/raw"), ("PATCH", "/read"), ("DELETE", "")] {
            let answer = server.request(method, &format!("{EMAILS}/{id}{rest}"), None);
            assert_eq!(answer.status, 404, "{method} {id}{rest}");
            // Clients tell what is missing by the word before these two.
            assert_eq!(answer.json()["message"], format!("Email not found: {shown}"));
        }
    }
    assert_eq!(server.email_ids("eve@restante.test"), [id]);
}

#[test]
fn an_email_is_marked_as_read_for_good() {
    let server = with_bob();
    let (old, new) = (
        server.send_raw("bob@restante.test", EMPTY),
        server.send_raw("bob@restante.test", EMPTY),
    );
    for _ in 0..2 {
        let answer = server.patch(&format!("{EMAILS}/{old}/read")).expect_status(204);
        assert_eq!((answer.body.as_str(), answer.header("content-type")), ("", ""));
    }
    let list = server.get(EMAILS).json();
    assert_eq!((&list[0]["id"], &list[0]["isRead"]), (&json!(new), &json!(false)));
    assert_eq!((&list[1]["id"], &list[1]["isRead"]), (&json!(old), &json!(true)));
    assert_eq!(server.get(&format!("{EMAILS}/{old}")).json()["isRead"], true);
    assert_eq!(server.get(&format!("{EMAILS}/{new}")).json()["isRead"], false);
}

#[test]
fn a_deleted_email_is_gone() {
    let server = with_bob();
    let ids = [(); 3].map(|()| server.send_raw("bob@restante.test", EMPTY));
    server.get(&format!("{EMAILS}/{}", ids[1])).expect_status(200);
    let answer = server.delete(&format!("{EMAILS}/{}", ids[1])).expect_status(204);
    assert_eq!(answer.body, "");
    for (method, rest) in [("GET", ""), ("GET", "/raw"), ("PATCH", "/read"), ("DELETE", "")] {
        let path = format!("{EMAILS}/{}{rest}", ids[1]);
        assert_eq!(server.request(method, &path, None).status, 404, "{method} {rest}");
    }
    assert_eq!(server.email_ids("bob@restante.test"), [ids[2].clone(), ids[0].clone()]);
}

#[test]
fn requests_that_take_no_body_refuse_one_that_says_something() {
    let server = with_bob();
    let id = server.send_raw("bob@restante.test", EMPTY);
    let key = ("X-API-Key", crate::harness::API_KEY);
    let (json, text) = (("Content-Type", "application/json"), ("Content-Type", "text/plain"));
    for (method, path) in [
        ("PATCH", format!("{EMAILS}/{id}/read")),
        ("DELETE", format!("{EMAILS}/{id}")),
        ("DELETE", "/api/inboxes/bob@restante.test".to_owned()),
        ("DELETE", "/api/inboxes".to_owned()),
    ] {
        let status = |header, body: &str| server.exchange(method, &path, &[key, header], body.as_bytes()).status;
        assert_eq!(status(text, "hello"), 415, "{method} {path}");
        assert_eq!(status(json, "{"), 400, "{method} {path}");
        assert_eq!(status(json, r#"{"isRead":true}"#), 400, "{method} {path}");
        assert_eq!(status(json, &" ".repeat(256 * 1024 + 1)), 413, "{method} {path}");
    }
    assert_eq!(server.get(EMAILS).json()[0]["isRead"], false, "nothing was done");
    let status = |header| {
        server
            .exchange("PATCH", &format!("{EMAILS}/{id}/read"), &[key, header], b"")
            .status
    };
    assert_eq!(status(json), 204);
    assert_eq!(status(text), 204);
    let empty = server.exchange("PATCH", &format!("{EMAILS}/{id}/read"), &[key, json], b"{}");
    assert_eq!(empty.status, 204);
}

#[test]
fn a_list_is_newest_first_and_paged_only_on_request() {
    let server = with_bob();
    let mut ids: Vec<_> = (0..5).map(|_| server.send_raw("bob@restante.test", EMPTY)).collect();
    ids.reverse();
    let page = |query: &str| -> Vec<String> {
        let list = server.get(&format!("{EMAILS}{query}")).expect_status(200).json();
        let ids = list
            .as_array()
            .unwrap()
            .iter()
            .map(|email| email["id"].as_str().unwrap().to_owned());
        ids.collect()
    };
    assert_eq!(page(""), ids);
    assert_eq!(page("?unknown=1&limit=2"), ids[..2]);
    assert_eq!(page(&format!("?limit=2&before={}", ids[1])), ids[2..4]);
    assert_eq!(page(&format!("?before={}", ids[1])), ids[2..]);
    assert_eq!(page(&format!("?limit=1000&before={}", ids[3])), ids[4..]);
    assert_eq!(page(&format!("?before={}", ids[4])), Vec::<String>::new());
    assert_eq!(page("?limit=1"), ids[..1]);
    // A deleted id still tells where to go on.
    server.delete(&format!("{EMAILS}/{}", ids[1])).expect_status(204);
    assert_eq!(page(&format!("?limit=2&before={}", ids[1])), ids[2..4]);
    for limit in ["0", "1001", "x", ""] {
        let answer = server.get(&format!("{EMAILS}?limit={limit}")).expect_status(400);
        assert_eq!(
            answer.json()["message"],
            "limit must be a number from 1 to 1000",
            "{limit}"
        );
    }
    let answer = server.get(&format!("{EMAILS}?before=x")).expect_status(400);
    assert_eq!(
        answer.json()["message"],
        "before: expected msg_ and 32 lowercase hex digits"
    );
}

#[test]
fn a_long_list_comes_whole_and_is_valid_json() {
    let server = with_bob();
    let ids = server.send_many("bob@restante.test", 1201);
    let shown = server.email_ids("bob@restante.test");
    assert_eq!(shown.len(), 1201);
    assert!(shown.iter().rev().eq(&ids), "newest first");
    let whole = server
        .get(&format!("{EMAILS}?includeContent=true"))
        .expect_status(200)
        .json();
    let whole = whole.as_array().unwrap();
    assert_eq!(whole.len(), 1201);
    assert!(
        whole
            .iter()
            .all(|email| document(&email["parsed"])["attachments"] == json!([]))
    );
    let limited = server.get(&format!("{EMAILS}?limit=1000")).expect_status(200).json();
    assert_eq!(limited.as_array().unwrap().len(), 1000);
    assert_eq!(limited[999]["id"], shown[999].as_str());
    assert_eq!(
        server.get("/api/inboxes/bob@restante.test/sync").json()["emailCount"],
        1201
    );
}

#[test]
fn each_recipient_has_an_email_of_its_own() {
    let server = with_bob();
    server.create_plain("eve@localhost");
    let ids = server.send_to(&["Bob+One@restante.test", "eve@localhost", "bob@restante.test"], EMPTY);
    assert_eq!(ids.len(), 2, "the same inbox twice stores once");
    let (bob, eve) = (server.email_ids("bob@restante.test"), server.email_ids("eve@localhost"));
    assert_eq!([bob[0].clone(), eve[0].clone()], ids[..]);
    let metadata = |list: &Value| document(&list[0]["metadata"]);
    assert_eq!(
        metadata(&server.get(EMAILS).json())["to"],
        json!(["bob+one@restante.test"])
    );
    let eves = server.get("/api/inboxes/eve@localhost/emails").json();
    assert_eq!(metadata(&eves)["to"], json!(["eve@localhost"]));
    let raw = server.get(&format!("{EMAILS}/{}/raw", bob[0])).json();
    let raw = String::from_utf8(STANDARD.decode(raw["raw"].as_str().unwrap()).unwrap()).unwrap();
    assert!(!raw.contains("eve"), "no recipient learns of another: {raw}");
}

#[test]
fn moments_are_those_of_the_clock_with_milliseconds_and_z() {
    let clock = FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.007Z").unwrap());
    let server = TestServer::start_with_clock(&[], Arc::new(clock));
    server.create_plain("bob@restante.test");
    let id = server.send_raw("bob@restante.test", EMPTY);
    let email = server.get(&format!("{EMAILS}/{id}")).json();
    assert_eq!(email["receivedAt"], "2026-01-25T11:41:16.007Z");
    assert_eq!(document(&email["metadata"])["receivedAt"], "2026-01-25T11:41:16.007Z");
}

#[test]
fn a_body_that_is_no_message_is_kept_with_its_defects() {
    let server = with_bob();
    let junk = "no header at all\r\nContent-Type: multipart/mixed\r\n\u{1}\u{2}\r\n\r\n--\r\n";
    let id = server.send_raw("bob@restante.test", junk);
    let email = server.get(&format!("{EMAILS}/{id}")).expect_status(200).json();
    assert_ne!(document(&email["parsed"])["defects"], json!([]));
    let raw = server.get(&format!("{EMAILS}/{id}/raw")).expect_status(200).json();
    assert!(
        STANDARD
            .decode(raw["raw"].as_str().unwrap())
            .unwrap()
            .ends_with(junk.as_bytes())
    );
}
