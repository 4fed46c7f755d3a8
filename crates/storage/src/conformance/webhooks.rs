//! Webhooks: their limits, their order, and who sees them.

use std::sync::Arc;

use bytes::Bytes;
use restante_model::{Inbox, InboxKey, RemovalReason, Timestamp, WebhookId};

use super::{START, after_ms, create, plain_inbox, request};
use crate::{
    CreateWebhookError, CreatedWebhook, Idempotency, NewWebhook, Store, StoredWebhook, Switch, Topic, Topics,
    UpdateWebhookError, WebhookScope, WebhookUpdate,
};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    a_webhook_is_kept_as_it_was_made(&*open().await).await;
    webhooks_are_listed_in_the_order_of_their_creation(&*open().await).await;
    a_removed_webhook_is_gone(&*open().await).await;
    limits_are_exact_in_a_race(open().await).await;
    a_repeated_request_makes_one_webhook(&*open().await).await;
    a_change_is_made_from_what_was_read(&*open().await).await;
    a_webhook_is_invisible_with_its_inbox(&*open().await).await;
    wants_says_who_listens(&*open().await).await;
}

/// More webhooks than any test makes.
pub(super) const MANY: u64 = 1000;

/// Everything that a webhook can listen to.
pub(super) const ALL: Topics = Topics {
    arrivals: true,
    removals: true,
};

/// A webhook that listens to everything.
pub(super) fn webhook(scope: WebhookScope) -> NewWebhook {
    NewWebhook {
        id: WebhookId::random(),
        scope,
        topics: ALL,
        config: Bytes::from_static(b"config"),
        idempotency: None,
    }
}

/// The scope of an inbox.
pub(crate) fn of(inbox: &Inbox) -> WebhookScope {
    WebhookScope::Inbox(inbox.key)
}

/// Creates a webhook that listens to everything, and gives its id.
pub(crate) async fn subscribe(store: &dyn Store, scope: WebhookScope) -> WebhookId {
    let new = webhook(scope);
    let id = new.id;
    let created = store.create_webhook(new, MANY, START).await;
    assert!(matches!(created, Ok(CreatedWebhook::New(_))), "{created:?}");
    id
}

/// Enables or disables a webhook.
pub(super) async fn switch(store: &dyn Store, id: WebhookId, enabled: bool) -> StoredWebhook {
    let found = store.webhook(id, START).await.unwrap().expect("the webhook is there");
    let update = WebhookUpdate {
        id,
        revision: found.revision,
        config: None,
        enabled: Some(enabled),
    };
    store.update_webhook(update, START).await.unwrap()
}

async fn listed(store: &dyn Store, scope: WebhookScope, now: Timestamp) -> Vec<WebhookId> {
    let found = store.webhooks(scope, now).await.unwrap();
    found.iter().map(|webhook| webhook.id).collect()
}

async fn is_seen(store: &dyn Store, id: WebhookId, now: Timestamp) -> bool {
    let seen = store.webhook(id, now).await.unwrap().is_some();
    let page = store.all_webhooks(None, 100, now).await.unwrap();
    assert_eq!(page.webhooks.iter().any(|webhook| webhook.id == id), seen);
    seen
}

async fn a_webhook_is_kept_as_it_was_made(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let mut new = webhook(of(&inbox));
    new.topics.removals = false;
    let expected = StoredWebhook {
        id: new.id,
        scope: new.scope,
        topics: new.topics,
        revision: 1,
        created_at: after_ms(5),
        updated_at: None,
        switch: Switch::Enabled,
        activity: crate::Activity::default(),
    };
    for _ in 0..2 {
        // Repeating it with the same id is harmless.
        match store.create_webhook(new.clone(), 1, after_ms(5)).await {
            Ok(CreatedWebhook::New(made)) => assert_eq!(made, expected),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(store.webhook(new.id, START).await, Ok(Some(expected.clone())));
    assert_eq!(store.webhooks(new.scope, START).await, Ok(vec![expected]));
    assert_eq!(store.webhook_config(new.id).await, Ok(Some((1, new.config.clone()))));
    assert_eq!(store.webhook(WebhookId::random(), START).await, Ok(None));
    assert_eq!(store.webhook_config(WebhookId::random()).await, Ok(None));
    let gone = webhook(WebhookScope::Inbox(InboxKey::new(START)));
    let refused = store.create_webhook(gone, MANY, START).await;
    assert!(matches!(refused, Err(CreateWebhookError::Gone)), "{refused:?}");
}

async fn webhooks_are_listed_in_the_order_of_their_creation(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let (mut global, mut own) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        global.push(subscribe(store, WebhookScope::Global).await);
        own.push(subscribe(store, of(&inbox)).await);
    }
    assert!(store.remove_webhook(global.remove(0), START).await.unwrap());
    assert!(store.remove_webhook(global.remove(3), START).await.unwrap());
    assert_eq!(listed(store, WebhookScope::Global, START).await, global);
    assert_eq!(listed(store, of(&inbox), START).await, own);
    let mut all = [global.clone(), own.clone()].concat();
    all.sort_unstable();
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = store.all_webhooks(after, 5, START).await.unwrap();
        paged.extend(page.webhooks.iter().map(|webhook| webhook.id));
        after = paged.last().copied();
        if !page.more {
            break;
        }
    }
    assert_eq!(paged, all);
    let heard = store.subscribers(inbox.key).await.unwrap();
    let heard: Vec<_> = heard.iter().map(|webhook| webhook.id).collect();
    assert_eq!(heard, [global.clone(), own].concat());
    let elsewhere = store.subscribers(InboxKey::new(START)).await.unwrap();
    assert_eq!(elsewhere.len(), global.len());
}

