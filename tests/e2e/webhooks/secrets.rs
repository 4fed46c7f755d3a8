//! Secrets and their rotation (interface, "Webhook request shapes", "Delivery").

use std::sync::Arc;

use insta::assert_snapshot;
use restante_model::Timestamp;
use restante_testkit::FakeClock;

use super::deliveries::Signed;
use super::*;
use crate::harness::shape::is_secret;
use crate::harness::{API_KEY, shape};

#[test]
fn every_webhook_has_a_secret_of_its_own() {
    let server = start(&[]);
    let body = wanted(NOBODY, &["email.stored"], &json!({}));
    let [one, other] = [(); 2].map(|()| Hook::create(&server, GLOBAL, &body));
    assert!(is_secret(one.secret()) && is_secret(other.secret()));
    assert_ne!(one.secret(), other.secret());
    assert_eq!(one.get(&server)["secret"], one.secret());
}

#[test]
fn for_an_hour_after_its_rotation_both_secrets_sign() {
    let receiver = Receiver::start();
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[("WEBHOOK_ALLOW_HTTP", "true")], clock.clone());
    let hook = Hook::new(&server, GLOBAL, &receiver, &["email.received"]);
    let old = hook.secret();
    let rotated = post(&server, &hook.at("rotate-secret"), &json!({})).expect_status(200);
    assert_snapshot!("webhook_rotated", shape(&rotated.body));
    let rotated = rotated.json();
    assert_eq!(rotated["id"], hook.id());
    assert_eq!(rotated["previousSecretValidUntil"], "2026-01-25T12:41:16.000Z");
    let new = rotated["secret"].as_str().unwrap();
    assert!(is_secret(new) && new != old);
    assert_eq!(hook.get(&server)["secret"], new);

    clock.advance(Duration::from_millis(3_599_999));
    server.request("POST", &hook.at("test"), None).expect_status(200);
    let signed = Signed::new(&receiver.block_for(1)[0]);
    signed.assert_by(new);
    signed.assert_previous(Some(old));
    assert_eq!(
        signed.standard_signatures(),
        [signed.standard(new), signed.standard(old)]
    );

    clock.advance(Duration::from_millis(1));
    server.request("POST", &hook.at("test"), None).expect_status(200);
    let signed = Signed::new(&receiver.block_for(2)[1]);
    signed.assert_by(new);
    signed.assert_previous(None);
    assert_eq!(signed.standard_signatures(), [signed.standard(new)]);
}

#[test]
fn a_repeated_rotation_gets_the_first_answer() {
    let server = start(&[]);
    let hook = Hook::create(&server, GLOBAL, &wanted(NOBODY, &["email.stored"], &json!({})));
    let rotate = |key: &str| {
        let headers = [("X-API-Key", API_KEY), ("Idempotency-Key", key)];
        server
            .bare_request("POST", &hook.at("rotate-secret"), &headers, "")
            .expect_status(200)
            .body
    };
    let first = rotate("one");
    assert_eq!(rotate("one"), first);
    let second = rotate("two");
    assert_ne!(second, first);
    let shown: Value = serde_json::from_str(&second).unwrap();
    assert_eq!(hook.get(&server)["secret"], shown["secret"]);
}
