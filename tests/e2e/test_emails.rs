//! `POST /api/test/emails`: mail that the server composes, with the results that a test wants (interface additions, "Test
//! emails"; decisions, section 1).

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_model::SystemClock;
use serde_json::{Value, json};

use crate::harness::{API_KEY, Answer, EventStream, TestServer, socket};

mod refusals;
mod results;
mod turns;

const ROUTE: &str = "/api/test/emails";
const SERVED: (&str, &str) = ("SDK_DEVELOPMENT", "true");
const BOB: &str = "bob@restante.test";

/// A server that serves test emails, with the plain inbox `bob`.
fn start(variables: &[(&str, &str)]) -> TestServer {
    let server = TestServer::start(&[&[SERVED], variables].concat());
    server.create_plain(BOB);
    server
}

fn post(server: &TestServer, body: &Value) -> Answer {
    server.request("POST", ROUTE, Some(body))
}

/// Has a test email made; its id.
fn made(server: &TestServer, body: &Value) -> String {
    let answer = post(server, body).expect_status(201).json();
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    answer["emailId"].as_str().unwrap().to_owned()
}

/// Metadata and parsed content of an email in a plain inbox.
fn shown(server: &TestServer, id: &str) -> [Value; 2] {
    let email = server
        .get(&format!("/api/inboxes/{BOB}/emails/{id}"))
        .expect_status(200);
    let email = email.json();
    ["metadata", "parsed"].map(|name| {
        let document = STANDARD.decode(email[name].as_str().unwrap()).unwrap();
        serde_json::from_slice(&document).unwrap()
    })
}

fn refused(answer: &Answer, status: u16, message: &Value) {
    assert_eq!((answer.status, &answer.json()["message"]), (status, message));
}

#[test]
fn what_is_not_said_is_the_default() {
    let server = start(&[]);
    let absent = json!({ "to": BOB });
    let null = json!({ "to": BOB, "from": null, "subject": null, "text": null, "html": null, "auth": null });
    for body in [absent, null] {
        let [metadata, content] = shown(&server, &made(&server, &body));
        assert_eq!(metadata["from"], "test@restante.test");
        assert_eq!(metadata["subject"], "Test Email");
        assert_eq!(content["text"], "Test email body");
        assert_eq!(content["html"], Value::Null);
        let auth = &content["authResults"];
        let words = [&auth["spf"], &auth["dkim"][0], &auth["dmarc"], &auth["reverseDns"]].map(|check| &check["result"]);
        assert_eq!(words, ["pass"; 4]);
        assert_eq!(auth["spf"]["domain"], "restante.test");
    }
    let html = json!({ "to": BOB, "html": "<p>other</p>" });
    let [_, content] = shown(&server, &made(&server, &html));
    assert_eq!(
        [&content["text"], &content["html"]],
        ["Test email body", "<p>other</p>"]
    );
}

#[test]
fn what_is_said_comes_back_as_it_was_given() {
    let server = start(&[]);
    let body = json!({
        "to": "BOB+Tag@restante.test",
        "from": "Jürgen <J@Sender.test>",
        "subject": "Grüße, =?utf-8?q?x?= 😀",
        "text": "one\r\n two\n\n",
        "html": "",
    });
    let id = made(&server, &body);
    let [metadata, content] = shown(&server, &id);
    assert_eq!(metadata["id"], id);
    assert_eq!(metadata["from"], "Jürgen <J@Sender.test>");
    assert_eq!(metadata["to"], json!(["bob+tag@restante.test"]));
    assert_eq!(metadata["subject"], "Grüße, =?utf-8?q?x?= 😀");
    assert_eq!([&content["text"], &content["html"]], ["one\n two\n\n", ""]);
    assert_eq!(content["defects"], json!([]));
    assert_eq!(content["spamAnalysis"]["status"], "skipped");
    assert_eq!(server.email_ids(BOB), [id]);
}

#[test]
fn a_repeated_request_with_its_idempotency_key_makes_one_email() {
    let server = start(&[]);
    let ask = |key: &str, body: &Value| {
        let headers = [
            ("X-API-Key", API_KEY),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", key),
        ];
        server.bare_request("POST", ROUTE, &headers, &body.to_string())
    };
    let body = json!({ "to": BOB });
    let first = ask("one", &body).expect_status(201);
    let again = ask("one", &body).expect_status(201);
    assert_eq!(first.body, again.body);
    assert_eq!(first.header("content-type"), again.header("content-type"));
    assert_ne!(ask("two", &body).expect_status(201).body, first.body);
    ask("one", &json!({ "to": BOB, "text": "" })).expect_status(409);
    ask("", &body).expect_status(400);
    assert_eq!(server.email_ids(BOB).len(), 2);
    // A later inbox at the address never sees what the earlier one was given.
    server.delete(&format!("/api/inboxes/{BOB}")).expect_status(204);
    ask("one", &body).expect_status(404);
    server.create_plain(BOB);
    assert_ne!(ask("one", &body).expect_status(201).body, first.body);
    assert_eq!(server.email_ids(BOB).len(), 1);
}

#[test]
fn a_stream_hears_of_it_after_the_answer() {
    let server = TestServer::start(&[SERVED]);
    let bob = server.create_plain(BOB);
    let path = format!("/api/events?inboxes={bob}");
    let mut stream = EventStream::open(server.http, &path, &[("X-API-Key", API_KEY)]);
    for key in ["", "Idempotency-Key: one\r\n"] {
        let mut client = socket::connect(server.http);
        let body = json!({ "to": BOB, "subject": "heard" }).to_string();
        let request = format!(
            "POST {ROUTE} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {API_KEY}\r\n{key}Content-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            server.http,
            body.len()
        );
        socket::write(&mut client, request.as_bytes());
        let id = stream.next_event().unwrap().id;
        // Whoever hears the event finds the answer in its socket already.
        client.set_nonblocking(true).unwrap();
        let mut answer = [0; 4096];
        let length = client.read(&mut answer).expect("the answer is there");
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.ends_with(&format!("{{\"emailId\":\"{id}\"}}")), "{answer}");
    }
}

#[test]
fn it_is_as_durable_as_any_mail() {
    let server = start(&[]);
    let id = made(&server, &json!({ "to": BOB, "text": "kept" }));
    let server = TestServer::start_in(server.stop(), &[], Arc::new(SystemClock));
    assert_eq!(shown(&server, &id)[1]["text"], "kept");
}

#[test]
fn a_client_that_hangs_up_has_its_email_told_of_all_the_same() {
    let server = TestServer::start(&[SERVED]);
    let bob = server.create_plain(BOB);
    let path = format!("/api/events?inboxes={bob}");
    let mut stream = EventStream::open(server.http, &path, &[("X-API-Key", API_KEY)]);
    stream.wait_at_most(Duration::from_secs(20));
    let body = json!({ "to": BOB }).to_string();
    let request = format!(
        "POST {ROUTE} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {API_KEY}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        server.http,
        body.len()
    );
    let mut client = socket::connect(server.http);
    socket::write(&mut client, request.as_bytes());
    drop(client);
    // Whatever became of that one, nobody waits for it for long.
    let id = made(&server, &json!({ "to": BOB }));
    let heard = std::iter::from_fn(|| stream.next_event()).find(|event| event.id == id);
    assert_eq!(heard.unwrap().id, id);
    let heard_of = server.email_ids(BOB);
    assert!((1..=2).contains(&heard_of.len()), "{heard_of:?}");
}
