//! What is given goes in, settings or errors come out.

use std::time::Duration;

use restante_inbox::ChoicePolicy;
use restante_model::WireProfile;

use super::*;

mod conditions;
mod every_setting;
mod rules;

const GIB: u64 = 1 << 30;

fn machine() -> Machine {
    Machine {
        hostname: "Mail-1.example.test".into(),
        memory_bytes: 2 * GIB,
        app_data_writable: false,
    }
}

fn invoke(flags: &[&str], variables: &[(&str, &str)], machine: &Machine) -> Result<Invocation, StartError> {
    let argv = ["server"].iter().chain(flags).map(OsString::from);
    let environment = variables.iter().map(|(name, value)| (name.into(), value.into()));
    read(argv, environment, machine)
}

fn settings_on(machine: &Machine, flags: &[&str], variables: &[(&str, &str)]) -> Settings {
    match invoke(flags, variables, machine) {
        Ok(Invocation::Serve(settings)) => *settings,
        Ok(other) => panic!("no server is asked for: {other:?}"),
        Err(error) => panic!("{flags:?} {variables:?}: {error}"),
    }
}

fn settings(flags: &[&str], variables: &[(&str, &str)]) -> Settings {
    settings_on(&machine(), flags, variables)
}

fn errors(flags: &[&str], variables: &[(&str, &str)]) -> String {
    match invoke(flags, variables, &machine()) {
        Err(error @ StartError::Settings(_)) => error.to_string(),
        outcome => panic!("{flags:?} {variables:?}: {outcome:?}"),
    }
}

fn printed(flags: &[&str], variables: &[(&str, &str)]) -> String {
    match invoke(flags, variables, &machine()) {
        Ok(Invocation::Print(text)) => text,
        outcome => panic!("{flags:?} {variables:?}: {outcome:?}"),
    }
}

const DOMAINS: (&str, &str) = ("SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS", "Example.test,b.test");

/// Where SMTP, SMTPS, HTTP and HTTPS listen.
fn listeners(settings: &Settings) -> [String; 4] {
    let (smtp, http) = (&settings.smtp, &settings.http);
    [smtp.listen, smtp.listen_tls, Some(http.listen), http.listen_tls]
        .map(|address| address.map_or("off".into(), |address| address.to_string()))
}

#[test]
fn nothing_given_is_a_tool_for_the_laptop() {
    let settings = settings(&[], &[("PATH", "/bin"), ("VSB_SMTP_PORT", "26"), ("svc_x", "")]);
    assert_eq!(settings.profile.to_string(), "laptop (no setting asks for another)");
    assert_eq!(settings.wire_profile, WireProfile::Service);
    assert_eq!(settings.data_path.to_str(), Some("./data"));
    assert_eq!(listeners(&settings), ["127.0.0.1:2525", "off", "127.0.0.1:8080", "off"]);
    let domains: Vec<_> = settings.allowed_domains.iter().map(ToString::to_string).collect();
    assert_eq!(domains, ["restante.test", "localhost"]);
    assert_eq!(settings.inboxes.encryption, ChoicePolicy::Disabled);
    assert!(settings.inboxes.email_auth_available && !settings.inboxes.email_auth_default);
    assert!(matches!(settings.secrets.api_key, ApiKeySource::File));
    assert_eq!(settings.secrets.signing_key, None);
    assert_eq!(
        (settings.http.throttle, settings.smtp.max_connections_per_ip),
        (None, None)
    );
}

#[test]
fn production_has_the_defaults_of_the_interface() {
    let settings = settings(&[], &[DOMAINS]);
    assert_eq!(settings.data_path.to_str(), Some("/app/data"));
    assert_eq!(listeners(&settings), ["[::]:25", "off", "[::]:80", "off"]);
    assert_eq!(settings.tls.certificate, None);
    assert_eq!(settings.inboxes.encryption, ChoicePolicy::Always);
    assert!(settings.inboxes.email_auth_default);
}

#[test]
fn the_profile_is_chosen_and_says_why() {
    for (flags, variables, expected) in [
        (
            vec![],
            vec![DOMAINS],
            "production (SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS is set)",
        ),
        (
            vec!["--smtp-allowed-recipient-domains", "x.test"],
            vec![],
            "production (--smtp-allowed-recipient-domains is set)",
        ),
        (
            vec![],
            vec![DOMAINS, ("SVC_PROFILE", "laptop")],
            "laptop (SVC_PROFILE says so)",
        ),
        (vec!["--profile", "laptop"], vec![DOMAINS], "laptop (--profile says so)"),
        (
            vec!["--profile=production"],
            vec![DOMAINS],
            "production (--profile says so)",
        ),
    ] {
        assert_eq!(settings(&flags, &variables).profile.to_string(), expected);
    }
}

