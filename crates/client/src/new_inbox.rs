//! What is asked for when an inbox is created.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::chaos::Chaos;

/// An inbox to be: everything that is not said is the server's default.
///
/// ```
/// use std::time::Duration;
/// use restante_client::NewInbox;
///
/// let at_an_address = NewInbox::new().address("alice@restante.test").ttl(Duration::from_secs(600));
/// let sealed = NewInbox::new().encrypted().email_auth(true);
/// let for_spam = NewInbox::new().spam_analysis(true);
/// ```
#[derive(Debug, Clone, Default)]
pub struct NewInbox {
    pub(crate) address: Option<String>,
    pub(crate) lifetime: Option<Lifetime>,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) email_auth: Option<bool>,
    pub(crate) spam_analysis: Option<bool>,
    pub(crate) persistence: Option<Persistence>,
    pub(crate) chaos: Option<Chaos>,
}

/// Whether the mail of an inbox is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encryption {
    /// Sealed for the inbox's key, which never leaves the client.
    Encrypted,
    /// Readable by the server.
    Plain,
}

/// What an inbox is told to be at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Persistence {
    Persistent,
    Ephemeral,
}

/// How long an inbox is to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    For(Duration),
    Forever,
}

/// As the field `ttl`: seconds or null.
impl Serialize for Lifetime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::For(ttl) => serializer.serialize_u64(whole_seconds(*ttl)),
            Self::Forever => serializer.serialize_unit(),
        }
    }
}

impl NewInbox {
    /// An inbox as the server makes them.
    pub fn new() -> Self {
        Self::default()
    }

    /// At this address, or with a random name at this domain; at most 254 characters.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// For so long: 60 s to the server's maximum. A fraction of a second counts as a whole one.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.lifetime = Some(Lifetime::For(ttl));
        self
    }

    /// Persistent, and without an end.
    ///
    /// Only a server in the wire profile `vaultsandbox` has such inboxes; one in the profile `service` gives it the
    /// default time to live: [`Inbox::expires_at`](crate::Inbox::expires_at) tells.
    #[must_use]
    pub fn never_expires(mut self) -> Self {
        self.lifetime = Some(Lifetime::Forever);
        self.persistent()
    }

    /// Sealed for a key that this client makes.
    ///
    /// A server whose policy forbids it refuses, or, in the wire profile `vaultsandbox`, makes a plain inbox all the
    /// same: [`Inbox::is_encrypted`](crate::Inbox::is_encrypted) tells.
    #[must_use]
    pub fn encrypted(mut self) -> Self {
        self.encryption = Some(Encryption::Encrypted);
        self
    }

    /// Not sealed; what a policy forbids is as with [`NewInbox::encrypted`].
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.encryption = Some(Encryption::Plain);
        self
    }

    /// With or without SPF, DKIM, DMARC and reverse DNS.
    #[must_use]
    pub fn email_auth(mut self, wanted: bool) -> Self {
        self.email_auth = Some(wanted);
        self
    }

    /// With or without the server's spam filter; [`Email::spam_analysis`](crate::Email::spam_analysis) has what it said.
    ///
    /// A server without a filter skips it: [`ServerInfo::spam_analysis_enabled`](crate::ServerInfo) tells.
    #[must_use]
    pub fn spam_analysis(mut self, wanted: bool) -> Self {
        self.spam_analysis = Some(wanted);
        self
    }

    /// Kept until its time is over, whatever becomes of the server.
    ///
    /// A restante server keeps every inbox so, an ephemeral one too; other servers of the wire profile `vaultsandbox`
    /// may lose those when they restart. What the server's policy forbids is no error:
    /// [`Inbox::is_persistent`](crate::Inbox::is_persistent) tells.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.persistence = Some(Persistence::Persistent);
        self
    }

    /// Need not outlive the server; as [`NewInbox::persistent`] otherwise.
    #[must_use]
    pub fn ephemeral(mut self) -> Self {
        self.persistence = Some(Persistence::Ephemeral);
        self
    }

    /// With faults from its first mail on; [`Inbox::set_chaos`](crate::Inbox::set_chaos) changes them.
    ///
    /// A server whose chaos is switched off makes the inbox without them: [`ServerInfo::chaos_enabled`](crate::ServerInfo)
    /// tells.
    #[must_use]
    pub fn chaos(mut self, wanted: Chaos) -> Self {
        self.chaos = Some(wanted);
        self
    }
}

/// The body of the request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email_address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<Lifetime>,
    pub(crate) client_kem_pk: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encryption: Option<Encryption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email_auth: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) spam_analysis: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) persistence: Option<Persistence>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chaos: Option<&'a Chaos>,
}

impl<'a> CreateBody<'a> {
    /// The key is always sent: without a wish the server decides, a server of the profile `vaultsandbox` may even decide
    /// against one, and the key of a plain inbox is ignored.
    pub(crate) fn of(wanted: &'a NewInbox, client_kem_pk: String) -> Self {
        Self {
            email_address: wanted.address.as_deref(),
            ttl: wanted.lifetime,
            client_kem_pk,
            encryption: wanted.encryption,
            email_auth: wanted.email_auth,
            spam_analysis: wanted.spam_analysis,
            persistence: wanted.persistence,
            chaos: wanted.chaos.as_ref(),
        }
    }
}

/// A fraction counts as a whole second: no inbox lives shorter than was asked for.
fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs().saturating_add((ttl.subsec_nanos() > 0).into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_fraction_of_a_time_to_live_counts_as_a_second() {
        for (ttl, expected) in [
            (Duration::ZERO, 0),
            (Duration::from_mins(1), 60),
            (Duration::from_millis(59_001), 60),
            (Duration::from_nanos(60_000_000_001), 61),
            (Duration::MAX, u64::MAX),
        ] {
            assert_eq!(whole_seconds(ttl), expected, "{ttl:?}");
        }
    }

    #[test]
    fn only_what_is_said_is_sent() {
        for (wanted, expected) in [
            (NewInbox::new(), json!({})),
            (NewInbox::new().ttl(Duration::from_mins(1)), json!({ "ttl": 60 })),
            (
                NewInbox::new().never_expires(),
                json!({ "ttl": null, "persistence": "persistent" }),
            ),
            // The last word counts.
            (
                NewInbox::new().never_expires().ttl(Duration::from_mins(1)).ephemeral(),
                json!({ "ttl": 60, "persistence": "ephemeral" }),
            ),
            (
                NewInbox::new().spam_analysis(false).chaos(Chaos::new().blackhole()),
                json!({
                    "spamAnalysis": false,
                    "chaos": { "enabled": true, "blackhole": { "enabled": true } },
                }),
            ),
        ] {
            assert_eq!(sent(&wanted), expected, "{wanted:?}");
        }
    }

    /// The body without its key.
    fn sent(wanted: &NewInbox) -> Value {
        let body = CreateBody::of(wanted, String::new());
        let mut body = serde_json::to_value(body).unwrap();
        body.as_object_mut().unwrap().remove("clientKemPk");
        body
    }
}
