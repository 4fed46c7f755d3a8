//! Events of nobody's email: what a test of a webhook sends, and what a template is tried with.

use restante_model::{EventType, RemovalReason, Timestamp};

use super::{EventEnvelope, Node, about, deleted, object, stored, text};

/// What follows the prefixes of the ids in a test.
const ZEROS: &str = "000000000000000000000000000000";
const TEST_INBOX: &str = "test@sandbox.example.com";
const TEST_SENDER: &str = "sender@example.com";
const TEST_SUBJECT: &str = "Test webhook delivery";

/// Source: decisions, section 7, "Test".
pub(super) fn test(event_type: EventType, now: Timestamp) -> EventEnvelope {
    let about = about(format!("msg_test_{ZEROS}"), "test_inbox_hash".to_owned(), TEST_INBOX);
    let data = match event_type {
        EventType::EmailReceived => object(about.into_iter().chain(test_arrival(now))),
        EventType::EmailStored => stored(about, now),
        EventType::EmailDeleted => deleted(about, RemovalReason::Manual, now),
    };
    EventEnvelope {
        id: format!("evt_test_{ZEROS}"),
        event_type,
        created_at: now,
        data,
    }
}

fn test_arrival(now: Timestamp) -> [(&'static str, Node); 7] {
    let mailbox = |address: &str, name: &str| object([("address", text(address)), ("name", text(name))]);
    let headers = [
        ("from", format!("Test Sender <{TEST_SENDER}>")),
        ("to", format!("Test Inbox <{TEST_INBOX}>")),
        ("subject", TEST_SUBJECT.to_owned()),
    ];
    [
        ("from", mailbox(TEST_SENDER, "Test Sender")),
        ("to", Node::Array(vec![mailbox(TEST_INBOX, "Test Inbox")])),
        ("subject", text(TEST_SUBJECT)),
        (
            "snippet",
            text("This is a test of your webhook. No email was received."),
        ),
        ("headers", object(headers.map(|(name, value)| (name, text(value))))),
        ("attachments", Node::Array(Vec::new())),
        ("receivedAt", text(now.to_string())),
    ]
}
