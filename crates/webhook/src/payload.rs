//! What a receiver is told of an event: the envelope of the interface, with its fields in the order of the interface.
//!
//! Source: docs/spec/interface.md, "Envelope" and "Data shapes"; docs/spec/decisions.md, section 7.

pub mod node;
mod sample;

use std::borrow::Cow;

use restante_model::event::EventMailbox;
use restante_model::{ArrivalEvent, EmailId, EventType, InboxHash, RemovalReason, Timestamp};
use serde::{Serialize, Serializer};

pub use node::Node;
use node::{object, text};

/// How much of an email a payload shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "each is a limit, and its name says of what")]
pub struct PayloadLimits {
    /// Header names, the first in message order.
    pub max_headers: usize,
    /// Characters of a header's value.
    pub max_header_value_chars: usize,
    /// Bytes of each body; less where a character would be cut.
    pub max_body_bytes: usize,
}

/// Characters of a snippet.
const SNIPPET_CHARS: usize = 200;

/// An event as receivers see it; serialised, it is the payload of the template `default`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventEnvelope {
    /// The id, with its prefix `evt_`.
    pub id: String,
    /// What happened.
    pub event_type: EventType,
    /// When it happened.
    pub created_at: Timestamp,
    /// The data of this type of event.
    pub data: Node,
}

impl EventEnvelope {
    /// The envelope of an email's arrival: `email.received` with all that is shown of it, else `email.stored`.
    pub fn arrival(event_type: EventType, event_id: &str, event: &ArrivalEvent, limits: &PayloadLimits) -> Self {
        let (event_type, created_at, data) = match event_type {
            EventType::EmailReceived => (event_type, event.received_at, received(event, limits)),
            // A removal is no arrival and has its own constructor.
            EventType::EmailStored | EventType::EmailDeleted => {
                let about = about(
                    event.email.to_string(),
                    event.inbox_hash.to_string(),
                    &event.inbox_address,
                );
                (EventType::EmailStored, event.stored_at, stored(about, event.stored_at))
            }
        };
        Self {
            id: event_id.to_owned(),
            event_type,
            created_at,
            data,
        }
    }

    /// The envelope of an email's removal at a moment.
    pub fn removal(
        event_id: &str,
        email: EmailId,
        inbox_hash: InboxHash,
        inbox_address: &str,
        reason: RemovalReason,
        at: Timestamp,
    ) -> Self {
        let about = about(email.to_string(), inbox_hash.to_string(), inbox_address);
        Self {
            id: event_id.to_owned(),
            event_type: EventType::EmailDeleted,
            created_at: at,
            data: deleted(about, reason, at),
        }
    }

    /// The envelope that a test of a webhook sends.
    pub fn test(event_type: EventType, now: Timestamp) -> Self {
        sample::test(event_type, now)
    }

    /// The value at a path of names and indices with dots between them; the whole rest of a path may be one name.
    ///
    /// The names are those of the envelope, and `timestamp`, which is `createdAt` in ISO 8601.
    pub fn find(&self, path: &str) -> Option<Cow<'_, Node>> {
        let (first, rest) = path
            .split_once('.')
            .map_or((path, None), |(first, rest)| (first, Some(rest)));
        match (first, rest) {
            ("data", None) => Some(Cow::Borrowed(&self.data)),
            ("data", Some(rest)) => self.data.find(rest).map(Cow::Borrowed),
            (name, None) => self.head(name).map(Cow::Owned),
            (_, Some(_)) => None,
        }
    }

    /// The text at a path; empty if there is none.
    pub(crate) fn text(&self, path: &str) -> &str {
        let found = path.strip_prefix("data.").and_then(|path| self.data.find(path));
        match found {
            Some(Node::Text(text)) => text,
            _ => "",
        }
    }

    /// A field beside `data`.
    fn head(&self, name: &str) -> Option<Node> {
        match name {
            "id" => Some(text(&self.id)),
            "object" => Some(text(OBJECT)),
            "createdAt" => Some(Node::Number(self.created_at.unix_secs())),
            "timestamp" => Some(text(self.created_at.to_string())),
            "type" => Some(text(self.event_type.as_str())),
            _ => None,
        }
    }
}

