//! The settings as the rest of the server takes them: types that have been proven, defaults filled in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use restante_auth::AuthSettings;
use restante_inbox::ChoicePolicy;
use restante_ingest::{IpNet, MailRate};
use restante_model::{Domain, WireProfile};
use restante_smtp::Auth;
use restante_spam::SpamSettings;
use restante_storage::Retention;
use restante_tls::CertificateFiles;

use super::kind::Value;
use super::profile::ChosenProfile;
use super::resolve::Resolved;
use crate::listen::ListenAddress;
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
    /// Encryption on the way, of SMTP and HTTP alike.
    pub tls: TlsSettings,
    /// The HTTP side.
    pub http: HttpSettings,
    /// What inboxes may be.
    pub inboxes: InboxSettings,
    /// The disk.
    pub storage: StorageSettings,
    /// How mail is authenticated; `None` when that is switched off.
    pub email_auth: Option<AuthSettings>,
    /// Where a spam filter is; `None` if none is asked.
    pub spam: Option<SpamSettings>,
    /// Faults that inboxes may ask for; `None` if they may not.
    pub chaos: Option<ChaosSettings>,
    /// What is told of mail to others.
    pub webhooks: WebhookSettings,
    /// Where the API key and the signing key come from.
    pub secrets: SecretSettings,
    /// The log.
    pub log: LogSettings,
}

/// The mail side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpSettings {
    /// Address of the plain listener; there is one at least of the two.
    pub listen: Option<ListenAddress>,
    /// Address of the listener that begins with TLS.
    pub listen_tls: Option<ListenAddress>,
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
    /// How long the first command may take to come.
    pub first_command_timeout: Duration,
    /// How long a session may be idle between commands.
    pub session_timeout: Duration,
    /// How long a message may stall while it comes.
    pub data_timeout: Duration,
    /// How long a session may last in all.
    pub max_session_duration: Duration,
    /// Memory for messages being received, in bytes: at least twice `max_message_bytes`.
    pub max_inflight_bytes: u64,
    /// Whether AUTH is offered.
    pub auth: Auth,
    /// Mails from one address, at most; `None` is no limit.
    pub rate: Option<MailRate>,
    /// Networks of proxies whose word on the client is believed.
    pub proxy_networks: Vec<IpNet>,
}

/// Encryption on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// Where the certificate comes from; `None` is no TLS.
    pub certificate: Option<CertificateSource>,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
}

/// Where the certificate comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateSource {
    /// Files of somebody else.
    Files(CertificateFiles),
    /// An authority of our own in the data directory.
    LocalAuthority,
}

/// The HTTP side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Address of the plain listener.
    pub listen: ListenAddress,
    /// Address of the HTTPS listener, if there is one.
    pub listen_tls: Option<ListenAddress>,
    /// Connections at a time.
    pub max_connections: usize,
    /// Notification streams at a time.
    pub max_streams: usize,
    /// Memory for answers being made, in bytes.
    pub max_inflight_bytes: u64,
    /// How many requests one address may make; `None` is no limit.
    pub throttle: Option<Throttle>,
    /// Whether the stream of the server console is served.
    pub console: bool,
    /// Whether `POST /api/test/emails` is served.
    pub test_emails: bool,
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
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct InboxSettings {
    /// Plain, encrypted, or the client's choice.
    pub encryption: ChoicePolicy,
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
    /// Whether inboxes are said to be persistent.
    pub persistence: ChoicePolicy,
    /// Whether a spam filter is asked for an inbox that does not say.
    pub spam_analysis_default: bool,
}

/// Faults that inboxes may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChaosSettings {
    /// What decides them; `None` is chance.
    pub seed: Option<u64>,
}

/// The disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageSettings {
    /// Below this free space, in bytes, mail is refused.
    pub min_free_bytes: u64,
    /// How much mail is kept, and for how long.
    pub retention: Retention,
}

