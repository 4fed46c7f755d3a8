//! What happens to emails, as webhooks will tell it (interface, Events).

use serde::{Deserialize, Serialize};

/// The types of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EventKind {
    /// An email arrived at an inbox.
    #[serde(rename = "email.received")]
    Received,
    /// An email was persisted.
    #[serde(rename = "email.stored")]
    Stored,
    /// An email was removed.
    #[serde(rename = "email.deleted")]
    Deleted,
}

/// Why an email was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RemovalReason {
    /// Deleted over the API, alone or with its inbox.
    Manual,
    /// Its inbox expired.
    Ttl,
    /// A storage limit was reached.
    Eviction,
}
