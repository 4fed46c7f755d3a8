//! Every scenario of `tests/vectors/template`: the exact bytes that a receiver gets, and which templates are none.

use std::path::Path;

use restante_model::webhook::WebhookTemplate;
use restante_model::{EventType, RemovalReason, Timestamp};
use restante_webhook::{EventEnvelope, PayloadLimits, Rendered, Template, TemplateError};
use serde_json::Value;

#[path = "vector/event.rs"]
mod event;
#[path = "vector/scenario.rs"]
mod scenario;

use event::event;
use scenario::scenarios;

/// The id of the event in all scenarios.
const EVENT_ID: &str = "evt_00112233445566778899aabbccddeeff";

fn compiled(scenario: &Value) -> Result<Template, TemplateError> {
    let template: Option<WebhookTemplate> =
        serde_json::from_value(scenario["template"].clone()).expect("a template has the shape of one");
    Template::compile(template.as_ref())
}

fn limits(scenario: &Value) -> PayloadLimits {
    let limit = |name: &str, default: usize| {
        let given = scenario["limits"]
            .get(name)
            .map(|limit| limit.as_u64().expect("a number"));
        given.map_or(default, |limit| usize::try_from(limit).expect("a size"))
    };
    PayloadLimits {
        max_headers: limit("maxHeaders", 50),
        max_header_value_chars: limit("maxHeaderValueChars", 1000),
        max_body_bytes: limit("maxBodyBytes", 65_536),
    }
}

fn envelope(scenario: &Value) -> EventEnvelope {
    let word = |name: &str| scenario.get(name).cloned();
    let event_type = word("type").map_or(EventType::EmailReceived, |event_type| {
        serde_json::from_value(event_type).expect("a type of event")
    });
    let event = event(&word("event").unwrap_or_else(|| Value::Object(serde_json::Map::new())));
    if word("test").is_some() {
        return EventEnvelope::test(event_type, event.received_at);
    }
    let Some(reason) = word("reason") else {
        return EventEnvelope::arrival(event_type, EVENT_ID, &event, &limits(scenario));
    };
    let reason: RemovalReason = serde_json::from_value(reason).expect("a reason");
    let at = Timestamp::parse("2026-01-25T11:41:40.999Z").expect("a moment");
    EventEnvelope::removal(
        EVENT_ID,
        event.email,
        event.inbox_hash,
        &event.inbox_address,
        reason,
        at,
    )
}

fn rendered(scenario: &Value) -> Rendered {
    let profile = scenario["profile"]
        .as_str()
        .unwrap_or("service")
        .parse()
        .expect("a profile");
    let template = compiled(scenario).unwrap_or_else(|error| panic!("{error}"));
    template.render(&envelope(scenario), profile)
}

fn body(path: &Path) -> Vec<u8> {
    let path = path.with_extension("body");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn bodies_are_the_bytes_beside_the_scenarios() {
    let mut wrong = Vec::new();
    for (path, scenario) in scenarios("template", 100) {
        if scenario.get("error").is_some() {
            continue;
        }
        println!("{}", path.display());
        let found = rendered(&scenario);
        if found.body != body(&path) {
            println!("found {}", String::from_utf8_lossy(&found.body));
            wrong.push(path.clone());
        }
        let content_type = scenario["contentType"].as_str().unwrap_or("application/json");
        assert_eq!(found.content_type, content_type, "{}", path.display());
        if scenario.get("contentType").is_none() {
            let json: Result<Value, _> = serde_json::from_slice(&found.body);
            assert!(json.is_ok(), "{} is no JSON", path.display());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn wrong_templates_say_where_and_why() {
    let mut count = 0;
    for (path, scenario) in scenarios("template", 100) {
        let Some(parts) = scenario.get("error") else { continue };
        count += 1;
        let name = path.display().to_string();
        let error = compiled(&scenario).expect_err(&name).to_string();
        for part in parts.as_array().expect("parts of the message") {
            let part = part.as_str().expect("a text");
            assert!(error.contains(part), "{name}: `{error}` lacks `{part}`");
        }
        assert!(!path.with_extension("body").exists(), "{name} has a body");
    }
    assert!(count >= 15, "only {count} wrong templates");
}

#[test]
fn each_body_has_its_scenario() {
    let mut count = 0;
    for entry in std::fs::read_dir(event::folder().join("template")).expect("the folder is there") {
        let path = entry.expect("the folder is readable").path();
        if path.extension().is_some_and(|extension| extension == "body") {
            count += 1;
            assert!(path.with_extension("json").exists(), "{}", path.display());
        }
    }
    assert!(count >= 80, "only {count} bodies");
}

#[test]
fn a_template_cannot_multiply_an_event_without_end() {
    let body = format!("[\"{}\"{}]", "{{data}}".repeat(1_200), ",{{createdAt}}".repeat(20));
    let template = serde_json::json!({ "template": { "type": "custom", "body": body } });
    let template = compiled(&template).expect("a template");
    let event = event(&serde_json::json!({ "html": { "repeat": [["\u{0}", 65_536]] } }));
    let envelope = EventEnvelope::arrival(EventType::EmailReceived, EVENT_ID, &event, &limits(&Value::Null));
    let rendered = template.render(&envelope, restante_envelope::WireProfile::Service).body;
    // All of it would be 550 MB; one copy always fits.
    assert!(
        (400_000..4_000_000).contains(&rendered.len()),
        "{} bytes",
        rendered.len()
    );
    let json: Value = serde_json::from_slice(&rendered).expect("what is left out leaves JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(21));
}
