//! Making a client.

use std::sync::Arc;
use std::time::Duration;

use restante_model::{Clock, SystemClock};
use zeroize::Zeroizing;

use crate::http::Http;
use crate::{Client, Error, PollingSettings, ReconnectSettings, RetrySettings, Settings, Strategy};

/// What a [`Client`] is made of.
#[must_use = "`build` makes the client"]
pub struct ClientBuilder {
    url: String,
    api_key: ApiKey,
    settings: Settings,
    certificates: Vec<Vec<u8>>,
    clock: Arc<dyn Clock>,
}

/// The API key of the server; wiped when dropped.
#[derive(Clone)]
pub(crate) struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// The text of the header `X-API-Key`.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// Shows the settings alone: a URL or a file may have been given with a password or a key in it.
impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl ClientBuilder {
    pub(crate) fn new(url: String, api_key: String) -> Self {
        let api_key = Zeroizing::new(api_key);
        Self {
            url,
            // A key from a file ends with a newline.
            api_key: ApiKey(Zeroizing::new(api_key.trim().to_owned())),
            settings: Settings::default(),
            certificates: Vec::new(),
            clock: Arc::new(SystemClock),
        }
    }

    /// How long one request may take; 30 s unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// When a request is made again; three times from 1 s on unless set.
    ///
    /// A request is repeated when it was answered with 408, 429, 500, 502, 503 or 504, or its connection broke before
    /// the answer was whole; a longer `Retry-After` up to the time-out of requests is waited for.
    pub fn retry(mut self, retry: RetrySettings) -> Self {
        self.settings.retry = retry;
        self
    }

    /// How the client hears of new mail; [`Strategy::Auto`] unless set.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.settings.strategy = strategy;
        self
    }

    /// How often a polling client asks; from 2 s to 30 s unless set.
    pub fn polling(mut self, polling: PollingSettings) -> Self {
        self.settings.polling = polling;
        self
    }

    /// When a broken stream is opened again; after 5 s, doubling, 10 times unless set.
    pub fn reconnect(mut self, reconnect: ReconnectSettings) -> Self {
        self.settings.reconnect = reconnect;
        self
    }

    /// Trusts the certificates of a PEM text beside those of the system: the authority of a server with one of its own.
    pub fn ca_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificates.push(pem.into());
        self
    }

    /// Where the client takes the time from: that of `exportedAt`, whether an inbox has expired, how long a date in
    /// `Retry-After` is away; the machine's clock unless set.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The client; nothing is sent before its first operation.
    ///
    /// # Errors
    /// [`Error::Configuration`]: the URL is not one of HTTP, the key is empty or no header value, a certificate is none,
    /// a setting cannot work.
    pub fn build(self) -> Result<Client, Error> {
        self.settings.check()?;
        let clock = Arc::clone(&self.clock);
        let http = Http::new(&self.url, self.api_key, &self.certificates, &self.settings, clock)?;
        Ok(Client::assemble(http, self.settings, self.clock))
    }
}
