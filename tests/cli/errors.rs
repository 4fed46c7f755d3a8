//! Errors say what to do next, on the standard error, with exit code 2.

use std::sync::Arc;
use std::time::Duration;

use restante_model::{Clock as _, SystemClock};
use restante_testkit::FakeClock;
use restante_testkit::receiver::{Answer, Receiver};

use crate::desk::Desk;
use crate::server::Server;

#[test]
fn without_a_server_it_is_said_how_to_start_or_name_one() {
    let desk = Desk::without_server();
    let commands: [&[&str]; 6] = [
        &["inbox", "create"],
        &["inbox", "list"],
        &["email", "list"],
        &["send", "--to", "a@restante.test"],
        &["webhook", "list"],
        &["server", "info"],
    ];
    for command in commands {
        let _ = desk.run(command).expect_error(&["RESTANTE_URL", "--url"]);
        let _ = desk
            .run(command.iter().chain(&["--json"]))
            .expect_error(&["RESTANTE_URL"]);
    }
}

#[test]
fn a_server_that_does_not_answer_is_named() {
    let desk = Desk::without_server();
    // Nobody listens on a port that was given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{port}");
    let asked = desk.run(["inbox", "list", "--url", &url, "--api-key", "x"]);
    let _ = asked.expect_error(&[&url]);
}

#[test]
fn a_server_that_was_killed_is_told_from_none() {
    let desk = Desk::without_server();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    let file = desk.path(".local/state/restante/server.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let stale = format!(
        r#"{{"url":"http://127.0.0.1:1","apiKeyFile":"/none","pid":{}}}"#,
        child.id()
    );
    std::fs::write(&file, stale).unwrap();
    let _ = desk.run(["inbox", "list"]).expect_error(&["RESTANTE_URL"]);
}

#[test]
fn a_wrong_key_is_refused_and_not_repeated() {
    let desk = Desk::new();
    let wrong = "wrong-key-0123456789-0123456789-0123456789";
    let refused = desk
        .run(["inbox", "list", "--api-key", wrong])
        .expect_error(&["API key", "RESTANTE_API_KEY"]);
    assert!(!refused.err.contains(wrong), "{refused:?}");
}

#[test]
fn an_inbox_that_is_not_there_is_named() {
    let desk = Desk::new();
    let nobody = "nobody@restante.test";
    let commands: [&[&str]; 5] = [
        &["email", "list", "--inbox", nobody],
        &["email", "view", "--inbox", nobody],
        &["inbox", "info", nobody],
        &["inbox", "use", nobody],
        &["watch", nobody],
    ];
    for command in commands {
        let _ = desk.run(command).expect_error(&[nobody]);
    }
    let _ = desk.run(["email", "list"]).expect_error(&["restante inbox create"]);
}

#[test]
fn an_inbox_that_has_expired_is_said_to_have() {
    let clock = Arc::new(FakeClock::at(SystemClock.now()));
    let desk = Desk::with_clock(&[], clock.clone());
    let address = desk.create_inbox(&["--ttl", "60", "--encrypted"]);
    clock.advance(Duration::from_secs(61));
    for command in [
        &["email", "list"][..],
        &["wait"],
        &["email", "view"],
        &["inbox", "info"],
    ] {
        let _ = desk.run(command).expect_error(&[&address]);
    }
    let refused = desk.run(["send"]).expect_error(&["550", "5.1.1"]);
    assert!(refused.err.contains(&address), "{refused:?}");
}

#[test]
fn an_email_that_is_not_there_is_named() {
    let desk = Desk::new();
    let _ = desk.create_inbox(&[]);
    let id = "msg_00000000000000000000000000000000";
    for command in ["view", "raw", "links", "attachments", "auth", "delete", "mark-read"] {
        let _ = desk.run(["email", command, id]).expect_error(&[id]);
    }
    let empty = desk.run(["email", "view"]).expect_error(&["restante wait"]);
    assert!(
        empty.err.contains("no mail") || empty.err.contains("empty"),
        "{empty:?}"
    );
}

