//! What a webhook looks like in each answer (interface, "Webhook"; decisions, section 1).

use insta::assert_snapshot;

use super::*;
use crate::harness::shape;

/// A webhook with everything that can be asked for.
fn everything() -> Value {
    json!({
        "url": NOBODY,
        "events": ["email.deleted", "email.received", "email.deleted"],
        "template": { "type": "custom", "body": "{\"subject\":\"{{data.subject}}\"}", "contentType": "application/x-y+json" },
        "filter": {
            "rules": [
                { "field": "subject", "operator": "contains", "value": "invoice" },
                { "field": "header.X-My", "operator": "exists", "caseSensitive": true },
            ],
        },
        "description": "tells the tests",
    })
}

/// All answers that show a webhook, one after the other.
fn answers(server: &TestServer, at: &str) -> String {
    let answer = |name: &str, answer: Answer| format!("{name}: {}\n", shape(&answer.body));
    let created = post(server, at, &everything()).expect_status(201);
    let path = format!("{at}/{}", created.json()["id"].as_str().unwrap());
    [
        answer("POST", created),
        answer("GET", server.get(&path).expect_status(200)),
        answer(
            "PATCH",
            patch(server, &path, &json!({ "enabled": false })).expect_status(200),
        ),
        answer("GET, disabled", server.get(&path).expect_status(200)),
        answer("GET, all", server.get(at).expect_status(200)),
    ]
    .concat()
}

#[test]
fn a_global_webhook_in_every_answer() {
    assert_snapshot!("webhook_global", answers(&start(&[]), GLOBAL));
}

#[test]
fn a_webhook_of_an_inbox_in_every_answer() {
    let server = start(&[]);
    server.create_plain(BOB);
    assert_snapshot!("webhook_inbox", answers(&server, &webhooks_of(BOB)));
}

#[test]
fn a_webhook_of_the_vaultsandbox_wire_profile_in_every_answer() {
    let server = start(&[("WIRE_PROFILE", "vaultsandbox")]);
    assert_snapshot!("webhook_vaultsandbox", answers(&server, GLOBAL));
}

#[test]
fn the_least_webhook_has_no_field_that_does_not_apply() {
    let server = start(&[]);
    let created = post(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({}))).expect_status(201);
    assert_eq!(created.header("content-type"), "application/json");
    assert_snapshot!("webhook_least", shape(&created.body));
}

#[test]
fn the_built_in_templates_are_listed() {
    let list = start(&[]).get("/api/webhooks/templates").expect_status(200);
    assert_snapshot!("webhook_templates", shape(&list.body));
}

#[test]
fn a_template_is_shown_as_it_was_given() {
    let server = start(&[]);
    let names = [
        "default",
        "slack",
        "discord",
        "teams",
        "simple",
        "notification",
        "zapier",
    ];
    for name in names {
        for given in [json!(name), json!({ "type": name })] {
            let hook = Hook::create(
                &server,
                GLOBAL,
                &wanted(NOBODY, &["email.stored"], &json!({ "template": given })),
            );
            assert_eq!(hook.created["template"], name);
            assert_eq!(hook.get(&server)["template"], name);
        }
    }
    for custom in [
        json!({ "type": "custom", "body": "{}" }),
        json!({ "type": "custom", "body": "hi", "contentType": "text/plain; charset=utf-8" }),
    ] {
        let hook = Hook::create(
            &server,
            GLOBAL,
            &wanted(NOBODY, &["email.stored"], &json!({ "template": custom })),
        );
        assert_eq!(hook.get(&server)["template"], custom);
    }
}

#[test]
fn a_filter_is_shown_with_its_mode_and_each_case_sensitivity() {
    let server = start(&[]);
    for (given, shown) in [
        (json!({}), json!({ "mode": "all", "rules": [] })),
        (
            json!({ "mode": "any", "rules": [], "requireAuth": true }),
            json!({ "mode": "any", "rules": [], "requireAuth": true }),
        ),
        (
            json!({ "rules": [{ "field": "to.name", "operator": "exists" }], "requireAuth": false }),
            json!({
                "mode": "all",
                "rules": [{ "field": "to.name", "operator": "exists", "value": "", "caseSensitive": false }],
                "requireAuth": false,
            }),
        ),
    ] {
        let hook = Hook::create(
            &server,
            GLOBAL,
            &wanted(NOBODY, &["email.stored"], &json!({ "filter": given })),
        );
        assert_eq!(hook.created["filter"], shown);
        assert_eq!(hook.get(&server)["filter"], shown);
    }
}

#[test]
fn lists_are_in_the_order_of_creation() {
    let server = start(&[]);
    assert_eq!(server.get(GLOBAL).json(), json!({ "webhooks": [], "total": 0 }));
    let ids: Vec<_> = (0..5)
        .map(|_| Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({}))))
        .map(|hook| hook.id().to_owned())
        .collect();
    let list = server.get(GLOBAL).expect_status(200).json();
    assert_eq!(list["total"], 5);
    let listed: Vec<_> = list["webhooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|webhook| &webhook["id"])
        .collect();
    assert_eq!(listed, ids.iter().collect::<Vec<_>>());
}

#[test]
fn the_server_says_whether_webhooks_are_sent() {
    let info = start(&[]).get("/api/server-info").json();
    assert_eq!(
        (&info["webhookEnabled"], &info["webhookRequireAuthDefault"]),
        (&json!(true), &json!(false))
    );
    let other = [("WEBHOOK_ENABLED", "false"), ("WEBHOOK_REQUIRE_AUTH_DEFAULT", "true")];
    let info = start(&other).get("/api/server-info").json();
    assert_eq!(
        (&info["webhookEnabled"], &info["webhookRequireAuthDefault"]),
        (&json!(false), &json!(true))
    );
}
