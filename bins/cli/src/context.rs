//! What every command works with: the client of the server that is meant, the clock, and where results go.

use std::sync::Arc;

use restante_client::{Client, Clock, Inbox, SystemClock};

use crate::args::Global;
use crate::failure::Failure;
use crate::output::Output;

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Context {
    /// The server that is meant.
    pub(crate) client: Client,
    /// Where results go, and whether they are JSON.
    pub(crate) output: Output,
    /// What "3 s ago" is measured from.
    pub(crate) clock: Arc<dyn Clock>,
    /// Where `send` delivers, if that is known.
    pub(crate) smtp: Option<SmtpServer>,
    /// `--inbox` of the command line: webhook commands mean that inbox's.
    pub(crate) inbox_flag: Option<String>,
}

/// A mail server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SmtpServer {
    /// A name or an address; without brackets.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
    /// Whether TLS begins at once (`smtps://`).
    pub(crate) implicit_tls: bool,
}

impl Context {
    /// Finds out which server is meant; nothing is sent.
    pub(crate) fn open(global: &Global) -> Result<Self, Failure> {
        let url = global.url.clone().unwrap_or_default();
        let key = global.api_key.clone().unwrap_or_default();
        Ok(Self {
            client: Client::new(url, key)?,
            output: Output::new(global.json),
            clock: Arc::new(SystemClock),
            smtp: None,
            inbox_flag: global.inbox.clone(),
        })
    }

    /// The inbox at an address, else that of `--inbox` or `RESTANTE_INBOX`, else the one in use.
    ///
    /// # Errors
    /// No inbox is in use; the kinds of [`Client::inbox`].
    pub(crate) async fn inbox(&self, address: Option<&str>) -> Result<Inbox, Failure> {
        let address = address.or(self.inbox_flag.as_deref());
        let Some(address) = address else {
            return Err(Failure::Usage("no inbox is in use".to_owned()));
        };
        Ok(self.client.inbox(address).await?)
    }

    /// The inboxes whose mail can be read from here: those of the keystore that have not expired.
    pub(crate) async fn readable_inboxes(&self) -> Result<Vec<Inbox>, Failure> {
        Ok(vec![self.inbox(None).await?])
    }
}
