//! What else an inbox is created with: persistence, no end, a spam filter.

use restante_testkit::receiver::{Answer, Receiver};
use serde_json::json;

use crate::desk::Desk;

#[test]
fn an_inbox_without_an_end_never_expires() {
    let desk = Desk::with_settings(&[("WIRE_PROFILE", "vaultsandbox")]);
    for mode in ["--plain", "--encrypted"] {
        let created = desk.run(["inbox", "create", mode, "--never-expires", "--json"]);
        let created = created.expect(0).json();
        assert_eq!(created["expiresAt"], json!(null), "{created}");
        assert_eq!(created["persistent"], true, "{created}");
        let address = created["emailAddress"].as_str().unwrap();
        for command in [&["inbox", "list"][..], &["inbox", "info"]] {
            let shown = desk.run(command).expect(0);
            assert!(shown.out.contains(address) && shown.out.contains("never"), "{shown:?}");
        }
        // The key is kept, and an export is taken in again.
        let exported = desk.run(["inbox", "export", "--out", "-"]).expect(0);
        assert_eq!(exported.json()["expiresAt"], "9999-12-31T23:59:59.999Z");
        std::fs::write(desk.path("export.json"), &exported.out).unwrap();
        let imported = desk.run(["inbox", "import", "export.json", "--replace"]).expect(0);
        assert!(!imported.err.contains("warning"), "{imported:?}");
        let _ = desk.deliver(address, "Hello", "x");
    }
}

#[test]
fn what_is_asked_for_is_told() {
    let desk = Desk::with_settings(&[("SPAM_ANALYSIS_ENABLED", "true"), ("RSPAMD_URL", "http://127.0.0.1:1")]);
    let cases: [(&[&str], &[&str], &[&str]); 3] = [
        (&[], &["Spam filter"], &["Persistence", "ephemeral"]),
        (&["--ephemeral", "--no-spam-analysis"], &["ephemeral"], &["Spam filter"]),
        (
            &["--persistent", "--spam-analysis"],
            &["Spam filter", "asked"],
            &["ephemeral"],
        ),
    ];
    for (flags, told, untold) in cases {
        let created = desk.run(["inbox", "create"].iter().chain(flags)).expect(0);
        assert!(
            told.iter().all(|word| created.out.contains(word)),
            "{flags:?}: {created:?}"
        );
        assert!(
            !untold.iter().any(|word| created.out.contains(word)),
            "{flags:?}: {created:?}"
        );
    }
    let info = desk.run(["inbox", "info", "--json"]).expect(0).json();
    assert_eq!(
        (&info["persistent"], &info["spamAnalysis"]),
        (&json!(true), &json!(true))
    );
    for (one, other) in [
        ("--persistent", "--ephemeral"),
        ("--never-expires", "--ephemeral"),
        ("--spam-analysis", "--no-spam-analysis"),
    ] {
        let _ = desk.run(["inbox", "create", one, other]).expect_error(&[other]);
    }
    let _ = desk
        .run(["inbox", "create", "--never-expires", "--ttl", "10m"])
        .expect_error(&["--ttl"]);
}

