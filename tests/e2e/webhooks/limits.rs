//! Limits at their edge (interface, "Limits").

use super::*;

fn url_of(length: usize) -> String {
    let url = format!("{NOBODY}/");
    let rest = length - url.len();
    url + &"a".repeat(rest)
}

fn rules(count: usize) -> Value {
    let rule = json!({ "field": "subject", "operator": "equals", "value": "x" });
    json!({ "rules": vec![rule; count] })
}

fn rule_with(value: &str) -> Value {
    json!({ "rules": [{ "field": "subject", "operator": "equals", "value": value }] })
}

fn custom(length: usize) -> Value {
    json!({ "type": "custom", "body": format!("\"{}\"", "ü".repeat(length - 2)) })
}

#[test]
fn every_limit_of_a_webhook_at_its_edge() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    let long = |length| "ü".repeat(length);
    for (name, most, too_much, rule) in [
        (
            "url",
            json!(url_of(2048)),
            json!(url_of(2049)),
            "url must be at most 2048 characters",
        ),
        (
            "events",
            json!(vec!["email.received"; 10]),
            json!(vec!["email.received"; 11]),
            "events must have 1 to 10 entries",
        ),
        (
            "events",
            json!(["email.stored"]),
            json!([]),
            "events must have 1 to 10 entries",
        ),
        (
            "filter",
            rules(10),
            rules(11),
            "filter.rules must have at most 10 entries",
        ),
        (
            "filter",
            rule_with(&long(1000)),
            rule_with(&long(1001)),
            "filter.rules[0].value must be at most 1000 characters",
        ),
        (
            "template",
            custom(10_000),
            custom(10_001),
            "template.body must be at most 10000 characters",
        ),
        (
            "description",
            json!(long(500)),
            json!(long(501)),
            "description must be at most 500 characters",
        ),
    ] {
        let with = |value: &Value| wanted(NOBODY, &["email.stored"], &json!({ name: value }));
        let created = post(&server, GLOBAL, &with(&most)).expect_status(201).json();
        let changed = hook.patch(&server, &json!({ name: most }));
        for webhook in [created, changed, hook.get(&server)] {
            let shown = match name {
                "filter" => webhook["filter"]["rules"].as_array().unwrap().len().into(),
                _ => webhook[name].clone(),
            };
            let given = match name {
                "filter" => most["rules"].as_array().unwrap().len().into(),
                _ => most.clone(),
            };
            assert_eq!(shown, given, "{name}");
        }
        assert_refused(&post(&server, GLOBAL, &with(&too_much)), 400, rule);
        assert_refused(&patch(&server, &hook.path, &json!({ name: too_much })), 400, rule);
    }
}

/// Creates as many as there may be, and sees that there may not be one more until one goes.
fn fill(server: &TestServer, at: &str, limit: usize) {
    let body = wanted(NOBODY, &["email.stored"], &json!({}));
    let hooks: Vec<_> = (0..limit).map(|_| Hook::create(server, at, &body)).collect();
    let full = format!("Webhook limit reached ({limit})");
    assert_refused(&post(server, at, &body), 409, full.as_str());
    assert_eq!(server.get(at).json()["total"], limit);
    server.delete(&hooks[0].path).expect_status(204);
    Hook::create(server, at, &body);
    assert_refused(&post(server, at, &body), 409, full);
}

#[test]
fn there_are_100_global_webhooks_and_50_of_an_inbox() {
    let server = start(&[]);
    server.create_plain(BOB);
    server.create_plain(EVE);
    fill(&server, &webhooks_of(BOB), 50);
    fill(&server, GLOBAL, 100);
    // Neither the others of another inbox nor the global ones count.
    Hook::create(
        &server,
        &webhooks_of(EVE),
        &wanted(NOBODY, &["email.stored"], &json!({})),
    );
}

#[test]
fn the_limits_are_settings() {
    let server = start(&[("WEBHOOK_MAX_GLOBAL", "2"), ("WEBHOOK_MAX_INBOX", "1")]);
    server.create_plain(BOB);
    fill(&server, GLOBAL, 2);
    fill(&server, &webhooks_of(BOB), 1);
    let none = start(&[("WEBHOOK_MAX_GLOBAL", "0")]);
    let body = wanted(NOBODY, &["email.stored"], &json!({}));
    assert_refused(&post(&none, GLOBAL, &body), 409, "Webhook limit reached (0)");
}

#[test]
fn creations_at_the_same_time_do_not_pass_the_limit() {
    let server = start(&[("WEBHOOK_MAX_GLOBAL", "5")]);
    let body = wanted(NOBODY, &["email.stored"], &json!({}));
    let statuses: Vec<_> = std::thread::scope(|scope| {
        let requests: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| post(&server, GLOBAL, &body).status))
            .collect();
        requests.into_iter().map(|request| request.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert_eq!((count(201), count(409)), (5, 7), "{statuses:?}");
    assert_eq!(server.get(GLOBAL).json()["total"], 5);
}
