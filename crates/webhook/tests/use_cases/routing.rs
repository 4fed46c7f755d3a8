//! Which webhook is told of what.

use std::collections::BTreeSet;

use restante_model::auth::{SpfVerdict, Verdict};
use restante_model::event::EventAuth;
use restante_model::webhook::{FilterConfig, FilterMode, FilterOperator, FilterRule};
use restante_model::{EmailId, EventType};
use restante_webhook::{DeliveryStatus, DeliveryView, Owner};

use crate::fixture::{Fixture, PASSED, START, Targets, event, inbox, policy, request, until};

const ALL: [EventType; 3] = EventType::ALL;

fn filter(require_auth: Option<bool>, subject: Option<&str>) -> FilterConfig {
    let rule = |value: &str| FilterRule {
        field: "subject".to_owned(),
        operator: FilterOperator::Equals,
        value: Some(value.to_owned()),
        case_sensitive: false,
    };
    FilterConfig {
        mode: FilterMode::All,
        rules: subject.map(rule).into_iter().collect(),
        require_auth,
    }
}

/// Path and event of all requests.
fn told(world: &Fixture) -> BTreeSet<(String, String)> {
    let requests = world.receiver.requests();
    let told: BTreeSet<_> = requests
        .iter()
        .map(|request| {
            (
                request.target.clone(),
                request.header("x-vault-event").unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(told.len(), requests.len(), "each once");
    told
}

/// Waits until every event is dispatched and every delivery made, and stops.
async fn finish(world: &mut Fixture) {
    use restante_storage::WebhookStore as _;
    let store = world.store.clone();
    until(async || store.events(1).await.unwrap().is_empty().then_some(())).await;
    for webhook in world.webhooks.list(&Owner::Global).await.unwrap() {
        let is_done = |log: &[DeliveryView]| log.iter().all(|delivery| delivery.status == DeliveryStatus::Success);
        world.log_when(webhook.id, is_done).await;
    }
    world.stop().await;
}

/// What a webhook with each filter is told of an email that passed its checks, of one that did not, and of its removal.
async fn matrix(require_auth_default: bool) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut policy = policy();
    policy.require_auth_default = require_auth_default;
    let mut world = Fixture::with(policy, Targets::All).await;
    let cases = [
        ("none", None),
        ("unset", Some(filter(None, None))),
        ("yes", Some(filter(Some(true), None))),
        ("no", Some(filter(Some(false), None))),
        ("rule", Some(filter(Some(false), Some("passed")))),
    ];
    for (path, filter) in &cases {
        let mut asked = request(&world.receiver.url(&format!("/{path}")), &ALL);
        asked.filter.clone_from(filter);
        world.create(asked).await;
    }
    world.start();
    let mut told_of = vec![Vec::new(); cases.len()];
    let mut seen = BTreeSet::new();
    let skipped = EventAuth {
        spf: SpfVerdict::Skipped,
        ..PASSED
    };
    let failed = EventAuth {
        dkim: Verdict::Fail,
        ..PASSED
    };
    for (name, auth) in [("passed", PASSED), ("skipped", skipped), ("failed", failed)] {
        let id = EmailId::new(START);
        let mail = restante_model::ArrivalEvent {
            auth,
            ..event(&world.inbox, id, name)
        };
        world.deposit(&world.inbox, &mail).await;
        if name == "failed" {
            world.delete(id).await;
        }
        finish(&mut world).await;
        let now: BTreeSet<_> = world.receiver.requests().iter().map(line).collect();
        for (case, told) in cases.iter().zip(&mut told_of) {
            let types = now
                .difference(&seen)
                .filter(|(path, ..)| *path == format!("/{}", case.0));
            let types: Vec<_> = types.map(|(_, event, _)| event.as_str()).collect();
            match types.as_slice() {
                [] => {}
                ["email.received", "email.stored"] => told.push(name),
                ["email.deleted", "email.received", "email.stored"] => told.extend([name, "deleted"]),
                ["email.deleted"] => told.push("deleted"),
                other => panic!("{other:?}"),
            }
        }
        seen = now;
        world.start();
    }
    world.stop().await;
    cases.iter().map(|case| case.0).zip(told_of).collect()
}

fn line(request: &restante_testkit::receiver::Request) -> (String, String, String) {
    let header = |name| request.header(name).unwrap().to_owned();
    (request.target.clone(), header("x-vault-event"), header("webhook-id"))
}

#[tokio::test]
async fn require_auth_holds_for_both_types_of_an_arrival_and_excludes_removals() {
    let everything = vec!["passed", "skipped", "failed", "deleted"];
    let told = matrix(false).await;
    let expected = [
        ("none", everything.clone()),
        ("unset", everything.clone()),
        ("yes", vec!["passed"]),
        ("no", everything.clone()),
        ("rule", vec!["passed"]),
    ];
    assert_eq!(told, expected);
    let told = matrix(true).await;
    let expected = [
        ("none", vec!["passed"]),
        ("unset", vec!["passed"]),
        ("yes", vec!["passed"]),
        ("no", everything),
        ("rule", vec!["passed"]),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn an_inbox_webhook_hears_of_its_inbox_and_each_type_once() {
    let mut world = Fixture::new().await;
    let other = inbox("eve");
    world.add(&other).await;
    let twice = [EventType::EmailStored, EventType::EmailStored, EventType::EmailReceived];
    let url = |path: &str| world.receiver.url(path);
    world.create(request(&url("/global"), &twice)).await;
    world
        .webhooks
        .create(&world.owner(), request(&url("/bob"), &ALL))
        .await
        .unwrap();
    let eve = Owner::Inbox(other.clone().into());
    world
        .webhooks
        .create(&eve, request(&url("/eve"), &[EventType::EmailDeleted]))
        .await
        .unwrap();
    let id = world.mail("for bob").await;
    world.delete(id).await;
    world.start();
    world.receiver.wait_for(5).await;
    finish(&mut world).await;
    let expected = [
        ("/bob", "email.deleted"),
        ("/bob", "email.received"),
        ("/bob", "email.stored"),
        ("/global", "email.received"),
        ("/global", "email.stored"),
    ];
    let expected = expected.map(|(path, event)| (path.to_owned(), event.to_owned()));
    assert_eq!(told(&world), BTreeSet::from(expected));
}

#[tokio::test]
async fn a_removal_tells_its_reason_and_outlives_its_email() {
    let mut world = Fixture::new().await;
    world.webhook_for(&[EventType::EmailDeleted]).await;
    let id = world.mail("one").await;
    world.delete(id).await;
    world.start();
    let requests = world.receiver.wait_for(1).await;
    let json = requests[0].json();
    assert_eq!(json["type"], "email.deleted");
    assert_eq!(json["data"]["reason"], "manual");
    assert_eq!(json["data"]["id"], id.to_string());
    assert_eq!(json["data"]["inboxEmail"], "bob@restante.test");
}
