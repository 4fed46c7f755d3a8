use serde_json::{Value, json};

use super::*;

fn envelope(event_type: &str, data: &Value) -> Vec<u8> {
    // A server may say more than the interface, and in another order.
    let event = json!({
        "id": "evt_0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "object": "event",
        "createdAt": 1_769_341_276,
        "later": true,
        "type": event_type,
        "data": data,
    });
    serde_json::to_vec(&event).unwrap()
}

fn with(more: &Value) -> Value {
    let mut data = json!({ "id": "msg_1", "inboxId": "hash", "inboxEmail": "bob@restante.test", "later": {} });
    for (name, value) in more.as_object().unwrap() {
        data[name] = value.clone();
    }
    data
}

fn received() -> Value {
    with(&json!({
        "from": { "address": "alice@sender.test", "name": "Alice" },
        "to": [{ "address": "bob@restante.test" }],
        "subject": "private",
        "snippet": "private",
        "headers": { "x-my": "one" },
        "attachments": [{ "filename": "a.pdf", "contentType": "application/pdf", "size": 7 }],
        "receivedAt": "2026-01-25T11:41:16.123Z",
    }))
}

#[test]
fn an_arrival_is_read_with_and_without_what_is_optional() {
    let event = WebhookEvent::parse(&envelope("email.received", &received())).unwrap();
    assert_eq!(event.event_type(), EventType::EmailReceived);
    assert_eq!(
        (event.email_id(), event.inbox(), event.created_at.unix_secs()),
        ("msg_1", "bob@restante.test", 1_769_341_276)
    );
    let EventData::Received(email) = &event.data else {
        panic!("{event:?}");
    };
    assert_eq!(email.from.name.as_deref(), Some("Alice"));
    assert_eq!(email.headers["x-my"], "one");
    assert_eq!(email.attachments[0].size, 7);
    assert!(email.cc.is_empty() && email.text_body.is_none() && email.html_body.is_none() && email.auth.is_none());

    let mut more = received();
    more["cc"] = json!([{ "address": "dave@example.org" }]);
    more["textBody"] = "text".into();
    more["htmlBody"] = "<p>".into();
    more["auth"] = json!({ "spf": "softfail", "dkim": "pass", "dmarc": "none" });
    let event = WebhookEvent::parse(&envelope("email.received", &more)).unwrap();
    let EventData::Received(email) = event.data else {
        panic!("{event:?}");
    };
    assert_eq!(email.cc[0].address, "dave@example.org");
    assert_eq!(email.text_body.as_deref(), Some("text"));
    assert_eq!(email.html_body.as_deref(), Some("<p>"));
    assert!(!email.auth.unwrap().passed());
}

#[test]
fn what_is_stored_and_removed_is_read() {
    let data = with(&json!({ "storedAt": "2026-01-25T11:41:17.004Z" }));
    let event = WebhookEvent::parse(&envelope("email.stored", &data)).unwrap();
    assert_eq!(
        (event.event_type(), event.email_id()),
        (EventType::EmailStored, "msg_1")
    );
    for reason in [RemovalReason::Manual, RemovalReason::Ttl, RemovalReason::Eviction] {
        let data = with(&json!({ "reason": reason, "deletedAt": "2026-01-25T11:41:17.004Z" }));
        let event = WebhookEvent::parse(&envelope("email.deleted", &data)).unwrap();
        let EventData::Deleted(email) = &event.data else {
            panic!("{event:?}");
        };
        assert_eq!((email.reason, event.event_type()), (reason, EventType::EmailDeleted));
    }
}

#[test]
fn what_is_no_event_is_said_without_its_content() {
    let text = br#"{"text":"New email from private@sender.test"}"#.to_vec();
    let unknown = envelope("email.private", &received());
    let mut torn = envelope("email.received", &received());
    torn.pop();
    for body in [&text, &unknown, &torn, &b"private".to_vec(), &Vec::new()] {
        let error = WebhookEvent::parse(body).unwrap_err();
        assert!(matches!(error, DeliveryError::NotAnEvent(_)));
        assert!(!error.to_string().contains("private"), "{error}");
    }
}

#[test]
fn debug_shows_nothing_of_the_mail() {
    let event = WebhookEvent::parse(&envelope("email.received", &received())).unwrap();
    let shown = format!("{event:?} {:?}", event.data);
    assert!(shown.contains("msg_1") && !shown.contains("private") && !shown.contains("alice"));
}
