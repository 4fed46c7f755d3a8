//! Filters over the wire: who is told of a mail, and who is not (interface, "Filters"; decisions, section 7).

use super::*;

const MAIL: &str = concat!(
    "From: Jane Doe <Jane@Mail.Sender.test>\r\n",
    "To: First <first@restante.test>, second@restante.test\r\n",
    "Subject: Invoice 42 is due\r\n",
    "X-Twice: one\r\n",
    "X-Twice: two\r\n",
    "X-Empty:\r\n",
    "MIME-Version: 1.0\r\n",
    "Content-Type: multipart/alternative; boundary=b\r\n",
    "\r\n",
    "--b\r\n",
    "Content-Type: text/plain\r\n",
    "\r\n",
    "plain words\r\n",
    "--b\r\n",
    "Content-Type: text/html\r\n",
    "\r\n",
    "<p>html words</p>\r\n",
    "--b--\r\n",
);

fn rule(field: &str, operator: &str, value: &str) -> Value {
    json!({ "field": field, "operator": operator, "value": value })
}

/// Whether webhooks with these filters are told of the mail, one after the other.
fn verdicts(variables: &[(&str, &str)], mail: &str, filters: &[Value]) -> Vec<bool> {
    let receiver = Receiver::start();
    let server = start(variables);
    server.create_plain(BOB);
    let hooks: Vec<_> = filters
        .iter()
        .map(|filter| {
            Hook::with(
                &server,
                GLOBAL,
                &receiver,
                &["email.stored"],
                &json!({ "filter": filter }),
            )
        })
        .collect();
    // One step says for all webhooks whether they are told: who is told at all shows that it was done.
    let witness = Receiver::start();
    Hook::with(
        &server,
        GLOBAL,
        &witness,
        &["email.stored"],
        &json!({ "filter": { "requireAuth": false } }),
    );
    server.send_raw(BOB, mail);
    witness.block_for(1);
    hooks.iter().map(|hook| !hook.deliveries(&server).is_empty()).collect()
}

#[test]
fn every_field_and_operator_decides() {
    let cases = [
        (rule("subject", "equals", "invoice 42 IS due"), true),
        (rule("subject", "equals", "invoice"), false),
        (rule("subject", "contains", "42"), true),
        (rule("subject", "starts_with", "INVOICE"), true),
        (rule("subject", "starts_with", "42"), false),
        (rule("subject", "ends_with", "Due"), true),
        (rule("subject", "regex", r"invoice \d+"), true),
        (rule("subject", "regex", r"^\d+$"), false),
        (rule("from.address", "domain", "sender.test"), true),
        (rule("from.address", "domain", "@mail.sender.test"), true),
        (rule("from.address", "domain", "ender.test"), false),
        (rule("from.address", "equals", "jane@mail.sender.test"), true),
        (rule("from.name", "contains", "doe"), true),
        (rule("to.address", "equals", "first@restante.test"), true),
        (rule("to.address", "equals", "second@restante.test"), false),
        (rule("to.name", "equals", "first"), true),
        (rule("body.text", "contains", "plain words"), true),
        (rule("body.text", "contains", "html"), false),
        (rule("body.html", "contains", "<p>HTML"), true),
        (rule("header.x-twice", "equals", "two"), true),
        (rule("header.X-TWICE", "equals", "three"), false),
        (rule("header.X-Empty", "exists", ""), true),
        (rule("header.X-Missing", "exists", ""), false),
        (rule("header.X-Missing", "contains", ""), false),
        (json!({ "field": "header.Subject", "operator": "exists" }), true),
        (
            json!({ "field": "subject", "operator": "contains", "value": "INVOICE", "caseSensitive": true }),
            false,
        ),
        (
            json!({ "field": "subject", "operator": "contains", "value": "Invoice", "caseSensitive": true }),
            true,
        ),
    ];
    let filters: Vec<_> = cases.iter().map(|(rule, _)| json!({ "rules": [rule] })).collect();
    let told = verdicts(&[], MAIL, &filters);
    for ((rule, expected), told) in cases.iter().zip(told) {
        assert_eq!(told, *expected, "{rule}");
    }
}

#[test]
fn all_rules_or_any_of_them() {
    let (matching, other) = (rule("subject", "contains", "42"), rule("subject", "contains", "43"));
    let filters = [
        json!({ "rules": [matching, matching] }),
        json!({ "rules": [matching, other] }),
        json!({ "mode": "all", "rules": [other, matching] }),
        json!({ "mode": "any", "rules": [other, matching] }),
        json!({ "mode": "any", "rules": [other, other] }),
        json!({ "mode": "any", "rules": [] }),
        json!({ "mode": "all", "rules": [] }),
    ];
    let expected = [true, false, false, true, false, true, true];
    assert_eq!(verdicts(&[], MAIL, &filters), expected);
}

