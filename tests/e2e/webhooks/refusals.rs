//! Every refusal: its status, its words, and which of several comes first (interface, "Errors"; decisions, section 2).

use super::*;
use crate::harness::API_KEY;

const NO_WEBHOOK: &str = "whk_0123456789abcdef0123456789abcdef";
const EVENTS: &str = "must be one of email.received, email.stored, email.deleted";
const TEMPLATES: &str = "default, slack, discord, teams, simple, notification, zapier";

/// What is wrong in a create and in a change alike, and what is said of it.
#[rustfmt::skip]
fn wrong_fields() -> Vec<(Value, String)> {
    let rule = |rule: Value| json!({ "filter": { "rules": [rule] } });
    let template = |template: Value| json!({ "template": template });
    let fields = "subject, from.address, from.name, to.address, to.name, body.text, body.html, header.<Name>";
    let operators = "equals, contains, starts_with, ends_with, domain, regex, exists";
    [
        (json!({ "url": 1 }), "url must be a string"),
        (json!({ "events": "email.stored" }), "events must be an array"),
        (json!({ "events": [1] }), &format!("events[0] {EVENTS}")),
        (json!({ "events": ["email.stored", "email.Stored"] }), &format!("events[1] {EVENTS}")),
        (json!({ "description": 1 }), "description must be a string"),
        (json!({ "ttl": 1 }), "property ttl should not exist"),
        (json!({ "secret": "whsec_x" }), "property secret should not exist"),
        (json!({ "filter": "x" }), "filter must be an object"),
        (json!({ "filter": { "mode": "none" } }), "filter.mode must be 'all' or 'any'"),
        (json!({ "filter": { "mode": 1 } }), "filter.mode must be a string"),
        (json!({ "filter": { "rules": {} } }), "filter.rules must be an array"),
        (json!({ "filter": { "requireAuth": "yes" } }), "filter.requireAuth must be a boolean"),
        (json!({ "filter": { "rule": [] } }), "property filter.rule should not exist"),
        (json!({ "filter": { "rules": ["x"] } }), "filter.rules[0] must be an object"),
        (rule(json!({ "operator": "exists" })), "filter.rules[0].field is required"),
        (rule(json!({ "field": "subject" , "value": "x" })), "filter.rules[0].operator is required"),
        (rule(json!({ "field": "cc", "operator": "exists" })), &format!("filter.rules[0].field must be one of {fields}")),
        (rule(json!({ "field": "header.", "operator": "exists" })), &format!("filter.rules[0].field must be one of {fields}")),
        (rule(json!({ "field": "subject", "operator": "is", "value": "x" })), &format!("filter.rules[0].operator must be one of {operators}")),
        (rule(json!({ "field": "subject", "operator": "equals" })), "filter.rules[0].value is required, except by the operator exists"),
        (rule(json!({ "field": "subject", "operator": "equals", "value": 1 })), "filter.rules[0].value must be a string"),
        (rule(json!({ "field": "subject", "operator": "exists", "caseSensitive": 1 })), "filter.rules[0].caseSensitive must be a boolean"),
        (rule(json!({ "field": "subject", "operator": "exists", "not": true })), "property filter.rules[0].not should not exist"),
        (template(json!(1)), "template must be a string or an object"),
        (template(json!({})), "template.type is required"),
        (template(json!({ "type": 1 })), "template.type must be a string"),
        (template(json!({ "type": "custom" })), "template.body is required by the type custom"),
        (template(json!({ "type": "custom", "body": {} })), "template.body must be a string"),
        (template(json!({ "type": "custom", "body": "{}", "contentType": "json" })), "template.contentType must be a media type such as text/plain"),
        (template(json!({ "type": "custom", "body": "{}", "name": "x" })), "property template.name should not exist"),
        (template(json!({ "type": "slack", "body": "{}" })), "property template.body should not exist"),
    ]
    .map(|(fields, message)| (fields, message.to_owned()))
    .to_vec()
}

#[test]
fn what_is_wrong_is_named_in_a_create_and_in_a_change() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    for (fields, message) in wrong_fields() {
        let created = post(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &fields));
        assert_refused(&created, 400, message.as_str());
        assert_refused(&patch(&server, &hook.path, &fields), 400, message);
    }
    assert_eq!(server.get(GLOBAL).json()["total"], 1);
    assert_eq!(hook.get(&server).get("updatedAt"), None, "nothing was changed");
}

#[test]
fn several_errors_are_named_at_once() {
    let server = start(&[]);
    let body = json!({
        "url": 1,
        "events": ["email.read"],
        "filter": { "rules": [{ "field": "subject", "operator": "equals" }, { "field": "x", "operator": "exists" }] },
        "enabled": true,
    });
    let answer = post(&server, GLOBAL, &body).expect_status(400);
    let messages = answer.json()["message"].as_array().unwrap().clone();
    let fields: Vec<_> = messages
        .iter()
        .map(|message| message.as_str().unwrap().split(' ').next().unwrap())
        .collect();
    let expected = [
        "url",
        "events[0]",
        "filter.rules[0].value",
        "filter.rules[1].field",
        "property",
    ];
    assert_eq!(fields, expected);
    assert_eq!(messages[4], "property enabled should not exist");
    assert_refused(
        &post(&server, GLOBAL, &json!({})),
        400,
        json!(["url is required", "events is required"]),
    );
}

