//! Starts that work.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::daemon::{Daemon, command, run};
use crate::http;
use crate::peer::Peer;

#[test]
fn nothing_set_is_a_tool_for_the_laptop() {
    let home = tempfile::tempdir().unwrap();
    let mut check = command(home.path(), &[]);
    check
        .env_remove("SVC_SMTP_PORT")
        .env_remove("SVC_SERVER_PORT")
        .arg("--check-config");
    let checked = run(check);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    for line in [
        "# profile: laptop (no setting asks for another)",
        "SVC_SMTP_HOST=127.0.0.1  # default",
        "SVC_SMTP_PORT=2525  # default",
        "SVC_SERVER_HOST=127.0.0.1  # default",
        "SVC_SERVER_PORT=8080  # default",
        "SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS=restante.test,localhost  # default",
        "SVC_ENCRYPTION_ENABLED=disabled  # default",
    ] {
        assert!(
            checked.said.lines().any(|said| said == line),
            "{line} in\n{}",
            checked.said
        );
    }
    assert_eq!(
        fs::read_dir(home.path()).unwrap().count(),
        0,
        "a check leaves nothing behind"
    );
}

#[test]
fn it_prints_addresses_and_the_place_of_the_key_and_works_at_once() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    assert_eq!(server.get("/api/check-key"), json!({ "ok": true }));
    assert_eq!(
        server.get("/api/server-info")["allowedDomains"],
        json!(["restante.test", "localhost"])
    );
    server.create("bob@restante.test", None);
    let ids = Peer::greeted(server.smtp).deliver(&["bob@restante.test"], b"Subject: first\r\n\r\nhello\r\n");
    assert_eq!(server.emails("bob@restante.test")[0]["id"], ids[0].as_str());

    let (smtp, http, key) = (server.smtp, server.http, server.key.clone());
    let ended = server.stop();
    let expected = format!(
        "restante {} is up\n  profile  laptop (no setting asks for another)\n  SMTP     {smtp}\n  HTTP     http://{http}\n  \
         data     ./data\n  API key  in ./data/.api-key (just made)\n",
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(ended.said, expected);
    assert!(!ended.logged.contains(&key), "{}", ended.logged);
    let mode = |name: &str| fs::metadata(home.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode("data"), mode("data/.api-key"), mode("data/signing-key")),
        (0o700, 0o600, 0o600)
    );
}

#[test]
fn the_discovery_file_is_there_while_it_runs() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("run/restante/server.json");
    let server = Daemon::start(home.path(), &[]);
    let content: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let data = fs::canonicalize(home.path()).unwrap().join("data");
    assert_eq!(content["url"], format!("http://{}", server.http));
    assert_eq!(content["smtp"], server.smtp.to_string());
    assert_eq!(content["pid"], server.pid().as_raw_nonzero().get());
    let key_file = fs::canonicalize(content["apiKeyFile"].as_str().unwrap()).unwrap();
    assert_eq!(key_file, data.join(".api-key"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    server.stop();
    assert!(!file.exists(), "removed at exit");

    Daemon::start(home.path(), &[]).kill();
    assert!(file.exists(), "nobody can remove it after kill -9");
    let server = Daemon::start(home.path(), &[]);
    let content: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(
        content["pid"],
        server.pid().as_raw_nonzero().get(),
        "the next start replaces it"
    );
}

#[test]
fn domains_that_are_set_make_a_production_server() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("mail");
    let variables = [
        ("SMTP_ALLOWED_RECIPIENT_DOMAINS", "example.test"),
        ("DATA_PATH", data.to_str().unwrap()),
        ("SMTP_HOST", "127.0.0.1"),
        ("SERVER_HOST", "127.0.0.1"),
    ];
    let server = Daemon::start(home.path(), &variables);
    let info = server.get("/api/server-info");
    assert_eq!(info["encryptionPolicy"], "always");
    assert_eq!(info["allowedDomains"], json!(["example.test"]));
    let ended = server.stop();
    let first = ended.logged.lines().next().unwrap();
    assert!(
        first.ends_with("profile production (SVC_SMTP_ALLOWED_RECIPIENT_DOMAINS is set)"),
        "{first}"
    );

    let laptop = [&variables[..], &[("PROFILE", "laptop")]].concat();
    let server = Daemon::start(home.path(), &laptop);
    assert_eq!(server.get("/api/server-info")["encryptionPolicy"], "disabled");
}

#[test]
fn a_stranger_on_the_smtp_port_is_logged_once_and_helpfully() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    let mut browser = Peer::connect(server.smtp).unwrap();
    browser
        .send(b"GET / HTTP/1.1\r\nHost: mail.test\r\nX-A: b\r\n\r\n")
        .unwrap();
    let said = browser.rest();
    assert_eq!(said.lines().count(), 2, "greeting and answer: {said}");
    assert!(
        said.ends_with("421 4.7.0 This port speaks SMTP, not HTTP\r\n"),
        "{said}"
    );

    let mut hello = Peer::connect(server.smtp).unwrap();
    hello.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").unwrap();
    let said = hello.rest();
    assert!(
        said.ends_with("421 4.7.0 This port begins in plain text, not with TLS\r\n"),
        "{said}"
    );
    let ended = server.stop();
    for line in ["HTTP on the SMTP port", "TLS on the plain SMTP port"] {
        assert_eq!(ended.logged.matches(line).count(), 1, "{}", ended.logged);
    }
}

#[test]
fn flags_win_over_variables_and_help_and_version_end() {
    let home = tempfile::tempdir().unwrap();
    let mut checked = command(home.path(), &[("SMTP_PORT", "2626"), ("LOG_FORMAT", "json")]);
    checked.args(["--check-config", "--smtp-port", "2727"]);
    let checked = run(checked);
    assert!(
        checked.said.contains("SVC_SMTP_PORT=2727  # flag\n"),
        "{}",
        checked.said
    );
    assert!(
        checked.said.contains("SVC_LOG_FORMAT=json  # environment\n"),
        "{}",
        checked.said
    );
    for flag in ["--help", "--version"] {
        let mut command = command(home.path(), &[]);
        command.arg(flag);
        let ended = run(command);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        assert!(
            ended.said.contains(env!("CARGO_PKG_VERSION")) || ended.said.contains("SVC_SMTP_PORT"),
            "{ended:?}"
        );
    }
}

#[test]
fn the_loopback_default_listens_nowhere_else() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    assert!(server.smtp.ip().is_loopback() && server.http.ip().is_loopback());
    assert!(TcpStream::connect(("127.0.0.2", server.http.port())).is_err());
    let url = format!("http://{}/api/check-key", server.http);
    let rebound = http::send("GET", &url, &[("X-API-Key", &server.key), ("Host", "evil.test")], b"");
    assert!(
        (400..500).contains(&rebound.status),
        "a foreign Host header: {}",
        rebound.status
    );
}
