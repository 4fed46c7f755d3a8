//! The stream of the server's console (docs/spec/additions.md, "Console").

use std::sync::Arc;
use std::time::Duration;

use restante_envelope::DecapsulationKey;
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::mail::EMPTY;
use crate::harness::{API_KEY, EventStream, TestServer, socket};
use crate::peer::Peer;

const PATH: &str = "/api/sse-console/stream";
const KEY: (&str, &str) = ("X-API-Key", API_KEY);
/// A refused stream is answered after so long.
const REFUSAL_PAUSE: Duration = Duration::from_secs(1);

/// A watcher who has read that it is connected.
struct Console(EventStream);

impl Console {
    fn open(server: &TestServer) -> Self {
        let mut console = Self(open(server));
        assert!(console.0.head.starts_with("HTTP/1.1 200 "), "{}", console.0.head);
        assert_eq!(console.next(), "info: Connected: what happens from now on is told here");
        console
    }

    /// The next line of data, past comments.
    fn data(&mut self) -> Option<Value> {
        loop {
            let block = self.0.next_block()?;
            if block.starts_with(':') {
                continue;
            }
            let data = block
                .strip_prefix("data: ")
                .unwrap_or_else(|| panic!("one data line: {block}"));
            return Some(serde_json::from_str(data).unwrap());
        }
    }

    /// The next line as a person reads it.
    fn next(&mut self) -> String {
        let line = self.data().expect("a line");
        format!("{}: {}", line["type"].as_str().unwrap(), line["text"].as_str().unwrap())
    }

    fn lines(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.next()).collect()
    }
}

fn open(server: &TestServer) -> EventStream {
    EventStream::open(server.http, PATH, &[KEY])
}

#[test]
fn headers_and_a_first_line_go_out_at_once() {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[], clock);
    let mut stream = open(&server);
    let head = stream.head.to_ascii_lowercase();
    for header in [
        "http/1.1 200 ",
        "content-type: text/event-stream\r\n",
        "cache-control: no-cache, no-transform\r\n",
        "x-accel-buffering: no\r\n",
        "x-content-type-options: nosniff\r\n",
    ] {
        assert!(head.contains(header), "{header} in {head}");
    }
    assert_eq!(stream.next_piece().unwrap(), ": connected\n\n");
    let first = concat!(
        r#"data: {"type":"info","text":"Connected: what happens from now on is told here","#,
        r#""timestamp":"2026-01-25T11:41:16.000Z"}"#,
        "\n\n"
    );
    assert_eq!(stream.next_piece().unwrap(), first);
    server.create_plain("bob@restante.test");
    let second = concat!(
        r#"data: {"type":"success","text":"Inbox bob@restante.test created","#,
        r#""timestamp":"2026-01-25T11:41:16.000Z"}"#,
        "\n\n"
    );
    assert_eq!(stream.next_piece().unwrap(), second, "a line is one piece");
}

#[test]
fn a_comment_keeps_a_quiet_console_alive() {
    let server = TestServer::start(&[]);
    let mut stream = open(&server);
    stream.wait_at_most(Duration::from_secs(30));
    stream.next_piece().unwrap();
    stream.next_piece().unwrap();
    assert_eq!(stream.next_piece().unwrap(), ": keep-alive\n\n");
}

#[test]
fn inboxes_and_their_mail_are_told() {
    let server = TestServer::start(&[]);
    let mut console = Console::open(&server);
    server.create_plain("bob@restante.test");
    server.create_encrypted("eve@restante.test", &DecapsulationKey::generate());
    server.send_to(
        &["bob+tag@restante.test", "eve@restante.test", "bob@restante.test"],
        EMPTY,
    );
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
    server.create_plain("bob@restante.test");
    server.delete("/api/inboxes").expect_status(200);
    let expected = [
        "success: Inbox bob@restante.test created",
        "success: Inbox eve@restante.test created",
        "info: Connection from 127.0.0.1",
        "success: Mail of 2 bytes from 127.0.0.1 stored for bob@restante.test, eve@restante.test",
        "info: Inbox bob@restante.test deleted",
        "success: Inbox bob@restante.test created",
        "info: 2 inboxes deleted",
    ];
    assert_eq!(console.lines(expected.len()), expected);
}

