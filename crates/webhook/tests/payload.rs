//! The envelope is the one of the interface, name by name: the tables of docs/spec/interface.md are read.

use restante_envelope::WireProfile;
use restante_model::{EventType, RemovalReason};
use restante_webhook::payload::Node;
use restante_webhook::{EventEnvelope, PayloadLimits, Template};

#[path = "vector/event.rs"]
mod event;

const LIMITS: PayloadLimits = PayloadLimits {
    max_headers: 50,
    max_header_value_chars: 1000,
    max_body_bytes: 65_536,
};

fn interface() -> String {
    let path = event::folder().join("../../docs/spec/interface.md");
    std::fs::read_to_string(path).expect("the interface is part of the repository")
}

/// Name and notes of the rows of the table below a line.
fn table(title: &str) -> Vec<(String, String)> {
    let text = interface();
    let lines = text.lines().skip_while(|line| *line != title).skip(1);
    let rows = lines
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let cells = rows
        .skip(2)
        .map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].to_owned(), cells[3].to_owned())).collect()
}

/// The names in backticks of the line that begins so, but those of values, which stand in brackets.
fn listed(beginning: &str) -> Vec<String> {
    let text = interface();
    let line = text
        .lines()
        .find(|line| line.starts_with(beginning))
        .expect("the line is there");
    let outside = line
        .split('(')
        .map(|part| part.split_once(')').map_or(part, |(_, after)| after));
    let outside: String = outside.collect();
    outside.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn names(data: &Node) -> Vec<String> {
    let Node::Object(fields) = data else {
        panic!("{data:?} is no object")
    };
    fields.iter().map(|(name, _)| name.to_string()).collect()
}

fn received(changes: &str) -> EventEnvelope {
    let event = event::event(&serde_json::from_str(changes).expect("changes"));
    EventEnvelope::arrival(EventType::EmailReceived, "evt_x", &event, &LIMITS)
}

#[test]
fn an_arrival_has_the_fields_of_the_table_in_its_order() {
    let table = table("email.received data:");
    assert_eq!(table.len(), 14, "{table:?}");
    let all: Vec<String> = table.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names(&received("{}").data), all);
    // `auth` may be absent by the table, and never is (decisions, section 7).
    let least = table
        .iter()
        .filter(|(name, notes)| !notes.starts_with("optional") || name == "auth");
    let least: Vec<String> = least.map(|(name, _)| name.clone()).collect();
    assert_eq!(least.len(), 11);
    assert_eq!(names(&received(r#"{"cc":[],"text":null,"html":null}"#).data), least);
}

#[test]
fn storage_and_removal_have_the_fields_that_are_listed() {
    let event = event::event(&serde_json::json!({}));
    let stored = EventEnvelope::arrival(EventType::EmailStored, "evt_x", &event, &LIMITS);
    assert_eq!(names(&stored.data), listed("email.stored data:"));
    let (hash, address, at) = (event.inbox_hash, &event.inbox_address, event.stored_at);
    let deleted = EventEnvelope::removal("evt_x", event.email, hash, address, RemovalReason::Ttl, at);
    assert_eq!(names(&deleted.data), listed("email.deleted data:"));
    for event_type in EventType::ALL {
        let test = EventEnvelope::test(event_type, at);
        let real = match event_type {
            EventType::EmailReceived => received(r#"{"cc":[],"text":null,"html":null}"#),
            EventType::EmailStored => stored.clone(),
            EventType::EmailDeleted => deleted.clone(),
        };
        let mut expected = names(&real.data);
        expected.retain(|name| name != "auth");
        assert_eq!(names(&test.data), expected);
    }
}

#[test]
fn the_envelope_stands_around_the_data_as_the_interface_shows_it() {
    let text = interface();
    let shown = text
        .lines()
        .find(|line| line.starts_with("`{ id: string (evt_ prefix)"))
        .expect("the line is there");
    let names = shown
        .trim_matches(['`', '{', '}', ' '])
        .split(", ")
        .map(|field| field.split(':').next().unwrap());
    let rendered = Template::compile(None)
        .expect("a template")
        .render(&received("{}"), WireProfile::Service);
    let json = String::from_utf8(rendered.body.to_vec()).expect("JSON is UTF-8");
    let places: Vec<usize> = names
        .map(|name| json.find(&format!("\"{name}\":")).expect(name))
        .collect();
    assert_eq!(places.len(), 5);
    assert!(places.is_sorted() && places[0] == 1, "{places:?}");
}

#[test]
fn an_event_is_dated_when_it_happened() {
    let event = event::event(&serde_json::json!({}));
    let stored = EventEnvelope::arrival(EventType::EmailStored, "evt_x", &event, &LIMITS);
    assert_eq!(
        (received("{}").created_at, stored.created_at),
        (event.received_at, event.stored_at)
    );
    assert_ne!(event.received_at, event.stored_at);
}

#[test]
fn paths_lead_through_envelope_and_data() {
    let envelope = received("{}");
    let found = |path: &str| envelope.find(path).map(std::borrow::Cow::into_owned);
    assert_eq!(found("createdAt"), Some(Node::Number(1_769_341_276)));
    assert_eq!(
        found("timestamp"),
        Some(Node::Text("2026-01-25T11:41:16.123Z".to_owned()))
    );
    assert_eq!(found("data"), Some(envelope.data.clone()));
    assert_eq!(found("data.headers.x-my.header"), Some(Node::Text("dots".to_owned())));
    for path in ["", "data.", "id.", "id.x", "Data", "data.from.", "timestamp.x"] {
        assert_eq!(found(path), None, "{path}");
    }
}