/// What is told of mail to others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct WebhookSettings {
    /// Whether anything is sent but tests.
    pub is_enabled: bool,
    /// Global webhooks, at most.
    pub max_global: u64,
    /// Webhooks of one inbox, at most.
    pub max_inbox: u64,
    /// Time for one attempt.
    pub timeout: Duration,
    /// Attempts of one delivery in all.
    pub max_attempts: u32,
    /// Retries queued for one webhook, at most.
    pub max_retries_queued: usize,
    /// Mail headers in a payload, at most.
    pub max_headers: usize,
    /// Characters of a mail header in a payload, at most.
    pub max_header_value_chars: usize,
    /// Bytes of the text and of the HTML body in an event, at most.
    pub max_body_bytes: usize,
    /// Whether URLs may be plain HTTP.
    pub allow_http: bool,
    /// Whether targets may have addresses that are not globally routable.
    pub allow_private_targets: bool,
    /// Whether a webhook that does not say gets authenticated mail only.
    pub require_auth_default: bool,
    /// Who looks up the names of targets, if it is not the system.
    pub resolver: Option<SocketAddr>,
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
            tls: values.into(),
            http: values.into(),
            inboxes: values.into(),
            storage: values.into(),
            email_auth: values.switch("EMAIL_AUTH_ENABLED").then(|| email_auth(values)),
            spam: values.switch("SPAM_ANALYSIS_ENABLED").then(|| spam(values)),
            chaos: values.switch("CHAOS_ENABLED").then(|| ChaosSettings {
                seed: values.optional_number("CHAOS_SEED"),
            }),
            webhooks: values.into(),
            secrets: values.into(),
            log: values.into(),
        }
    }
}

impl From<&Resolved> for SmtpSettings {
    fn from(values: &Resolved) -> Self {
        let per_ip: usize = values.narrow("SMTP_MAX_CONNECTIONS_PER_IP");
        let rate = MailRate {
            max: values.narrow("SMTP_RATE_LIMIT_MAX_EMAILS"),
            per: Duration::from_secs(values.number("SMTP_RATE_LIMIT_DURATION")),
        };
        let [hostname] = values.domains("SMTP_HOSTNAME") else {
            unreachable!("the host name is one domain");
        };
        Self {
            listen: values.listen("SMTP_HOST", "SMTP_PORT"),
            listen_tls: values.listen("SMTP_HOST", "SMTP_TLS_PORT"),
            hostname: hostname.clone(),
            banner: values.text("SMTP_BANNER").into(),
            max_message_bytes: values.number("SMTP_MAX_MESSAGE_SIZE"),
            max_header_bytes: values.number("SMTP_MAX_HEADER_SIZE"),
            max_recipients: values.narrow("SMTP_MAX_RECIPIENTS"),
            max_connections: values.narrow("SMTP_MAX_CONNECTIONS"),
            max_connections_per_ip: (per_ip > 0).then_some(per_ip),
            first_command_timeout: values.span("SMTP_FIRST_COMMAND_TIMEOUT"),
            session_timeout: values.span("SMTP_SESSION_TIMEOUT"),
            data_timeout: values.span("SMTP_DATA_TIMEOUT"),
            max_session_duration: values.span("SMTP_MAX_SESSION_DURATION"),
            max_inflight_bytes: values.number("SMTP_MAX_INFLIGHT_BYTES"),
            auth: match values.text("SMTP_AUTH") {
                "accept-any" => Auth::AcceptAny,
                _ => Auth::Off,
            },
            rate: values.switch("SMTP_RATE_LIMIT_ENABLED").then_some(rate),
            proxy_networks: values.networks("SMTP_PROXY_PROTOCOL_NETWORKS").to_vec(),
        }
    }
}

impl From<&Resolved> for TlsSettings {
    fn from(values: &Resolved) -> Self {
        let files = values.path("TLS_CERT_PATH").zip(values.path("TLS_KEY_PATH"));
        let files = files.map(|(chain, key)| {
            CertificateSource::Files(CertificateFiles {
                chain: chain.into(),
                key: key.into(),
            })
        });
        let own = values
            .switch("TLS_SELF_SIGNED")
            .then_some(CertificateSource::LocalAuthority);
        Self {
            certificate: files.or(own),
            handshake_timeout: values.span("TLS_HANDSHAKE_TIMEOUT"),
        }
    }
}