#[test]
fn a_refusal_of_smtp_is_shown_as_the_server_said_it() {
    let desk = Desk::new();
    let unknown = desk.run(["send", "--to", "nobody@restante.test"]);
    let _ = unknown.expect_error(&["550", "5.1.1", "Recipient address rejected"]);
    let foreign = desk.run(["send", "--to", "nobody@elsewhere.example"]);
    let _ = foreign.expect_error(&["550", "5.7.1", "elsewhere.example"]);
    let _ = desk.run(["send"]).expect_error(&["restante inbox create"]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let _ = desk
        .run(["send", "--to", "a@restante.test", "--smtp", &closed])
        .expect_error(&[&closed]);
}

#[test]
fn mail_that_another_server_signed_is_not_opened() {
    let desk = Desk::new();
    let address = desk.create_inbox(&["--encrypted"]);
    let id = desk.deliver(&address, "Sealed", "secret words");
    let exported = desk.run(["inbox", "export", "--out", "-"]).expect(0);
    let mut inbox = exported.json();
    // Another key of the right size, as if the inbox had been created at another server.
    let other = Server::start(&[], Arc::new(SystemClock));
    let info = desk.run([
        "server",
        "info",
        "--json",
        "--url",
        &other.url(),
        "--api-key",
        &other.key(),
    ]);
    inbox["serverSigPk"] = info.expect(0).json()["serverSigPk"].clone();
    std::fs::write(desk.path("other.json"), inbox.to_string()).unwrap();
    let _ = desk.run(["inbox", "import", "other.json", "--replace"]).expect(0);
    let listed = desk.run(["email", "list"]).expect(2);
    assert!(
        listed.out.contains("cannot be opened") && listed.err.contains("server key"),
        "{listed:?}"
    );
    for command in [&["email", "view"][..], &["email", "raw", &id], &["wait"]] {
        let refused = desk.run(command).expect_error(&["server key"]);
        assert!(
            !refused.err.contains("Sealed") && !refused.err.contains("secret words"),
            "{refused:?}"
        );
    }
}

#[test]
fn a_key_of_another_machine_is_said_to_be_missing() {
    let desk = Desk::new();
    let address = desk.create_inbox(&["--encrypted"]);
    let other = desk.path("other");
    let environment = [("RESTANTE_DATA_DIR", other.to_str().unwrap())];
    let refused = desk.run_with(&environment, &["email", "list", "--inbox", &address]);
    let _ = refused.expect_error(&[&address, "inbox import"]);
}

#[test]
fn an_inbox_that_was_made_anew_elsewhere_is_told() {
    let desk = Desk::new();
    let address = desk.create_inbox(&["--encrypted"]);
    let other = desk.path("other");
    let environment = [("RESTANTE_DATA_DIR", other.to_str().unwrap())];
    for command in [
        &["inbox", "delete", &address][..],
        &["inbox", "create", &address, "--encrypted"],
    ] {
        let _ = desk.run_with(&environment, command).expect(0);
    }
    desk.server().send(&address, "Sealed", "x");
    for command in [&["email", "view"][..], &["wait"]] {
        let _ = desk
            .run(command)
            .expect_error(&["next:", "inbox list", "inbox import FILE --replace"]);
    }
}

#[test]
fn an_error_of_a_proxy_names_the_server_and_what_to_do() {
    let desk = Desk::without_server();
    let proxy = Receiver::start();
    proxy.always(Answer::status(501));
    let url = proxy.url("");
    let asked = desk.run(["inbox", "list", "--url", &url, "--api-key", "x"]);
    let _ = asked.expect_error(&[&url, "--url", "501", "next:", "server health"]);
}

#[test]
fn a_setting_that_the_client_refuses_is_named() {
    let desk = Desk::new();
    std::fs::write(desk.path("ca.pem"), "no certificate").unwrap();
    let (url, key) = (desk.server().url(), desk.server().key());
    for (variable, value) in [
        ("RESTANTE_API_KEY", "two\nlines"),
        ("RESTANTE_CA_FILE", "ca.pem"),
        ("RESTANTE_URL", "ftp://127.0.0.1"),
    ] {
        let mut environment = vec![("RESTANTE_URL", url.as_str()), ("RESTANTE_API_KEY", &key)];
        environment.push((variable, value));
        let refused = desk.run_with(&environment, &["inbox", "list"]);
        let refused = refused.expect_error(&[&format!("error: {variable}: "), "next:"]);
        assert!(!refused.err.contains("two"), "{refused:?}");
    }
}

#[test]
fn what_is_empty_names_nothing() {
    let desk = Desk::with_settings(&[("WEBHOOK_ALLOW_HTTP", "true")]);
    let address = desk.create_inbox(&[]);
    let hook = ["webhook", "create", "http://127.0.0.1:9/", "--json"];
    let _ = desk.run(hook).expect(0);
    let commands: [&[&str]; 7] = [
        &["inbox", "delete", ""],
        &["inbox", "use", " "],
        &["email", "list", "--inbox", ""],
        &["inbox", "list", "--url", ""],
        &["watch", ""],
        &["webhook", "show", ""],
        &["webhook", "delete", " "],
    ];
    for command in commands {
        let _ = desk.run(command).expect_error(&["empty"]);
    }
    let listed = desk.run(["inbox", "list", "--json"]).expect(0).json();
    assert_eq!(listed["inboxes"][0]["emailAddress"], address.as_str());
}

#[test]
fn what_was_not_there_is_not_said_to_be_deleted() {
    let desk = Desk::new();
    let address = desk.create_inbox(&[]);
    let nobody = "nobody@restante.test";
    let ran = desk.run(["inbox", "delete", nobody]).expect(0);
    assert_eq!(
        (ran.out.as_str(), ran.err.trim()),
        ("", "there was no inbox nobody@restante.test")
    );
    let both = desk.run(["inbox", "delete", nobody, &address, "--json"]).expect(0);
    assert_eq!(both.json(), serde_json::json!({ "deleted": 1 }));
}
