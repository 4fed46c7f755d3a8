//! What is given goes in, a request or every error comes out.

use restante_model::webhook::BuiltInTemplate;
use serde_json::json;

use super::*;

fn body(fields: &Value) -> JsonObject {
    JsonObject::of(fields)
}

fn created(fields: &Value) -> Result<CreateRequest, ApiError> {
    create(&HeaderMap::new(), body(fields), false)?.processable()
}

fn updated(fields: &Value) -> Result<UpdateRequest, ApiError> {
    update(body(fields), false)?.processable()
}

fn errors<T: std::fmt::Debug>(outcome: Result<T, ApiError>) -> Vec<String> {
    match outcome {
        Err(ApiError::Invalid(errors)) => errors,
        outcome => panic!("a 400, not {outcome:?}"),
    }
}

fn url_of(length: usize) -> String {
    let url = "https://example.test/".to_owned();
    let rest = length - url.len();
    url + &"a".repeat(rest)
}

#[test]
fn the_least_webhook_and_one_with_everything() {
    let url = "https://Example.test/a?b#c";
    let least = created(&json!({ "url": url, "events": ["email.stored"] })).unwrap();
    assert_eq!(
        (least.url.as_str(), &least.events[..]),
        (url, &[EventType::EmailStored][..])
    );
    assert!(least.template.is_none() && least.filter.is_none() && least.description.is_none());
    let nulls =
        json!({ "url": url, "events": ["email.stored"], "template": null, "filter": null, "description": null });
    assert!(created(&nulls).is_ok());

    let all = created(&json!({
        "url": url,
        "events": ["email.deleted", "email.received", "email.deleted"],
        "template": { "type": "slack" },
        "filter": { "rules": [] },
        "description": "",
    }))
    .unwrap();
    let events = [
        EventType::EmailDeleted,
        EventType::EmailReceived,
        EventType::EmailDeleted,
    ];
    assert_eq!(all.events, events);
    assert_eq!(all.template, Some(WebhookTemplate::BuiltIn(BuiltInTemplate::Slack)));
    assert!(all.filter.is_some());
    assert_eq!(all.description.as_deref(), Some(""));
}

#[test]
fn limits_at_their_edge() {
    let with = |name: &str, value: Value| {
        let mut fields = json!({ "url": "https://example.test", "events": ["email.received"] });
        fields[name] = value;
        (created(&fields).err(), updated(&json!({ name: fields[name] })).err())
    };
    for (name, most, too_much, rule) in [
        (
            "url",
            json!(url_of(URL_MAX)),
            json!(url_of(URL_MAX + 1)),
            "must be at most 2048 characters",
        ),
        (
            "events",
            json!(vec!["email.received"; EVENTS_MAX]),
            json!(vec!["email.received"; EVENTS_MAX + 1]),
            "must have 1 to 10 entries",
        ),
        (
            "events",
            json!(["email.stored"]),
            json!([]),
            "must have 1 to 10 entries",
        ),
        (
            "description",
            json!("ü".repeat(DESCRIPTION_MAX)),
            json!("ü".repeat(DESCRIPTION_MAX + 1)),
            "must be at most 500 characters",
        ),
    ] {
        assert_eq!(with(name, most), (None, None), "{name}");
        let error = Some(ApiError::invalid(format!("{name} {rule}")));
        assert_eq!(with(name, too_much), (error.clone(), error), "{name}");
    }
}

#[test]
fn every_error_of_a_creation_is_named_at_once() {
    let outcome = created(&json!({
        "url": 1,
        "events": ["email.read", "email.stored", 3],
        "template": { "type": "custom" },
        "filter": { "rules": [{ "field": "subject", "operator": "equals" }] },
        "description": [],
        "enabled": true,
    }));
    let expected = [
        "url must be a string",
        "events[0] must be one of email.received, email.stored, email.deleted",
        "events[2] must be one of email.received, email.stored, email.deleted",
        "template.body is required by the type custom",
        "filter.rules[0].value is required, except by the operator exists",
        "description must be a string",
        "property enabled should not exist",
    ];
    assert_eq!(errors(outcome), expected);
    assert_eq!(errors(created(&json!({}))), ["url is required", "events is required"]);
    let wrong = json!({ "url": null, "events": "email.stored" });
    assert_eq!(errors(created(&wrong)), ["url is required", "events must be an array"]);
}

#[test]
fn a_change_keeps_sets_and_removes() {
    let nothing = updated(&json!({})).unwrap();
    assert!(nothing.url.is_none() && nothing.events.is_none() && nothing.enabled.is_none());
    assert_eq!(
        (nothing.template, nothing.filter, nothing.description),
        (Patch::Keep, Patch::Keep, Patch::Keep)
    );
    let removed = updated(&json!({ "template": null, "filter": null, "description": null })).unwrap();
    assert_eq!(
        (removed.template, removed.filter, removed.description),
        (Patch::Remove, Patch::Remove, Patch::Remove)
    );
    let set = updated(&json!({ "template": "zapier", "description": "x", "enabled": false })).unwrap();
    let zapier = WebhookTemplate::BuiltIn(BuiltInTemplate::Zapier);
    assert_eq!((set.template, set.enabled), (Patch::Set(zapier), Some(false)));
    assert_eq!(set.description, Patch::Set("x".into()));
}

#[test]
fn a_change_cannot_remove_what_must_be() {
    let outcome = updated(&json!({ "url": null, "events": null, "enabled": null, "secret": "x" }));
    let expected = [
        "url must not be null",
        "events must not be null",
        "enabled must not be null",
        "property secret should not exist",
    ];
    assert_eq!(errors(outcome), expected);
    assert_eq!(errors(updated(&json!({ "enabled": 1 }))), ["enabled must be a boolean"]);
}

#[test]
fn an_unknown_template_is_another_refusal_that_comes_later() {
    let fields = json!({ "url": "https://example.test", "events": ["email.stored"], "template": "x" });
    for outcome in [created(&fields).err(), updated(&json!({ "template": "x" })).err()] {
        assert!(matches!(outcome, Some(ApiError::Unprocessable(_))), "{outcome:?}");
    }
    let both = json!({ "url": "", "events": [], "template": "x" });
    assert_eq!(errors(created(&both)).len(), 2, "a 400 comes first");
}
