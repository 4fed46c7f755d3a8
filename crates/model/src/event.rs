//! What happens to emails, as webhooks will tell it (interface, Events).

use serde::{Deserialize, Serialize};

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