async fn a_removed_webhook_is_gone(store: &dyn Store) {
    let id = subscribe(store, WebhookScope::Global).await;
    assert!(store.remove_webhook(id, START).await.unwrap());
    assert!(!store.remove_webhook(id, START).await.unwrap());
    assert!(!is_seen(store, id, START).await);
    assert_eq!(store.webhook_config(id).await, Ok(None));
    assert_eq!(store.subscribers(InboxKey::new(START)).await, Ok(vec![]));
    let update = WebhookUpdate {
        id,
        revision: 1,
        config: None,
        enabled: None,
    };
    let changed = store.update_webhook(update, START).await;
    assert_eq!(changed, Err(UpdateWebhookError::Gone));
    while store.reap_webhooks(10, START).await.unwrap().more {}
    assert!(!is_seen(store, id, START).await);
}

async fn limits_are_exact_in_a_race(store: Arc<dyn Store>) {
    let inbox = create(&*store, "inbox").await;
    for scope in [WebhookScope::Global, of(&inbox)] {
        let mut racing = tokio::task::JoinSet::new();
        for _ in 0..12 {
            let store = Arc::clone(&store);
            racing.spawn(async move { store.create_webhook(webhook(scope), 5, START).await });
        }
        let mut made = 0;
        while let Some(created) = racing.join_next().await {
            match created.unwrap() {
                Ok(CreatedWebhook::New(_)) => made += 1,
                other => assert!(matches!(other, Err(CreateWebhookError::Limit)), "{other:?}"),
            }
        }
        assert_eq!(made, 5);
        let ids = listed(&*store, scope, START).await;
        assert_eq!(ids.len(), 5);
        assert!(store.remove_webhook(ids[2], START).await.unwrap());
        let room = store.create_webhook(webhook(scope), 5, START).await;
        assert!(room.is_ok(), "a removed one makes room at once: {room:?}");
    }
}

async fn a_repeated_request_makes_one_webhook(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let request = |scope, body: u8| NewWebhook {
        idempotency: Some(Idempotency {
            key: [1; 32],
            body: [body; 32],
        }),
        ..webhook(scope)
    };
    let first = request(WebhookScope::Global, 1);
    store.create_webhook(first.clone(), 1, START).await.unwrap();
    let just_before = after_ms(599_999);
    match store
        .create_webhook(request(WebhookScope::Global, 1), 1, just_before)
        .await
    {
        Ok(CreatedWebhook::Repeated(found)) => assert_eq!(found.id, first.id),
        other => panic!("{other:?}"),
    }
    for other in [request(WebhookScope::Global, 2), request(of(&inbox), 1)] {
        let refused = store.create_webhook(other, MANY, just_before).await;
        let is_refused = matches!(refused, Err(CreateWebhookError::IdempotencyReused));
        assert!(is_refused, "{refused:?}");
    }
    let later = store
        .create_webhook(request(of(&inbox), 2), MANY, after_ms(600_000))
        .await;
    let Ok(CreatedWebhook::New(later)) = later else {
        panic!("{later:?}")
    };
    assert!(store.remove_webhook(later.id, after_ms(600_001)).await.unwrap());
    let anew = store
        .create_webhook(request(of(&inbox), 3), MANY, after_ms(600_002))
        .await;
    assert!(matches!(anew, Ok(CreatedWebhook::New(_))), "{anew:?}");
}

