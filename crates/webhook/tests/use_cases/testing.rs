//! Tests of webhooks, as their users send them.

use std::time::Duration;

use restante_model::webhook::{CustomKind, CustomTemplate, WebhookTemplate};
use restante_model::{Clock as _, EventType};
use restante_testkit::receiver::{Answer, Stage};
use restante_webhook::{Owner, Signable, TestOutcome, UpdateRequest, sign};

use crate::fixture::{Fixture, Targets, policy, request};

const EVENT_ID: &str = "evt_test_000000000000000000000000000000";
const DELIVERY_ID: &str = "dlv_test_000000000000000000000000000000";

async fn test_of(world: &Fixture, id: restante_model::WebhookId) -> TestOutcome {
    world.webhooks.test(&Owner::Global, id).await.unwrap()
}

#[tokio::test]
async fn a_test_is_signed_and_sent_as_the_first_type_even_to_a_disabled_webhook() {
    let world = Fixture::new().await;
    world.receiver.always(Answer::status(201).body("thanks"));
    let id = world
        .webhook_for(&[EventType::EmailDeleted, EventType::EmailReceived])
        .await;
    let disable = UpdateRequest {
        enabled: Some(false),
        ..UpdateRequest::default()
    };
    let webhook = world.webhooks.update(&Owner::Global, id, disable).await.unwrap();
    let outcome = test_of(&world, id).await;
    assert!(outcome.success);
    assert_eq!((outcome.status_code, outcome.error), (Some(201), None));
    assert_eq!(outcome.response_body.as_deref(), Some("thanks"));
    assert!(outcome.response_time_ms >= 1);
    let [request] = &world.receiver.requests()[..] else {
        panic!("one request")
    };
    // As it was sent, to the byte: that is what was signed.
    assert_eq!(outcome.payload_sent.unwrap().get().as_bytes(), request.body);
    assert_eq!(request.json()["type"], "email.deleted");
    let signable = Signable {
        event_id: EVENT_ID,
        event_type: EventType::EmailDeleted,
        delivery_id: DELIVERY_ID,
        attempt: 1,
        timestamp: world.clock.now().unix_secs(),
        body: &request.body,
    };
    for (name, value) in sign(&signable, &webhook.secret, None) {
        assert_eq!(request.header(name), Some(value.as_str()));
    }
    let after = world.get(id).await;
    assert_eq!(after.activity, webhook.activity, "it counts nowhere");
    assert!(world.log(id).await.is_empty());
}

#[tokio::test]
async fn whatever_is_not_2xx_has_an_error_and_the_answer_is_cut() {
    let world = Fixture::new().await;
    let id = world.webhook().await;
    let long = "é".repeat(1000);
    world.receiver.script([
        Answer::closed(),
        Answer::status(500).body(long.clone()),
        Answer::redirect("/other"),
    ]);
    let outcome = test_of(&world, id).await;
    assert_eq!(
        (outcome.success, outcome.status_code, outcome.response_body),
        (false, None, None)
    );
    assert!(outcome.error.is_some());
    let outcome = test_of(&world, id).await;
    assert_eq!((outcome.success, outcome.status_code), (false, Some(500)));
    assert!(outcome.error.is_some());
    assert_eq!(outcome.response_body.as_deref(), Some(&long[..1024]));
    let outcome = test_of(&world, id).await;
    assert_eq!((outcome.success, outcome.status_code), (false, Some(307)));
    assert!(outcome.error.is_some());
    assert_eq!(world.receiver.requests().len(), 3);
}

#[tokio::test]
async fn a_test_that_takes_too_long_says_timeout() {
    let mut policy = policy();
    policy.timeout = Duration::from_millis(50);
    let world = Fixture::with(policy, Targets::All).await;
    world.receiver.always(Answer::stalled(Stage::BeforeStatus));
    let id = world.webhook().await;
    let outcome = test_of(&world, id).await;
    assert!(outcome.error.unwrap().contains("timeout"));
    assert!(outcome.response_time_ms >= 50);
}

#[tokio::test]
async fn what_is_no_json_is_shown_as_text() {
    let world = Fixture::new().await;
    let mut asked = request(&world.receiver.url("/hook"), &[EventType::EmailReceived]);
    asked.template = Some(WebhookTemplate::Custom(CustomTemplate {
        kind: CustomKind::Custom,
        body: "New: {{data.subject}}".to_owned(),
        content_type: Some("text/plain".to_owned()),
    }));
    let id = world.create(asked).await.id;
    let outcome = test_of(&world, id).await;
    assert_eq!(outcome.payload_sent.unwrap().get(), r#""New: Test webhook delivery""#);
}

#[tokio::test]
async fn the_guard_holds_for_tests_and_deliveries_whatever_was_allowed_before() {
    let mut world = Fixture::new().await;
    let id = world.webhook().await;
    world.webhooks = world.webhooks_for(Targets::Public);
    let outcome = test_of(&world, id).await;
    assert_eq!((outcome.success, outcome.status_code), (false, None));
    assert!(outcome.error.unwrap().contains("not public"));
    world.start();
    world.mail("one").await;
    let delivery = world.attempted(id, 1).await;
    assert!(delivery.error.unwrap().contains("not public"));
    assert!(
        delivery.next_attempt_at.is_some(),
        "it is a failed attempt like any other"
    );
    assert_eq!(world.receiver.connections(), 0);
}
