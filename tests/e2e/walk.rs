//! The main job from end to end: create an inbox, send mail, read it in every way.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::harness::{API_KEY, EventStream, TestServer};

fn decode(field: &Value) -> Value {
    serde_json::from_slice(&STANDARD.decode(field.as_str().unwrap()).unwrap()).unwrap()
}

#[test]
fn a_mail_to_a_plain_inbox_is_streamed_listed_fetched_marked_and_deleted() {
    let server = TestServer::start(&[]);
    let hash = server.create_plain("bob@restante.test");
    let mut stream = EventStream::open(
        server.http,
        &format!("/api/events?inboxes={hash}"),
        &[("X-API-Key", API_KEY)],
    );
    server.send("bob+tag@restante.test", "Grüße", "hello\nhttps://example.test/a.\n");

    let event = stream.next_event().unwrap();
    let id = event.data["emailId"].as_str().unwrap();
    assert_eq!(event.id, id);
    assert_eq!(event.data["inboxId"], hash.as_str());
    assert_eq!(decode(&event.data["metadata"])["subject"], "Grüße");
    assert_eq!(decode(&event.data["metadata"])["to"][0], "bob+tag@restante.test");

    let emails = "/api/inboxes/bob@restante.test/emails";
    let list = server.get(emails).expect_status(200).json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(list[0]["id"], id);
    assert_eq!(list[0]["isRead"], false);
    assert!(list[0].get("parsed").is_none());

    let email = server.get(&format!("{emails}/{id}")).expect_status(200).json();
    let parsed = decode(&email["parsed"]);
    assert_eq!(parsed["text"], "hello\nhttps://example.test/a.\n\n");
    assert_eq!(parsed["links"], serde_json::json!(["https://example.test/a"]));

    let raw = server.get(&format!("{emails}/{id}/raw")).expect_status(200).json();
    let raw = String::from_utf8(STANDARD.decode(raw["raw"].as_str().unwrap()).unwrap()).unwrap();
    assert!(raw.starts_with("Received: from "), "{raw}");
    assert!(raw.contains("by mx.restante.test"), "{raw}");

    server
        .request("PATCH", &format!("{emails}/{id}/read"), None)
        .expect_status(204);
    assert_eq!(server.get(emails).json()[0]["isRead"], true);
    server
        .request("DELETE", &format!("{emails}/{id}"), None)
        .expect_status(204);
    assert_eq!(server.get(emails).json(), serde_json::json!([]));
    server.get(&format!("{emails}/{id}")).expect_status(404);
}
