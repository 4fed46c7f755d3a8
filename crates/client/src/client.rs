//! The client: one server, one key.

use std::fmt;
use std::sync::Arc;

use restante_envelope::{DecapsulationKey, VerifyingKey, WireProfile, base64url};
use restante_model::{Clock, InboxHash};
use restante_wire::{CheckKey, DeletedCount, Health, InboxList, InboxResource, ServerInfo};
use tokio::sync::OnceCell;

use crate::builder::ClientBuilder;
use crate::http::{Call, Http};
use crate::inbox::{Inbox, InboxFacts, InboxKeys};
use crate::new_inbox::{CreateBody, NewInbox};
use crate::registry::Registry;
use crate::routes::path;
use crate::{Error, Settings};

/// The inboxes asked for with one request of a listing.
const PAGE: &str = "500";

/// A client of one server; clones share everything.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    http: Http,
    settings: Settings,
    clock: Arc<dyn Clock>,
    server_info: OnceCell<Arc<ServerInfo>>,
    registry: Registry,
}

impl Client {
    /// Begins a client of the server at `url`, for example `http://127.0.0.1:8080`.
    pub fn builder(url: impl Into<String>, api_key: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(url.into(), api_key.into())
    }

    /// A client with all defaults.
    ///
    /// # Errors
    /// As [`ClientBuilder::build`].
    pub fn new(url: impl Into<String>, api_key: impl Into<String>) -> Result<Self, Error> {
        Self::builder(url, api_key).build()
    }

