//! What a store holds for webhooks.

use restante_model::{ArrivalEvent, Clock as _, EmailId, Inbox, RemovalReason, WebhookId};
use restante_storage::{Happening, NewWebhook, StoredEvent, Topics, WebhookScope, WebhookUpdate};

use crate::fixture::Fixture;

/// More than any test raises.
const ALL: usize = 10_000;

pub(crate) const ARRIVALS: Topics = Topics {
    arrivals: true,
    removals: false,
};

pub(crate) const REMOVALS: Topics = Topics {
    arrivals: false,
    removals: true,
};

impl Fixture {
    /// An enabled webhook of all inboxes.
    pub(crate) async fn hook(&self, topics: Topics) -> WebhookId {
        self.hook_of(WebhookScope::Global, topics).await
    }

    /// An enabled webhook of one inbox.
    pub(crate) async fn hook_inbox(&self, inbox: &Inbox, topics: Topics) -> WebhookId {
        self.hook_of(WebhookScope::Inbox(inbox.key), topics).await
    }

    async fn hook_of(&self, scope: WebhookScope, topics: Topics) -> WebhookId {
        let new = NewWebhook {
            id: WebhookId::random(),
            scope,
            topics,
            config: b"sealed".as_slice().into(),
            idempotency: None,
        };
        let id = new.id;
        self.store.create_webhook(new, 10, self.clock.now()).await.unwrap();
        id
    }

    /// Disables a webhook.
    pub(crate) async fn unhook(&self, id: WebhookId) {
        let now = self.clock.now();
        let revision = self.store.webhook(id, now).await.unwrap().unwrap().revision;
        let update = WebhookUpdate {
            id,
            revision,
            config: None,
            enabled: Some(false),
        };
        self.store.update_webhook(update, now).await.unwrap();
    }

    /// Everything that was raised, in order.
    pub(crate) async fn raised(&self) -> Vec<StoredEvent> {
        self.store.events(ALL).await.unwrap()
    }

    /// The removals among it.
    pub(crate) async fn removals(&self) -> Vec<(EmailId, RemovalReason)> {
        let raised = self.raised().await.into_iter();
        raised
            .filter_map(|event| match event.happening {
                Happening::Removed { reason, .. } => Some((event.email, reason)),
                Happening::Arrived | Happening::ThrownAway => None,
            })
            .collect()
    }

    /// What is kept of an arrival.
    pub(crate) async fn sealed_event(&self, event: &StoredEvent) -> Vec<u8> {
        assert!(matches!(event.happening, Happening::Arrived | Happening::ThrownAway));
        self.store.event_data(event.sequence).await.unwrap().unwrap().to_vec()
    }

    /// What it tells.
    pub(crate) async fn told(&self, event: &StoredEvent) -> ArrivalEvent {
        let context = [b"webhook event".as_slice(), event.email.as_bytes()].concat();
        let opened = self.event_key.open(&context, &self.sealed_event(event).await).unwrap();
        let told: ArrivalEvent = serde_json::from_slice(&opened).unwrap();
        assert_eq!(told.email, event.email);
        told
    }

    /// What the arrivals tell that were raised so far, in order.
    pub(crate) async fn all_told(&self) -> Vec<ArrivalEvent> {
        let mut told = Vec::new();
        for event in self.raised().await {
            told.push(self.told(&event).await);
        }
        told
    }

    /// Whether whoever sends to webhooks was woken since the last look.
    pub(crate) async fn was_woken(&self) -> bool {
        tokio::select! {
            biased;
            () = self.bus.work() => true,
            () = std::future::ready(()) => false,
        }
    }
}
