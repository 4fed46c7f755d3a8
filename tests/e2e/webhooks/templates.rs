//! Templates over the wire: what each makes of an event (interface, "Templates"; decisions, section 7).

use std::sync::Arc;

use insta::assert_snapshot;
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use restante_testkit::receiver::Request;

use super::*;

/// What a webhook with this template is sent for a mail.
fn rendered(template: &Value, mail: &str) -> Request {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    Hook::with(
        &server,
        GLOBAL,
        &receiver,
        &["email.received"],
        &json!({ "template": template }),
    );
    server.send_raw(BOB, mail);
    receiver.block_for(1).remove(0)
}

fn custom(body: &str) -> Value {
    json!({ "type": "custom", "body": body })
}

#[test]
fn every_built_in_template_renders_the_test_event() {
    let receiver = Receiver::start();
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    for profile in ["service", "vaultsandbox"] {
        let variables = [("WEBHOOK_ALLOW_HTTP", "true"), ("WIRE_PROFILE", profile)];
        let server = TestServer::start_with_clock(&variables, clock.clone());
        let mut all = Vec::new();
        for event in ["email.received", "email.stored", "email.deleted"] {
            for name in [
                "default",
                "slack",
                "discord",
                "teams",
                "simple",
                "notification",
                "zapier",
            ] {
                let hook = Hook::with(&server, GLOBAL, &receiver, &[event], &json!({ "template": name }));
                let test = post(&server, &hook.at("test"), &json!({})).expect_status(200).json();
                let sent = receiver.requests().pop().unwrap();
                assert_eq!(sent.header("Content-Type"), Some("application/json"));
                assert_eq!(sent.json(), test["payloadSent"], "{name}");
                all.push(format!("{name}, {event}: {}\n", String::from_utf8(sent.body).unwrap()));
            }
        }
        assert_snapshot!(format!("templates_{profile}"), all.concat());
    }
}

#[test]
fn no_template_and_default_are_the_envelope() {
    let mail = "From: a@b.test\r\nSubject: hello\r\n\r\nhi\r\n";
    for template in [json!(null), json!("default")] {
        let event = rendered(&template, mail).json();
        assert_eq!(
            (&event["object"], &event["type"]),
            (&json!("event"), &json!("email.received"))
        );
        assert_eq!(event["data"]["subject"], "hello");
    }
}

#[test]
fn a_custom_template_is_filled_in_and_escaped() {
    let mail =
        "From: \"J\\\"D\" <a@b.test>\r\nSubject: =?UTF-8?Q?say_=22hi=22=5C_=F0=9F=98=80?=\r\nX-My: y\r\n\r\nline\r\n";
    let body = concat!(
        r#"{"subject":"{{data.subject}}","name":"{{data.from.name}}","text":"{{data.textBody}}","id":"{{id}}","#,
        r#""type":"{{type}}","object":"{{object}}","at":{{createdAt}},"iso":"{{timestamp}}","to":"{{data.to.0.address}}","#,
        r#""header":"{{data.headers.x-my}}","missing":"{{data.nothing.at.all}}","auth":"{{data.auth.spf}}"}"#,
    );
    let request = rendered(&custom(body), mail);
    let sent = request.json();
    assert_eq!(sent["subject"], "say \"hi\"\\ \u{1f600}");
    assert_eq!((&sent["name"], &sent["text"]), (&json!("J\"D"), &json!("line\n")));
    assert_eq!(
        (&sent["type"], &sent["object"]),
        (&json!("email.received"), &json!("event"))
    );
    assert_eq!(sent["id"], request.header("webhook-id").unwrap());
    assert!(sent["at"].as_u64().is_some_and(|seconds| seconds > 1_700_000_000));
    assert!(crate::harness::shape::is_moment(sent["iso"].as_str().unwrap()));
    assert_eq!((&sent["to"], &sent["header"]), (&json!(BOB), &json!("y")));
    assert_eq!((&sent["missing"], &sent["auth"]), (&json!(""), &json!("skipped")));
}

#[test]
fn a_custom_template_may_be_of_another_type() {
    let mut template = custom("Mail: {{data.subject}}\n");
    template["contentType"] = json!("text/plain; charset=utf-8");
    let request = rendered(&template, "Subject: \"quoted\"\r\n\r\n");
    assert_eq!(request.header("Content-Type"), Some("text/plain; charset=utf-8"));
    let body = String::from_utf8(request.body).unwrap();
    assert!(body.starts_with("Mail: ") && body.contains("quoted"), "{body}");
}
