//! Inboxes.

use restante_model::{ChaosConfig, InboxAddress, InboxHash, Timestamp};
use serde::{Deserialize, Serialize};

/// An inbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the fields of the interface")]
pub struct InboxResource {
    /// Where it takes mail.
    pub email_address: InboxAddress,
    /// When it ends; `null` if it does not by itself. A field that is not there is no answer.
    #[serde(deserialize_with = "Option::deserialize")]
    pub expires_at: Option<Timestamp>,
    /// Its name in streams and records.
    pub inbox_hash: InboxHash,
    /// Whether its mail is sealed.
    pub encrypted: bool,
    /// Whether its mail is checked for SPF, DKIM, DMARC and reverse DNS.
    pub email_auth: bool,
    /// Whether a spam filter is asked about its mail.
    #[serde(default)]
    pub spam_analysis: bool,
    /// Whether it is persistent: what was asked for, within the server's policy.
    #[serde(default)]
    pub persistent: bool,
    /// base64url key to pin; only in the answer to the creation of an encrypted inbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_sig_pk: Option<String>,
    /// What is done to its mail; only in the answer to a creation that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chaos: Option<ChaosConfig>,
}

/// `GET /api/inboxes`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InboxList {
    /// Inboxes in the order of their hashes.
    pub inboxes: Vec<InboxResource>,
    /// Pass it as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<InboxHash>,
}

/// `DELETE /api/inboxes`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct DeletedCount {
    /// How many inboxes ended.
    pub deleted: usize,
}

/// `GET /api/inboxes/{email_address}/sync`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncResource {
    /// How many emails the inbox holds.
    pub email_count: u64,
    /// base64url SHA-256 over the sorted ids.
    pub emails_hash: String,
}
