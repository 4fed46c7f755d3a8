//! Events of nobody's email: those that a test of a webhook sends, and those that a template is tried with.

use restante_model::auth::{SpfVerdict, Verdict};
use restante_model::event::{EventAttachment, EventAuth, EventMailbox};
use restante_model::{ArrivalEvent, EmailId, EventType, InboxHash, RemovalReason, Timestamp};

use super::{EventEnvelope, Node, PayloadLimits, about, deleted, object, stored, text};

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

/// Events of all three types: an arrival with every field, one with as few as there can be, what was stored, and what
/// was removed.
///
/// What renders with all of them does so whether a value is there or not.
pub(crate) fn samples() -> [EventEnvelope; 5] {
    let at = Timestamp::from_unix_ms(1_769_341_276_000);
    let limits = PayloadLimits {
        max_headers: usize::MAX,
        max_header_value_chars: usize::MAX,
        max_body_bytes: usize::MAX,
    };
    let id = "evt_00000000000000000000000000000000";
    let arrival = |event_type, event| EventEnvelope::arrival(event_type, id, event, &limits);
    let (full, sparse) = (full(at), sparse(at));
    [
        arrival(EventType::EmailReceived, &full),
        arrival(EventType::EmailReceived, &sparse),
        arrival(EventType::EmailStored, &full),
        EventEnvelope::removal(
            id,
            full.email,
            full.inbox_hash,
            &full.inbox_address,
            RemovalReason::Ttl,
            at,
        ),
        test(EventType::EmailReceived, at),
    ]
}

/// An email that has everything, quotation marks and line breaks too.
fn full(at: Timestamp) -> ArrivalEvent {
    let sender = EventMailbox {
        address: "alice@example.com".to_owned(),
        name: Some("Alice \"A.\" Example".to_owned()),
    };
    let attachment = EventAttachment {
        filename: "report.pdf".to_owned(),
        content_type: "application/pdf".to_owned(),
        size: 1024,
    };
    ArrivalEvent {
        from: sender.clone(),
        to: vec![sender.clone(), sender.clone()],
        cc: vec![sender],
        subject: "A \"subject\" with a \\ and a\ttab".to_owned(),
        text: Some("Two\nlines".to_owned()),
        html: Some("<p class=\"x\">Two<br>\nlines</p>".to_owned()),
        headers: vec![("subject".to_owned(), "A subject".to_owned())],
        attachments: vec![attachment],
        ..sparse(at)
    }
}

/// An email that has next to nothing.
fn sparse(at: Timestamp) -> ArrivalEvent {
    ArrivalEvent {
        email: EmailId::from_bytes([0; 16]),
        inbox_hash: InboxHash::from_bytes([0; 32]),
        inbox_address: "inbox@example.com".to_owned(),
        from: EventMailbox {
            address: String::new(),
            name: None,
        },
        to: Vec::new(),
        cc: Vec::new(),
        subject: String::new(),
        text: None,
        html: None,
        headers: Vec::new(),
        attachments: Vec::new(),
        auth: EventAuth {
            spf: SpfVerdict::Skipped,
            dkim: Verdict::Skipped,
            dmarc: Verdict::Skipped,
        },
        received_at: at,
        stored_at: at,
    }
}
