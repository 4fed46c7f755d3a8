//! What is wrong with the configuration.

use std::io;
use std::path::PathBuf;

use restante_client::Error;

use super::{Origin, Setting};

/// What is wrong with the configuration. No text shows a key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The configuration file cannot be read.
    #[error("the configuration file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is no TOML.
    #[error("{}, line {line}: not TOML: {reason}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// What the parser says.
        reason: String,
    },
    /// It has a key that means nothing.
    #[error("{}, line {line}: unknown key `{key}`; allowed are {}", path.display(), allowed())]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Where.
        line: usize,
        /// The key.
        key: String,
    },
    /// A value is not what it should be.
    #[error("{origin}: expected {expected}")]
    Malformed {
        /// Which value.
        origin: Origin,
        /// What it should be.
        expected: String,
    },
    /// A file that a setting names cannot be read.
    #[error("{}: {source} (named by {origin})", path.display())]
    NamedFile {
        /// What names it.
        origin: Origin,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// One source names a key and a file with a key.
    #[error("{one} and {other} both say what the API key is; leave one of them out")]
    TwoKeys {
        /// The key.
        one: Origin,
        /// The file.
        other: Origin,
    },
    /// Nobody says what the key is.
    #[error("no API key for {url} (from {origin}): set RESTANTE_API_KEY or RESTANTE_API_KEY_FILE{}", local_hint(local.as_ref()))]
    NoKey {
        /// Where the server is.
        url: String,
        /// Who says so.
        origin: Origin,
        /// The URL of the server of this machine, which is another one.
        local: Option<String>,
    },
    /// The key that was found stands beside the URL of another server.
    #[error(
        "no API key for {url} (from {origin}): the one of {key} is for {key_url}, and goes to no other server; \
         name the key with --api-key-file, RESTANTE_API_KEY or RESTANTE_API_KEY_FILE"
    )]
    KeyOfAnother {
        /// Where the server is.
        url: String,
        /// Who says so.
        origin: Box<Origin>,
        /// Who names the key.
        key: Box<Origin>,
        /// The server that the same source names.
        key_url: String,
    },
    /// What a setting says cannot be used; the reason shows no key.
    #[error("{origin}: {reason}")]
    Unusable {
        /// Which setting.
        origin: Box<Origin>,
        /// What the client says.
        reason: Box<Error>,
    },
    /// There is no directory for the user's data.
    #[error("there is no directory to keep inboxes in, because HOME is unset: set RESTANTE_DATA_DIR")]
    NoDataDirectory,
    /// The server of this machine cannot be used.
    #[error("{0}{next}", next = how_to_name_one(.0))]
    Local(#[from] Error),
}

/// How a command is told of a server that it does not find, or of the key that no file holds.
fn how_to_name_one(error: &Error) -> &'static str {
    match error {
        Error::NoLocalServer(_) => ", with --url or RESTANTE_URL and --api-key or RESTANTE_API_KEY",
        Error::Configuration(_) => ", with --api-key or RESTANTE_API_KEY",
        _ => "",
    }
}

fn allowed() -> String {
    Setting::all().map(Setting::key).collect::<Vec<_>>().join(", ")
}

fn local_hint(local: Option<&String>) -> String {
    let hint = |url| format!("; the server of this machine is {url}, and needs neither URL nor key");
    local.map(hint).unwrap_or_default()
}
