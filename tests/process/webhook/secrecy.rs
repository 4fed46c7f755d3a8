//! What a queue full of events and the log of webhooks must not give away.

use restante_envelope::{DecapsulationKey, base64url};
use restante_testkit::receiver::{Answer, Receiver, Stage};
use serde_json::json;

use super::{ARRIVAL, hook, log, start, until};
use crate::peer::Peer;
use crate::secrecy::{files, holding};

const PLAIN: &str = "plain@restante.test";
const SEALED: &str = "sealed@restante.test";

/// Words that stand in the mail of the plain inbox only: the search must find what is there.
const OPEN: &str = "openmarker-1f6c2a9e07";
const SENDER: &str = "sendermarker-5b3d8e1c42";
const SUBJECT: &str = "subjectmarker-a90e4d7b36";
const BODY: &str = "bodymarker-c47f15d2e8";
const HEADER: &str = "headermarker-0e8b6a3f91";
const ATTACHMENT: &str = "attachmentmarker-73d9f0c5ba";
/// A word of the path of a URL: chat services let in whoever knows it.
const PATH: &str = "pathmarker-d82a6f4e1c";
/// A word of a filter's rule.
const FILTER: &str = "filtermarker-69c0e7b5d3";

fn message() -> Vec<u8> {
    format!(
        "From: {SENDER} <{SENDER}@sender.test>\r\nSubject: {SUBJECT}\r\nX-Word: {HEADER}\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n{BODY}\r\n--b\r\n\
         Content-Type: text/plain\r\nContent-Disposition: attachment; filename={ATTACHMENT}.txt\r\n\r\nx\r\n--b--\r\n"
    )
    .into_bytes()
}

#[test]
fn queued_events_configurations_and_answers_are_sealed_on_disk_and_in_no_log() {
    let home = tempfile::tempdir().unwrap();
    let (silent, chatty) = (Receiver::start(), Receiver::start());
    silent.always(Answer::stalled(Stage::BeforeStatus));
    // A target that repeats what it got.
    chatty.by_rule(|request| Answer::status(500).body(request.body.clone()));
    let variables = [("LOG_LEVEL", "trace"), ("WEBHOOK_TIMEOUT", "60000")];
    let server = start(home.path(), &variables);
    let client = DecapsulationKey::generate();
    server.create(PLAIN, None);
    server.create(SEALED, Some(&base64url::encode(client.encapsulation_key().as_bytes())));
    let body = json!({
        "url": silent.url(&format!("/{PATH}")), "events": ["email.received"],
        "filter": { "mode": "any", "rules": [
            { "field": "subject", "operator": "contains", "value": FILTER },
            { "field": "subject", "operator": "exists" },
        ] },
    });
    let waiting = server
        .request("POST", "/api/webhooks", Some(&body))
        .expect_status(201)
        .json();
    let told = hook(&server, "/api/webhooks", &chatty.url(&format!("/{PATH}")), &ARRIVAL);
    let path = format!("/api/webhooks/{}", told["id"].as_str().unwrap());
    let rotated = server
        .request("POST", &format!("{path}/rotate-secret"), None)
        .expect_status(200);
    let rotated = rotated.json();

    let mut peer = Peer::greeted(server.smtp);
    peer.deliver(&[SEALED], &message());
    peer.deliver(&[PLAIN], format!("Subject: {OPEN}\r\n\r\n").as_bytes());
    for _ in 0..15 {
        peer.deliver(&[SEALED], &message());
    }
    silent.block_for(10);
    until(
        "answers are recorded",
        || log(&server, &path),
        |log| log.iter().any(|delivery| delivery["statusCode"] == 500),
    );
    let asked = silent
        .requests()
        .iter()
        .map(|request| request.json().to_string())
        .collect::<String>();
    for word in [SENDER, SUBJECT, BODY, HEADER, ATTACHMENT] {
        assert!(asked.contains(word), "the target hears {word}");
    }

    let secret = |of: &serde_json::Value| of["secret"].as_str().unwrap().to_owned();
    let secrets = [secret(&waiting), secret(&told), secret(&rotated)];
    let mail = [SENDER, SUBJECT, BODY, HEADER, ATTACHMENT];
    let hidden: Vec<&str> = mail
        .into_iter()
        .chain([PATH, FILTER])
        .chain(secrets.iter().map(String::as_str))
        .collect();
    let must_hide = |when: &str| {
        let files = files(home.path());
        assert_ne!(holding(&files, OPEN), [""; 0], "the search finds what is there");
        for word in &hidden {
            assert_eq!(holding(&files, word), [""; 0], "{word} {when}");
        }
    };
    must_hide("while events are queued");
    let ended = server.stop();
    must_hide("after the stop");
    let output = [ended.said, ended.logged].concat();
    assert!(
        output.contains("TRACE") || output.contains("DEBUG"),
        "the log is talkative"
    );
    for word in mail.into_iter().chain(secrets.iter().map(String::as_str)) {
        assert!(!output.contains(word), "{word} in {output}");
    }
}
