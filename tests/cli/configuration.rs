//! Flags come before `RESTANTE_*`, those before the configuration file, and that before the server of this machine.

use std::fs;
use std::sync::Arc;

use restante_model::SystemClock;
use restante_testkit::receiver::Receiver;

use crate::desk::Desk;
use crate::server::Server;

#[test]
fn the_first_that_names_a_server_decides() {
    let desk = Desk::new();
    let servers: Vec<_> = (0..3).map(|_| Server::start(&[], Arc::new(SystemClock))).collect();
    let [filed, spoken, flagged] = [0, 1, 2].map(|number| &servers[number]);
    for (server, name) in [
        (desk.server(), "found"),
        (filed, "filed"),
        (spoken, "spoken"),
        (flagged, "flagged"),
    ] {
        // Each server has an inbox that says which one it is.
        let address = format!("{name}@restante.test");
        let create = [
            "inbox",
            "create",
            &address,
            "--url",
            &server.url(),
            "--api-key",
            &server.key(),
        ];
        let _ = desk.run(create).expect(0);
    }
    let asked = |environment: &[(&str, &str)], flags: &[&str]| {
        let arguments: Vec<_> = ["inbox", "list", "--json"].iter().chain(flags).copied().collect();
        let listed = desk.run_with(environment, &arguments).expect(0).json();
        let inboxes = listed["inboxes"].as_array().unwrap().clone();
        assert_eq!(inboxes.len(), 1, "{inboxes:?}");
        let address = inboxes[0]["emailAddress"].as_str().unwrap();
        address.split('@').next().unwrap().to_owned()
    };
    assert_eq!(asked(&[], &[]), "found");

    let key_file = filed.key_file.to_str().unwrap();
    let text = format!("url = \"{}\"\napi_key_file = \"{key_file}\"\n", filed.url());
    fs::create_dir_all(desk.path(".config/restante")).unwrap();
    fs::write(desk.path(".config/restante/config.toml"), &text).unwrap();
    assert_eq!(asked(&[], &[]), "filed");

    let (url, key) = (spoken.url(), spoken.key());
    let environment = [("RESTANTE_URL", url.as_str()), ("RESTANTE_API_KEY", key.as_str())];
    assert_eq!(asked(&environment, &[]), "spoken");

    let (url, key) = (flagged.url(), flagged.key_file.to_str().unwrap());
    assert_eq!(asked(&environment, &["--url", &url, "--api-key-file", key]), "flagged");
}

#[test]
fn a_key_that_begins_with_a_hyphen_is_a_key() {
    let desk = Desk::with_settings(&[("LOCAL_API_KEY", "-key-0123456789-0123456789-0123456789")]);
    let url = desk.server().url();
    let listed = desk.run([
        "inbox",
        "list",
        "--url",
        &url,
        "--api-key",
        "-key-0123456789-0123456789-0123456789",
    ]);
    let _ = listed.expect(0);
}

#[test]
fn a_configuration_file_that_is_wrong_is_named_with_its_fault() {
    let desk = Desk::new();
    let file = desk.path("mine.toml");
    let path = file.to_str().unwrap();
    for (text, word) in [
        ("urll = \"http://127.0.0.1:1\"", "urll"),
        ("url = 5", "url"),
        ("url = \"http", "line 1"),
        ("strategy = \"pigeon\"", "pigeon"),
    ] {
        fs::write(&file, text).unwrap();
        let _ = desk
            .run(["inbox", "list", "--config", path])
            .expect_error(&[path, word]);
        let _ = desk
            .run_with(&[("RESTANTE_CONFIG", path)], &["inbox", "list"])
            .expect_error(&[path, word]);
    }
    let missing = desk.path("missing.toml");
    let missing = missing.to_str().unwrap();
    let _ = desk
        .run(["inbox", "list", "--config", missing])
        .expect_error(&[missing]);
}

#[test]
fn values_that_cannot_be_used_are_named() {
    let desk = Desk::new();
    for (name, value) in [
        ("RESTANTE_URL", "ftp://127.0.0.1"),
        ("RESTANTE_STRATEGY", "pigeon"),
        ("RESTANTE_API_KEY_FILE", "/nowhere/key"),
        ("RESTANTE_CA_FILE", "/nowhere/ca.pem"),
    ] {
        let _ = desk
            .run_with(&[(name, value)], &["inbox", "list"])
            .expect_error(&[value]);
    }
}

#[test]
fn a_key_goes_only_to_the_server_that_is_named_beside_it() {
    let desk = Desk::without_server();
    let [team, other] = [(); 2].map(|()| Receiver::start());
    let text = format!("url = \"{}\"\napi_key = \"key-of-the-team\"\n", team.url(""));
    fs::write(desk.path("mine.toml"), text).unwrap();
    let url = other.url("");
    let refused = desk.run(["inbox", "list", "--config", "mine.toml", "--url", &url]);
    let refused = refused.expect_error(&[&url, "mine.toml, line 2: api_key", &team.url("")]);
    assert!(!refused.err.contains("key-of-the-team"), "{refused:?}");
    assert_eq!(other.connections(), 0);
}

#[test]
fn a_variable_that_means_nothing_is_warned_of() {
    let desk = Desk::new();
    let ran = desk.run_with(&[("RESTANTE_INBX", "a@restante.test")], &["inbox", "list", "--json"]);
    let ran = ran.expect(0);
    assert_eq!(
        ran.err,
        "warning: RESTANTE_INBX means nothing; the nearest is RESTANTE_INBOX\n"
    );
    assert!(ran.json()["inboxes"].is_array());
}

#[test]
fn an_inbox_in_use_does_not_hide_the_one_that_is_named() {
    let desk = Desk::new();
    let create = |environment: &[(&str, &str)], address| {
        let ended = desk.run_with(environment, &["inbox", "create", address]).expect(0);
        ended.err
    };
    assert!(create(&[], "one@restante.test").contains("It is the inbox in use: `restante wait`"));
    let named = [("RESTANTE_INBOX", "one@restante.test")];
    let told = create(&named, "two@restante.test");
    assert!(told.contains("RESTANTE_INBOX names one@restante.test."), "{told}");
    let meant = desk.run_with(&named, &["inbox", "info", "--json"]).expect(0).json();
    assert_eq!(meant["emailAddress"], "one@restante.test");
}