#[test]
fn what_is_refused_is_told() {
    let server = TestServer::start(&[("SMTP_MAX_CONNECTIONS", "1"), ("SMTP_MAX_MESSAGE_SIZE", "1000")]);
    let mut console = Console::open(&server);
    let mut peer = Peer::greeted(server.smtp);
    assert!(Peer::connect(server.smtp).unwrap().reply().unwrap().starts_with("421 "));
    assert!(peer.say("MAIL FROM:<alice@sender.test> SIZE=1001").starts_with("552 "));
    assert!(peer.say("MAIL FROM:<alice@sender.test>").starts_with("250 "));
    assert!(peer.say("RCPT TO:<nobody@restante.test>").starts_with("550 "));
    assert!(peer.say("RCPT TO:<bob@elsewhere.test>").starts_with("550 "));
    let expected = [
        "info: Connection from 127.0.0.1",
        "warning: Connection from 127.0.0.1 refused: too many connections",
        "warning: Mail from 127.0.0.1 refused: too large",
        "warning: Mail from 127.0.0.1 refused: no inbox has the address",
        "warning: Mail from 127.0.0.1 refused: the domain is not served",
    ];
    assert_eq!(console.lines(expected.len()), expected);
}

#[test]
fn an_expiry_is_told() {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[], clock.clone());
    server.create(&json!({ "ttl": 60 })).expect_status(201);
    let mut console = Console::open(&server);
    clock.advance(Duration::from_mins(1));
    // A new inbox has the expiry task look at the clock of this test.
    server.create_plain("eve@restante.test");
    let mut told = console.lines(2);
    told.sort();
    assert_eq!(
        told,
        ["info: 1 inbox expired", "success: Inbox eve@restante.test created"]
    );
}

#[test]
fn faults_are_told() {
    let server = TestServer::start(&[("CHAOS_ENABLED", "true")]);
    let chaos = json!({ "enabled": true, "randomError": { "enabled": true, "errorRate": 1.0 } });
    let inbox = json!({ "emailAddress": "bob@restante.test", "encryption": "plain", "chaos": chaos });
    server.create(&inbox).expect_status(201);
    let mut console = Console::open(&server);
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&["bob@restante.test"]);
    assert!(peer.data(EMPTY.as_bytes()).unwrap().starts_with('4'));
    let expected = [
        "info: Connection from 127.0.0.1",
        "warning: Chaos for bob@restante.test: the mail is refused at random",
        "warning: Mail from 127.0.0.1 refused: the inbox asks for it",
    ];
    assert_eq!(console.lines(expected.len()), expected);
}

