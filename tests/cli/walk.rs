//! The walk of the README: nothing is configured, the command finds the server of its machine.

use crate::desk::Desk;
use crate::server::SENDER;

#[test]
fn create_send_wait_with_nothing_configured() {
    for mode in ["--plain", "--encrypted"] {
        let desk = Desk::new();
        let address = desk.create_inbox(&[mode]);
        let sent = desk.run([
            "send",
            "--subject",
            "Hello there",
            "--text",
            "It works: https://shop.test/x",
        ]);
        let _ = sent.expect(0);
        let found = desk.run(["wait", "--subject", "hello", "--json"]).expect(0).json();
        assert_eq!(found["metadata"]["subject"], "Hello there", "{mode}: {found}");
        assert_eq!(found["metadata"]["to"], serde_json::json!([address]), "{mode}: {found}");
        assert_eq!(
            found["parsed"]["text"].as_str().unwrap().trim(),
            "It works: https://shop.test/x"
        );
        assert_eq!(found["parsed"]["links"], serde_json::json!(["https://shop.test/x"]));
        assert_eq!(found["isRead"], false);
    }
}

#[test]
fn mail_that_comes_while_it_is_waited_for_is_found_whatever_the_strategy() {
    for strategy in ["auto", "sse", "polling"] {
        for mode in ["--plain", "--encrypted"] {
            let desk = Desk::new();
            let address = desk.create_inbox(&[mode]);
            let waiting = desk.start(&["wait", "--from", SENDER, "--strategy", strategy, "--json"]);
            desk.server().send(&address, "Late", "It came after all.");
            let output = waiting.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{strategy} {mode}: {said}");
            assert!(said.contains(r#""subject":"Late""#), "{strategy} {mode}: {said}");
        }
    }
}

#[test]
fn the_inbox_that_was_created_last_is_the_one_in_use() {
    let desk = Desk::new();
    let first = desk.create_inbox(&[]);
    let second = desk.create_inbox(&[]);
    let used = |desk: &Desk| {
        let shown = desk.run(["inbox", "info", "--json"]).expect(0).json();
        shown["emailAddress"].as_str().unwrap().to_owned()
    };
    assert_eq!(used(&desk), second);
    let _ = desk.run(["inbox", "use", &first]).expect(0);
    assert_eq!(used(&desk), first);
    let other = desk.run_with(&[("RESTANTE_INBOX", &second)], &["inbox", "info", "--json"]);
    assert_eq!(other.expect(0).json()["emailAddress"], second.as_str());
}