    pub(crate) fn assemble(http: Http, settings: Settings, clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(Shared {
                http,
                settings,
                clock,
                server_info: OnceCell::new(),
                registry: Registry::default(),
            }),
        }
    }

    /// Where the server is, without a slash at the end.
    pub fn url(&self) -> &str {
        self.http().url()
    }

    /// Whether the server takes the key: `Ok`, or [`Error::Unauthorized`].
    pub async fn check_key(&self) -> Result<(), Error> {
        let _: CheckKey = self.http().json(Call::get(path(["check-key"]))).await?;
        Ok(())
    }

    /// What the server says of itself; asked once.
    pub async fn server_info(&self) -> Result<Arc<ServerInfo>, Error> {
        self.http().check_open()?;
        let asked = || async { self.http().json(Call::get(path(["server-info"]))).await.map(Arc::new) };
        self.shared.server_info.get_or_try_init(asked).await.cloned()
    }

    /// Whether the server can take and store mail; it answers [`Error::Api`] with 503 if not. Asked once, without
    /// repetition.
    pub async fn health(&self) -> Result<Health, Error> {
        self.http().json(Call::get("/health/ready").once()).await
    }

    /// Creates an inbox; the key of an encrypted one is made here and never sent.
    ///
    /// # Errors
    /// [`Error::InboxTaken`] if the address has an inbox, and the kinds of every request.
    pub async fn create_inbox(&self, wanted: NewInbox) -> Result<Inbox, Error> {
        let key = DecapsulationKey::generate();
        let body = CreateBody::of(&wanted, base64url::encode(key.encapsulation_key().as_bytes()));
        let created: InboxResource = self.http().json(Call::post(path(["inboxes"])).body(&body)).await?;
        let keys = created_keys(&created, key).map_err(|fault| self.unexpected("inboxes", fault))?;
        Ok(self.remember(InboxFacts::of(&created), keys))
    }

    /// All inboxes of the API key, in the order of their hashes.
    pub async fn list_inboxes(&self) -> Result<Vec<InboxResource>, Error> {
        let mut inboxes = Vec::new();
        let mut after: Option<InboxHash> = None;
        loop {
            let mut call = Call::get(path(["inboxes"])).query("limit", PAGE);
            if let Some(after) = after {
                call = call.query("after", after.to_string());
            }
            let page: InboxList = self.http().json(call).await?;
            inboxes.extend(page.inboxes);
            match page.next {
                None => return Ok(inboxes),
                next if next <= after => return Err(self.unexpected("inboxes", "its pages are in no order")),
                next => after = next,
            }
        }
    }

    /// The inbox at an address: one that this client created or imported, else a plain one of the server.
    ///
    /// The server is asked about one that is not known, or has expired by the client's clock: there may be a new one at
    /// its address.
    ///
    /// # Errors
    /// [`Error::InboxNotFound`]; [`Error::KeyMissing`] for an encrypted one of another client.
    pub async fn inbox(&self, address: &str) -> Result<Inbox, Error> {
        self.http().check_open()?;
        let known = self.registry().by_address(address);
        if let Some(known) = known
            .as_ref()
            .filter(|known| !known.facts.is_expired(self.clock().now()))
        {
            return Ok(self.handle(Arc::clone(known)));
        }
        let asked: Result<InboxResource, Error> = self.http().json(Call::get(path(["inboxes", address]))).await;
        if let Some(known) = known {
            match &asked {
                // The clock is ahead of the server's.
                Ok(found) if found.encrypted && found.inbox_hash == known.facts.hash => return Ok(self.handle(known)),
                Ok(_) | Err(Error::InboxNotFound(_)) => self.registry().forget_this(&known),
                Err(_) => {}
            }
        }
        let found = asked?;
        if found.encrypted {
            return Err(Error::KeyMissing {
                address: address.to_owned(),
            });
        }
        Ok(self.remember(InboxFacts::of(&found), InboxKeys::Plain))
    }

    /// The inboxes that this client created, found or imported, and has not deleted; expired ones are among them.
    pub fn known_inboxes(&self) -> Vec<Inbox> {
        let known = self.shared.registry.all();
        known.into_iter().map(|inbox| self.handle(inbox)).collect()
    }

    /// Deletes an inbox and its mail; one that is not there is no error.
    pub async fn delete_inbox(&self, address: &str) -> Result<(), Error> {
        self.http().done(Call::delete(path(["inboxes", address]))).await?;
        self.shared.registry.forget(address);
        Ok(())
    }

    /// Deletes all inboxes of the API key; how many there were.
    pub async fn delete_all_inboxes(&self) -> Result<usize, Error> {
        let answer: DeletedCount = self.http().json(Call::delete(path(["inboxes"]))).await?;
        self.shared.registry.forget_all();
        Ok(answer.deleted)
    }

    /// Ends what this client does: requests, waits and subscriptions under way end with [`Error::Closed`], and later
    /// ones begin with it. The same for all its clones.
    pub fn close(&self) {
        self.http().closed().cancel();
    }

    pub(crate) fn http(&self) -> &Http {
        &self.shared.http
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// The profile whose context the server's payloads are made in.
    pub(crate) async fn profile(&self) -> Result<WireProfile, Error> {
        let info = self.server_info().await?;
        [WireProfile::Service, WireProfile::VaultSandbox]
            .into_iter()
            .find(|profile| profile.context() == info.context)
            .ok_or_else(|| self.unexpected("server-info", "its context is none that this client knows"))
    }

    pub(crate) fn unexpected(&self, route: &str, reason: &str) -> Error {
        Error::UnexpectedAnswer {
            url: format!("{}/api/{route}", self.url()),
            reason: reason.to_owned(),
        }
    }

    pub(crate) fn remember(&self, facts: InboxFacts, keys: InboxKeys) -> Inbox {
        self.handle(self.shared.registry.add(facts, keys))
    }

    fn handle(&self, known: Arc<crate::inbox::KnownInbox>) -> Inbox {
        Inbox::new(self.clone(), known)
    }
}

/// Shows where its server is: neither the key, nor the inboxes that it knows.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}

/// The keys of a created inbox, or what is wrong with the answer.
fn created_keys(created: &InboxResource, key: DecapsulationKey) -> Result<InboxKeys, &'static str> {
    if !created.encrypted {
        return Ok(InboxKeys::Plain);
    }
    if created.inbox_hash != InboxHash::of_key(key.encapsulation_key()) {
        return Err("inboxHash is not that of the key of the inbox");
    }
    let pinned = created.server_sig_pk.as_deref().map(VerifyingKey::from_base64url);
    match pinned {
        Some(Ok(pinned)) => Ok(InboxKeys::Encrypted { key, pinned }),
        _ => Err("serverSigPk is not a key of 1952 bytes"),
    }
}