#[test]
fn filters_see_more_than_a_payload_shows() {
    let header = |index| format!("X-{index:02}: {}!\r\n", "x".repeat(1500));
    let headers = (0..60).map(header).collect::<Vec<_>>().concat();
    let mail = format!("{headers}\r\nhi\r\n");
    let filters = [
        json!({ "rules": [rule("header.X-59", "exists", "")] }),
        json!({ "rules": [rule("header.X-00", "ends_with", "!")] }),
    ];
    let little = [
        ("WEBHOOK_MAX_HEADERS", "1"),
        ("WEBHOOK_MAX_HEADER_VALUE_LEN", "1"),
        ("WEBHOOK_MAX_BODY_BYTES", "0"),
    ];
    assert_eq!(verdicts(&little, &mail, &filters), [true, true]);
}

#[test]
fn filters_see_the_first_5_kb_of_a_body() {
    let line = |length: usize| "x".repeat(length) + "\r\n";
    // A line end is one byte of the text: five lines of 1000, 116 bytes and all but the last of the word.
    let body = line(999).repeat(5) + &"x".repeat(116) + "lasts\r\n";
    let mail = format!("Subject: long\r\n\r\n{body}");
    let text = |word: &str| json!({ "rules": [rule("body.text", "contains", word)] });
    assert_eq!(verdicts(&[], &mail, &[text("xlast"), text("lasts")]), [true, false]);
}

#[test]
fn required_authentication_is_asked_of_every_event() {
    let filters = [
        json!({ "requireAuth": true }),
        json!({ "requireAuth": false }),
        json!({ "rules": [] }),
    ];
    // Nothing authenticated this mail.
    assert_eq!(verdicts(&[], MAIL, &filters), [false, true, true]);
    let required = [("WEBHOOK_REQUIRE_AUTH_DEFAULT", "true")];
    assert_eq!(verdicts(&required, MAIL, &filters), [false, true, false]);
}

#[test]
fn of_a_removal_only_those_hear_who_filter_nothing() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let filters = [
        json!(null),
        json!({ "rules": [] }),
        json!({ "requireAuth": false }),
        json!({ "requireAuth": true }),
        json!({ "rules": [{ "field": "subject", "operator": "exists" }] }),
    ];
    let hooks = filters.map(|filter| {
        Hook::with(
            &server,
            GLOBAL,
            &receiver,
            &["email.deleted"],
            &json!({ "filter": filter }),
        )
    });
    let id = server.send_raw(BOB, MAIL);
    server
        .delete(&format!("/api/inboxes/{BOB}/emails/{id}"))
        .expect_status(204);
    receiver.block_for(3);
    let told = hooks.each_ref().map(|hook| hook.deliveries(&server).len());
    assert_eq!(told, [1, 1, 1, 0, 0]);
}

#[test]
fn the_two_events_of_an_arrival_get_one_verdict() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    let both = ["email.received", "email.stored"];
    let filter = |word: &str| json!({ "filter": { "rules": [rule("subject", "contains", word)] } });
    let matching = Hook::with(&server, GLOBAL, &receiver, &both, &filter("invoice"));
    let other = Hook::with(&server, GLOBAL, &receiver, &both, &filter("offer"));
    server.send_raw(BOB, MAIL);
    receiver.block_for(2);
    assert_eq!(
        (matching.deliveries(&server).len(), other.deliveries(&server).len()),
        (2, 0)
    );
}

#[test]
fn a_change_of_the_filter_counts_for_what_comes_next() {
    let (receiver, witness) = (Receiver::start(), Receiver::start());
    let server = start(&[]);
    server.create_plain(BOB);
    let none = json!({ "filter": { "rules": [rule("subject", "equals", "x")] } });
    let hook = Hook::with(&server, GLOBAL, &receiver, &["email.received"], &none);
    Hook::new(&server, GLOBAL, &witness, &["email.received"]);
    server.send_raw(BOB, MAIL);
    witness.block_for(1);
    hook.patch(&server, &json!({ "filter": null }));
    let id = server.send_raw(BOB, MAIL);
    let told = receiver.block_for(1);
    assert_eq!((told.len(), &told[0].json()["data"]["id"]), (1, &json!(id)));
}
