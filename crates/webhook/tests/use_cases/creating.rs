//! Creating webhooks, and who sees them.

use restante_model::EventType;
use restante_model::webhook::{
    CustomKind, CustomTemplate, FilterConfig, FilterMode, FilterOperator, FilterRule, WebhookTemplate,
};
use restante_webhook::{Activity, Idempotency, Metrics, Owner, Switch, WebhookError};

use crate::fixture::{Fixture, Targets, inbox, policy, request};

const URL: &str = "https://example.com/hook";
const ALL: [EventType; 3] = EventType::ALL;

/// A filter of one rule.
fn rule(operator: FilterOperator, value: &str) -> FilterConfig {
    FilterConfig {
        mode: FilterMode::All,
        rules: vec![FilterRule {
            field: "subject".to_owned(),
            operator,
            value: Some(value.to_owned()),
            case_sensitive: false,
        }],
        require_auth: None,
    }
}

#[tokio::test]
async fn a_new_webhook_is_enabled_and_has_a_secret_of_its_own() {
    let world = Fixture::new().await;
    let mut asked = request(URL, &ALL);
    asked.description = Some("mine".to_owned());
    asked.filter = Some(rule(FilterOperator::Contains, "order"));
    let webhook = world.create(asked.clone()).await;
    assert_eq!(webhook.switch, Switch::Enabled);
    assert_eq!((webhook.url.as_str(), webhook.events.as_slice()), (URL, ALL.as_slice()));
    assert_eq!(
        (&webhook.filter, &webhook.description),
        (&asked.filter, &asked.description)
    );
    assert_eq!((webhook.updated_at, webhook.activity), (None, Activity::default()));
    let read = world.get(webhook.id).await;
    assert_eq!(read.secret.expose(), webhook.secret.expose());
    assert_ne!(world.create(asked).await.secret.expose(), webhook.secret.expose());
}

#[tokio::test]
async fn a_url_that_may_not_be_used_is_invalid() {
    let mut policy = policy();
    policy.allow_http = false;
    let world = Fixture::with(policy, Targets::Public).await;
    for url in [
        "http://example.com/",
        "ftp://example.com/",
        "no url",
        "https://user@example.com/",
        "https://127.0.0.1/",
        "https://[::ffff:10.0.0.1]/",
        "https://2130706433/",
        "https://localhost/",
    ] {
        let refused = world.webhooks.create(&Owner::Global, request(url, &ALL)).await;
        let Err(WebhookError::Invalid(why)) = refused else {
            panic!("{url}: {refused:?}")
        };
        assert!(why.starts_with("url "), "{why}");
    }
    assert_eq!(world.webhooks.metrics().await.unwrap(), Metrics::default());
}

#[tokio::test]
async fn a_filter_or_template_that_does_not_work_cannot_be_processed() {
    let world = Fixture::new().await;
    let mut asked = request(URL, &ALL);
    asked.filter = Some(rule(FilterOperator::Regex, "(?=look-ahead)"));
    let refused = world.webhooks.create(&Owner::Global, asked).await;
    let Err(WebhookError::Unprocessable(why)) = refused else {
        panic!("{refused:?}")
    };
    assert!(why.contains("filter.rules[0].value"), "{why}");
    let mut asked = request(URL, &ALL);
    asked.template = Some(WebhookTemplate::Custom(CustomTemplate {
        kind: CustomKind::Custom,
        body: r#"{"subject": {{data.subject}}"#.to_owned(),
        content_type: None,
    }));
    let refused = world.webhooks.create(&Owner::Global, asked).await;
    assert!(matches!(refused, Err(WebhookError::Unprocessable(_))), "{refused:?}");
}

