//! Rules between settings, and what a certificate changes.

use super::*;

#[test]
fn rules_between_settings() {
    for (variables, expected) in [
        (
            vec![("SVC_PROFILE", "production")],
            "SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS: required in the production profile",
        ),
        (
            vec![("SVC_SERVER_SIGNATURE_SECRET_KEY_PATH", "/s")],
            "SVC_SERVER_SIGNATURE_PUBLIC_KEY_PATH: required together with SVC_SERVER_SIGNATURE_SECRET_KEY_PATH",
        ),
        (
            vec![("SVC_SERVER_SIGNATURE_PUBLIC_KEY_PATH", "/p")],
            "SVC_SERVER_SIGNATURE_SECRET_KEY_PATH: required together with SVC_SERVER_SIGNATURE_PUBLIC_KEY_PATH",
        ),
        (
            vec![("SVC_LOCAL_API_KEY_STRICT", "true")],
            "SVC_LOCAL_API_KEY: required since SVC_LOCAL_API_KEY_STRICT is true",
        ),
        (
            vec![
                ("SVC_LOCAL_INBOX_MAX_TTL", "600"),
                ("SVC_LOCAL_INBOX_DEFAULT_TTL", "601"),
            ],
            "SVC_LOCAL_INBOX_DEFAULT_TTL: expected at most 600, which is SVC_LOCAL_INBOX_MAX_TTL, got \"601\"",
        ),
        (
            vec![
                ("SVC_SMTP_MAX_INFLIGHT_BYTES", "1999"),
                ("SVC_SMTP_MAX_MESSAGE_SIZE", "1000"),
            ],
            "SVC_SMTP_MAX_INFLIGHT_BYTES: expected at least 2000, which is twice SVC_SMTP_MAX_MESSAGE_SIZE, got \"1999\"",
        ),
        (
            vec![("SVC_WEBHOOK_MAX_INBOX", "50"), ("SVC_WEBHOOK_MAX_PER_INBOX", "50")],
            "SVC_WEBHOOK_MAX_PER_INBOX: the same setting as SVC_WEBHOOK_MAX_INBOX; give one of them",
        ),
        (
            vec![("SVC_SMTP_PORT", "off")],
            "SVC_SMTP_PORT: expected a port, since SVC_SMTP_TLS_PORT is off, got \"off\"",
        ),
        (
            vec![("SVC_TLS_CERT_PATH", "/c"), ("SVC_SMTP_TLS_PORT", "465")],
            "SVC_TLS_KEY_PATH: required together with SVC_TLS_CERT_PATH",
        ),
        (
            vec![("SVC_TLS_KEY_PATH", "/k")],
            "SVC_TLS_CERT_PATH: required together with SVC_TLS_KEY_PATH",
        ),
        (
            vec![
                ("SVC_TLS_CERT_PATH", "/c"),
                ("SVC_TLS_KEY_PATH", "/k"),
                ("SVC_TLS_SELF_SIGNED", "true"),
            ],
            "SVC_TLS_SELF_SIGNED: not together with SVC_TLS_CERT_PATH; give one of them",
        ),
        (
            vec![("SVC_SMTP_TLS_PORT", "0")],
            "SVC_SMTP_TLS_PORT: needs a certificate: name one by SVC_TLS_CERT_PATH and SVC_TLS_KEY_PATH, or have one made by SVC_TLS_SELF_SIGNED=true",
        ),
        (
            vec![("SVC_SERVER_HTTPS_ENABLED", "true"), DOMAINS],
            "SVC_SERVER_HTTPS_ENABLED: needs a certificate: name one by SVC_TLS_CERT_PATH and SVC_TLS_KEY_PATH, or have one made by SVC_TLS_SELF_SIGNED=true",
        ),
        (
            vec![("SVC_SMTP_PORT", "8080")],
            "SVC_SERVER_PORT: listens on 127.0.0.1:8080 as SVC_SMTP_PORT does; each needs a port of its own",
        ),
        (
            vec![
                ("SVC_TLS_SELF_SIGNED", "true"),
                ("SVC_SMTP_TLS_PORT", "465"),
                ("SVC_SMTP_PORT", "465"),
                ("SVC_SERVER_HTTPS_ENABLED", "true"),
                ("SVC_SERVER_HTTPS_PORT", "8080"),
            ],
            "SVC_SMTP_TLS_PORT: listens on 127.0.0.1:465 as SVC_SMTP_PORT does; each needs a port of its own\n\
             SVC_SERVER_HTTPS_PORT: listens on 127.0.0.1:8080 as SVC_SERVER_PORT does; each needs a port of its own",
        ),
        // A rule is silent while one of its settings is wrong in itself.
        (
            vec![
                ("SVC_LOCAL_INBOX_MAX_TTL", "x"),
                ("SVC_LOCAL_INBOX_DEFAULT_TTL", "700000"),
            ],
            "SVC_LOCAL_INBOX_MAX_TTL: expected a number from 60 to 31536000, got \"x\"",
        ),
        (
            vec![("SVC_TLS_SELF_SIGNED", "x"), ("SVC_SMTP_TLS_PORT", "465")],
            "SVC_TLS_SELF_SIGNED: expected true, 1, yes, on, false, 0, no or off, got \"x\"",
        ),
        (
            vec![("SVC_SMTP_TLS_PORT", "x"), ("SVC_SMTP_PORT", "off")],
            "SVC_SMTP_TLS_PORT: expected a port from 0 to 65535 (0 takes any free one), or off, got \"x\"",
        ),
    ] {
        assert_eq!(errors(&[], &variables), expected);
    }
}

