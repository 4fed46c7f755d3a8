//! Events: what happened to emails.

use restante_model::{EmailId, InboxHash, InboxKey, RemovalReason, Timestamp};

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    /// Its place in the order of events.
    pub sequence: u64,
    /// The inbox.
    pub inbox: InboxKey,
    /// The email.
    pub email: EmailId,
    /// What happened.
    pub happening: Happening,
}

/// What happened to an email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// It arrived; [`crate::WebhookStore::event_data`] tells of it.
    Arrived,
    /// It came and was thrown away; [`crate::WebhookStore::event_data`] tells of it.
    ThrownAway,
    /// It was removed.
    Removed {
        /// Why.
        reason: RemovalReason,
        /// When.
        at: Timestamp,
        /// The address of the inbox.
        inbox_address: String,
        /// The hash of the inbox.
        inbox_hash: InboxHash,
    },
}
