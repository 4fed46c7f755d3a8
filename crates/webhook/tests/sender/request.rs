//! What a target gets.

use bytes::Bytes;
use restante_model::EventType;
use restante_testkit::receiver::Receiver;
use restante_webhook::{Attempt, Signable, WebhookSecret, sign};

use super::bench::{attempt, failure, sender};

#[tokio::test]
async fn the_request_is_a_post_of_the_signed_bytes_with_every_header() {
    let receiver = Receiver::start();
    let body = Bytes::from("{\"subject\":\"Grüße 🎉\\u0000\"}\r\n");
    let secret = WebhookSecret::generate();
    let signable = Signable {
        event_id: "evt_1",
        event_type: EventType::EmailReceived,
        delivery_id: "dlv_1",
        attempt: 1,
        timestamp: 1_737_806_400,
        body: &body,
    };
    let signed = sign(&signable, &secret, Some(&WebhookSecret::generate()));
    let attempt = Attempt {
        headers: signed.clone(),
        content_type: "application/json".to_owned(),
        body: body.clone(),
        ..attempt(&receiver.url("/hook?a=b%20c"))
    };
    assert!(sender().send(&attempt).await.is_success());

    let requests = receiver.wait_for(1).await;
    let request = &requests[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/hook?a=b%20c")
    );
    assert_eq!(request.body, body);
    assert_eq!(signed.len(), 9);
    for (name, value) in &signed {
        assert_eq!(request.header(name), Some(value.as_str()), "{name}");
    }
    assert_eq!(request.header("Content-Type"), Some("application/json"));
    assert_eq!(request.header("User-Agent"), Some("Service-Webhook/1.0"));
    assert_eq!(request.header("Content-Length"), Some(body.len().to_string().as_str()));
    assert_eq!(request.header("Host"), Some(receiver.address().to_string().as_str()));
}

#[tokio::test]
async fn nothing_is_sent_that_nobody_asked_for() {
    let receiver = Receiver::start();
    sender().send(&attempt(&receiver.url("/"))).await;
    let names: Vec<_> = receiver.wait_for(1).await[0]
        .headers
        .iter()
        .map(|(name, _)| name.to_lowercase())
        .collect();
    for name in [
        "cookie",
        "authorization",
        "referer",
        "accept-encoding",
        "transfer-encoding",
        "expect",
    ] {
        assert!(!names.iter().any(|sent| sent == name), "{name} was sent");
    }
}

#[tokio::test]
async fn a_fragment_is_not_sent() {
    let receiver = Receiver::start();
    sender().send(&attempt(&receiver.url("/a?b#c"))).await;
    assert_eq!(receiver.wait_for(1).await[0].target, "/a?b");
}

#[tokio::test]
async fn a_custom_content_type_is_sent_as_it_is() {
    let receiver = Receiver::start();
    let attempt = Attempt {
        content_type: "text/plain; charset=utf-8".to_owned(),
        ..attempt(&receiver.url("/"))
    };
    sender().send(&attempt).await;
    let requests = receiver.wait_for(1).await;
    assert_eq!(requests[0].header("Content-Type"), Some("text/plain; charset=utf-8"));
}

#[tokio::test]
async fn a_value_with_a_line_end_is_never_sent() {
    let receiver = Receiver::start();
    for text in [
        "text/plain\r\nX-Injected: 1",
        "text/plain\nX-Injected: 1",
        "text/plain\r",
        "text\0plain",
    ] {
        let attempt = Attempt {
            content_type: text.to_owned(),
            ..attempt(&receiver.url("/"))
        };
        let outcome = sender().send(&attempt).await;
        assert_eq!(failure(&outcome), "the value of the header Content-Type cannot be sent");
    }
    let attempt = Attempt {
        headers: vec![("X-Vault-Delivery", "dlv_1\r\nX-Injected: 1".to_owned())],
        ..attempt(&receiver.url("/"))
    };
    let outcome = sender().send(&attempt).await;
    assert_eq!(
        failure(&outcome),
        "the value of the header X-Vault-Delivery cannot be sent"
    );
    assert_eq!(receiver.connections(), 0);
}
