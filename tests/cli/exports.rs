//! Inboxes that move as files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use restante_model::SystemClock;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::ran::Ran;
use crate::server::Server;

#[test]
fn an_exported_inbox_is_read_on_another_machine() {
    for mode in ["--plain", "--encrypted"] {
        let desk = Desk::new();
        let address = desk.create_inbox(&[mode]);
        let _ = desk.deliver(&address, "Moved", "x");
        let _ = desk.run(["inbox", "export"]).expect(0);
        let file = desk.path(&format!("{}.json", address.replace('@', "_at_")));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let other = desk.path("other");
        let environment = [("RESTANTE_DATA_DIR", other.to_str().unwrap())];
        let _ = desk
            .run_with(&environment, &["inbox", "import", file.to_str().unwrap()])
            .expect(0);
        let view = desk.run_with(&environment, &["email", "view", "--inbox", &address, "--json"]);
        assert_eq!(view.expect(0).json()["metadata"]["subject"], "Moved", "{mode}");
    }
}

#[test]
fn an_export_goes_where_it_is_asked_to_and_over_nothing() {
    let desk = Desk::new();
    let _ = desk.create_inbox(&["--encrypted"]);
    fs::write(desk.path("mine"), "mine").unwrap();
    let _ = desk
        .run(["inbox", "export", "--out", "mine"])
        .expect_error(&["mine", "--force"]);
    assert_eq!(fs::read(desk.path("mine")).unwrap(), b"mine");
    let _ = desk.run(["inbox", "export", "--out", "mine", "--force"]).expect(0);
    assert_eq!(
        fs::metadata(desk.path("mine")).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let written: Value = serde_json::from_slice(&fs::read(desk.path("mine")).unwrap()).unwrap();
    let printed = desk.run(["inbox", "export", "--out", "-"]).expect(0).json();
    assert_eq!(written["secretKey"], printed["secretKey"]);
    fs::create_dir(desk.path("folder")).unwrap();
    let _ = desk.run(["inbox", "export", "--out", "folder"]).expect(0);
    assert_eq!(fs::read_dir(desk.path("folder")).unwrap().count(), 1);
}

#[test]
fn what_is_known_already_is_refused_or_replaced() {
    let desk = Desk::new();
    let address = desk.create_inbox(&["--encrypted"]);
    let _ = desk.deliver(&address, "Still there", "x");
    let _ = desk.run(["inbox", "export", "--out", "inbox.json"]).expect(0);
    let _ = desk
        .run(["inbox", "import", "inbox.json"])
        .expect_error(&[&address, "--replace"]);
    let _ = desk.run(["inbox", "import", "inbox.json", "--replace"]).expect(0);
    let _ = desk.run(["wait", "--subject", "Still there", "--quiet"]).expect(0);
}

#[test]
fn data_that_breaks_a_rule_names_the_field_and_the_sizes() {
    let desk = Desk::new();
    let _ = desk.create_inbox(&["--encrypted"]);
    let whole = desk.run(["inbox", "export", "--out", "-"]).expect(0).json();
    let key = whole["secretKey"].as_str().unwrap();
    // 2,400 bytes are 3,200 letters; without the last byte the last letter but one has two bits to spare, which are 0.
    let one_byte_short = format!("{}A", &key[..key.len() - 2]);
    let faults = [
        ("secretKey", json!(one_byte_short), &["secretKey", "2400", "2399"][..]),
        ("secretKey", json!("a+b="), &["secretKey"]),
        ("secretKey", Value::Null, &["secretKey"]),
        ("serverSigPk", json!("AAAA"), &["serverSigPk", "1952", "3"]),
        ("version", json!(2), &["version"]),
        ("emailAddress", json!("no at sign"), &["emailAddress"]),
        ("inboxHash", json!(""), &["inboxHash"]),
        ("encrypted", json!("yes"), &["encrypted"]),
        ("expiresAt", json!("tomorrow"), &["expiresAt"]),
    ];
    for (field, value, words) in faults {
        let mut broken = whole.clone();
        broken[field] = value;
        fs::write(desk.path("broken.json"), broken.to_string()).unwrap();
        let refused = desk
            .run(["inbox", "import", "broken.json", "--replace"])
            .expect_error(words);
        assert!(!refused.err.contains(&key[100..140]), "{refused:?}");
    }
    fs::write(desk.path("broken.json"), "not JSON").unwrap();
    let _ = desk
        .run(["inbox", "import", "broken.json"])
        .expect_error(&["not a JSON object"]);
    let _ = desk
        .run(["inbox", "import", "missing.json"])
        .expect_error(&["missing.json"]);
}

#[test]
fn inboxes_of_two_servers_do_not_mix() {
    let desk = Desk::new();
    let other = Server::start(&[], Arc::new(SystemClock));
    let (url, key) = (other.url(), other.key());
    let environment = [("RESTANTE_URL", url.as_str()), ("RESTANTE_API_KEY", key.as_str())];
    let here = desk.create_inbox(&[]);
    let there = desk
        .run_with(&environment, &["inbox", "create", "--json"])
        .expect(0)
        .json();
    assert_eq!(
        desk.run(["inbox", "info", "--json"]).expect(0).json()["emailAddress"],
        here.as_str()
    );
    let used = desk
        .run_with(&environment, &["inbox", "info", "--json"])
        .expect(0)
        .json();
    assert_eq!(used["emailAddress"], there["emailAddress"]);
}

#[test]
fn what_is_too_large_for_an_export_is_said_to_be_wherever_it_comes_from() {
    let desk = Desk::new();
    let file = desk.path("large.json");
    fs::write(&file, " ".repeat(64 * 1024 + 1)).unwrap();
    let from_file = desk.run(["inbox", "import", "large.json"]);
    let _ = from_file.expect_error(&["large.json: it has more than 65536 bytes"]);
    let mut command = desk.command(["inbox", "import", "-"]);
    let from_input = Ran::of(command.stdin(fs::File::open(&file).unwrap()));
    let _ = from_input.expect_error(&["the standard input: it has more than 65536 bytes"]);
}