#[test]
fn what_the_server_passed_over_is_told_with_the_setting_that_decides() {
    let service: &[(&str, &str)] = &[];
    let never = &[("WIRE_PROFILE", "vaultsandbox"), ("PERSISTENCE_POLICY", "never")];
    let always = &[("PERSISTENCE_POLICY", "always"), ("EMAIL_AUTH_ENABLED", "false")];
    let sealed = &[("WIRE_PROFILE", "vaultsandbox"), ("ENCRYPTION_ENABLED", "always")];
    let bare = &[("WIRE_PROFILE", "vaultsandbox"), ("ENCRYPTION_ENABLED", "never")];
    for (settings, cases) in [
        (
            service,
            &[
                (&["--never-expires"][..], &["it expires", "SVC_WIRE_PROFILE"][..]),
                (&["--spam-analysis"], &["not scored", "SVC_SPAM_ANALYSIS_ENABLED"]),
                (&["--persistent", "--no-spam-analysis", "--email-auth", "--plain"], &[]),
                (&["--ephemeral", "--no-email-auth", "--encrypted"], &[]),
                (&[], &[]),
            ][..],
        ),
        (
            never,
            &[
                (
                    &["--never-expires"],
                    &["it expires", "ephemeral", "SVC_PERSISTENCE_POLICY"],
                ),
                (&["--persistent"], &["it is ephemeral", "SVC_PERSISTENCE_POLICY"]),
                (&["--ephemeral"], &[]),
                (&[], &[]),
            ],
        ),
        (
            always,
            &[
                (&["--ephemeral"], &["it is persistent", "SVC_PERSISTENCE_POLICY"]),
                (&["--email-auth"], &["not checked", "SVC_EMAIL_AUTH_ENABLED"]),
                (&["--persistent", "--no-email-auth"], &[]),
            ],
        ),
        (
            sealed,
            &[(&["--plain"], &["it is encrypted", "SVC_ENCRYPTION_ENABLED"])],
        ),
        (bare, &[(&["--encrypted"], &["it is plain", "SVC_ENCRYPTION_ENABLED"])]),
    ] {
        let desk = Desk::with_settings(settings);
        for (flags, words) in cases {
            let create = |form: &str| desk.run(["inbox", "create", form].iter().chain(*flags)).expect(0);
            let created = create("--json");
            assert!(created.json()["emailAddress"].is_string(), "{created:?}");
            assert_eq!(created.err, create("--quiet").err, "{flags:?}");
            assert_eq!(
                created.err.lines().count(),
                usize::from(!words.is_empty()),
                "{flags:?}: {created:?}"
            );
            assert!(
                words.iter().all(|word| created.err.contains(word)),
                "{flags:?}: {created:?}"
            );
        }
    }
}

#[test]
fn the_verdict_of_the_spam_filter_is_shown() {
    let filter = Receiver::start();
    let said = json!({
        "score": 16.5, "required_score": 15.0, "action": "reject",
        "symbols": { "GTUBE": { "name": "GTUBE", "score": 16.5 } },
    });
    filter.always(Answer::status(200).body(said.to_string()));
    let url = filter.url("");
    let desk = Desk::with_settings(&[("SPAM_ANALYSIS_ENABLED", "true"), ("RSPAMD_URL", &url)]);
    for mode in ["--plain", "--encrypted"] {
        let address = desk.create_inbox(&[mode]);
        let _ = desk.deliver(&address, "Buy", "now");
        let shown = desk.run(["email", "view"]).expect(0);
        assert!(shown.out.contains("yes, 16.5 of 15 (GTUBE)"), "{shown:?}");
        let email = desk.run(["email", "view", "--json"]).expect(0).json();
        assert_eq!(email["parsed"]["spamAnalysis"]["isSpam"], true, "{email}");
    }
}

#[test]
fn the_server_says_what_it_can_do() {
    let desk = Desk::with_settings(&[("CHAOS_ENABLED", "true"), ("PERSISTENCE_POLICY", "disabled")]);
    let shown = desk.run(["server", "info"]).expect(0).out;
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("Chaos").ends_with("switched on"), "{shown}");
    assert!(line("Spam filter").ends_with("switched off"), "{shown}");
    assert!(line("Persistence").contains("disabled: ephemeral unless"), "{shown}");
}

#[test]
fn the_server_says_what_it_counts() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let _ = desk.deliver(&address, "Hello", "x");
    let _ = desk.run(["send", "--to", "nobody@restante.test"]).expect(2);
    let counted = desk.run(["server", "metrics", "--json"]).expect(0).json();
    assert_eq!(counted["metrics"]["emails"]["received"], 1, "{counted}");
    assert_eq!(counted["storage"]["storedEmails"], 1, "{counted}");
    let shown = desk.run(["server", "metrics"]).expect(0).out;
    for words in [
        "1 there, 1 created",
        "1 taken",
        "1 (1 no such inbox)",
        "1 there, 0 evicted",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}