async fn a_change_is_made_from_what_was_read(store: &dyn Store) {
    let id = subscribe(store, WebhookScope::Global).await;
    let update = |revision, config: &'static [u8]| WebhookUpdate {
        id,
        revision,
        config: Some((Bytes::from_static(config), Topics::default())),
        enabled: None,
    };
    let changed = store.update_webhook(update(1, b"other"), after_ms(9)).await.unwrap();
    assert_eq!((changed.revision, changed.updated_at), (2, Some(after_ms(9))));
    assert_eq!(changed.topics, Topics::default());
    let late = store.update_webhook(update(1, b"late"), START).await;
    assert_eq!(late, Err(UpdateWebhookError::Conflict));
    let config = Bytes::from_static(b"other");
    assert_eq!(store.webhook_config(id).await, Ok(Some((2, config.clone()))));
    let disabled = switch(store, id, false).await;
    assert_eq!((disabled.revision, disabled.switch), (3, Switch::DisabledManually));
    assert_eq!(store.subscribers(InboxKey::new(START)).await, Ok(vec![]));
    let again = switch(store, id, false).await;
    assert_eq!((again.revision, again.switch), (4, Switch::DisabledManually));
    let enabled = switch(store, id, true).await;
    assert_eq!((enabled.revision, enabled.switch), (5, Switch::Enabled));
    assert_eq!(store.webhook(id, START).await, Ok(Some(enabled)));
    assert_eq!(store.webhook_config(id).await, Ok(Some((5, config))));
}

async fn a_webhook_is_invisible_with_its_inbox(store: &dyn Store) {
    let (retired, brief) = (create(store, "retired").await, plain_inbox("brief", 60_000));
    store.create_inbox(request(&brief), START).await.unwrap();
    let (one, two) = (subscribe(store, of(&retired)).await, subscribe(store, of(&brief)).await);
    assert!(is_seen(store, one, START).await && is_seen(store, two, after_ms(59_999)).await);
    assert!(!is_seen(store, two, after_ms(60_000)).await);
    assert_eq!(listed(store, of(&brief), after_ms(60_000)).await, []);
    let refused = store.create_webhook(webhook(of(&brief)), MANY, after_ms(60_000)).await;
    assert!(matches!(refused, Err(CreateWebhookError::Gone)), "{refused:?}");
    assert!(!store.remove_webhook(two, after_ms(60_000)).await.unwrap());
    store
        .retire(&[retired.key], RemovalReason::Manual, START)
        .await
        .unwrap();
    assert!(!is_seen(store, one, START).await);
    assert_eq!(listed(store, of(&retired), START).await, []);
    let heard = store.subscribers(retired.key).await.unwrap();
    assert_eq!(heard.len(), 1, "it hears of what becomes of the mail");
}

async fn wants_says_who_listens(store: &dyn Store) {
    let (inbox, other) = (create(store, "inbox").await, create(store, "other").await);
    let wants = async |inbox: &Inbox| {
        let arrivals = store.wants(inbox.key, Topic::Arrivals).await.unwrap();
        (arrivals, store.wants(inbox.key, Topic::Removals).await.unwrap())
    };
    assert_eq!(wants(&inbox).await, (false, false));
    let mut own = webhook(of(&inbox));
    own.topics.removals = false;
    store.create_webhook(own.clone(), MANY, START).await.unwrap();
    assert_eq!(wants(&inbox).await, (true, false));
    assert_eq!(wants(&other).await, (false, false));
    switch(store, own.id, false).await;
    assert_eq!(wants(&inbox).await, (false, false));
    let mut global = webhook(WebhookScope::Global);
    global.topics.arrivals = false;
    store.create_webhook(global.clone(), MANY, START).await.unwrap();
    assert_eq!(wants(&inbox).await, (false, true));
    assert_eq!(wants(&other).await, (false, true));
    switch(store, own.id, true).await;
    assert!(store.remove_webhook(global.id, START).await.unwrap());
    assert_eq!(wants(&inbox).await, (true, false));
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    while store.reap_webhooks(10, START).await.unwrap().more {}
    assert_eq!(wants(&inbox).await, (true, false), "until all is reaped");
    while store.reap(10, START).await.unwrap().more {}
    while store.reap_webhooks(10, START).await.unwrap().more {}
    assert_eq!(wants(&inbox).await, (false, false));
}
