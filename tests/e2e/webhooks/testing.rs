//! The test of a webhook (interface, "Webhook request shapes"; decisions, section 7).

use std::net::TcpListener;

use insta::assert_snapshot;
use restante_testkit::receiver::{Answer, Stage};

use super::*;
use crate::harness::shape;

fn test(server: &TestServer, hook: &Hook) -> Value {
    server.request("POST", &hook.at("test"), None).expect_status(200).json()
}

#[test]
fn a_test_shows_what_was_sent_and_what_came_back() {
    let receiver = Receiver::start();
    receiver.always(Answer::status(200).body("thanks"));
    let server = start(&[]);
    for event in ["email.received", "email.stored", "email.deleted"] {
        let hook = Hook::new(&server, GLOBAL, &receiver, &[event, "email.received"]);
        let answer = server.request("POST", &hook.at("test"), None).expect_status(200);
        assert_snapshot!(format!("webhook_test_{event}"), shape(&answer.body));
        let request = receiver.requests().pop().unwrap();
        let zeros = "0".repeat(30);
        for (name, value) in [
            ("X-Vault-Event", event.to_owned()),
            ("X-Vault-Delivery", format!("dlv_test_{zeros}")),
            ("webhook-id", format!("evt_test_{zeros}")),
        ] {
            assert_eq!(request.header(name), Some(value.as_str()), "{name}");
        }
        super::deliveries::Signed::new(&request).assert_by(hook.secret());
        // Byte by byte: whoever looks into it may check the signature.
        let sent = String::from_utf8(request.body.clone()).unwrap();
        assert!(
            answer.body.ends_with(&format!(r#""payloadSent":{sent}}}"#)),
            "{}",
            answer.body
        );
    }
}

#[test]
fn a_test_touches_no_counter_and_is_made_whatever_the_switch_says() {
    let receiver = Receiver::start();
    let server = start(&[]);
    server.create_plain(BOB);
    for at in [GLOBAL, &webhooks_of(BOB)] {
        let hook = Hook::new(&server, at, &receiver, &["email.received"]);
        hook.patch(&server, &json!({ "enabled": false }));
        let before = hook.get(&server);
        receiver.script([Answer::status(200), Answer::status(500)]);
        assert_eq!(test(&server, &hook)["success"], true);
        assert_eq!(test(&server, &hook)["success"], false);
        assert_eq!(hook.get(&server), before);
        assert_eq!(hook.deliveries(&server), Vec::<Value>::new());
    }
}

#[test]
fn only_a_2xx_is_a_success() {
    let receiver = Receiver::start();
    let server = start(&[]);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    for (status, success) in [
        (200, true),
        (204, true),
        (299, true),
        (302, false),
        (404, false),
        (410, false),
        (500, false),
    ] {
        receiver.script([Answer::status(status)]);
        let tested = test(&server, &hook);
        assert_eq!(
            (&tested["success"], &tested["statusCode"]),
            (&json!(success), &json!(status))
        );
        assert_eq!(tested.get("error").is_some(), !success, "{tested}");
        assert!(tested["responseTime"].as_u64().is_some_and(|time| time > 0), "{tested}");
    }
}

#[test]
fn the_answer_of_the_target_is_cut_at_1_kb() {
    let receiver = Receiver::start();
    let server = start(&[]);
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    for (length, shown) in [(1024, 1024), (1025, 1024), (100_000, 1024)] {
        receiver.script([Answer::status(200).body("x".repeat(length))]);
        let tested = test(&server, &hook);
        assert_eq!(tested["success"], true);
        assert_eq!(tested["responseBody"].as_str().unwrap().len(), shown);
    }
}

#[test]
fn a_target_that_does_not_answer_is_a_failure_that_says_so() {
    let server = start(&[("WEBHOOK_TIMEOUT", "300")]);
    for stage in [Stage::BeforeStatus, Stage::InHeaders] {
        let receiver = Receiver::start();
        receiver.always(Answer::stalled(stage));
        let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
        let tested = test(&server, &hook);
        assert_eq!((&tested["success"], tested.get("statusCode")), (&json!(false), None));
        assert!(tested["error"].as_str().unwrap().contains("timeout"), "{tested}");
        assert!(tested["responseTime"].as_u64().unwrap() >= 300);
        assert!(tested["payloadSent"].is_object());
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let hook = Hook::create(
        &server,
        GLOBAL,
        &wanted(&format!("http://{closed}/"), &["email.received"], &json!({})),
    );
    let tested = test(&server, &hook);
    assert_eq!((&tested["success"], tested.get("statusCode")), (&json!(false), None));
    assert!(!tested["error"].as_str().unwrap().is_empty());
}

#[test]
fn what_is_no_json_was_sent_as_a_text() {
    let receiver = Receiver::start();
    let server = start(&[]);
    let template = json!({ "type": "custom", "body": "to {{data.inboxEmail}}", "contentType": "text/plain" });
    let hook = Hook::with(
        &server,
        GLOBAL,
        &receiver,
        &["email.received"],
        &json!({ "template": template }),
    );
    assert_eq!(test(&server, &hook)["payloadSent"], "to test@sandbox.example.com");
}

#[test]
fn a_body_of_a_test_has_no_field() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.received"], &json!({})));
    let answer = post(&server, &hook.at("test"), &json!({ "event": "email.stored" }));
    assert_refused(&answer, 400, "property event should not exist");
}
