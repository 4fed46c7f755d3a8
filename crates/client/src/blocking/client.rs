//! The blocking client: one server, one key.

use std::fmt;
use std::sync::Arc;

use restante_model::EmailId;
use restante_wire::webhook::TemplateName;
use restante_wire::{Health, InboxResource, ServerInfo, WebhookMetrics};

use super::runtime::Runtime;
use super::{Inbox, Watch, Webhooks};
use crate::metrics::{Metrics, StorageMetrics};
use crate::{ClientBuilder, Error, Existing, ExportedInbox, IfKnown, NewInbox, TestEmail};

/// A client of one server, as [`crate::Client`]; clones share everything.
///
/// [`Client::builder`] makes one with other settings than the defaults.
#[derive(Clone)]
pub struct Client {
    runtime: Runtime,
    client: crate::Client,
}

impl ClientBuilder {
    /// The client for code that is not asynchronous; nothing is sent before its first operation.
    ///
    /// # Errors
    /// As [`ClientBuilder::build`], and [`Error::Configuration`] if its thread cannot be started.
    pub fn build_blocking(self) -> Result<Client, Error> {
        Client::of(self.build()?)
    }
}

/// As that of [`crate::Client`].
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

impl Client {
    /// Begins a client of the server at `url`; [`ClientBuilder::build_blocking`] makes it.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use restante_client::blocking::Client;
    ///
    /// # fn main() -> Result<(), restante_client::Error> {
    /// let builder = Client::builder("http://127.0.0.1:8080", "the API key");
    /// let client = builder.timeout(Duration::from_secs(5)).build_blocking()?;
    /// assert_eq!(client.url(), "http://127.0.0.1:8080");
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(url: impl Into<String>, api_key: impl Into<String>) -> ClientBuilder {
        crate::Client::builder(url, api_key)
    }

    /// A client with all defaults.
    ///
    /// # Errors
    /// As [`ClientBuilder::build_blocking`].
    pub fn new(url: impl Into<String>, api_key: impl Into<String>) -> Result<Self, Error> {
        Self::builder(url, api_key).build_blocking()
    }

    /// As [`crate::Client::local`].
    pub fn local() -> Result<Self, Error> {
        Self::of(crate::Client::local()?)
    }

    fn of(client: crate::Client) -> Result<Self, Error> {
        Ok(Self::sharing(Runtime::start()?, client))
    }

    /// A client on a runtime that it shares with others.
    pub(super) fn sharing(runtime: Runtime, client: crate::Client) -> Self {
        Self { runtime, client }
    }

    /// Where the server is, without a slash at the end.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// As [`crate::Client::check_key`].
    pub fn check_key(&self) -> Result<(), Error> {
        self.runtime.wait(self.client.check_key())
    }

    /// As [`crate::Client::server_info`].
    pub fn server_info(&self) -> Result<Arc<ServerInfo>, Error> {
        self.runtime.wait(self.client.server_info())
    }

    /// As [`crate::Client::health`].
    pub fn health(&self) -> Result<Health, Error> {
        self.runtime.wait(self.client.health())
    }

    /// As [`crate::Client::metrics`].
    pub fn metrics(&self) -> Result<Metrics, Error> {
        self.runtime.wait(self.client.metrics())
    }

    /// As [`crate::Client::storage_metrics`].
    pub fn storage_metrics(&self) -> Result<StorageMetrics, Error> {
        self.runtime.wait(self.client.storage_metrics())
    }

    /// As [`crate::Client::create_inbox`].
    pub fn create_inbox(&self, wanted: NewInbox) -> Result<Inbox, Error> {
        let created = self.runtime.wait(self.client.create_inbox(wanted))?;
        Ok(self.blocking(created))
    }

    /// As [`crate::Client::import_inbox`].
    pub fn import_inbox(&self, export: ExportedInbox, if_known: IfKnown) -> Result<Inbox, Error> {
        let imported = self.client.import_inbox(export, if_known)?;
        Ok(self.blocking(imported))
    }

    /// As [`crate::Client::list_inboxes`].
    pub fn list_inboxes(&self) -> Result<Vec<InboxResource>, Error> {
        self.runtime.wait(self.client.list_inboxes())
    }

    /// As [`crate::Client::inbox`].
    pub fn inbox(&self, address: &str) -> Result<Inbox, Error> {
        let found = self.runtime.wait(self.client.inbox(address))?;
        Ok(self.blocking(found))
    }

    /// As [`crate::Client::known_inboxes`].
    pub fn known_inboxes(&self) -> Vec<Inbox> {
        let known = self.client.known_inboxes();
        known.into_iter().map(|inbox| self.blocking(inbox)).collect()
    }

    /// As [`crate::Client::delete_inbox`].
    pub fn delete_inbox(&self, address: &str) -> Result<(), Error> {
        self.runtime.wait(self.client.delete_inbox(address))
    }

    /// As [`crate::Client::delete_all_inboxes`].
    pub fn delete_all_inboxes(&self) -> Result<usize, Error> {
        self.runtime.wait(self.client.delete_all_inboxes())
    }

    /// As [`crate::Client::send_test_email`].
    pub fn send_test_email(&self, email: TestEmail) -> Result<EmailId, Error> {
        self.runtime.wait(self.client.send_test_email(email))
    }

    /// As [`crate::Client::watch`].
    pub fn watch(&self, inboxes: &[Inbox], existing: Existing) -> Result<Watch, Error> {
        let inboxes: Vec<_> = inboxes.iter().map(|inbox| inbox.asynchronous().clone()).collect();
        let watch = self.runtime.wait(self.client.watch(&inboxes, existing))?;
        Ok(Watch::new(self.runtime.clone(), watch))
    }

    /// The webhooks that hear of all inboxes.
    pub fn webhooks(&self) -> Webhooks {
        Webhooks::new(self.runtime.clone(), self.client.webhooks())
    }

    /// As [`crate::Client::webhook_templates`].
    pub fn webhook_templates(&self) -> Result<Vec<TemplateName>, Error> {
        self.runtime.wait(self.client.webhook_templates())
    }

    /// As [`crate::Client::webhook_metrics`].
    pub fn webhook_metrics(&self) -> Result<WebhookMetrics, Error> {
        self.runtime.wait(self.client.webhook_metrics())
    }

    /// As [`crate::Client::close`]: what other threads wait for ends with [`Error::Closed`].
    pub fn close(&self) {
        self.client.close();
    }

    fn blocking(&self, inbox: crate::Inbox) -> Inbox {
        Inbox::new(self.runtime.clone(), inbox)
    }
}