#[tokio::test]
async fn each_owner_has_a_limit_of_its_own() {
    let mut policy = policy();
    (policy.max_global, policy.max_inbox) = (2, 1);
    let world = Fixture::with(policy, Targets::All).await;
    for _ in 0..2 {
        world.create(request(URL, &ALL)).await;
    }
    let refused = world.webhooks.create(&Owner::Global, request(URL, &ALL)).await;
    assert_eq!(refused.unwrap_err(), WebhookError::Limit(2));
    let own = world.webhooks.create(&world.owner(), request(URL, &ALL)).await.unwrap();
    let refused = world.webhooks.create(&world.owner(), request(URL, &ALL)).await;
    assert_eq!(refused.unwrap_err(), WebhookError::Limit(1));
    world.webhooks.remove(&world.owner(), own.id).await.unwrap();
    world.webhooks.create(&world.owner(), request(URL, &ALL)).await.unwrap();
}

#[tokio::test]
async fn a_repeated_request_is_answered_with_the_first_webhook() {
    let world = Fixture::new().await;
    let repeatable = |body| {
        let mut asked = request(URL, &ALL);
        asked.idempotency = Some(Idempotency {
            key: [1; 32],
            body: [body; 32],
        });
        asked
    };
    let first = world.create(repeatable(1)).await;
    let again = world.create(repeatable(1)).await;
    assert_eq!((again.id, again.secret.expose()), (first.id, first.secret.expose()));
    let refused = world.webhooks.create(&Owner::Global, repeatable(2)).await;
    assert_eq!(refused.unwrap_err(), WebhookError::IdempotencyReused);
}

#[tokio::test]
async fn an_owner_sees_its_own_webhooks_only_in_the_order_of_their_creation() {
    let world = Fixture::new().await;
    let other = inbox("eve");
    world.add(&other).await;
    let owners = [Owner::Global, world.owner(), Owner::Inbox(other.into())];
    let mut ids = Vec::new();
    for owner in &owners {
        let mut own = Vec::new();
        for _ in 0..3 {
            own.push(world.webhooks.create(owner, request(URL, &ALL)).await.unwrap().id);
        }
        ids.push(own);
    }
    for (owner, own) in owners.iter().zip(&ids) {
        let listed = world.webhooks.list(owner).await.unwrap();
        assert_eq!(&listed.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), own);
        for id in ids.iter().flatten().filter(|id| !own.contains(id)) {
            let webhooks = &world.webhooks;
            assert_eq!(webhooks.get(owner, *id).await.unwrap_err(), WebhookError::NoWebhook);
            assert_eq!(webhooks.test(owner, *id).await.unwrap_err(), WebhookError::NoWebhook);
            assert_eq!(webhooks.remove(owner, *id).await.unwrap_err(), WebhookError::NoWebhook);
            assert_eq!(
                webhooks.rotate_secret(owner, *id, None).await.unwrap_err(),
                WebhookError::NoWebhook
            );
            let update = webhooks
                .update(owner, *id, restante_webhook::UpdateRequest::default())
                .await;
            assert_eq!(update.unwrap_err(), WebhookError::NoWebhook);
        }
    }
    let metrics = world.webhooks.metrics().await.unwrap();
    assert_eq!(
        (metrics.global, metrics.inbox, metrics.enabled, metrics.webhooks()),
        (3, 6, 9, 9)
    );
}

#[tokio::test]
async fn an_inbox_that_is_gone_has_no_webhooks() {
    let world = Fixture::new().await;
    let webhook = world.webhooks.create(&world.owner(), request(URL, &ALL)).await.unwrap();
    world.clock.advance(std::time::Duration::from_hours(48));
    let webhooks = &world.webhooks;
    assert_eq!(
        webhooks.get(&world.owner(), webhook.id).await.unwrap_err(),
        WebhookError::NoWebhook
    );
    assert!(webhooks.list(&world.owner()).await.unwrap().is_empty());
    assert_eq!(webhooks.metrics().await.unwrap(), Metrics::default());
    let refused = webhooks.create(&world.owner(), request(URL, &ALL)).await;
    assert_eq!(refused.unwrap_err(), WebhookError::NoInbox);
}
