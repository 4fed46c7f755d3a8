//! The settings as the rest of the server takes them: types that have been proven, defaults filled in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use restante_inbox::EncryptionPolicy;
use restante_model::{Domain, WireProfile};

use super::kind::Value;
use super::profile::ChosenProfile;
use super::resolve::Resolved;
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
    /// Connections at a time.
    pub max_connections: usize,
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
    /// Where the API key comes from.
    pub api_key: ApiKeySource,
    /// Files of the signing key, if it is not the one of the data directory.
    pub signing_key: Option<SigningKeyPaths>,
}

/// Where the API key comes from (interface, "Authentication").
#[derive(Debug, Clone)]
pub enum ApiKeySource {
    /// It was set: no file is read and none is made.
    Set(ApiKey),
    /// The file `.api-key` of the data directory, made at the first start. Strict mode has no such value.
    File,
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

impl From<&Resolved> for Settings {
    fn from(values: &Resolved) -> Self {
        Self {
            profile: values.profile,
            wire_profile: values.choice("WIRE_PROFILE"),
            data_path: values.path("DATA_PATH").expect("the data path has a default").into(),
            allowed_domains: values.domains("SMTP_ALLOWED_RECIPIENT_DOMAINS").to_vec(),
            smtp: values.into(),
            http: values.into(),
            inboxes: values.into(),
            storage: StorageSettings {
                min_free_bytes: values.number("STORAGE_MIN_FREE_BYTES"),
            },
            secrets: values.into(),
            log: values.into(),
        }
    }
}

impl From<&Resolved> for SmtpSettings {
    fn from(values: &Resolved) -> Self {
        let per_ip: usize = values.narrow("SMTP_MAX_CONNECTIONS_PER_IP");
        let [hostname] = values.domains("SMTP_HOSTNAME") else {
            unreachable!("the host name is one domain");
        };
        Self {
            listen: SocketAddr::new(values.host("SMTP_HOST"), values.narrow("SMTP_PORT")),
            hostname: hostname.clone(),
            banner: values.text("SMTP_BANNER").into(),
            max_message_bytes: values.number("SMTP_MAX_MESSAGE_SIZE"),
            max_header_bytes: values.number("SMTP_MAX_HEADER_SIZE"),
            max_recipients: values.narrow("SMTP_MAX_RECIPIENTS"),
            max_connections: values.narrow("SMTP_MAX_CONNECTIONS"),
            max_connections_per_ip: (per_ip > 0).then_some(per_ip),
            session_timeout: Duration::from_millis(values.number("SMTP_SESSION_TIMEOUT")),
            max_inflight_bytes: values.number("SMTP_MAX_INFLIGHT_BYTES"),
        }
    }
}

impl From<&Resolved> for HttpSettings {
    fn from(values: &Resolved) -> Self {
        let limit: u32 = values.narrow("THROTTLE_LIMIT");
        let per = Duration::from_millis(values.number("THROTTLE_TTL"));
        Self {
            listen: SocketAddr::new(values.host("SERVER_HOST"), values.narrow("SERVER_PORT")),
            max_connections: values.narrow("SERVER_MAX_CONNECTIONS"),
            max_inflight_bytes: values.number("HTTP_MAX_INFLIGHT_BYTES"),
            throttle: (limit > 0).then_some(Throttle { limit, per }),
        }
    }
}

impl From<&Resolved> for InboxSettings {
    fn from(values: &Resolved) -> Self {
        Self {
            encryption: values.choice("ENCRYPTION_ENABLED"),
            default_ttl_secs: values.narrow("LOCAL_INBOX_DEFAULT_TTL"),
            max_ttl_secs: values.narrow("LOCAL_INBOX_MAX_TTL"),
            allow_clear_all: values.switch("LOCAL_ALLOW_CLEAR_ALL_INBOXES"),
            alias_random_bytes: values.narrow("INBOX_ALIAS_RANDOM_BYTES"),
            email_auth_available: values.switch("EMAIL_AUTH_ENABLED"),
            email_auth_default: values.switch("EMAIL_AUTH_INBOX_DEFAULT"),
        }
    }
}

impl From<&Resolved> for SecretSettings {
    fn from(values: &Resolved) -> Self {
        let secret = values.path("SERVER_SIGNATURE_SECRET_KEY_PATH");
        let public = values.path("SERVER_SIGNATURE_PUBLIC_KEY_PATH");
        Self {
            api_key: match &values.entry("LOCAL_API_KEY").value {
                Value::ApiKey(key) => ApiKeySource::Set(key.clone()),
                _ => ApiKeySource::File,
            },
            signing_key: secret.zip(public).map(|(secret, public)| SigningKeyPaths {
                secret: secret.into(),
                public: public.into(),
            }),
        }
    }
}

impl From<&Resolved> for LogSettings {
    fn from(values: &Resolved) -> Self {
        Self {
            format: match values.text("LOG_FORMAT") {
                "json" => LogFormat::Json,
                _ => LogFormat::Text,
            },
            level: values.choice("LOG_LEVEL"),
        }
    }
}
