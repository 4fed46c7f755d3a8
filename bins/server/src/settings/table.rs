//! The one table of all settings.
//!
//! Rows of features that are not built yet are marked `later`: any value but the default stops the start,
//! so that no setting pretends to have an effect.

use super::defaults;
use super::kind::{Kind, Value};
use super::profile::Profile;
use super::resolve::Basis;

/// A group of settings, as help and the reference page show them.
#[derive(Debug)]
pub struct Section {
    /// The heading.
    pub title: &'static str,
    /// Its settings.
    pub settings: &'static [Setting],
}

/// One setting: a row of the table.
#[derive(Debug)]
pub struct Setting {
    /// The name without `SVC_`.
    pub name: &'static str,
    /// Another name that is accepted in the environment, without `SVC_`.
    pub alias: Option<&'static str>,
    /// What it may hold.
    pub kind: Kind,
    /// What it holds when nothing is given.
    pub default: DefaultValue,
    /// What it means, in one line.
    pub meaning: &'static str,
    /// Whether this version has the feature.
    pub is_built: bool,
}

/// What a setting holds when nothing is given.
#[derive(Debug, Clone, Copy)]
pub enum DefaultValue {
    /// Nothing.
    Unset,
    /// The same in both profiles.
    Same(&'static str),
    /// One value for each profile.
    ByProfile(&'static str, &'static str),
    /// The laptop's value; production must be told.
    LaptopOnly(&'static str),
    /// Computed from the machine and from settings above in the table.
    Computed {
        /// What the reference page says.
        shown: &'static str,
        /// The value.
        value: fn(&Basis<'_>) -> Value,
    },
}

use DefaultValue::{ByProfile, Computed, LaptopOnly, Same, Unset};

impl Setting {
    /// The name of the environment variable.
    pub fn variable(&self) -> String {
        format!("SVC_{}", self.name)
    }

    /// The name of the flag, without the dashes before it.
    pub fn flag(&self) -> String {
        self.name.to_ascii_lowercase().replace('_', "-")
    }

    /// The value when nothing is given; `None` when something must be.
    pub fn default_value(&self, basis: &Basis<'_>) -> Option<Value> {
        let text = match (self.default, basis.profile) {
            (Unset, _) => return Some(Value::Unset),
            (Computed { value, .. }, _) => return Some(value(basis)),
            (LaptopOnly(_), Profile::Production) => return None,
            (Same(text) | LaptopOnly(text) | ByProfile(text, _), Profile::Laptop)
            | (Same(text) | ByProfile(_, text), Profile::Production) => text,
        };
        Some(self.kind.read(text).expect("a test reads every default of the table"))
    }

    /// A value of the right kind in the place of one that could not be read.
    pub(super) fn stand_in(&self, basis: &Basis<'_>) -> Value {
        let laptop = Basis {
            profile: Profile::Laptop,
            ..*basis
        };
        self.default_value(&laptop)
            .expect("every setting has a default on the laptop")
    }

    const fn later(mut self) -> Self {
        self.is_built = false;
        self
    }

    const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }
}

const fn row(name: &'static str, kind: Kind, default: DefaultValue, meaning: &'static str) -> Setting {
    Setting {
        name,
        alias: None,
        kind,
        default,
        meaning,
        is_built: true,
    }
}

const fn number(min: u64, max: u64) -> Kind {
    Kind::Number { min, max }
}

/// Every setting, in order.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|section| section.settings)
}

/// The setting of a name without `SVC_`, or of an alias.
pub fn find(name: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.name == name || setting.alias == Some(name))
}

/// A day in milliseconds, the longest of the time-outs.
const DAY_MS: u64 = 86_400_000;
/// The longest span in seconds: a year.
const YEAR_S: u64 = 31_536_000;
/// The largest message that can be allowed, in bytes.
const MESSAGE_MAX: u64 = 268_435_456;
/// The largest amount of disk or memory, in bytes: a pebibyte.
const BYTES_MAX: u64 = 1 << 50;
/// The largest count where no other bound is near.
const COUNT_MAX: u64 = 1_000_000;

const POLICY: Kind = Kind::Choice(&["always", "enabled", "disabled", "never"]);