#[test]
fn a_flag_wins_over_its_variable_and_that_over_the_default() {
    let port = |flags: &[&str], variables: &[(&str, &str)]| settings(flags, variables).smtp.listen.unwrap().port;
    assert_eq!(port(&[], &[]), 2525);
    assert_eq!(port(&[], &[("SVC_SMTP_PORT", "26")]), 26);
    assert_eq!(port(&["--smtp-port", "27"], &[("SVC_SMTP_PORT", "26")]), 27);
    assert_eq!(port(&["--smtp-port", "0"], &[]), 0);
}

#[test]
fn defaults_that_are_computed() {
    let inflight = |memory_bytes, variables: &[(&str, &str)]| {
        let machine = Machine {
            memory_bytes,
            ..machine()
        };
        settings_on(&machine, &[], variables).smtp.max_inflight_bytes
    };
    assert_eq!(inflight(GIB, &[]), 268_435_456);
    assert_eq!(inflight(64 * GIB, &[]), 268_435_456);
    assert_eq!(inflight(GIB / 2, &[]), 134_217_728);
    assert_eq!(inflight(1, &[]), 2 * 26_214_400);
    assert_eq!(inflight(1, &[("SVC_SMTP_MAX_MESSAGE_SIZE", "10")]), 20);

    for (name, expected) in [
        ("Mail-1.example.test", "mail-1.example.test"),
        ("a_b", "localhost"),
        ("", "localhost"),
    ] {
        let machine = Machine {
            hostname: name.into(),
            ..machine()
        };
        assert_eq!(settings_on(&machine, &[], &[]).smtp.hostname.as_str(), expected);
    }

    let machine = Machine {
        app_data_writable: true,
        ..machine()
    };
    assert_eq!(settings_on(&machine, &[], &[]).data_path.to_str(), Some("/app/data"));

    let peer = ("SVC_WIRE_PROFILE", "vaultsandbox");
    assert_eq!(settings(&[], &[peer]).inboxes.encryption, ChoicePolicy::Enabled);
    assert_eq!(settings(&[], &[peer, DOMAINS]).inboxes.encryption, ChoicePolicy::Always);

    let allow_http = ("SVC_WEBHOOK_ALLOW_HTTP", "true");
    let private_targets = |variables: &[(&str, &str)]| settings(&[], variables).webhooks.allow_private_targets;
    assert!(!private_targets(&[]));
    assert!(private_targets(&[allow_http]));
    assert!(!private_targets(&[
        allow_http,
        ("SVC_WEBHOOK_ALLOW_PRIVATE_TARGETS", "no")
    ]));
    assert!(private_targets(&[("SVC_WEBHOOK_ALLOW_PRIVATE_TARGETS", "yes")]));
    let aliased = settings(&[], &[("SVC_WEBHOOK_MAX_PER_INBOX", "51")]);
    assert_eq!(aliased.webhooks.max_inbox, 51);

    let short = settings(&[], &[("SVC_LOCAL_INBOX_MAX_TTL", "600")]).inboxes;
    assert_eq!((short.default_ttl_secs, short.max_ttl_secs), (600, 600));
    let throttle = settings(&["--throttle-limit", "9"], &[]).http.throttle;
    assert_eq!(
        throttle,
        Some(Throttle {
            limit: 9,
            per: Duration::from_mins(1)
        })
    );
}

