//! Changing and removing webhooks.

use restante_model::webhook::{BuiltInTemplate, FilterConfig, FilterMode, WebhookTemplate};
use restante_model::{Clock as _, EventType};
use restante_webhook::{Owner, Patch, Switch, UpdateRequest, WebhookError};

use crate::fixture::{Fixture, Targets, policy, request};

const URL: &str = "https://example.com/hook";

fn url(url: &str) -> UpdateRequest {
    UpdateRequest {
        url: Some(url.to_owned()),
        ..UpdateRequest::default()
    }
}

#[tokio::test]
async fn a_change_sets_what_it_names_and_leaves_the_rest() {
    let world = Fixture::new().await;
    let filter = FilterConfig {
        mode: FilterMode::Any,
        rules: Vec::new(),
        require_auth: Some(true),
    };
    let mut asked = request(URL, &[EventType::EmailStored]);
    asked.description = Some("mine".to_owned());
    asked.filter = Some(filter.clone());
    let webhook = world.create(asked).await;
    world.clock.advance(std::time::Duration::from_secs(1));
    let change = UpdateRequest {
        events: Some(vec![EventType::EmailDeleted]),
        template: Patch::Set(WebhookTemplate::BuiltIn(BuiltInTemplate::Slack)),
        description: Patch::Remove,
        ..UpdateRequest::default()
    };
    let changed = world.webhooks.update(&Owner::Global, webhook.id, change).await.unwrap();
    assert_eq!(
        (changed.url.as_str(), changed.events.as_slice()),
        (URL, [EventType::EmailDeleted].as_slice())
    );
    assert_eq!(changed.template, Some(WebhookTemplate::BuiltIn(BuiltInTemplate::Slack)));
    assert_eq!((changed.filter, changed.description), (Some(filter), None));
    assert_eq!(changed.secret.expose(), webhook.secret.expose());
    assert_eq!(changed.updated_at, Some(world.clock.now()));
}

#[tokio::test]
async fn a_change_of_nothing_is_a_change() {
    let world = Fixture::new().await;
    let webhook = world.create(request(URL, &[EventType::EmailStored])).await;
    let changed = world
        .webhooks
        .update(&Owner::Global, webhook.id, UpdateRequest::default())
        .await
        .unwrap();
    assert_eq!(
        (changed.updated_at, changed.switch),
        (Some(world.clock.now()), Switch::Enabled)
    );
}

#[tokio::test]
async fn another_url_is_judged_the_same_one_is_not() {
    let mut policy = policy();
    policy.allow_http = false;
    let world = Fixture::with(policy, Targets::Public).await;
    let id = world.create(request(URL, &[EventType::EmailStored])).await.id;
    for refused in ["http://example.com/", "https://10.0.0.1/"] {
        let refused = world.webhooks.update(&Owner::Global, id, url(refused)).await;
        assert!(matches!(refused, Err(WebhookError::Invalid(_))), "{refused:?}");
    }
    let unchanged = world.get(id).await;
    assert_eq!((unchanged.url.as_str(), unchanged.updated_at), (URL, None));
    world.webhooks.update(&Owner::Global, id, url(URL)).await.unwrap();
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_made() {
    let world = Fixture::new().await;
    let id = world.create(request(URL, &[EventType::EmailStored])).await.id;
    let describe = UpdateRequest {
        description: Patch::Set("mine".to_owned()),
        ..UpdateRequest::default()
    };
    let disable = UpdateRequest {
        enabled: Some(false),
        ..UpdateRequest::default()
    };
    let webhooks = &world.webhooks;
    let (moved, described, disabled, rotated) = tokio::join!(
        webhooks.update(&Owner::Global, id, url("https://example.org/")),
        webhooks.update(&Owner::Global, id, describe),
        webhooks.update(&Owner::Global, id, disable),
        webhooks.rotate_secret(&Owner::Global, id, None),
    );
    moved.unwrap();
    described.unwrap();
    disabled.unwrap();
    let now = world.get(id).await;
    assert_eq!(
        (now.url.as_str(), now.description.as_deref()),
        ("https://example.org/", Some("mine"))
    );
    assert_eq!(now.switch, Switch::DisabledManually);
    assert_eq!(now.secret.expose(), rotated.unwrap().secret.expose());
}

#[tokio::test]
async fn a_storm_of_changes_is_made_to_the_last() {
    let world = Fixture::new().await;
    let id = world.create(request(URL, &[EventType::EmailStored])).await.id;
    let mut changes = tokio::task::JoinSet::new();
    for number in 0..60 {
        let webhooks = world.webhooks.clone();
        let describe = UpdateRequest {
            description: Patch::Set(number.to_string()),
            ..UpdateRequest::default()
        };
        changes.spawn(async move { webhooks.update(&Owner::Global, id, describe).await });
    }
    for changed in changes.join_all().await {
        changed.unwrap();
    }
}

#[tokio::test]
async fn a_removed_webhook_is_gone_with_its_log() {
    let mut world = Fixture::new().await;
    let id = world.webhook().await;
    world.start();
    world.mail("one").await;
    world.attempted(id, 1).await;
    world.webhooks.remove(&Owner::Global, id).await.unwrap();
    assert_eq!(
        world.webhooks.get(&Owner::Global, id).await.unwrap_err(),
        WebhookError::NoWebhook
    );
    assert_eq!(
        world.webhooks.remove(&Owner::Global, id).await.unwrap_err(),
        WebhookError::NoWebhook
    );
    world.mail("two").await;
    world.stop().await;
    assert_eq!(world.receiver.requests().len(), 1);
}
