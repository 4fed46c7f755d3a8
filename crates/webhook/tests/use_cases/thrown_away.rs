//! Mail that is thrown away: webhooks that want arrivals are told `email.received`, and nothing more.

use restante_model::auth::Verdict;
use restante_model::event::EventAuth;
use restante_model::webhook::{FilterConfig, FilterMode, FilterOperator, FilterRule};
use restante_model::{ArrivalEvent, EmailId, EventType};
use restante_storage::{Store as _, WebhookStore as _};
use restante_webhook::DeliveryStatus;

use crate::fixture::{Fixture, PASSED, START, Targets, event, policy, request, until};

const ARRIVALS: [EventType; 2] = [EventType::EmailReceived, EventType::EmailStored];

/// Path, event and subject of all requests, in the order of their paths.
fn told(world: &Fixture) -> Vec<(String, String, String)> {
    let requests = world.receiver.requests();
    let line = |request: &restante_testkit::receiver::Request| {
        let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
        let subject = body["data"]["subject"].as_str().unwrap().to_owned();
        let event = request.header("x-vault-event").unwrap().to_owned();
        assert_eq!(body["type"], event.as_str());
        (request.target.clone(), event, subject)
    };
    let mut told: Vec<_> = requests.iter().map(line).collect();
    told.sort();
    told
}

/// Waits until all events are dispatched and nothing is queued, and stops.
async fn finish(world: &mut Fixture) {
    let store = world.store.clone();
    until(async || store.events(1).await.unwrap().is_empty().then_some(())).await;
    for webhook in store.all_webhooks(None, 100, START).await.unwrap().webhooks {
        let is_done = |log: &[restante_webhook::DeliveryView]| {
            log.iter().all(|delivery| delivery.status == DeliveryStatus::Success)
        };
        world.log_when(webhook.id, is_done).await;
    }
    world.stop().await;
}

fn expected(lines: &[(&str, &str)]) -> Vec<(String, String, String)> {
    let line = |(path, subject): &(&str, &str)| {
        let path = format!("/{path}");
        (path, "email.received".to_owned(), (*subject).to_owned())
    };
    lines.iter().map(line).collect()
}

#[tokio::test]
async fn it_is_told_as_received_alone_whatever_else_is_wanted() {
    let mut world = Fixture::new().await;
    let cases: [(&str, &[EventType]); 5] = [
        ("all", &EventType::ALL),
        ("arrivals", &ARRIVALS),
        ("received", &[EventType::EmailReceived]),
        ("stored", &[EventType::EmailStored]),
        ("deleted", &[EventType::EmailDeleted]),
    ];
    for (path, events) in cases {
        let asked = request(&world.receiver.url(&format!("/{path}")), events);
        world.create(asked).await;
    }
    world.start();
    let id = EmailId::new(START);
    world.throw_away(&event(&world.inbox, id, "gone")).await;
    finish(&mut world).await;
    let lines = [("all", "gone"), ("arrivals", "gone"), ("received", "gone")];
    assert_eq!(told(&world), expected(&lines));
    let now = START;
    let stored = world.store.email(world.inbox.key, id, &[], now).await.unwrap();
    assert!(stored.is_none());
}

#[tokio::test]
async fn filters_and_required_authentication_hold() {
    for require_auth_default in [false, true] {
        let mut policy = policy();
        policy.require_auth_default = require_auth_default;
        let mut world = Fixture::with(policy, Targets::All).await;
        let rule = FilterRule {
            field: "subject".to_owned(),
            operator: FilterOperator::Equals,
            value: Some("wanted".to_owned()),
            case_sensitive: false,
        };
        let filter = |rules: &[FilterRule], require_auth| FilterConfig {
            mode: FilterMode::All,
            rules: rules.to_vec(),
            require_auth,
        };
        for (path, filter) in [
            ("any", None),
            ("auth", Some(filter(&[], Some(true)))),
            ("no-auth", Some(filter(&[], Some(false)))),
            ("rule", Some(filter(&[rule], Some(false)))),
        ] {
            let mut asked = request(&world.receiver.url(&format!("/{path}")), &ARRIVALS);
            asked.filter = filter;
            world.create(asked).await;
        }
        world.start();
        let failed = EventAuth {
            dkim: Verdict::Fail,
            ..PASSED
        };
        for (subject, auth) in [("other", PASSED), ("wanted", failed)] {
            let mail = ArrivalEvent {
                auth,
                ..event(&world.inbox, EmailId::new(START), subject)
            };
            world.throw_away(&mail).await;
        }
        finish(&mut world).await;
        let mut lines = vec![
            ("any", "other"),
            ("any", "wanted"),
            ("auth", "other"),
            ("no-auth", "other"),
            ("no-auth", "wanted"),
            ("rule", "wanted"),
        ];
        lines.retain(|line| !require_auth_default || *line != ("any", "wanted"));
        assert_eq!(told(&world), expected(&lines), "{require_auth_default}");
    }
}

#[tokio::test]
async fn it_outlives_a_restart_and_is_delivered_again() {
    let world = Fixture::new().await;
    let id = world.webhook_for(&ARRIVALS).await;
    world
        .throw_away(&event(&world.inbox, EmailId::new(START), "gone"))
        .await;
    let mut world = world.restart().await;
    assert!(world.receiver.requests().is_empty());
    world.start();
    let delivery = world.attempted(id, 1).await;
    world
        .webhooks
        .redeliver(&restante_webhook::Owner::Global, id, delivery.id)
        .await
        .unwrap();
    world.attempted(id, 2).await;
    world.stop().await;
    let line = ("hook", "gone");
    assert_eq!(told(&world), expected(&[line, line]));
}

/// Of a webhook that cannot be used only its topics are known: its log shows what it missed.
#[tokio::test]
async fn one_that_cannot_be_used_misses_the_arrival_alone() {
    let mut world = Fixture::new().await;
    let id = world.webhook_for(&EventType::ALL).await;
    world
        .throw_away(&event(&world.inbox, EmailId::new(START), "gone"))
        .await;
    world.lose_key();
    world.start();
    let delivery = world.attempted(id, 1).await;
    world.stop().await;
    assert_eq!(delivery.event_type, EventType::EmailReceived);
    assert!(world.receiver.requests().is_empty());
}
