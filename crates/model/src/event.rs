//! What happens to emails, as webhooks tell it (interface, Events).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::auth::{DkimResult, SpfVerdict, Verdict};
use crate::{AuthResults, EmailId, InboxHash, Timestamp};

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

impl RemovalReason {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Ttl => "ttl",
            Self::Eviction => "eviction",
        }
    }
}

/// The type of an event.
///
/// Stores write the position of a variant to disk: new ones are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(clippy::enum_variant_names, reason = "the names of the interface")]
pub enum EventType {
    /// An email arrived at an inbox.
    #[serde(rename = "email.received")]
    EmailReceived,
    /// An email was persisted.
    #[serde(rename = "email.stored")]
    EmailStored,
    /// An email was removed.
    #[serde(rename = "email.deleted")]
    EmailDeleted,
}

impl EventType {
    /// All types, in the order of the interface.
    pub const ALL: [Self; 3] = [Self::EmailReceived, Self::EmailStored, Self::EmailDeleted];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmailReceived => "email.received",
            Self::EmailStored => "email.stored",
            Self::EmailDeleted => "email.deleted",
        }
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// All that webhooks may tell or ask of an email that arrived: one for `email.received` and `email.stored`.
///
/// It is what filters see: every header, whole values. What a payload shows of it is shorter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalEvent {
    /// The email.
    pub email: EmailId,
    /// The inbox's hash.
    pub inbox_hash: InboxHash,
    /// The inbox's address, without tag.
    pub inbox_address: String,
    /// The first From mailbox, else the reverse-path, else `unknown`.
    pub from: EventMailbox,
    /// The To header's mailboxes, else this inbox's forward-path.
    pub to: Vec<EventMailbox>,
    /// The Cc header's mailboxes.
    pub cc: Vec<EventMailbox>,
    /// The decoded subject, or `(no subject)`.
    pub subject: String,
    /// The text body, cut at a character boundary; what filters see of it is never cut.
    pub text: Option<String>,
    /// The same of the HTML body.
    pub html: Option<String>,
    /// Lowercase name and decoded value in message order; a repeated header's values are joined with a newline.
    pub headers: Vec<(String, String)>,
    /// The attachments, without their content.
    pub attachments: Vec<EventAttachment>,
    /// The results of email authentication.
    pub auth: EventAuth,
    /// When it arrived.
    pub received_at: Timestamp,
    /// When it was stored.
    pub stored_at: Timestamp,
}

impl ArrivalEvent {
    /// Whether the message has a header, named in lowercase.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|(field, _)| field == name)
    }
}

/// A mailbox in an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMailbox {
    /// The address.
    pub address: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// An attachment in an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventAttachment {
    /// The name of its file.
    pub filename: String,
    /// Its media type.
    pub content_type: String,
    /// Decoded bytes.
    pub size: u64,
}

/// The results of email authentication in an event: one word each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAuth {
    /// SPF.
    pub spf: SpfVerdict,
    /// `pass` if any signature passed, else `fail` if any failed, else the first result.
    pub dkim: Verdict,
    /// DMARC.
    pub dmarc: Verdict,
}

impl EventAuth {
    /// The words for these results.
    pub fn of(results: &AuthResults) -> Self {
        Self {
            spf: results.spf.result,
            dkim: overall(&results.dkim),
            dmarc: results.dmarc.result,
        }
    }

    /// Whether SPF, DKIM and DMARC each passed: what a webhook that requires authentication wants.
    pub fn passed(self) -> bool {
        self.spf == SpfVerdict::Pass && self.dkim == Verdict::Pass && self.dmarc == Verdict::Pass
    }
}

fn overall(signatures: &[DkimResult]) -> Verdict {
    let any = |verdict| signatures.iter().any(|signature| signature.result == verdict);
    [Verdict::Pass, Verdict::Fail]
        .into_iter()
        .find(|verdict| any(*verdict))
        .or_else(|| signatures.first().map(|first| first.result))
        .unwrap_or(Verdict::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_reasons_are_the_words_of_the_interface() {
        for event in EventType::ALL {
            assert_eq!(serde_json::to_value(event).unwrap(), event.as_str());
        }
        for reason in [RemovalReason::Manual, RemovalReason::Ttl, RemovalReason::Eviction] {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
    }

    #[test]
    fn one_good_signature_is_enough_and_skipped_is_no_pass() {
        let signed = |results: &[Verdict]| {
            let mut all = AuthResults::skipped();
            let one = all.dkim[0].clone();
            all.dkim = results
                .iter()
                .map(|result| DkimResult {
                    result: *result,
                    ..one.clone()
                })
                .collect();
            EventAuth::of(&all)
        };
        assert_eq!(
            signed(&[Verdict::None, Verdict::Fail, Verdict::Pass]).dkim,
            Verdict::Pass
        );
        assert_eq!(signed(&[Verdict::None, Verdict::Fail]).dkim, Verdict::Fail);
        assert_eq!(signed(&[Verdict::None, Verdict::None]).dkim, Verdict::None);
        assert!(!EventAuth::of(&AuthResults::skipped()).passed());
        let passed = EventAuth {
            spf: SpfVerdict::Pass,
            dkim: Verdict::Pass,
            dmarc: Verdict::Pass,
        };
        assert!(passed.passed());
        assert!(
            !EventAuth {
                dmarc: Verdict::None,
                ..passed
            }
            .passed()
        );
    }
}