/// The table. A computed default may use any setting above it.
#[rustfmt::skip]
pub const SECTIONS: &[Section] = &[
    Section { title: "General", settings: &[
        row("PROFILE", Kind::Choice(&["laptop", "production"]),
            Computed { shown: "`laptop`, or `production` if `SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS` is set", value: defaults::profile },
            "Which set of defaults holds."),
        row("WIRE_PROFILE", Kind::Choice(&["service", "vaultsandbox"]), Same("service"),
            "Whose constants are spoken on the wire: the interface's own, or those that the published VaultSandbox SDKs expect."),
        row("DATA_PATH", Kind::Path,
            Computed { shown: "`/app/data` if writable, else `./data`; production: `/app/data`", value: defaults::data_path },
            "The directory of everything that lasts: mail and keys."),
        row("LOG_FORMAT", Kind::Choice(&["text", "json"]), Same("text"),
            "How a log line looks; the log goes to standard error."),
        row("LOG_LEVEL", Kind::Choice(&["error", "warn", "info", "debug", "trace"]), Same("info"),
            "The least severe lines that are logged."),
    ]},
    Section { title: "Mail", settings: &[
        row("SMTP_ALLOWED_RECIPIENT_DOMAINS", Kind::Domains, LaptopOnly("restante.test,localhost"),
            "Domains that inboxes may be at; the first is the default for random aliases."),
        row("SMTP_HOST", Kind::Host, ByProfile("127.0.0.1", "[::]"),
            "Address of the SMTP listeners; `[::]` is every address, IPv4 too, `localhost` both loopback addresses."),
        row("SMTP_PORT", Kind::PortOrOff, ByProfile("2525", "25"),
            "Port of the plain SMTP listener; it offers STARTTLS if there is a certificate."),
        row("SMTP_TLS_PORT", Kind::PortOrOff, Same("off"),
            "Port of the SMTP listener that begins with TLS; it needs a certificate."),
        row("SMTP_MAX_MESSAGE_SIZE", number(1, MESSAGE_MAX), Same("26214400"),
            "The largest message, in bytes."),
        row("SMTP_MAX_HEADER_SIZE", number(1, 16_777_216), Same("262144"),
            "The largest header block of a message, in bytes."),
        row("SMTP_MAX_RECIPIENTS", number(1, 10_000), Same("100"),
            "Recipients of one transaction, at most."),
        row("SMTP_MAX_CONNECTIONS", number(1, COUNT_MAX), Same("4000"),
            "SMTP connections at a time, at most."),
        row("SMTP_MAX_CONNECTIONS_PER_IP", number(0, COUNT_MAX), Same("0"),
            "SMTP connections at a time from one address, at most; 0 is no limit."),
        row("SMTP_FIRST_COMMAND_TIMEOUT", number(1, DAY_MS), Same("30000"),
            "How long the first command may take to come, in milliseconds."),
        row("SMTP_SESSION_TIMEOUT", number(1, DAY_MS), Same("300000"),
            "How long a session may be idle between commands, in milliseconds."),
        row("SMTP_DATA_TIMEOUT", number(1, DAY_MS), Same("180000"),
            "How long a message may stall while it comes, in milliseconds."),
        row("SMTP_MAX_SESSION_DURATION", number(1, DAY_MS), Same("1200000"),
            "How long a session may last in all, in milliseconds."),
        row("SMTP_MAX_INFLIGHT_BYTES", number(1, BYTES_MAX),
            Computed { shown: "a quarter of the memory that the process may use, at most `268435456`, at least twice the largest message", value: defaults::smtp_inflight },
            "Memory for messages being received, in bytes; at least twice `SVC_SMTP_MAX_MESSAGE_SIZE`."),
        row("SMTP_BANNER", Kind::Line, Same("restante test mail server (receive-only)"),
            "Text of the greeting."),
        row("SMTP_HOSTNAME", Kind::Domain, Computed { shown: "the machine's name", value: defaults::smtp_hostname },
            "Name of this server in the greeting and in trace headers."),
        row("SMTP_AUTH", Kind::Choice(&["off", "accept-any"]), Same("off"),
            "Whether AUTH is offered, for applications that insist on it: `accept-any` takes any credentials and gives no rights."),
        row("SMTP_RATE_LIMIT_ENABLED", Kind::Switch, Same("false"),
            "Whether mail is limited by peer address."),
        row("SMTP_RATE_LIMIT_MAX_EMAILS", number(1, COUNT_MAX), Same("500"),
            "Mails from one address in one span, at most."),
        row("SMTP_RATE_LIMIT_DURATION", number(1, YEAR_S), Same("900"),
            "The span of that limit, in seconds."),
        row("SMTP_PROXY_PROTOCOL_NETWORKS", Kind::Networks, Same(""),
            "Networks of proxies: their connections must begin with a PROXY protocol v2 header, and it is believed."),
    ]},
    Section { title: "TLS", settings: &[
        row("TLS_CERT_PATH", Kind::Path, Unset,
            "PEM file of the certificate chain, the server's first, for SMTP and HTTPS; a new one is used within seconds."),
        row("TLS_KEY_PATH", Kind::Path, Unset,
            "PEM file of its private key, without a passphrase; it may be the same file."),
        row("TLS_SELF_SIGNED", Kind::Switch, Same("false"),
            "Make a local certificate authority and a certificate of it, once, in the folder `tls` of the data directory; the start says which file clients are to trust."),
        row("TLS_HANDSHAKE_TIMEOUT", number(1, DAY_MS), Same("10000"),
            "How long a TLS handshake may take, in milliseconds."),
        row("CERT_ENABLED", Kind::Switch, Same("false"),
            "Have certificates issued over ACME.").later(),
        row("CERT_EMAIL", Kind::Line, Unset,
            "Contact address of the ACME account.").later(),
        row("CERT_DOMAIN", Kind::Domain, Unset,
            "Main name of the certificate.").later(),
        row("CERT_ADDITIONAL_DOMAINS", Kind::List, Same(""),
            "Further names of the certificate.").later(),
        row("CERT_ACME_DIRECTORY", Kind::Line, Same("https://acme-v02.api.letsencrypt.org/directory"),
            "URL of the ACME directory.").later(),
        row("CERT_RENEW_THRESHOLD_DAYS", number(1, 365), Same("30"),
            "Days before its end from which a certificate is renewed.").later(),
    ]},
    Section { title: "HTTP", settings: &[
        row("SERVER_HOST", Kind::Host, ByProfile("127.0.0.1", "[::]"),
            "Address of the HTTP listeners, of the same kinds as `SVC_SMTP_HOST`."),
        row("SERVER_PORT", Kind::Port, ByProfile("8080", "80"),
            "Port of the HTTP listener."),
        row("SERVER_HTTPS_ENABLED", Kind::Switch,
            Computed { shown: "`false`; production: `true` with a certificate", value: defaults::https_enabled },
            "Whether HTTPS is served beside HTTP; it needs a certificate."),
        row("SERVER_HTTPS_PORT", Kind::Port, ByProfile("8443", "443"),
            "Port of the HTTPS listener."),
        row("SERVER_MAX_CONNECTIONS", number(1, COUNT_MAX), Same("16384"),
            "HTTP and HTTPS connections at a time, at most; further ones wait."),
        row("SERVER_MAX_STREAMS", number(1, COUNT_MAX), Same("12000"),
            "Notification streams at a time, at most; further ones are refused (503)."),
        row("SERVER_ORIGIN", Kind::List, Same(""),
            "Origins that browsers may call from (CORS).").later(),
        row("THROTTLE_LIMIT", number(0, COUNT_MAX), Same("0"),
            "Requests from one address in one span, at most; 0 is no limit."),
        row("THROTTLE_TTL", number(1, DAY_MS), Same("60000"),
            "The span of that limit, in milliseconds."),
        row("HTTP_MAX_INFLIGHT_BYTES", number(65_536, BYTES_MAX), Same("268435456"),
            "Memory for answers being made, in bytes."),
        row("LOCAL_API_KEY", Kind::ApiKey, Unset,
            "The API key; when unset it is the one in the file `.api-key` of the data directory, made at the first start."),
        row("LOCAL_API_KEY_STRICT", Kind::Switch, Same("false"),
            "Require `SVC_LOCAL_API_KEY`: no file is read and none is made."),
        row("SSE_CONSOLE_ENABLED", Kind::Switch, Same("true"),
            "Whether the stream of the server console is served."),
        row("SDK_DEVELOPMENT", Kind::Switch, Same("false"),
            "Whether `POST /api/test/emails` is served."),
    ]},
    Section { title: "Inboxes", settings: &[
        row("LOCAL_INBOX_MAX_TTL", number(60, YEAR_S), Same("604800"),
            "The longest time to live of an inbox, in seconds."),
        row("LOCAL_INBOX_DEFAULT_TTL", number(60, YEAR_S),
            Computed { shown: "`3600`, or the longest if that is less", value: defaults::inbox_ttl },
            "Time to live of an inbox that does not ask for one, in seconds."),
        row("LOCAL_ALLOW_CLEAR_ALL_INBOXES", Kind::Switch, Same("true"),
            "Whether `DELETE /api/inboxes` is served."),
        row("INBOX_ALIAS_RANDOM_BYTES", number(4, 32), Same("4"),
            "Random bytes of a generated alias, shown as twice as many hex digits."),
        row("ENCRYPTION_ENABLED", POLICY,
            Computed { shown: "`disabled` (`vaultsandbox` wire profile: `enabled`); production: `always`", value: defaults::encryption },
            "Encryption policy: `always` and `never` leave no choice, `enabled` and `disabled` are what an inbox is unless its client chooses."),
        row("PERSISTENCE_POLICY", POLICY, Same("enabled"),
            "Whether inboxes are persistent, or may choose; in the `vaultsandbox` wire profile a persistent one may live without end."),
    ]},
    Section { title: "Storage", settings: &[
        row("INBOX_MAX_EMAILS", number(1, BYTES_MAX), Same("10000"),
            "Emails of one inbox, at most: for each more, the one that was stored first goes."),
        row("STORAGE_MAX_BYTES", number(1, BYTES_MAX), Same("4294967296"),
            "Bytes of the mail in all inboxes, at most: the oldest goes for new mail, and mail that is larger by itself is refused (552)."),
        row("EMAIL_MAX_AGE", number(0, YEAR_S), Same("0"),
            "Age at which emails go, in seconds after they arrived; 0 is none."),
        row("STORAGE_MIN_FREE_BYTES", number(0, BYTES_MAX), Same("268435456"),
            "Free disk space below which mail is refused (452), in bytes."),
        row("SERVER_SIGNATURE_SECRET_KEY_PATH", Kind::Path, Unset,
            "File of the raw ML-DSA-65 secret key, 4032 bytes; when unset the key is made and kept in the data directory."),
        row("SERVER_SIGNATURE_PUBLIC_KEY_PATH", Kind::Path, Unset,
            "File of its raw public key, 1952 bytes."),
    ]},
    Section { title: "Email authentication", settings: &[
        row("EMAIL_AUTH_ENABLED", Kind::Switch, Same("true"),
            "Whether email authentication can be had at all."),
        row("EMAIL_AUTH_SPF_ENABLED", Kind::Switch, Same("true"),
            "Whether SPF is checked."),
        row("EMAIL_AUTH_DKIM_ENABLED", Kind::Switch, Same("true"),
            "Whether DKIM is checked."),
        row("EMAIL_AUTH_DMARC_ENABLED", Kind::Switch, Same("true"),
            "Whether DMARC is checked."),
        row("EMAIL_AUTH_REVERSE_DNS_ENABLED", Kind::Switch, Same("true"),
            "Whether reverse DNS is checked."),
        row("EMAIL_AUTH_INBOX_DEFAULT", Kind::Switch, ByProfile("false", "true"),
            "Whether it is on for inboxes that do not say."),
        row("EMAIL_AUTH_TIMEOUT", number(1, DAY_MS), Same("5000"),
            "Time for all checks of one mail, in milliseconds."),
        row("DNS_RESOLVER", Kind::Server, Unset,
            "The DNS server, by its address; the system's when unset. The port is 53 unless given."),
    ]},
    Section { title: "Webhooks", settings: &[
        row("WEBHOOK_ENABLED", Kind::Switch, Same("true"),
            "Whether webhooks are sent; without it they can be managed and tested."),
        row("WEBHOOK_MAX_GLOBAL", number(0, COUNT_MAX), Same("100"),
            "Global webhooks, at most."),
        row("WEBHOOK_MAX_INBOX", number(0, COUNT_MAX), Same("50"),
            "Webhooks of one inbox, at most.").alias("WEBHOOK_MAX_PER_INBOX"),
        row("WEBHOOK_TIMEOUT", number(1, DAY_MS), Same("10000"),
            "Time for one attempt of a delivery, in milliseconds."),
        row("WEBHOOK_MAX_RETRIES", number(1, 100), Same("5"),
            "Attempts of one delivery in all."),
        row("WEBHOOK_MAX_RETRIES_PER_WEBHOOK", number(1, COUNT_MAX), Same("100"),
            "Retries queued for one webhook, at most: for each more, the oldest ends."),
        row("WEBHOOK_MAX_HEADERS", number(0, COUNT_MAX), Same("50"),
            "Mail headers in a payload, at most."),
        row("WEBHOOK_MAX_HEADER_VALUE_LEN", number(0, COUNT_MAX), Same("1000"),
            "Characters of a mail header in a payload, at most."),
        row("WEBHOOK_MAX_BODY_BYTES", number(0, MESSAGE_MAX), Same("65536"),
            "Bytes of the text and of the HTML body in an event, at most."),
        row("WEBHOOK_ALLOW_HTTP", Kind::Switch, Same("false"),
            "Whether webhook URLs may be plain HTTP. HTTPS trusts the system's certificate authorities, or those of the PEM file that the variable `SSL_CERT_FILE` names."),
        row("WEBHOOK_ALLOW_PRIVATE_TARGETS", Kind::Switch,
            Computed { shown: "as `SVC_WEBHOOK_ALLOW_HTTP`", value: defaults::private_targets },
            "Whether webhooks may reach addresses that are not globally routable: those of this machine and of private networks."),
        row("WEBHOOK_REQUIRE_AUTH_DEFAULT", Kind::Switch, Same("false"),
            "Whether a webhook that does not say is told of authenticated mail only."),
    ]},
    Section { title: "Test conditions", settings: &[
        row("CHAOS_ENABLED", Kind::Switch, Same("false"),
            "Whether inboxes may ask for faults: delays, dropped connections, refusals, mail that vanishes."),
        row("CHAOS_SEED", number(0, u64::MAX), Unset,
            "Seed of the faults: with the same one, the same mail in the same order meets the same faults; when unset they are chance."),
        row("SPAM_ANALYSIS_ENABLED", Kind::Switch, Same("false"),
            "Whether mail is scored by rspamd."),
        row("SPAM_ANALYSIS_INBOX_DEFAULT", Kind::Switch, Same("true"),
            "Whether it is on for inboxes that do not say."),
        row("RSPAMD_URL", Kind::HttpUrl, Same("http://localhost:11333"),
            "Where rspamd is."),
        row("RSPAMD_TIMEOUT_MS", number(1, DAY_MS), Same("5000"),
            "Time for one score, in milliseconds."),
        row("RSPAMD_PASSWORD", Kind::Password, Unset,
            "Password of rspamd."),
    ]},
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_spelled_alike() {
        let mut seen = HashSet::new();
        for setting in settings() {
            for name in [Some(setting.name), setting.alias].into_iter().flatten() {
                assert!(seen.insert(name), "{name} is in the table twice");
                assert!(name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'), "{name}");
            }
            assert!(setting.meaning.ends_with('.'), "{}", setting.name);
        }
    }

    #[test]
    fn every_fixed_default_can_be_read() {
        for setting in settings() {
            let texts: &[&str] = match &setting.default {
                Same(text) | LaptopOnly(text) => &[text],
                ByProfile(laptop, production) => &[laptop, production],
                Unset | Computed { .. } => &[],
            };
            for text in texts {
                assert!(setting.kind.read(text).is_some(), "{} {text:?}", setting.name);
            }
        }
    }

    #[test]
    fn an_alias_finds_its_setting() {
        assert_eq!(find("WEBHOOK_MAX_PER_INBOX").unwrap().name, "WEBHOOK_MAX_INBOX");
        assert!(find("WEBHOOK_MAX").is_none());
    }
}
