//! The settings as the rest of the server takes them: types that have been proven, defaults filled in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use restante_inbox::EncryptionPolicy;
use restante_model::{Domain, WireProfile};

use super::profile::ChosenProfile;
use crate::secrets::ApiKey;

/// Everything that the server can be told, for the features that this version has.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which set of defaults holds, and why.
    pub profile: ChosenProfile,
    /// Which profile of the wire is spoken.
    pub wire_profile: WireProfile,
    /// The directory of everything that lasts: mail, keys.
    pub data_path: PathBuf,
    /// Where inboxes may be; never empty, without repetition, the first is the default for aliases.
    pub allowed_domains: Vec<Domain>,
    /// The mail side.
    pub smtp: SmtpSettings,
    /// The HTTP side.
    pub http: HttpSettings,
    /// What inboxes may be.
    pub inboxes: InboxSettings,
    /// The disk.
    pub storage: StorageSettings,
    /// Where the API key and the signing key come from.
    pub secrets: SecretSettings,
    /// The log.
    pub log: LogSettings,
}

/// The mail side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpSettings {
    /// Address of the plain listener; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The name in the greeting and in trace headers.
    pub hostname: Domain,
    /// The text of the greeting: printable ASCII.
    pub banner: String,
    /// The largest message, in bytes.
    pub max_message_bytes: u64,
    /// The largest header block, in bytes.
    pub max_header_bytes: u64,
    /// Recipients of one transaction, at most.
    pub max_recipients: usize,
    /// Connections at a time, at most.
    pub max_connections: usize,
    /// Connections at a time from one address, at most; `None` is no limit.
    pub max_connections_per_ip: Option<usize>,
    /// How long a session may be idle between commands.
    pub session_timeout: Duration,
    /// Memory for messages being received, in bytes: at least twice `max_message_bytes`.
    pub max_inflight_bytes: u64,
}

/// The HTTP side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Address of the listener; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Memory for answers being made, in bytes.
    pub max_inflight_bytes: u64,
    /// How many requests one address may make; `None` is no limit.
    pub throttle: Option<Throttle>,
}

/// A number of requests in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttle {
    /// The requests; at least 1.
    pub limit: u32,
    /// The span.
    pub per: Duration,
}

/// What inboxes may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxSettings {
    /// Plain, encrypted, or the client's choice.
    pub encryption: EncryptionPolicy,
    /// Time to live of an inbox that does not ask for one, in seconds: 60 to `max_ttl_secs`.
    pub default_ttl_secs: u32,
    /// The longest time to live, in seconds.
    pub max_ttl_secs: u32,
    /// Whether `DELETE /api/inboxes` is served.
    pub allow_clear_all: bool,
    /// Random bytes in a generated alias, 4 to 32.
    pub alias_random_bytes: usize,
    /// Whether email authentication can be had at all.
    pub email_auth_available: bool,
    /// Whether it is on for an inbox that does not say.
    pub email_auth_default: bool,
}

/// The disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageSettings {
    /// Below this free space, in bytes, mail is refused.
    pub min_free_bytes: u64,
}

/// Where the API key and the signing key come from.
#[derive(Debug, Clone)]
pub struct SecretSettings {
    /// The key as set, if it is.
    pub api_key: Option<ApiKey>,
    /// Whether the key must be set: no file is read and none is made.
    pub api_key_strict: bool,
    /// Files of the signing key, if it is not the one of the data directory.
    pub signing_key: Option<SigningKeyPaths>,
}

/// Files that hold a signing key made elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKeyPaths {
    /// The raw ML-DSA-65 private key, 4032 bytes.
    pub secret: PathBuf,
    /// The raw ML-DSA-65 public key, 1952 bytes.
    pub public: PathBuf,
}

/// The log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSettings {
    /// How a line looks.
    pub format: LogFormat,
    /// What is logged.
    pub level: tracing::Level,
}

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}
