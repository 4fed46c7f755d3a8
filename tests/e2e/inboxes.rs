//! Inboxes after their creation: list, one, sync, removal, expiry (interface, "Inboxes"; decisions, section 3).

use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use restante_envelope::digest::sha256;
use restante_envelope::{DecapsulationKey, base64url};
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use serde_json::{Value, json};

use crate::harness::mail::EMPTY;
use crate::harness::{TestServer, shape};
use crate::peer::Peer;

/// The hash of a set of ids, as a client recomputes it.
fn hash_of(mut ids: Vec<String>) -> String {
    ids.sort();
    base64url::encode(sha256(ids.join(",").as_bytes()))
}

#[test]
fn an_inbox_is_shown_without_the_server_key() {
    let server = TestServer::start(&[]);
    let created = server.create_encrypted("bob@restante.test", &DecapsulationKey::generate());
    let shown = server.get("/api/inboxes/bob@restante.test").expect_status(200);
    assert_snapshot!("inbox", shape(&shown.body));
    let mut expected = created;
    expected.as_object_mut().unwrap().remove("serverSigPk");
    assert_eq!(shown.json(), expected);
}

#[test]
fn addresses_in_paths_are_decoded_and_matched_without_regard_to_case() {
    let server = TestServer::start(&[]);
    server.create_plain("bob.x@restante.test");
    for path in [
        "bob.x@restante.test",
        "bob.x%40restante.test",
        "BOB.X@Restante.Test",
        "%62ob%2ex%40restante.test",
    ] {
        let inbox = server.get(&format!("/api/inboxes/{path}")).expect_status(200).json();
        assert_eq!(inbox["emailAddress"], "bob.x@restante.test", "{path}");
    }
    let wrong = server.get("/api/inboxes/%ff@restante.test").expect_status(400).json();
    assert_eq!(wrong["message"], "path must be percent-encoded UTF-8");
}

#[test]
fn an_unknown_inbox_is_named_as_it_was_asked_for() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    let answer = server
        .get("/api/inboxes/Nobody%40restante.test/sync")
        .expect_status(404);
    assert_snapshot!("unknown_inbox", shape(&answer.body));
    // A tag is no part of an inbox's address, so the API knows no inbox with one.
    for (address, shown) in [
        ("nobody@restante.test", "nobody@restante.test"),
        ("bob+tag@restante.test", "bob+tag@restante.test"),
        ("bob%2Btag@restante.test", "bob+tag@restante.test"),
        ("bob", "bob"),
        ("bob@elsewhere.test", "bob@elsewhere.test"),
        ("bob@restante.test@restante.test", "bob@restante.test@restante.test"),
    ] {
        let id = "msg_00000000000000000000000000000000";
        for (method, rest) in [
            ("GET", String::new()),
            ("GET", "/sync".into()),
            ("GET", "/emails".into()),
            ("GET", format!("/emails/{id}")),
            ("GET", format!("/emails/{id}/raw")),
            ("PATCH", format!("/emails/{id}/read")),
            ("DELETE", format!("/emails/{id}")),
        ] {
            let answer = server.request(method, &format!("/api/inboxes/{address}{rest}"), None);
            assert_eq!(answer.status, 404, "{method} {address}{rest}");
            assert_eq!(answer.json()["message"], format!("Inbox not found: {shown}"));
        }
    }
}

