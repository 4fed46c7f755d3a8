//! `send`: what was said on the command line arrives, byte for byte.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::desk::Desk;

#[test]
fn files_arrive_as_bodies_and_attachments() {
    let desk = Desk::new();
    let address = desk.create_inbox(&["--encrypted"]);
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    fs::write(desk.path("text"), "Zażółć 你好\n.dot\n").unwrap();
    fs::write(
        desk.path("page.html"),
        "<p>Grüße <a href='https://shop.test/'>hier</a></p>",
    )
    .unwrap();
    fs::write(desk.path("all bytes.bin"), &bytes).unwrap();
    let arguments = [
        "send",
        "--from",
        "Jürgen <j@shop.test>",
        "--subject",
        "Grüße 🎉",
        "--text-file",
        "text",
        "--html-file",
        "page.html",
        "--attach",
        "all bytes.bin",
        "--header",
        "X-Campaign: spring",
    ];
    let _ = desk.run(arguments).expect(0);
    let found = desk.run(["wait", "--subject", "grüße", "--json"]).expect(0).json();
    assert_eq!(found["metadata"]["to"], json!([address]));
    assert_eq!(found["metadata"]["subject"], "Grüße 🎉");
    assert!(
        found["metadata"]["from"].as_str().unwrap().contains("Jürgen"),
        "{found}"
    );
    assert_eq!(found["parsed"]["headers"]["x-campaign"], "spring");
    assert_eq!(
        found["parsed"]["text"].as_str().unwrap().trim_end(),
        "Zażółć 你好\n.dot"
    );
    assert_eq!(found["parsed"]["links"], json!(["https://shop.test/"]));
    let _ = desk.run(["email", "attachments", "--save", "saved"]).expect(0);
    assert_eq!(fs::read(desk.path("saved/all bytes.bin")).unwrap(), bytes);
}

#[test]
fn a_whole_message_is_sent_as_it_is_to_everybody() {
    let desk = Desk::new();
    let [one, other] = [(); 2].map(|()| desk.create_inbox(&[]));
    let message = "Subject: As it is\r\nX-Odd:   spaces\t\r\n\r\n.\r\nbody without an end";
    let mut command = desk.command(["send", "--to", &one, "--to", &other, "--raw", "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    for inbox in [one, other] {
        let source = desk.run(["email", "raw", "--inbox", &inbox]).expect(0).out;
        assert!(source.starts_with("Received: "), "{source:?}");
        assert!(source.contains(message), "{source:?}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let desk = Desk::new();
    let _ = desk.create_inbox(&[]);
    for flag in ["--text-file", "--html-file", "--attach", "--raw"] {
        let _ = desk.run(["send", flag, "nowhere"]).expect_error(&["nowhere"]);
    }
    let _ = desk.run(["send", "--to", "no address"]).expect_error(&["no address"]);
}