#[test]
fn all_errors_are_named_at_once() {
    let text = errors(
        &["--smtp-port", "65536", "--local-api-key-strict=perhaps"],
        &[
            ("SVC_PROFILE", "production"),
            ("SVC_SMTP_MAX_MESSAGE_SIZE", "25MB"),
            ("SVC_SMTP_PROT", "25"),
            ("SVC_SMTP_TLS_PORT", "465"),
            ("SVC_SERVER_ORIGIN", "http://x.test"),
            ("SVC_LOCAL_API_KEY", "secret-but-too-short"),
            ("SVC_LOCAL_INBOX_DEFAULT_TTL", "700000"),
            ("SVC_SERVER_SIGNATURE_PUBLIC_KEY_PATH", "/k/public"),
            ("SVC_WEBHOOK_ENABLE", "true"),
            ("SVC_LOG_LEVEL", ""),
        ],
    );
    insta::assert_snapshot!(text, @r#"
    SVC_LOG_LEVEL: expected error, warn, info, debug or trace, got ""
    SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS: required in the production profile
    --smtp-port: expected a port from 0 to 65535 (0 takes any free one), or off, got "65536"
    SVC_SMTP_MAX_MESSAGE_SIZE: expected a number from 1 to 268435456, got "25MB"
    SVC_SERVER_ORIGIN: not available in this version
    SVC_LOCAL_API_KEY: expected at least 32 characters
    --local-api-key-strict: expected true, 1, yes, on, false, 0, no or off, got "perhaps"
    SVC_SERVER_SIGNATURE_SECRET_KEY_PATH: required together with SVC_SERVER_SIGNATURE_PUBLIC_KEY_PATH
    SVC_LOCAL_INBOX_DEFAULT_TTL: expected at most 604800, which is SVC_LOCAL_INBOX_MAX_TTL, got "700000"
    SVC_SMTP_TLS_PORT: needs a certificate: name one by SVC_TLS_CERT_PATH and SVC_TLS_KEY_PATH, or have one made by SVC_TLS_SELF_SIGNED=true
    SVC_SMTP_PROT: no such setting; the nearest is SVC_SMTP_PORT
    SVC_WEBHOOK_ENABLE: no such setting; the nearest is SVC_WEBHOOK_ENABLED
    "#);
}

#[test]
fn settings_of_features_that_are_not_built_hold_their_defaults() {
    settings(
        &["--cert-renew-threshold-days=30"],
        &[("SVC_CERT_ENABLED", "0"), ("SVC_SERVER_ORIGIN", "")],
    );
    let given = [
        ("SVC_SERVER_ORIGIN", "http://x.test"),
        ("SVC_CERT_ENABLED", "true"),
        ("SVC_CERT_EMAIL", "a@x.test"),
        ("SVC_CERT_DOMAIN", "x.test"),
        ("SVC_CERT_ADDITIONAL_DOMAINS", "y.test"),
        ("SVC_CERT_ACME_DIRECTORY", "https://x.test/directory"),
        ("SVC_CERT_RENEW_THRESHOLD_DAYS", "31"),
    ];
    let not_built = table::settings().filter(|setting| !setting.is_built);
    let mut not_built: Vec<_> = not_built.map(table::Setting::variable).collect();
    let mut names = given.map(|(name, _)| name.to_owned());
    not_built.sort();
    names.sort();
    assert_eq!(not_built, names);
    for (name, value) in given {
        assert_eq!(
            errors(&[], &[(name, value)]),
            format!("{name}: not available in this version")
        );
    }
    assert_eq!(
        errors(&["--cert-enabled"], &[]),
        "--cert-enabled: not available in this version"
    );
}

#[test]
fn email_authentication_is_one_switch_over_four() {
    assert!(settings(&[], &[("SVC_EMAIL_AUTH_ENABLED", "off")]).email_auth.is_none());
    let auth = settings(&["--email-auth-dkim-enabled=no"], &[]).email_auth.unwrap();
    assert_eq!(
        (auth.spf, auth.dkim, auth.dmarc, auth.reverse_dns),
        (true, false, true, true)
    );
    assert_eq!((auth.timeout, auth.resolver), (Duration::from_secs(5), None));
}

#[test]
fn an_unknown_variable_is_refused_with_the_nearest_name() {
    for (name, nearest) in [
        ("SVC_SMTP_PROT", "SVC_SMTP_PORT"),
        ("SVC_API_KEY", "SVC_LOCAL_API_KEY"),
        ("SVC_LOCAL_APIKEY", "SVC_LOCAL_API_KEY"),
        ("SVC_WEBHOOKS_ENABLED", "SVC_WEBHOOK_ENABLED"),
        ("SVC_smtp_port", "SVC_SMTP_PORT"),
    ] {
        let expected = format!("{name}: no such setting; the nearest is {nearest}");
        assert_eq!(errors(&[], &[(name, "x")]), expected);
    }
    for (name, nearest) in [("SVC_", "SVC_PROFILE"), ("SVC_GATEWAY_MODE", "SVC_DATA_PATH")] {
        let expected = format!("{name}: no such setting, nor one like it (see --help); the nearest name is {nearest}");
        assert_eq!(errors(&[], &[(name, "x")]), expected);
    }
}

#[test]
fn a_setting_of_vaultsandbox_that_has_another_name_here_is_refused_with_that_name() {
    for (name, here) in [
        ("SVC_SMTP_SECURE", "SVC_SMTP_TLS_PORT, a port"),
        ("SVC_SMTP_MAX_MEMORY_MB", "SVC_STORAGE_MAX_BYTES, in bytes"),
        ("SVC_SMTP_MAX_EMAIL_AGE_SECONDS", "SVC_EMAIL_MAX_AGE, in seconds"),
    ] {
        let expected = format!("{name}: no such setting; here it is {here}");
        assert_eq!(errors(&[], &[(name, "x")]), expected);
    }
}

#[test]
fn a_secret_is_in_no_error() {
    let variables = [
        ("SVC_LOCAL_API_KEY", "secret-but-too-short"),
        ("SVC_RSPAMD_PASSWORD", "secret"),
    ];
    assert!(!errors(&[], &variables).contains("secret"));
    assert!(!errors(&["--local-api-key", "secret"], &[]).contains("secret"));
}

#[test]
fn check_config_prints_what_holds_and_where_it_came_from() {
    let key = "secret".repeat(6);
    let variables = [
        ("SVC_LOCAL_API_KEY", key.as_str()),
        ("SVC_SMTP_PORT", "26"),
        ("SVC_LOG_FORMAT", "json"),
        ("SVC_RSPAMD_PASSWORD", "secret"),
    ];
    let text = printed(&["--check-config", "--smtp-port", "27"], &variables);
    assert!(!text.contains("secret"));
    insta::assert_snapshot!(text, @r"
    # profile: laptop (no setting asks for another)
    SVC_PROFILE=laptop  # default
    SVC_WIRE_PROFILE=service  # default
    SVC_DATA_PATH=./data  # default
    SVC_LOG_FORMAT=json  # environment
    SVC_LOG_LEVEL=info  # default
    SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS=restante.test,localhost  # default
    SVC_SMTP_HOST=127.0.0.1  # default
    SVC_SMTP_PORT=27  # flag
    SVC_SMTP_TLS_PORT=off  # default
    SVC_SMTP_MAX_MESSAGE_SIZE=26214400  # default
    SVC_SMTP_MAX_HEADER_SIZE=262144  # default
    SVC_SMTP_MAX_RECIPIENTS=100  # default
    SVC_SMTP_MAX_CONNECTIONS=4000  # default
    SVC_SMTP_MAX_CONNECTIONS_PER_IP=0  # default
    SVC_SMTP_FIRST_COMMAND_TIMEOUT=30000  # default
    SVC_SMTP_SESSION_TIMEOUT=300000  # default
    SVC_SMTP_DATA_TIMEOUT=180000  # default
    SVC_SMTP_MAX_SESSION_DURATION=1200000  # default
    SVC_SMTP_MAX_INFLIGHT_BYTES=268435456  # default
    SVC_SMTP_BANNER=restante test mail server (receive-only)  # default
    SVC_SMTP_HOSTNAME=mail-1.example.test  # default
    SVC_SMTP_AUTH=off  # default
    SVC_SMTP_RATE_LIMIT_ENABLED=false  # default
    SVC_SMTP_RATE_LIMIT_MAX_EMAILS=500  # default
    SVC_SMTP_RATE_LIMIT_DURATION=900  # default
    SVC_SMTP_PROXY_PROTOCOL_NETWORKS=(empty)  # default
    SVC_TLS_CERT_PATH=(unset)  # default
    SVC_TLS_KEY_PATH=(unset)  # default
    SVC_TLS_SELF_SIGNED=false  # default
    SVC_TLS_HANDSHAKE_TIMEOUT=10000  # default
    SVC_SERVER_HOST=127.0.0.1  # default
    SVC_SERVER_PORT=8080  # default
    SVC_SERVER_HTTPS_ENABLED=false  # default
    SVC_SERVER_HTTPS_PORT=8443  # default
    SVC_SERVER_MAX_CONNECTIONS=16384  # default
    SVC_SERVER_MAX_STREAMS=12000  # default
    SVC_THROTTLE_LIMIT=0  # default
    SVC_THROTTLE_TTL=60000  # default
    SVC_HTTP_MAX_INFLIGHT_BYTES=268435456  # default
    SVC_LOCAL_API_KEY=(hidden)  # environment
    SVC_LOCAL_API_KEY_STRICT=false  # default
    SVC_SSE_CONSOLE_ENABLED=true  # default
    SVC_SDK_DEVELOPMENT=false  # default
    SVC_LOCAL_INBOX_MAX_TTL=604800  # default
    SVC_LOCAL_INBOX_DEFAULT_TTL=3600  # default
    SVC_LOCAL_ALLOW_CLEAR_ALL_INBOXES=true  # default
    SVC_INBOX_ALIAS_RANDOM_BYTES=4  # default
    SVC_ENCRYPTION_ENABLED=disabled  # default
    SVC_PERSISTENCE_POLICY=enabled  # default
    SVC_INBOX_MAX_EMAILS=10000  # default
    SVC_STORAGE_MAX_BYTES=4294967296  # default
    SVC_EMAIL_MAX_AGE=0  # default
    SVC_STORAGE_MIN_FREE_BYTES=268435456  # default
    SVC_SERVER_SIGNATURE_SECRET_KEY_PATH=(unset)  # default
    SVC_SERVER_SIGNATURE_PUBLIC_KEY_PATH=(unset)  # default
    SVC_EMAIL_AUTH_ENABLED=true  # default
    SVC_EMAIL_AUTH_SPF_ENABLED=true  # default
    SVC_EMAIL_AUTH_DKIM_ENABLED=true  # default
    SVC_EMAIL_AUTH_DMARC_ENABLED=true  # default
    SVC_EMAIL_AUTH_REVERSE_DNS_ENABLED=true  # default
    SVC_EMAIL_AUTH_INBOX_DEFAULT=false  # default
    SVC_EMAIL_AUTH_TIMEOUT=5000  # default
    SVC_DNS_RESOLVER=(unset)  # default
    SVC_WEBHOOK_ENABLED=true  # default
    SVC_WEBHOOK_MAX_GLOBAL=100  # default
    SVC_WEBHOOK_MAX_INBOX=50  # default
    SVC_WEBHOOK_TIMEOUT=10000  # default
    SVC_WEBHOOK_MAX_RETRIES=5  # default
    SVC_WEBHOOK_MAX_RETRIES_PER_WEBHOOK=100  # default
    SVC_WEBHOOK_MAX_HEADERS=50  # default
    SVC_WEBHOOK_MAX_HEADER_VALUE_LEN=1000  # default
    SVC_WEBHOOK_MAX_BODY_BYTES=65536  # default
    SVC_WEBHOOK_ALLOW_HTTP=false  # default
    SVC_WEBHOOK_ALLOW_PRIVATE_TARGETS=false  # default
    SVC_WEBHOOK_REQUIRE_AUTH_DEFAULT=false  # default
    SVC_CHAOS_ENABLED=false  # default
    SVC_CHAOS_SEED=(unset)  # default
    SVC_SPAM_ANALYSIS_ENABLED=false  # default
    SVC_SPAM_ANALYSIS_INBOX_DEFAULT=true  # default
    SVC_RSPAMD_URL=http://localhost:11333  # default
    SVC_RSPAMD_TIMEOUT_MS=5000  # default
    SVC_RSPAMD_PASSWORD=(hidden)  # environment
    ");
}

#[test]
fn check_config_names_errors_as_a_start_does() {
    let variables = [("SVC_SMTP_PORT", "x")];
    assert_eq!(errors(&["--check-config"], &variables), errors(&[], &variables));
}

#[test]
fn the_reference_page_is_printed_whatever_the_environment() {
    assert_eq!(
        printed(&["--settings-reference"], &[("SVC_X", "")]),
        report::reference_page()
    );
}

#[test]
fn a_value_that_is_not_unicode_is_malformed() {
    use std::os::unix::ffi::OsStringExt as _;
    let environment = [("SVC_DATA_PATH".into(), OsString::from_vec(vec![b'/', 0xff]))];
    let error = read(["server".into()], environment, &machine()).unwrap_err();
    assert_eq!(error.to_string(), "SVC_DATA_PATH: expected a path, got \"/\u{fffd}\"");
}
