//! What every command works with: the client of the server that is meant, the keystore, the clock, and where results go.

use std::path::PathBuf;
use std::sync::Arc;

use restante_client::{Client, Clock, Error, IfKnown, Inbox, LocalServer, RetrySettings, Settings, SystemClock};

use crate::args::Global;
pub(crate) use crate::config::SmtpServer;
use crate::config::{Config, ConfigError, Environment, FileSettings, Given, Origin, Sources};
use crate::failure::Failure;
use crate::keystore::{Document, Entry, Keystore, ServerInboxes};
use crate::output::{Output, note, use_colors};

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
    /// The inboxes that this user knows.
    pub(crate) keystore: Keystore,
    /// How the server was found.
    pub(crate) connection: Connection,
    wanted_inbox: Option<Given<String>>,
}

/// How the server was found, for `server info` and for errors.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// Where the server is.
    pub(crate) url: String,
    /// Who says where it is.
    pub(crate) url_origin: Origin,
    /// Who says what its key is.
    pub(crate) key_origin: Origin,
    /// Who says where mail goes, if somebody does.
    pub(crate) smtp_origin: Option<Origin>,
}

/// Whether a request that fails is made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As the interface says.
    Retry,
    /// Never.
    Once,
}

impl Context {
    /// Finds out which server is meant; nothing is sent.
    ///
    /// # Errors
    /// The configuration is wrong, or there is no server.
    pub(crate) fn open(global: &Global, environment: &Environment, patience: Patience) -> Result<Self, Failure> {
        let mut file = FileSettings::read(global.config.as_deref(), environment)?;
        let warning = file.warning.take();
        let sources = Sources::new(global, environment, file)?;
        use_colors(sources.color()?);
        for warning in warning.into_iter().chain(environment.warnings()) {
            note(&warning);
        }
        let config = Config::resolve(&sources, LocalServer::find_with(|name| environment.variable(name)))?;
        let client = client(&config, patience)?;
        Ok(Self {
            output: Output::new(global.json),
            clock: Arc::new(SystemClock),
            inbox_flag: global.inbox.clone(),
            keystore: Keystore::new(data_directory(environment)?, note),
            connection: Connection {
                url: client.url().to_owned(),
                url_origin: config.url.origin,
                key_origin: config.api_key.origin,
                smtp_origin: config.smtp.as_ref().map(|smtp| smtp.origin.clone()),
            },
            smtp: config.smtp.map(|smtp| smtp.value),
            wanted_inbox: config.inbox,
            client,
        })
    }

    /// The inbox at an address, else that of `--inbox` or its like, else the one in use.
    ///
    /// # Errors
    /// [`Failure::NoInboxInUse`]; the kinds of [`Client::inbox`].
    pub(crate) async fn inbox(&self, address: Option<&str>) -> Result<Inbox, Failure> {
        let document = self.keystore.read()?;
        let known = document.server(&self.connection.url);
        let address = self.address(address, known)?;
        match known.and_then(|known| known.find(&address)) {
            Some(entry) => self.open_entry(entry),
            None => Ok(self.client.inbox(&address).await?),
        }
    }

    /// The address that is meant: the given one, else that of `--inbox` or its like, else that of the one in use.
    pub(crate) fn address(&self, given: Option<&str>, known: Option<&ServerInboxes>) -> Result<String, Failure> {
        let wanted = given.or(self.wanted_inbox.as_ref().map(|inbox| inbox.value.as_str()));
        let wanted = wanted.or_else(|| known.and_then(ServerInboxes::active));
        let no_inbox = || Failure::NoInboxInUse {
            url: self.connection.url.clone(),
        };
        named(wanted.ok_or_else(no_inbox)?).map(str::to_owned)
    }

    /// Tells which inbox commands mean, now that this one is in use.
    pub(crate) fn note_in_use(&self, address: &str) {
        let named = self.wanted_inbox.as_ref();
        self.output.note(
            &match named.filter(|named| !named.value.eq_ignore_ascii_case(address)) {
                None => "It is the inbox in use: `restante wait` waits for its mail.".to_owned(),
                Some(other) => format!(
                    "It is the inbox in use where none is named; {} names {}.",
                    other.origin, other.value
                ),
            },
        );
    }

    /// The inboxes of the server whose mail can be read from here: the plain ones, and those whose keys are here.
    pub(crate) async fn readable_inboxes(&self) -> Result<Vec<Inbox>, Failure> {
        let document = self.keystore.read()?;
        let mut readable = Vec::new();
        for listed in self.client.list_inboxes().await? {
            let hash = listed.inbox_hash.to_string();
            match self.entries(&document).iter().find(|entry| entry.hash() == hash) {
                Some(entry) => readable.push(self.open_entry(entry)?),
                None if listed.encrypted => {}
                None => readable.push(self.client.inbox(&listed.email_address.to_string()).await?),
            }
        }
        Ok(readable)
    }

    /// What the keystore knows of this server's inboxes.
    pub(crate) fn entries<'a>(&self, document: &'a Document) -> &'a [Entry] {
        document
            .server(&self.connection.url)
            .map_or(&[], ServerInboxes::entries)
    }

    fn open_entry(&self, entry: &Entry) -> Result<Inbox, Failure> {
        let export = entry.export().map_err(|reason| Failure::SpoiledEntry {
            path: self.keystore.path(),
            address: entry.address().to_owned(),
            reason,
        })?;
        Ok(self.client.import_inbox(export, IfKnown::Replace)?)
    }
}

/// An address that a person or a script names. An empty one is an unset variable of a script.
pub(crate) fn named(address: &str) -> Result<&str, Failure> {
    match address.trim() {
        "" => Err(Failure::Usage("an empty address names no inbox".to_owned())),
        address => Ok(address),
    }
}

fn client(config: &Config, patience: Patience) -> Result<Client, Failure> {
    let Given { value: url, .. } = &config.url;
    let mut builder = Client::builder(url, config.api_key.secret.as_str()).strategy(config.strategy);
    if let Some(certificates) = &config.certificates {
        builder = builder.ca_certificate(certificates.value.clone());
    }
    if patience == Patience::Once {
        let retry = RetrySettings {
            max_retries: 0,
            ..Settings::default().retry
        };
        builder = builder.retry(retry);
    }
    builder.build().map_err(|reason| at_fault(config, reason).into())
}

/// Which setting the client refuses: without certificates it would take the rest, or with another key the URL.
fn at_fault(config: &Config, reason: Error) -> ConfigError {
    let is_taken = |key: &str| Client::builder(&config.url.value, key).build().is_ok();
    let origin = match &config.certificates {
        Some(certificates) if is_taken(&config.api_key.secret) => &certificates.origin,
        _ if is_taken("any") => &config.api_key.origin,
        _ => &config.url.origin,
    };
    ConfigError::Unusable {
        origin: Box::new(origin.clone()),
        reason: Box::new(reason),
    }
}

/// `RESTANTE_DATA_DIR`, else `restante/` in the platform's data directory.
fn data_directory(environment: &Environment) -> Result<PathBuf, ConfigError> {
    use etcetera::BaseStrategy as _;
    if let Some(named) = environment.variable("RESTANTE_DATA_DIR") {
        return Ok(named.into());
    }
    let strategy = etcetera::choose_base_strategy().map_err(|_| ConfigError::NoDataDirectory)?;
    Ok(strategy.data_dir().join("restante"))
}