#[test]
fn null_is_absent_in_a_create_and_removes_in_a_change() {
    let server = start(&[]);
    let nulls = json!({ "template": null, "filter": null, "description": null });
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &nulls));
    for name in ["template", "filter", "description"] {
        assert_eq!(hook.created.get(name), None);
    }
    let nulls = json!({ "url": null, "events": null, "enabled": null });
    let expected = json!([
        "url must not be null",
        "events must not be null",
        "enabled must not be null"
    ]);
    assert_refused(&patch(&server, &hook.path, &nulls), 400, expected);
    let nulls = json!({ "url": null, "events": null });
    assert_refused(
        &post(&server, GLOBAL, &nulls),
        400,
        json!(["url is required", "events is required"]),
    );
}

#[test]
fn what_is_no_url_of_a_webhook_is_refused() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    for url in [
        "",
        "x",
        "/hook",
        "example.test/hook",
        "ftp://example.test/",
        "http://",
        "http://user@127.0.0.1/",
        "http://user:pw@127.0.0.1/",
    ] {
        for answer in [
            post(&server, GLOBAL, &wanted(url, &["email.stored"], &json!({}))),
            patch(&server, &hook.path, &json!({ "url": url })),
        ] {
            let answer = answer.expect_status(400).json();
            let message = answer["message"].as_str().unwrap();
            assert!(message.starts_with("url "), "{url}: {message}");
        }
    }
}

#[test]
fn plain_http_needs_its_setting() {
    let server = TestServer::start(&[("WEBHOOK_ALLOW_PRIVATE_TARGETS", "true")]);
    let https = wanted("https://127.0.0.1:1/", &["email.stored"], &json!({}));
    let hook = Hook::create(&server, GLOBAL, &https);
    for answer in [
        post(
            &server,
            GLOBAL,
            &wanted("http://127.0.0.1:1/", &["email.stored"], &json!({})),
        ),
        patch(&server, &hook.path, &json!({ "url": "http://127.0.0.1:1/" })),
    ] {
        let answer = answer.expect_status(400).json();
        let message = answer["message"].as_str().unwrap();
        assert!(message.starts_with("url must begin with https://"), "{message}");
    }
}

#[test]
fn filters_and_templates_that_cannot_work_are_422() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    let regex = |value: &str| {
        json!({ "filter": { "rules": [
        { "field": "subject", "operator": "exists" },
        { "field": "subject", "operator": "regex", "value": value },
    ] } })
    };
    let custom = |body: &str| json!({ "template": { "type": "custom", "body": body } });
    let unknown = format!("template must be one of {TEMPLATES}");
    for (fields, begin) in [
        (json!({ "template": "Slack" }), unknown.as_str()),
        (json!({ "template": "custom" }), &unknown),
        (
            json!({ "template": { "type": "irc" } }),
            &format!("template.type must be one of custom, {TEMPLATES}"),
        ),
        (regex("("), "filter.rules[1].value: "),
        (regex("(?=a)"), "filter.rules[1].value: "),
        (regex("(a{1000}){1000}"), "filter.rules[1].value: "),
        (custom("{"), "template.body: "),
        (custom("{\"a\": {{data.subject}}}"), "template.body: "),
    ] {
        for answer in [
            post(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &fields)),
            patch(&server, &hook.path, &fields),
        ] {
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with(begin), "{fields}: {message}");
            assert_refused(&answer, 422, message);
        }
    }
    assert_eq!(server.get(GLOBAL).json()["total"], 1);
}

#[test]
fn every_route_needs_the_key() {
    let server = start(&[]);
    server.create_plain(BOB);
    for (method, path) in routes(&[GLOBAL, &webhooks_of(BOB)]) {
        let missing = server.exchange(method, &path, &[], b"");
        let wrong = server.exchange(method, &path, &[("X-API-Key", "x")], b"");
        // The address is limited after some of these.
        for answer in [missing, wrong] {
            assert!(matches!(answer.status, 401 | 429), "{method} {path}: {}", answer.head);
        }
    }
    let answer = server.bare_request("GET", GLOBAL, &[], "");
    assert!(matches!(answer.status, 401 | 429));
}

/// Every route, with ids that do not exist.
fn routes(bases: &[&str]) -> Vec<(&'static str, String)> {
    let of = |base: &str| {
        let id = format!("{base}/{NO_WEBHOOK}");
        let delivery = format!("{id}/deliveries/dlv_0123456789abcdef0123456789abcdef/redeliver");
        vec![
            ("POST", base.to_owned()),
            ("GET", base.to_owned()),
            ("GET", id.clone()),
            ("PATCH", id.clone()),
            ("DELETE", id.clone()),
            ("POST", format!("{id}/test")),
            ("POST", format!("{id}/rotate-secret")),
            ("GET", format!("{id}/deliveries")),
            ("POST", delivery),
        ]
    };
    let mut routes: Vec<_> = bases.iter().flat_map(|base| of(base)).collect();
    routes.extend(["templates", "metrics"].map(|name| ("GET", format!("{GLOBAL}/{name}"))));
    routes
}

