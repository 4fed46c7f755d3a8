//! What the built-in templates make passes the rules of the services that they are made for
//! (`tests/fixtures/receivers`), whatever is in an email.

use std::collections::BTreeSet;

use bytes::Bytes;
use restante_envelope::WireProfile;
use restante_model::webhook::{BuiltInTemplate, WebhookTemplate};
use restante_model::{ArrivalEvent, EventType, RemovalReason};
use restante_webhook::{EventEnvelope, PayloadLimits, Template};
use serde_json::Value;

#[path = "vector/event.rs"]
mod event;
#[path = "receiver/rules.rs"]
mod rules;

use rules::Rules;

const SERVICES: [BuiltInTemplate; 3] = [BuiltInTemplate::Slack, BuiltInTemplate::Discord, BuiltInTemplate::Teams];

const LIMITS: PayloadLimits = PayloadLimits {
    max_headers: 50,
    max_header_value_chars: 1000,
    max_body_bytes: 65_536,
};

fn fixture(name: &str) -> Value {
    event::read(&event::folder().join(format!("../fixtures/receivers/{name}.json")))
}

fn hostile() -> Vec<ArrivalEvent> {
    let events = fixture("hostile");
    let events: Vec<_> = events.as_array().expect("a list").iter().map(event::event).collect();
    assert!(events.len() >= 20, "only {} events", events.len());
    events
}

/// What may be told of an email: its arrival and storage, its removal for each reason, and tests of all three.
fn envelopes(event: &ArrivalEvent) -> Vec<EventEnvelope> {
    let id = "evt_00112233445566778899aabbccddeeff";
    let arrivals = [EventType::EmailReceived, EventType::EmailStored];
    let arrivals = arrivals.map(|event_type| EventEnvelope::arrival(event_type, id, event, &LIMITS));
    let reasons = [RemovalReason::Manual, RemovalReason::Ttl, RemovalReason::Eviction];
    let at = event.stored_at;
    let (hash, address) = (event.inbox_hash, &event.inbox_address);
    let removals = reasons.map(|reason| EventEnvelope::removal(id, event.email, hash, address, reason, at));
    let tests = EventType::ALL.map(|event_type| EventEnvelope::test(event_type, at));
    arrivals.into_iter().chain(removals).chain(tests).collect()
}

/// What a template makes of all of them, each once.
fn payloads(template: BuiltInTemplate) -> BTreeSet<Bytes> {
    let template = Template::compile(Some(&WebhookTemplate::BuiltIn(template))).expect("a template");
    let mut payloads = BTreeSet::new();
    for envelope in hostile().iter().flat_map(envelopes) {
        for profile in [WireProfile::Service, WireProfile::VaultSandbox] {
            payloads.insert(template.render(&envelope, profile).body);
        }
    }
    payloads
}

#[test]
fn payloads_keep_the_rules_of_their_service() {
    for service in SERVICES {
        let rules = Rules::of(&fixture(service.as_str()));
        for payload in payloads(service) {
            let broken = rules.broken(&payload);
            assert!(broken.is_empty(), "{broken:#?}\n{}", String::from_utf8_lossy(&payload));
        }
    }
}

#[test]
fn each_rule_says_something_of_some_payload() {
    for service in SERVICES {
        let rules = Rules::of(&fixture(service.as_str()));
        assert!(rules.len() >= 15, "only {} rules of {service:?}", rules.len());
        let applying: BTreeSet<usize> = payloads(service)
            .iter()
            .flat_map(|payload| rules.applying(payload))
            .collect();
        assert_eq!(applying.len(), rules.len(), "{applying:?}");
    }
}

#[test]
fn rules_refuse_what_the_service_refuses() {
    for service in SERVICES {
        let fixture = fixture(service.as_str());
        let rules = Rules::of(&fixture);
        let refused = fixture["refuses"].as_array().expect("a list of payloads");
        assert!(refused.len() >= 12, "only {} payloads of {service:?}", refused.len());
        for payload in refused {
            assert!(!rules.broken(payload.to_string().as_bytes()).is_empty(), "{payload}");
        }
    }
}

#[test]
fn nothing_is_shown_empty() {
    for template in BuiltInTemplate::ALL
        .into_iter()
        .filter(|name| *name != BuiltInTemplate::Default)
    {
        for payload in payloads(template) {
            let json: Value = serde_json::from_slice(&payload).expect("a payload is JSON");
            assert_no_blank(&json);
        }
    }
}

fn assert_no_blank(value: &Value) {
    match value {
        Value::String(text) => assert!(!text.trim().is_empty()),
        Value::Array(items) => items.iter().for_each(assert_no_blank),
        Value::Object(fields) => fields.values().for_each(assert_no_blank),
        _ => {}
    }
}