#[test]
fn a_certificate_opens_listeners() {
    let files = [("SVC_TLS_CERT_PATH", "/c.pem"), ("SVC_TLS_KEY_PATH", "/k.pem")];
    let own = [("SVC_TLS_SELF_SIGNED", "true")];
    for certificate in [&files[..], &own[..]] {
        let of = |flags: &[&str], variables: &[(&str, &str)]| {
            listeners(&settings(flags, &[certificate, variables].concat()))
        };
        assert_eq!(of(&[], &[]), ["127.0.0.1:2525", "off", "127.0.0.1:8080", "off"]);
        assert_eq!(of(&[], &[DOMAINS]), ["[::]:25", "off", "[::]:80", "[::]:443"]);
        let https_off = ("SVC_SERVER_HTTPS_ENABLED", "false");
        assert_eq!(of(&[], &[DOMAINS, https_off]), ["[::]:25", "off", "[::]:80", "off"]);
        assert_eq!(
            of(&["--server-https-enabled", "--smtp-port=off", "--smtp-tls-port=0"], &[]),
            ["off", "127.0.0.1:0", "127.0.0.1:8080", "127.0.0.1:8443"]
        );
        assert_eq!(
            of(&["--smtp-host=localhost", "--smtp-tls-port=465"], &[])[..2],
            ["localhost:2525", "localhost:465"]
        );
    }
}

#[test]
fn listeners_may_have_one_port_on_two_addresses_and_any_free_one_twice() {
    for variables in [
        vec![("SVC_SMTP_PORT", "8080"), ("SVC_SMTP_HOST", "::1")],
        vec![("SVC_SMTP_PORT", "0"), ("SVC_SERVER_PORT", "0")],
        // There is no such listener.
        vec![("SVC_SMTP_PORT", "8443")],
    ] {
        settings(&[], &variables);
    }
}

/// The files of a certificate are no settings, but a check that says nothing of them would be worth little.
#[test]
fn a_check_reads_the_certificate_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("both.pem");
    let variables = [
        ("SVC_TLS_CERT_PATH", path.to_str().unwrap()),
        ("SVC_TLS_KEY_PATH", path.to_str().unwrap()),
    ];
    let outcome = invoke(&["--check-config"], &variables, &machine());
    assert!(matches!(outcome, Err(StartError::Certificate(_))), "{outcome:?}");

    let pair = rcgen::generate_simple_self_signed(["a.test".to_owned()]).unwrap();
    std::fs::write(&path, pair.cert.pem() + &pair.signing_key.serialize_pem()).unwrap();
    assert!(printed(&["--check-config"], &variables).contains("SVC_TLS_CERT_PATH="));
    // Nothing is made by a check.
    assert!(printed(&["--check-config"], &[("SVC_TLS_SELF_SIGNED", "true")]).contains("SVC_TLS_SELF_SIGNED=true"));
}
