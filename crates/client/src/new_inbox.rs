//! What is asked for when an inbox is created.

use std::time::Duration;

use serde::Serialize;

/// An inbox to be: everything that is not said is the server's default.
///
/// ```
/// use std::time::Duration;
/// use restante_client::NewInbox;
///
/// let at_an_address = NewInbox::new().address("alice@restante.test").ttl(Duration::from_secs(600));
/// let sealed = NewInbox::new().encrypted().email_auth(true);
/// ```
#[derive(Debug, Clone, Default)]
pub struct NewInbox {
    pub(crate) address: Option<String>,
    pub(crate) ttl: Option<Duration>,
    pub(crate) encryption: Option<Encryption>,
    pub(crate) email_auth: Option<bool>,
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
        self.ttl = Some(ttl);
        self
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
}

/// The body of the request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email_address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<u64>,
    pub(crate) client_kem_pk: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) encryption: Option<Encryption>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) email_auth: Option<bool>,
}
