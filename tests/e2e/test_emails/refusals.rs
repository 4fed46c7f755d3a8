//! What is refused: every bound of every field, and where there is no such thing.

use super::*;

#[test]
fn every_bound_is_told_by_the_path_of_its_field() {
    let server = start(&[]);
    let to = |length: usize| format!("bob+{}@restante.test", "t".repeat(length - 18));
    let from = |length: usize| format!("{} <a@x.test>", "ü".repeat(length - 11));
    for body in [
        json!({ "to": to(254) }),
        json!({ "to": BOB, "from": from(254) }),
        json!({ "to": BOB, "subject": "😀".repeat(998) }),
        json!({ "to": BOB, "subject": "", "text": "", "html": "" }),
        json!({ "to": BOB, "auth": {} }),
    ] {
        made(&server, &body);
    }
    let spf = "auth.spf must be one of pass, fail, softfail, neutral, none, temperror, permerror";
    let sender = "from must be one email address, for example a@example.test or Name <a@example.test>";
    for (body, message) in [
        (json!({}), json!("to is required")),
        (json!({ "to": null }), json!("to is required")),
        (json!({ "to": 1 }), json!("to must be a string")),
        (json!({ "to": "" }), json!("to must be an email address")),
        (json!({ "to": "bob" }), json!("to must be an email address")),
        (json!({ "to": to(255) }), json!("to must be at most 254 characters")),
        (
            json!({ "to": BOB, "from": from(255) }),
            json!("from must be at most 254 characters"),
        ),
        (json!({ "to": BOB, "from": "nonsense" }), json!(sender)),
        (json!({ "to": BOB, "from": "" }), json!(sender)),
        (json!({ "to": BOB, "from": "Team: a@x.test;" }), json!(sender)),
        (json!({ "to": BOB, "from": ", <a@x.test>" }), json!(sender)),
        (json!({ "to": BOB, "from": "a@x..test" }), json!(sender)),
        (json!({ "to": BOB, "from": "a@-x.test" }), json!(sender)),
        (
            json!({ "to": BOB, "from": "a@x.test\r\nX: y" }),
            json!("from must not contain control characters"),
        ),
        (
            json!({ "to": BOB, "subject": "x".repeat(999) }),
            json!("subject must be at most 998 characters"),
        ),
        (
            json!({ "to": BOB, "subject": "a\nb" }),
            json!("subject must not contain control characters"),
        ),
        (json!({ "to": BOB, "text": 1 }), json!("text must be a string")),
        (json!({ "to": BOB, "html": [] }), json!("html must be a string")),
        (json!({ "to": BOB, "auth": "pass" }), json!("auth must be an object")),
        (json!({ "to": BOB, "auth": { "spf": "skipped" } }), json!(spf)),
        (json!({ "to": BOB, "auth": { "spf": true } }), json!(spf)),
        (
            json!({ "to": BOB, "auth": { "dkim": "softfail" } }),
            json!("auth.dkim must be one of pass, fail, none"),
        ),
        (
            json!({ "to": BOB, "auth": { "dmarc": "skipped" } }),
            json!("auth.dmarc must be one of pass, fail, none"),
        ),
        (
            json!({ "to": BOB, "auth": { "arc": "pass" } }),
            json!("property auth.arc should not exist"),
        ),
        (
            json!({ "to": BOB, "cc": BOB, "auth": { "dkim": 1 } }),
            json!([
                "auth.dkim must be one of pass, fail, none",
                "property cc should not exist"
            ]),
        ),
    ] {
        refused(&post(&server, &body), 400, &message);
    }
    assert_eq!(server.email_ids(BOB).len(), 5, "nothing of what was refused is stored");
}

#[test]
fn an_address_without_an_inbox_is_not_found() {
    let server = start(&[]);
    for to in [
        "eve@restante.test",
        "bob@elsewhere.test",
        "Bob@[127.0.0.1]",
        "..@restante.test",
    ] {
        let answer = post(&server, &json!({ "to": to }));
        if to.contains('[') {
            refused(&answer, 400, &json!("to must be an email address"));
        } else {
            refused(&answer, 404, &json!(format!("Inbox not found: {to}")));
        }
    }
}

#[test]
fn without_the_setting_there_is_no_such_route() {
    for variables in [&[][..], &[("SDK_DEVELOPMENT", "false")]] {
        let server = TestServer::start(variables);
        server.create_plain(BOB);
        for (method, body) in [
            ("POST", Some(json!({ "to": BOB }))),
            ("POST", Some(json!({}))),
            ("GET", None),
        ] {
            let answer = server.request(method, ROUTE, body.as_ref());
            refused(&answer, 404, &json!(format!("Route not found: {ROUTE}")));
        }
        let answer = server.bare_request("POST", ROUTE, &[("Content-Type", "application/json")], "{}");
        refused(&answer, 401, &json!("Missing X-API-Key header"));
        assert!(server.email_ids(BOB).is_empty());
    }
    let server = start(&[]);
    refused(&server.get(ROUTE), 405, &json!("Method not allowed: GET"));
    let answer = server.bare_request("POST", ROUTE, &[("Content-Type", "application/json")], "{}");
    refused(&answer, 401, &json!("Missing X-API-Key header"));
}

#[test]
fn a_message_may_be_as_large_as_over_smtp_and_as_the_storage() {
    let limit = |server: &TestServer| {
        let text = |length: usize| json!({ "to": BOB, "text": "x".repeat(length) });
        made(server, &text(100));
        post(server, &text(4000))
    };
    let answer = limit(&start(&[("SMTP_MAX_MESSAGE_SIZE", "2000")]));
    refused(
        &answer,
        413,
        &json!("Message must be at most 2000 bytes (SVC_SMTP_MAX_MESSAGE_SIZE)"),
    );
    let answer = limit(&start(&[("STORAGE_MAX_BYTES", "3000")]));
    refused(&answer, 413, &json!("Message is larger than what can be stored"));
    let server = start(&[]);
    made(&server, &json!({ "to": BOB, "text": "x".repeat(256 * 1024 - 100) }));
    let answer = post(&server, &json!({ "to": BOB, "text": "x".repeat(256 * 1024) }));
    refused(&answer, 413, &json!("Request body must be at most 262144 bytes"));
}