fn email_auth(values: &Resolved) -> AuthSettings {
    AuthSettings {
        spf: values.switch("EMAIL_AUTH_SPF_ENABLED"),
        dkim: values.switch("EMAIL_AUTH_DKIM_ENABLED"),
        dmarc: values.switch("EMAIL_AUTH_DMARC_ENABLED"),
        reverse_dns: values.switch("EMAIL_AUTH_REVERSE_DNS_ENABLED"),
        timeout: values.span("EMAIL_AUTH_TIMEOUT"),
        resolver: values.server("DNS_RESOLVER"),
    }
}

fn spam(values: &Resolved) -> SpamSettings {
    SpamSettings {
        url: values.text("RSPAMD_URL").parse().expect("the URL was checked"),
        timeout: values.span("RSPAMD_TIMEOUT_MS"),
        password: values.password("RSPAMD_PASSWORD"),
    }
}

impl From<&Resolved> for HttpSettings {
    fn from(values: &Resolved) -> Self {
        let limit: u32 = values.narrow("THROTTLE_LIMIT");
        let per = values.span("THROTTLE_TTL");
        let listen = |port| values.listen("SERVER_HOST", port);
        let https = values.switch("SERVER_HTTPS_ENABLED");
        Self {
            listen: listen("SERVER_PORT").expect("the port of HTTP cannot be off"),
            listen_tls: listen("SERVER_HTTPS_PORT").filter(|_| https),
            max_connections: values.narrow("SERVER_MAX_CONNECTIONS"),
            max_streams: values.narrow("SERVER_MAX_STREAMS"),
            max_inflight_bytes: values.number("HTTP_MAX_INFLIGHT_BYTES"),
            throttle: (limit > 0).then_some(Throttle { limit, per }),
            console: values.switch("SSE_CONSOLE_ENABLED"),
            test_emails: values.switch("SDK_DEVELOPMENT"),
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
            persistence: values.choice("PERSISTENCE_POLICY"),
            spam_analysis_default: values.switch("SPAM_ANALYSIS_INBOX_DEFAULT"),
        }
    }
}

impl From<&Resolved> for StorageSettings {
    fn from(values: &Resolved) -> Self {
        let max_age_secs = values.number("EMAIL_MAX_AGE");
        Self {
            min_free_bytes: values.number("STORAGE_MIN_FREE_BYTES"),
            retention: Retention {
                max_bytes: values.number("STORAGE_MAX_BYTES"),
                max_emails: values.number("INBOX_MAX_EMAILS"),
                max_age: (max_age_secs > 0).then(|| Duration::from_secs(max_age_secs)),
            },
        }
    }
}

impl From<&Resolved> for WebhookSettings {
    fn from(values: &Resolved) -> Self {
        Self {
            is_enabled: values.switch("WEBHOOK_ENABLED"),
            max_global: values.number("WEBHOOK_MAX_GLOBAL"),
            max_inbox: values.number("WEBHOOK_MAX_INBOX"),
            timeout: values.span("WEBHOOK_TIMEOUT"),
            max_attempts: values.narrow("WEBHOOK_MAX_RETRIES"),
            max_retries_queued: values.narrow("WEBHOOK_MAX_RETRIES_PER_WEBHOOK"),
            max_headers: values.narrow("WEBHOOK_MAX_HEADERS"),
            max_header_value_chars: values.narrow("WEBHOOK_MAX_HEADER_VALUE_LEN"),
            max_body_bytes: values.narrow("WEBHOOK_MAX_BODY_BYTES"),
            allow_http: values.switch("WEBHOOK_ALLOW_HTTP"),
            allow_private_targets: values.switch("WEBHOOK_ALLOW_PRIVATE_TARGETS"),
            require_auth_default: values.switch("WEBHOOK_REQUIRE_AUTH_DEFAULT"),
            resolver: values.server("DNS_RESOLVER"),
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