/// The fields beside `data` in the order of the interface.
const HEAD: [&str; 4] = ["id", "object", "createdAt", "type"];

/// What `object` always says.
const OBJECT: &str = "event";

impl Serialize for EventEnvelope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = HEAD
            .into_iter()
            .filter_map(|name| Some((name, Cow::Owned(self.head(name)?))));
        serializer.collect_map(head.chain([("data", Cow::Borrowed(&self.data))]))
    }
}

/// The fields that the data of every event begins with.
fn about(email: String, inbox_hash: String, inbox_address: &str) -> [(&'static str, Node); 3] {
    [
        ("id", text(email)),
        ("inboxId", text(inbox_hash)),
        ("inboxEmail", text(inbox_address)),
    ]
}

fn received(event: &ArrivalEvent, limits: &PayloadLimits) -> Node {
    let about = about(
        event.email.to_string(),
        event.inbox_hash.to_string(),
        &event.inbox_address,
    );
    let body = |body: &Option<String>| body.as_deref().map(|body| text(cut_bytes(body, limits.max_body_bytes)));
    let attachments = event.attachments.iter().map(|attachment| {
        object([
            ("filename", text(&attachment.filename)),
            ("contentType", text(&attachment.content_type)),
            ("size", Node::Number(attachment.size)),
        ])
    });
    let rest = [
        ("from", Some(mailbox(&event.from))),
        ("to", Some(mailboxes(&event.to))),
        ("cc", (!event.cc.is_empty()).then(|| mailboxes(&event.cc))),
        ("subject", Some(text(&event.subject))),
        ("snippet", Some(text(snippet(event.text.as_deref())))),
        ("textBody", body(&event.text)),
        ("htmlBody", body(&event.html)),
        ("headers", Some(headers(event, limits))),
        ("attachments", Some(Node::Array(attachments.collect()))),
        ("auth", Some(auth(event))),
        ("receivedAt", Some(text(event.received_at.to_string()))),
    ];
    let rest = rest.into_iter().filter_map(|(name, value)| Some((name, value?)));
    object(about.into_iter().chain(rest))
}

fn stored(about: [(&'static str, Node); 3], at: Timestamp) -> Node {
    object(about.into_iter().chain([("storedAt", text(at.to_string()))]))
}

fn deleted(about: [(&'static str, Node); 3], reason: RemovalReason, at: Timestamp) -> Node {
    let rest = [("reason", text(reason.as_str())), ("deletedAt", text(at.to_string()))];
    object(about.into_iter().chain(rest))
}

fn mailbox(mailbox: &EventMailbox) -> Node {
    let name = mailbox.name.as_ref().map(|name| ("name", text(name)));
    object([("address", text(&mailbox.address))].into_iter().chain(name))
}

fn mailboxes(all: &[EventMailbox]) -> Node {
    Node::Array(all.iter().map(mailbox).collect())
}

fn headers(event: &ArrivalEvent, limits: &PayloadLimits) -> Node {
    let shown = event.headers.iter().take(limits.max_headers);
    let cut = |value: &str| text(cut_chars(value, limits.max_header_value_chars));
    Node::Object(
        shown
            .map(|(name, value)| (Cow::Owned(name.clone()), cut(value)))
            .collect(),
    )
}

fn auth(event: &ArrivalEvent) -> Node {
    let auth = &event.auth;
    object([
        ("spf", word(&auth.spf)),
        ("dkim", word(&auth.dkim)),
        ("dmarc", word(&auth.dmarc)),
    ])
}

/// The word that a verdict is on the wire.
fn word(verdict: &impl Serialize) -> Node {
    let word = serde_json::to_value(verdict).ok();
    text(word.as_ref().and_then(|word| word.as_str()).unwrap_or_default())
}

/// The beginning of a text body, unchanged.
fn snippet(body: Option<&str>) -> &str {
    cut_chars(body.unwrap_or_default(), SNIPPET_CHARS)
}

/// At most so many characters (Unicode scalar values) of a text.
pub(crate) fn cut_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// At most so many bytes of a text; less where a character would be cut.
pub(crate) fn cut_bytes(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}