#[test]
fn a_webhook_that_there_is_not_is_404_whatever_is_asked_of_it() {
    let server = start(&[]);
    server.create_plain(BOB);
    for (method, path) in routes(&[GLOBAL, &webhooks_of(BOB)]) {
        if path.contains(NO_WEBHOOK) {
            let answer = server.request(method, &path, None);
            assert_refused(&answer, 404, format!("Webhook not found: {NO_WEBHOOK}"));
        }
    }
    for id in [
        "x",
        "whk_",
        "msg_0123456789abcdef0123456789abcdef",
        "WHK_0123456789abcdef0123456789abcdef",
    ] {
        let answer = server.get(&format!("{GLOBAL}/{id}"));
        assert_refused(&answer, 404, format!("Webhook not found: {id}"));
    }
    // The names of lists are none of ids, and an inbox has no such lists.
    let answer = server.get(&format!("{}/templates", webhooks_of(BOB)));
    assert_refused(&answer, 404, "Webhook not found: templates");
}

#[test]
fn an_inbox_that_there_is_not_is_404_whatever_is_asked_of_its_webhooks() {
    let server = start(&[]);
    for (method, path) in routes(&[&webhooks_of(EVE)]) {
        if path.contains(EVE) {
            let body =
                (method == "POST" && path.ends_with("webhooks")).then(|| wanted(NOBODY, &["email.stored"], &json!({})));
            let answer = server.request(method, &path, body.as_ref());
            assert_refused(&answer, 404, format!("Inbox not found: {EVE}"));
        }
    }
}

#[test]
fn of_several_refusals_the_first_in_order_is_told() {
    let server = start(&[("WEBHOOK_MAX_GLOBAL", "0")]);
    let gone = format!("{GLOBAL}/{NO_WEBHOOK}");
    let json_key = [("X-API-Key", API_KEY), ("Content-Type", "application/json")];
    // Key before route.
    assert_eq!(server.exchange("GET", "/api/webhooks/x/y", &[], b"").status, 401);
    // Route before method, method before media type.
    assert_refused(
        &server.request("PUT", "/api/webhooks/x/y", None),
        404,
        "Route not found: /api/webhooks/x/y",
    );
    let wrong_method = server.exchange(
        "PUT",
        GLOBAL,
        &[("X-API-Key", API_KEY), ("Content-Type", "text/plain")],
        b"x",
    );
    assert_eq!(wrong_method.status, 405);
    assert!(
        wrong_method.head.to_ascii_lowercase().contains("allow: "),
        "{}",
        wrong_method.head
    );
    // Media type before body.
    let text = server.bare_request(
        "POST",
        GLOBAL,
        &[("X-API-Key", API_KEY), ("Content-Type", "text/plain")],
        "{",
    );
    assert_refused(&text, 415, "Content-Type must be application/json");
    // Body before resource: a webhook, an inbox.
    server.bare_request("POST", GLOBAL, &json_key, "{").expect_status(400);
    let nothing = json!({});
    post(&server, &webhooks_of(EVE), &nothing).expect_status(400);
    patch(&server, &gone, &json!({ "enabled": 1 })).expect_status(400);
    post(&server, &format!("{gone}/test"), &json!({ "x": 1 })).expect_status(400);
    // Resource before what is 422.
    let unknown = json!({ "template": "x" });
    patch(&server, &gone, &unknown).expect_status(404);
    post(&server, &webhooks_of(EVE), &wanted(NOBODY, &["email.stored"], &unknown)).expect_status(404);
    // What can never be before what cannot be now.
    post(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &unknown)).expect_status(422);
    post(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &nothing)).expect_status(409);
}

#[test]
fn methods_that_a_route_has_not_are_405() {
    let server = start(&[]);
    for (method, path) in [
        ("PUT", GLOBAL.to_owned()),
        ("DELETE", GLOBAL.to_owned()),
        ("POST", format!("{GLOBAL}/templates")),
        ("DELETE", format!("{GLOBAL}/metrics")),
        ("POST", format!("{GLOBAL}/{NO_WEBHOOK}")),
        ("GET", format!("{GLOBAL}/{NO_WEBHOOK}/test")),
        ("GET", format!("{GLOBAL}/{NO_WEBHOOK}/rotate-secret")),
        ("POST", format!("{GLOBAL}/{NO_WEBHOOK}/deliveries")),
        ("PUT", webhooks_of(BOB)),
    ] {
        let answer = server.request(method, &path, None);
        assert_refused(&answer, 405, format!("Method not allowed: {method}"));
        assert!(!answer.header("allow").is_empty(), "{method} {path}");
    }
}
