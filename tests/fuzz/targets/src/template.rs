//! Templates: texts of users that are filled with texts of strangers.
//!
//! Head: a content type. Then the body of a template, NUL, and the text that an event is full of.

use restante_envelope::WireProfile;
use restante_model::webhook::{BuiltInTemplate, CustomKind, CustomTemplate, WebhookTemplate};
use restante_model::{EventType, RemovalReason};
use restante_webhook::payload::Node;
use restante_webhook::{EventEnvelope, PayloadLimits, Template, TemplateError};
use serde_json::Value;

use crate::{event, head};

/// Bytes of the head.
pub(crate) const HEAD: usize = 1;

const CONTENT_TYPES: [Option<&str>; 4] = [
    None,
    Some("application/json; charset=utf-8"),
    Some("application/x.y+json"),
    Some("text/plain"),
];

const LIMITS: PayloadLimits = PayloadLimits {
    max_headers: 8,
    max_header_value_chars: 100,
    max_body_bytes: 1_000,
};

/// Bytes of a body that is filled whatever the event: of a larger one, values may be left out.
const ALWAYS_FILLED: usize = 1 << 20;

/// Makes a template of a text, and fills it and all built-in ones with events.
///
/// # Panics
/// - A template that is to be JSON was taken, and an event makes something else of it.
/// - A refusal shows a place that the template does not have.
/// - What is filled in is not what a reference fills in.
/// - A built-in template makes something that is no JSON, or shows an empty text.
pub fn run(input: &[u8]) {
    let (head, rest) = head::split::<HEAD>(input);
    let (body, text) = event::halves(rest);
    let content_type = CONTENT_TYPES[usize::from(head[0]) % CONTENT_TYPES.len()];
    let is_json = content_type != Some("text/plain");
    let custom = WebhookTemplate::Custom(CustomTemplate {
        kind: CustomKind::Custom,
        body: body.clone(),
        content_type: content_type.map(str::to_owned),
    });
    let envelopes = envelopes(&text);
    match Template::compile(Some(&custom)) {
        Ok(template) => {
            for envelope in &envelopes {
                let rendered = render(&template, envelope);
                let expected = filled(&body, envelope, is_json);
                assert!(
                    rendered == expected || rendered.len() < expected.len() && expected.len() > ALWAYS_FILLED,
                    "{body}"
                );
                assert!(
                    !is_json || serde_json::from_str::<Value>(&rendered).is_ok(),
                    "{rendered}"
                );
            }
        }
        Err(TemplateError::NotJson {
            line, column, excerpt, ..
        }) => {
            assert!(is_json && body.contains(&excerpt));
            let line = body.split('\n').nth(line - 1).expect("the line is there");
            assert!((1..=line.chars().count() + 1).contains(&column));
        }
        Err(other) => panic!("{other}"),
    }
    built_in(&envelopes);
}

/// An arrival, its storage and its removal, all of whose texts are this one.
fn envelopes(text: &str) -> [EventEnvelope; 3] {
    let mut event = event::arrival();
    for place in [&mut event.subject, &mut event.from.address] {
        text.clone_into(place);
    }
    for place in [&mut event.from.name, &mut event.text, &mut event.html] {
        *place = Some(text.to_owned());
    }
    event.headers.push((text.to_owned(), text.to_owned()));
    let id = "evt_00112233445566778899aabbccddeeff";
    let arrival = |event_type| EventEnvelope::arrival(event_type, id, &event, &LIMITS);
    let (hash, address, at) = (event.inbox_hash, &event.inbox_address, event.stored_at);
    [
        arrival(EventType::EmailReceived),
        arrival(EventType::EmailStored),
        EventEnvelope::removal(id, event.email, hash, address, RemovalReason::Eviction, at),
    ]
}

fn render(template: &Template, envelope: &EventEnvelope) -> String {
    let rendered = template.render(envelope, WireProfile::Service);
    String::from_utf8(rendered.body.to_vec()).expect("a body is text")
}

/// A template with its values in the place of its placeholders, one character after the other.
fn filled(body: &str, envelope: &EventEnvelope, is_json: bool) -> String {
    let mut filled = String::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        if let Some((path, after)) = placeholder(rest) {
            filled.push_str(&written(envelope, path.trim(), is_json));
            rest = after;
        } else {
            filled.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    filled
}

/// The path of the placeholder that a text begins with, and what follows it.
fn placeholder(text: &str) -> Option<(&str, &str)> {
    let (path, after) = text.strip_prefix("{{")?.split_once("}}")?;
    (!path.is_empty() && !path.contains(['{', '}'])).then_some((path, after))
}

fn written(envelope: &EventEnvelope, path: &str, is_json: bool) -> String {
    let text = match envelope.find(path).as_deref() {
        None => String::new(),
        Some(Node::Text(text)) => text.clone(),
        Some(other) => serde_json::to_string(other).expect("a value has its JSON"),
    };
    if !is_json {
        return text;
    }
    let quoted = Value::String(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn built_in(envelopes: &[EventEnvelope; 3]) {
    for name in BuiltInTemplate::ALL {
        let template = Template::compile(Some(&WebhookTemplate::BuiltIn(name))).expect("a template");
        for envelope in envelopes {
            let rendered = render(&template, envelope);
            let json: Value = serde_json::from_str(&rendered).expect("a body is JSON");
            assert!(name == BuiltInTemplate::Default || !has_blank(&json), "{rendered}");
        }
    }
}

fn has_blank(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().all(|c| c.is_whitespace() || c.is_control()),
        Value::Array(items) => items.iter().any(has_blank),
        Value::Object(fields) => fields.values().any(has_blank),
        _ => false,
    }
}
