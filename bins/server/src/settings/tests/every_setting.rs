//! Every setting has an effect on what the server is told.

use super::*;

const KEY: &str = "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk";

/// A value for each setting that this version has; not the default one, unless that would hide others.
const EVERY_BUILT: &[(&str, &str)] = &[
    ("SVC_PROFILE", "production"),
    ("SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS", "x.test"),
    ("SVC_SMTP_PORT", "26"),
    ("SVC_SMTP_TLS_PORT", "466"),
    ("SVC_SMTP_FIRST_COMMAND_TIMEOUT", "1100"),
    ("SVC_SMTP_DATA_TIMEOUT", "1200"),
    ("SVC_SMTP_MAX_SESSION_DURATION", "1300"),
    ("SVC_SMTP_AUTH", "accept-any"),
    ("SVC_SMTP_RATE_LIMIT_ENABLED", "on"),
    ("SVC_SMTP_RATE_LIMIT_MAX_EMAILS", "7"),
    ("SVC_SMTP_RATE_LIMIT_DURATION", "8"),
    ("SVC_SMTP_PROXY_PROTOCOL_NETWORKS", "10.0.0.0/8,::1"),
    ("SVC_TLS_CERT_PATH", "/k/chain.pem"),
    ("SVC_TLS_KEY_PATH", "/k/key.pem"),
    ("SVC_TLS_SELF_SIGNED", "false"),
    ("SVC_TLS_HANDSHAKE_TIMEOUT", "1400"),
    ("SVC_SERVER_HTTPS_ENABLED", "yes"),
    ("SVC_SERVER_HTTPS_PORT", "444"),
    ("SVC_EMAIL_AUTH_SPF_ENABLED", "no"),
    ("SVC_EMAIL_AUTH_DKIM_ENABLED", "yes"),
    ("SVC_EMAIL_AUTH_DMARC_ENABLED", "no"),
    ("SVC_EMAIL_AUTH_REVERSE_DNS_ENABLED", "no"),
    ("SVC_EMAIL_AUTH_TIMEOUT", "900"),
    ("SVC_DNS_RESOLVER", "[::1]:54"),
    ("SVC_WIRE_PROFILE", "vaultsandbox"),
    ("SVC_DATA_PATH", "/srv/mail"),
    ("SVC_LOG_FORMAT", "json"),
    ("SVC_LOG_LEVEL", "debug"),
    ("SVC_SMTP_HOST", "::1"),
    ("SVC_SMTP_MAX_MESSAGE_SIZE", "1000"),
    ("SVC_SMTP_MAX_HEADER_SIZE", "100"),
    ("SVC_SMTP_MAX_RECIPIENTS", "3"),
    ("SVC_SMTP_MAX_CONNECTIONS", "4"),
    ("SVC_SMTP_MAX_CONNECTIONS_PER_IP", "2"),
    ("SVC_SMTP_SESSION_TIMEOUT", "1500"),
    ("SVC_SMTP_MAX_INFLIGHT_BYTES", "2000"),
    ("SVC_SMTP_BANNER", "hello"),
    ("SVC_SMTP_HOSTNAME", "mx.example.test"),
    ("SVC_SERVER_HOST", "0.0.0.0"),
    ("SVC_SERVER_PORT", "81"),
    ("SVC_SERVER_MAX_CONNECTIONS", "6"),
    ("SVC_SERVER_MAX_STREAMS", "4"),
    ("SVC_THROTTLE_LIMIT", "5"),
    ("SVC_THROTTLE_TTL", "7000"),
    ("SVC_HTTP_MAX_INFLIGHT_BYTES", "1000000"),
    ("SVC_LOCAL_API_KEY", KEY),
    ("SVC_LOCAL_API_KEY_STRICT", "true"),
    ("SVC_LOCAL_INBOX_MAX_TTL", "120"),
    ("SVC_LOCAL_INBOX_DEFAULT_TTL", "90"),
    ("SVC_LOCAL_ALLOW_CLEAR_ALL_INBOXES", "no"),
    ("SVC_INBOX_ALIAS_RANDOM_BYTES", "8"),
    ("SVC_ENCRYPTION_ENABLED", "never"),
    ("SVC_INBOX_MAX_EMAILS", "13"),
    ("SVC_STORAGE_MAX_BYTES", "14"),
    ("SVC_EMAIL_MAX_AGE", "15"),
    ("SVC_STORAGE_MIN_FREE_BYTES", "11"),
    ("SVC_SERVER_SIGNATURE_SECRET_KEY_PATH", "/k/secret"),
    ("SVC_SERVER_SIGNATURE_PUBLIC_KEY_PATH", "/k/public"),
    ("SVC_EMAIL_AUTH_ENABLED", "on"),
    ("SVC_EMAIL_AUTH_INBOX_DEFAULT", "on"),
    ("SVC_WEBHOOK_ENABLED", "no"),
    ("SVC_WEBHOOK_MAX_GLOBAL", "16"),
    ("SVC_WEBHOOK_MAX_INBOX", "17"),
    ("SVC_WEBHOOK_TIMEOUT", "1800"),
    ("SVC_WEBHOOK_MAX_RETRIES", "19"),
    ("SVC_WEBHOOK_MAX_RETRIES_PER_WEBHOOK", "20"),
    ("SVC_WEBHOOK_MAX_HEADERS", "21"),
    ("SVC_WEBHOOK_MAX_HEADER_VALUE_LEN", "22"),
    ("SVC_WEBHOOK_MAX_BODY_BYTES", "23"),
    ("SVC_WEBHOOK_ALLOW_HTTP", "yes"),
    ("SVC_WEBHOOK_ALLOW_PRIVATE_TARGETS", "no"),
    ("SVC_WEBHOOK_REQUIRE_AUTH_DEFAULT", "yes"),
    ("SVC_SSE_CONSOLE_ENABLED", "no"),
    ("SVC_SDK_DEVELOPMENT", "yes"),
    ("SVC_PERSISTENCE_POLICY", "disabled"),
    ("SVC_CHAOS_ENABLED", "yes"),
    ("SVC_CHAOS_SEED", "24"),
    ("SVC_SPAM_ANALYSIS_ENABLED", "yes"),
    ("SVC_SPAM_ANALYSIS_INBOX_DEFAULT", "no"),
    ("SVC_RSPAMD_URL", "http://scores.test:1/base"),
    ("SVC_RSPAMD_TIMEOUT_MS", "2500"),
    ("SVC_RSPAMD_PASSWORD", "pppp"),
];

#[test]
fn every_setting_that_is_built_reaches_its_place() {
    for setting in table::settings().filter(|setting| setting.is_built) {
        let given = EVERY_BUILT.iter().any(|(name, _)| *name == setting.variable());
        assert!(given, "{} is missing here", setting.name);
    }
    let settings = settings(&[], EVERY_BUILT);
    let ApiKeySource::Set(set) = &settings.secrets.api_key else {
        panic!("the key was set");
    };
    assert_eq!(set.expose(), KEY);
    // Neither is in a snapshot: the one may name a machine, the other is a secret.
    let spam = settings.spam.as_ref().unwrap();
    assert_eq!(spam.url.as_str(), "http://scores.test:1/base");
    assert_eq!(spam.password.as_ref().map(|password| password.as_str()), Some("pppp"));
    insta::assert_debug_snapshot!(settings);
}