#[test]
fn the_list_of_inboxes_comes_in_pages() {
    let server = TestServer::start(&[]);
    assert_eq!(server.get("/api/inboxes").expect_status(200).body, r#"{"inboxes":[]}"#);
    let mut hashes: Vec<_> = (0..5)
        .map(|n| server.create_plain(&format!("b{n}@restante.test")))
        .collect();
    hashes.sort_by_key(|hash| base64url::decode(hash).unwrap());
    let page = server.get("/api/inboxes?limit=1").expect_status(200);
    assert_snapshot!(
        "inbox_page",
        shape(&page.body.replace(&address_in(&page.json()), "bob@restante.test"))
    );

    let (mut seen, mut query) = (Vec::new(), "?limit=2".to_owned());
    loop {
        let page = server.get(&format!("/api/inboxes{query}")).expect_status(200).json();
        let inboxes = page["inboxes"].as_array().unwrap();
        assert!(inboxes.len() <= 2);
        seen.extend(
            inboxes
                .iter()
                .map(|inbox| inbox["inboxHash"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page.get("next") else { break };
        assert_eq!(next, seen.last().unwrap());
        query = format!("?limit=2&after={}", next.as_str().unwrap());
    }
    assert_eq!(seen, hashes);
    let whole = server.get("/api/inboxes?limit=5").expect_status(200).json();
    assert!(whole.get("next").is_none(), "the last page names no next one");
}

fn address_in(page: &Value) -> String {
    page["inboxes"][0]["emailAddress"].as_str().unwrap().to_owned()
}

#[test]
fn a_page_has_1_to_1000_inboxes_and_100_when_nothing_is_said() {
    let server = TestServer::start(&[]);
    for _ in 0..101 {
        server.create(&json!({})).expect_status(201);
    }
    let count = |query: &str| {
        let page = server.get(&format!("/api/inboxes{query}")).expect_status(200).json();
        (page["inboxes"].as_array().unwrap().len(), page.get("next").is_some())
    };
    assert_eq!(count(""), (100, true));
    assert_eq!(count("?limit=1"), (1, true));
    assert_eq!(count("?limit=1000&unknown=x"), (101, false));
    for limit in ["0", "1001", "-1", "ten", "", "1.0"] {
        let answer = server.get(&format!("/api/inboxes?limit={limit}")).expect_status(400);
        assert_eq!(
            answer.json()["message"],
            "limit must be a number from 1 to 1000",
            "{limit}"
        );
    }
    let answer = server.get("/api/inboxes?after=xyz").expect_status(400);
    assert_eq!(answer.json()["message"], "after: expected 43 base64url characters");
}

#[test]
fn the_sync_hash_is_that_of_the_ids_and_changes_with_them() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    server.create_plain("eve@restante.test");
    let sync = |count: usize| {
        let answer = server.get("/api/inboxes/bob@restante.test/sync").expect_status(200);
        assert_eq!(answer.json()["emailCount"], count);
        answer.json()["emailsHash"].as_str().unwrap().to_owned()
    };
    let empty = server.get("/api/inboxes/bob@restante.test/sync").expect_status(200);
    assert_snapshot!("sync", shape(&empty.body));
    assert_eq!(sync(0), hash_of(Vec::new()));
    assert_eq!(
        sync(0),
        "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
        "SHA-256 of nothing"
    );

    let mut ids: Vec<_> = (0..3).map(|_| server.send_raw("bob@restante.test", EMPTY)).collect();
    server.send_raw("eve@restante.test", EMPTY);
    assert_eq!(sync(3), hash_of(ids.clone()));
    let (before, middle) = (sync(3), ids.remove(1));
    server
        .patch(&format!("/api/inboxes/bob@restante.test/emails/{middle}/read"))
        .expect_status(204);
    assert_eq!(sync(3), before, "reading changes no set of ids");
    server
        .delete(&format!("/api/inboxes/bob@restante.test/emails/{middle}"))
        .expect_status(204);
    assert_eq!(sync(2), hash_of(ids));
}

#[test]
fn deleting_an_inbox_is_idempotent_and_takes_its_mail_along() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    let id = server.send_raw("bob@restante.test", EMPTY);
    for path in ["bob+x@restante.test", "nobody@restante.test", "no%20address", "@"] {
        let answer = server.delete(&format!("/api/inboxes/{path}")).expect_status(204);
        assert_eq!(answer.body, "", "{path}");
    }
    server.get("/api/inboxes/bob@restante.test").expect_status(200);
    for _ in 0..3 {
        let answer = server.delete("/api/inboxes/Bob%40restante.test").expect_status(204);
        assert_eq!((answer.body.as_str(), answer.header("content-type")), ("", ""));
    }
    server.get("/api/inboxes/bob@restante.test").expect_status(404);
    // A later inbox at the address has nothing of the earlier one.
    server.create_plain("bob@restante.test");
    assert_eq!(server.email_ids("bob@restante.test"), Vec::<String>::new());
    server
        .get(&format!("/api/inboxes/bob@restante.test/emails/{id}"))
        .expect_status(404);
}

#[test]
fn deleting_all_inboxes_tells_how_many_there_were() {
    let server = TestServer::start(&[]);
    for _ in 0..3 {
        server.create(&json!({})).expect_status(201);
    }
    assert_eq!(
        server.delete("/api/inboxes").expect_status(200).body,
        r#"{"deleted":3}"#
    );
    assert_eq!(
        server.delete("/api/inboxes").expect_status(200).body,
        r#"{"deleted":0}"#
    );
    assert_eq!(server.get("/api/inboxes").body, r#"{"inboxes":[]}"#);
}

#[test]
fn an_expired_inbox_is_not_among_all_inboxes() {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[], clock.clone());
    for ttl in [60, 61, 62] {
        server.create(&json!({ "ttl": ttl })).expect_status(201);
    }
    clock.advance(Duration::from_secs(61));
    assert_eq!(
        server.get("/api/inboxes").json()["inboxes"].as_array().unwrap().len(),
        1
    );
    assert_eq!(
        server.delete("/api/inboxes").expect_status(200).body,
        r#"{"deleted":1}"#
    );
}

#[test]
fn deleting_all_inboxes_can_be_switched_off() {
    let server = TestServer::start(&[("LOCAL_ALLOW_CLEAR_ALL_INBOXES", "false")]);
    server.create_plain("bob@restante.test");
    let answer = server.delete("/api/inboxes").expect_status(403);
    assert_snapshot!("clear_all_disabled", shape(&answer.body));
    server.get("/api/inboxes/bob@restante.test").expect_status(200);
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
}

#[test]
fn an_inbox_is_gone_from_its_very_expiry_on() {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[], clock.clone());
    let body = json!({ "emailAddress": "bob@restante.test", "ttl": 60 });
    let inbox = server.create(&body).expect_status(201).json();
    assert_eq!(inbox["expiresAt"], "2026-01-25T11:42:16.000Z");
    let id = server.send_raw("bob@restante.test", EMPTY);
    let email = format!("/api/inboxes/bob@restante.test/emails/{id}");
    let reads = [
        "/api/inboxes/bob@restante.test".to_owned(),
        "/api/inboxes/bob@restante.test/sync".into(),
        "/api/inboxes/bob@restante.test/emails".into(),
        email.clone(),
        format!("{email}/raw"),
    ];

    clock.advance(Duration::from_millis(59_999));
    for path in &reads {
        server.get(path).expect_status(200);
    }
    server.create(&body).expect_status(409);
    server.patch(&format!("{email}/read")).expect_status(204);

    clock.advance(Duration::from_millis(1));
    for path in &reads {
        let answer = server.get(path).expect_status(404);
        assert_eq!(answer.json()["message"], "Inbox not found: bob@restante.test", "{path}");
    }
    server.patch(&format!("{email}/read")).expect_status(404);
    server.delete(&email).expect_status(404);
    assert_eq!(server.get("/api/inboxes").body, r#"{"inboxes":[]}"#);
    let hash = inbox["inboxHash"].as_str().unwrap();
    server.get(&format!("/api/events?inboxes={hash}")).expect_status(400);
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
    // The address is free, and the mail does not come back with it.
    server.create(&body).expect_status(201);
    assert_eq!(server.email_ids("bob@restante.test"), Vec::<String>::new());
}

#[test]
fn mail_for_an_inbox_that_has_just_expired_is_refused() {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[], clock.clone());
    server
        .create(&json!({ "emailAddress": "bob@restante.test", "ttl": 60 }))
        .expect_status(201);
    clock.advance(Duration::from_millis(59_999));
    server.send_raw("bob@restante.test", EMPTY);
    clock.advance(Duration::from_millis(1));
    let mut peer = Peer::greeted(server.smtp);
    peer.say("MAIL FROM:<alice@sender.test>");
    let refused = peer.say("RCPT TO:<bob@restante.test>");
    assert!(refused.starts_with("550 5.1.1 "), "{refused}");
}

#[test]
fn inboxes_and_mail_survive_a_restart() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    let id = server.send_raw("bob@restante.test", EMPTY);
    server.send_raw("bob@restante.test", EMPTY);
    server
        .patch(&format!("/api/inboxes/bob@restante.test/emails/{id}/read"))
        .expect_status(204);
    let paths =
        ["", "/sync", "/emails?includeContent=true"].map(|rest| format!("/api/inboxes/bob@restante.test{rest}"));
    let before = paths.each_ref().map(|path| server.get(path).expect_status(200).body);
    let server = TestServer::start_in(server.stop(), &[], Arc::new(restante_model::SystemClock));
    let after = paths.each_ref().map(|path| server.get(path).expect_status(200).body);
    assert_eq!(after, before);
}
