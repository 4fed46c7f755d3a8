//! Which server is meant, with which key: the command line over the environment over the configuration file over the
//! server of this machine.

mod environment;
mod error;
mod file;
mod setting;
mod smtp_server;
mod sources;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use restante_client::{Error, LocalServer, Strategy};
use zeroize::Zeroizing;

pub(crate) use self::environment::Environment;
pub(crate) use self::error::ConfigError;
pub(crate) use self::file::FileSettings;
pub(crate) use self::setting::{Origin, Setting};
pub(crate) use self::smtp_server::SmtpServer;
use self::sources::GivenKey;
pub(crate) use self::sources::{Given, Sources};

/// What a command needs to know before it begins.
#[derive(Debug)]
pub(crate) struct Config {
    /// Where the server is.
    pub(crate) url: Given<String>,
    /// Its API key.
    pub(crate) api_key: ApiKey,
    /// PEM text of certificates to trust.
    pub(crate) certificates: Option<Given<Vec<u8>>>,
    /// Where `send` delivers, if that is known.
    pub(crate) smtp: Option<Given<SmtpServer>>,
    /// The inbox that is meant instead of the one in use.
    pub(crate) inbox: Option<Given<String>>,
    /// How the client hears of new mail.
    pub(crate) strategy: Strategy,
}

/// An API key, and where it came from. `Debug` does not show it.
pub(crate) struct ApiKey {
    /// The key.
    pub(crate) secret: Zeroizing<String>,
    /// Where it came from.
    pub(crate) origin: Origin,
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKey")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

impl Config {
    /// Puts together what the sources say, with `local` for what they do not.
    ///
    /// # Errors
    /// A value is malformed, a file cannot be read, or nothing says where the server is or what its key is.
    pub(crate) fn resolve(sources: &Sources, local: Result<LocalServer, Error>) -> Result<Self, ConfigError> {
        let (url, local) = if let Some(text) = sources.find(Setting::Url) {
            (text.into_text(), local.ok())
        } else {
            let local = local?;
            (Given::new(local.url().to_owned(), Origin::LocalServer), Some(local))
        };
        let meant = local.as_ref().filter(|local| same_server(&url.value, local.url()));
        let smtp = sources.find(Setting::Smtp).map(|text| text.parse(SmtpServer::parse));
        let strategy = sources.find(Setting::Strategy).map(|text| text.parse(strategy));
        let certificates = sources.find(Setting::CaFile).map(certificates);
        Ok(Self {
            api_key: api_key(sources, &url, meant, local.as_ref())?,
            certificates: certificates.transpose()?,
            smtp: smtp.transpose()?.or_else(|| meant.and_then(smtp_of)),
            inbox: sources.find(Setting::Inbox).map(Given::into_text),
            strategy: strategy.transpose()?.map(|given| given.value).unwrap_or_default(),
            url,
        })
    }
}

/// The key of the highest source that names one, or a file with one, unless that source names another server beside it;
/// else that of the server of this machine, if that is the one meant.
fn api_key(
    sources: &Sources,
    url: &Given<String>,
    meant: Option<&LocalServer>,
    local: Option<&LocalServer>,
) -> Result<ApiKey, ConfigError> {
    let given = sources.key();
    let elsewhere = given.as_ref().and_then(|given| for_another(given, url));
    let meant = match (given, elsewhere, meant) {
        (Some(given), None, _) => return key_of(given, url, local),
        // Its own key is better than that of another server.
        (_, _, Some(meant)) => meant,
        (_, Some(refused), None) => return Err(refused),
        (None, None, None) => return Err(no_key(url, local)),
    };
    Ok(ApiKey {
        secret: meant.api_key()?,
        origin: Origin::KeyFileOfLocalServer(meant.api_key_file().unwrap_or(Path::new("")).into()),
    })
}

/// The refusal of a key that stands beside the URL of another server than the one meant: it is that one's.
fn for_another(given: &GivenKey, url: &Given<String>) -> Option<ConfigError> {
    let its_own = given
        .url
        .as_ref()
        .filter(|its_own| !same_server(&its_own.value, &url.value))?;
    let key = given.key.as_ref().or(given.file.as_ref())?;
    Some(ConfigError::KeyOfAnother {
        url: url.value.clone(),
        origin: Box::new(url.origin.clone()),
        key: Box::new(key.origin.clone()),
        key_url: its_own.value.clone(),
    })
}

fn key_of(given: GivenKey, url: &Given<String>, local: Option<&LocalServer>) -> Result<ApiKey, ConfigError> {
    match (given.key, given.file) {
        (Some(key), None) => Ok(ApiKey {
            secret: key.value,
            origin: key.origin,
        }),
        (None, Some(file)) => key_file(file),
        (Some(key), Some(file)) => Err(ConfigError::TwoKeys {
            one: key.origin,
            other: file.origin,
        }),
        (None, None) => Err(no_key(url, local)),
    }
}

fn no_key(url: &Given<String>, local: Option<&LocalServer>) -> ConfigError {
    ConfigError::NoKey {
        url: url.value.clone(),
        origin: url.origin.clone(),
        local: local.map(|local| local.url().to_owned()),
    }
}

fn key_file(file: Given<Zeroizing<String>>) -> Result<ApiKey, ConfigError> {
    let content = read(&file)?;
    let text = std::str::from_utf8(&content).unwrap_or_default().trim();
    if text.is_empty() {
        return Err(ConfigError::Malformed {
            origin: file.origin,
            expected: format!("a file that holds an API key, and {} holds none", file.value.as_str()),
        });
    }
    Ok(ApiKey {
        secret: Zeroizing::new(text.to_owned()),
        origin: Origin::KeyFile {
            path: file.value.as_str().into(),
            named_by: Box::new(file.origin),
        },
    })
}

fn certificates(file: Given<Zeroizing<String>>) -> Result<Given<Vec<u8>>, ConfigError> {
    Ok(Given::new(read(&file)?.to_vec(), file.origin))
}

/// The content of a file that a setting names.
fn read(file: &Given<Zeroizing<String>>) -> Result<Zeroizing<Vec<u8>>, ConfigError> {
    let path = PathBuf::from(file.value.as_str());
    match fs::read(&path) {
        Ok(content) => Ok(Zeroizing::new(content)),
        Err(source) => Err(ConfigError::NamedFile {
            origin: file.origin.clone(),
            path,
            source,
        }),
    }
}

fn smtp_of(local: &LocalServer) -> Option<Given<SmtpServer>> {
    let plain = local.smtp().map(str::to_owned);
    let text = plain.or_else(|| Some(format!("smtps://{}", local.smtp_tls()?)))?;
    let server = SmtpServer::parse(&text).ok()?;
    Some(Given::new(server, Origin::LocalServer))
}

/// Whether two URLs are spelled for the same server. Names are not resolved: a key goes nowhere by a likeness.
fn same_server(one: &str, other: &str) -> bool {
    let one = one.trim_end_matches('/');
    one.eq_ignore_ascii_case(other.trim_end_matches('/'))
}

fn strategy(text: &str) -> Result<Strategy, &'static str> {
    match text {
        "auto" => Ok(Strategy::Auto),
        "sse" => Ok(Strategy::Sse),
        "polling" => Ok(Strategy::Polling),
        _ => Err("auto, sse or polling"),
    }
}