/// The subject, the body, the sender, a header, and what a client says in commands.
#[test]
fn nothing_of_a_mail_is_told_in_plain_and_encrypted_inboxes() {
    let server = TestServer::start(&[("DNS_RESOLVER", "127.0.0.1:9"), ("EMAIL_AUTH_TIMEOUT", "200")]);
    let mut console = Console::open(&server);
    let plain = json!({ "emailAddress": "bob@restante.test", "encryption": "plain", "emailAuth": true });
    server.create(&plain).expect_status(201);
    server.create_encrypted("eve@restante.test", &DecapsulationKey::generate());
    let marked = b"From: MARKER <marker@marker.test>\r\nSubject: marker\r\nX-Marker: marker\r\n\r\nmarker\r\n";
    for to in ["bob@restante.test", "eve@restante.test"] {
        let mut peer = Peer::connect(server.smtp).unwrap();
        peer.reply().unwrap();
        peer.say("EHLO marker.test");
        assert!(peer.say("MAIL FROM:<marker@marker.test>").starts_with("250 "));
        assert!(peer.say("RCPT TO:<marker@restante.test>").starts_with("550 "));
        assert!(peer.say("RCPT TO:<marker@marker.test>").starts_with("550 "));
        assert!(peer.say(&format!("RCPT TO:<{to}>")).starts_with("250 "));
        assert!(peer.data(marked).unwrap().starts_with("250 "));
        peer.say("MARKER \u{1b}[31m");
    }
    server.create_plain("last@restante.test");
    let mut told = Vec::new();
    while told
        .last()
        .is_none_or(|line: &String| !line.contains("last@restante.test"))
    {
        told.push(console.next());
    }
    assert_eq!(
        told.iter().filter(|line| line.contains("stored for")).count(),
        2,
        "{told:?}"
    );
    assert!(
        told.iter().any(|line| line.contains("Checks for bob@restante.test")),
        "{told:?}"
    );
    for line in &told {
        assert!(!line.to_lowercase().contains("marker"), "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

#[test]
fn everybody_who_watches_is_told_and_nothing_is_kept() {
    let server = TestServer::start(&[]);
    server.create_plain("before@restante.test");
    let (mut first, mut second) = (Console::open(&server), Console::open(&server));
    server.create_plain("one@restante.test");
    drop(first.0);
    first = Console::open(&server);
    server.create_plain("two@restante.test");
    let created = |name: &str| format!("success: Inbox {name}@restante.test created");
    assert_eq!(second.lines(2), [created("one"), created("two")]);
    assert_eq!(first.lines(1), [created("two")]);
}

#[test]
fn a_console_that_is_off_is_503_after_a_pause() {
    let server = TestServer::start(&[("SSE_CONSOLE_ENABLED", "false")]);
    let began = Instant::now();
    let answer = server.get(PATH).expect_status(503);
    assert!(began.elapsed() >= REFUSAL_PAUSE);
    assert_eq!(
        answer.json()["message"],
        "Switched off by the setting SVC_SSE_CONSOLE_ENABLED"
    );
    assert_eq!(server.get("/api/server-info").json()["sseConsole"], false);
    let on = TestServer::start(&[]);
    assert_eq!(on.get("/api/server-info").json()["sseConsole"], true);
}

#[test]
fn a_console_needs_the_key() {
    let server = TestServer::start(&[]);
    for headers in [&[][..], &[("X-API-Key", "wrong")]] {
        server.bare_request("GET", PATH, headers, "").expect_status(401);
    }
}

#[test]
fn consoles_share_the_places_of_streams() {
    let server = TestServer::start(&[("SERVER_MAX_STREAMS", "2")]);
    let bob = server.create_plain("bob@restante.test");
    let events = format!("/api/events?inboxes={bob}");
    let first = Console::open(&server);
    let _second = EventStream::open(server.http, &events, &[KEY]);
    for path in [PATH, &events] {
        let refused = server.get(path).expect_status(503);
        assert_eq!(refused.json()["message"], "Too many open streams, try again later");
        assert_eq!(refused.header("retry-after"), "1");
    }
    drop(first);
    let began = Instant::now();
    while !open(&server).head.starts_with("HTTP/1.1 200 ") {
        assert!(began.elapsed() < Duration::from_secs(10), "the place is not free again");
    }
}

#[test]
fn a_stop_of_the_server_ends_consoles() {
    let server = TestServer::start(&[]);
    let mut console = Console::open(&server);
    let began = Instant::now();
    server.stop();
    assert_eq!(console.data(), None);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "before the grace of a stop is over"
    );
}

#[test]
fn head_shows_the_headers_of_a_console_and_ends() {
    let server = TestServer::start(&[]);
    let key = format!("X-API-Key: {API_KEY}");
    let head = format!("HEAD {PATH} HTTP/1.1");
    let answer = socket::exchange(server.http, &[&head, "Host: localhost", &key], b"");
    assert_eq!(socket::status(&answer), 200);
    assert!(
        answer.ends_with("\r\n\r\n") && answer.contains("text/event-stream"),
        "{answer}"
    );
}
