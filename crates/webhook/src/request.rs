//! What the use cases are asked for.

use std::sync::Arc;

use restante_model::webhook::{FilterConfig, WebhookTemplate};
use restante_model::{DeliveryId, EventType, Inbox};
use restante_storage::{Idempotency, WebhookScope};

/// Whose webhooks are meant.
#[derive(Debug, Clone)]
pub enum Owner {
    /// Those that hear of all inboxes.
    Global,
    /// Those of one inbox, which the caller has found alive.
    Inbox(Arc<Inbox>),
}

impl Owner {
    /// The same as the store names it.
    pub fn scope(&self) -> WebhookScope {
        match self {
            Self::Global => WebhookScope::Global,
            Self::Inbox(inbox) => WebhookScope::Inbox(inbox.key),
        }
    }
}

/// A webhook to create.
///
/// Types, lengths and counts were checked before; the URL, the filter and the template are checked here.
#[derive(Debug, Clone)]
pub struct CreateRequest {
    /// Where it is told.
    pub url: String,
    /// What it is told of, at least one.
    pub events: Vec<EventType>,
    /// What it is sent; the event itself if absent.
    pub template: Option<WebhookTemplate>,
    /// Which events it gets; all if absent.
    pub filter: Option<FilterConfig>,
    /// What people call it.
    pub description: Option<String>,
    /// Set when the client may repeat the request.
    pub idempotency: Option<Idempotency>,
}

/// What a change makes of an optional field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Patch<T> {
    /// It stays as it is.
    #[default]
    Keep,
    /// It goes.
    Remove,
    /// It becomes this.
    Set(T),
}

impl<T> Patch<T> {
    /// Changes a field.
    pub(crate) fn apply(self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Remove => *field = None,
            Self::Set(value) => *field = Some(value),
        }
    }

    /// The new value, if there is one.
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Remove => None,
        }
    }
}

/// A change of a webhook; one that changes nothing is a change too.
#[derive(Debug, Clone, Default)]
pub struct UpdateRequest {
    /// Another URL.
    pub url: Option<String>,
    /// Other events, at least one.
    pub events: Option<Vec<EventType>>,
    /// Another template.
    pub template: Patch<WebhookTemplate>,
    /// Another filter.
    pub filter: Patch<FilterConfig>,
    /// Another description.
    pub description: Patch<String>,
    /// Enables or disables it.
    pub enabled: Option<bool>,
}

/// Which deliveries of a webhook are wanted, the latest event first.
#[derive(Debug, Clone, Copy)]
pub struct DeliveriesRequest {
    /// At most so many.
    pub limit: usize,
    /// Only those behind this one.
    pub before: Option<DeliveryId>,
}
