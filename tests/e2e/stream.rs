//! The notification stream (interface, "Notification stream"; decisions, section 6).

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use restante_envelope::DecapsulationKey;
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use serde_json::json;
use tokio::time::Instant;

use crate::harness::mail::{EMPTY, RICH};
use crate::harness::{API_KEY, EventStream, TestServer, shape, socket};

const KEY: (&str, &str) = ("X-API-Key", API_KEY);
/// A refused stream is answered after so long, so that a client that comes back at once does no harm.
const REFUSAL_PAUSE: Duration = Duration::from_secs(1);
/// A hash that no inbox has: 32 zero bytes.
const UNKNOWN: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A server with the plain inboxes `bob` and `eve`, and their hashes.
fn with_two() -> (TestServer, String, String) {
    let server = TestServer::start(&[]);
    let (bob, eve) = (
        server.create_plain("bob@restante.test"),
        server.create_plain("eve@restante.test"),
    );
    (server, bob, eve)
}

fn open(server: &TestServer, query: &str) -> EventStream {
    open_with(server, query, &[])
}

fn open_with(server: &TestServer, query: &str, headers: &[(&str, &str)]) -> EventStream {
    let headers = [&[KEY], headers].concat();
    let stream = EventStream::open(server.http, &format!("/api/events{query}"), &headers);
    assert!(stream.head.starts_with("HTTP/1.1 200 "), "{}", stream.head);
    stream
}

/// The ids of the next events.
fn next_ids(stream: &mut EventStream, count: usize) -> Vec<String> {
    (0..count).map(|_| stream.next_event().expect("an event").id).collect()
}

#[test]
fn headers_and_a_comment_go_out_at_once() {
    let (server, bob, _) = with_two();
    let mut stream = open(&server, &format!("?inboxes={bob}"));
    let head = stream.head.to_ascii_lowercase();
    for header in [
        "content-type: text/event-stream\r\n",
        "cache-control: no-cache, no-transform\r\n",
        "x-accel-buffering: no\r\n",
        "x-content-type-options: nosniff\r\n",
        "x-request-id: ",
    ] {
        assert!(head.contains(header), "{header} in {head}");
    }
    assert!(!head.contains("content-length"), "{head}");
    assert_eq!(stream.next_piece().unwrap(), ": connected\n\n");
}

#[test]
fn a_comment_keeps_a_quiet_stream_alive_every_15_seconds() {
    let (server, bob, _) = with_two();
    let mut stream = open(&server, &format!("?inboxes={bob}"));
    stream.wait_at_most(Duration::from_secs(30));
    stream.next_piece().unwrap();
    let began = Instant::now();
    assert_eq!(stream.next_piece().unwrap(), ": keep-alive\n\n");
    let secs = began.elapsed().as_secs_f64();
    assert!((14.5..20.0).contains(&secs), "{secs}");
}

#[test]
fn an_event_of_a_plain_inbox_is_one_piece_of_two_lines() {
    let (server, bob, _) = with_two();
    let mut stream = open(&server, &format!("?inboxes={bob}"));
    stream.next_piece().unwrap();
    let id = server.send_raw("bob+Tag@restante.test", RICH);
    let piece = stream.next_piece().unwrap();
    let data = piece
        .strip_prefix(&format!("id: {id}\ndata: "))
        .unwrap_or_else(|| panic!("{piece}"));
    let data = data.strip_suffix("\n\n").unwrap_or_else(|| panic!("{piece}"));
    assert!(!data.contains('\n'), "one line: {data}");
    assert_snapshot!("plain_event", shape(data));
    let event: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!((&event["inboxId"], &event["emailId"]), (&json!(bob), &json!(id)));
    let list = server.get("/api/inboxes/bob@restante.test/emails").json();
    assert_eq!(event["metadata"], list[0]["metadata"], "the list shows the same");
}

#[test]
fn an_event_of_an_encrypted_inbox_carries_the_sealed_metadata_only() {
    let server = TestServer::start(&[]);
    let inbox = server.create_encrypted("bob@restante.test", &DecapsulationKey::generate());
    let mut stream = open(&server, &format!("?inboxes={}", inbox["inboxHash"].as_str().unwrap()));
    stream.next_piece().unwrap();
    server.send_raw("bob@restante.test", RICH);
    let piece = stream.next_piece().unwrap();
    let (_, data) = piece.trim_end().split_once("\ndata: ").unwrap();
    assert_snapshot!("encrypted_event", shape(data));
    let event: serde_json::Value = serde_json::from_str(data).unwrap();
    let list = server.get("/api/inboxes/bob@restante.test/emails").json();
    assert_eq!(event["encryptedMetadata"], list[0]["encryptedMetadata"]);
}

#[test]
fn a_stream_hears_its_inboxes_and_no_other() {
    let (server, bob, eve) = with_two();
    let mut both = open(&server, &format!("?inboxes={bob}%2C{eve}"));
    let mut one = open(&server, &format!("?inboxes={UNKNOWN},no-hash,%20{eve}%20,"));
    let first = server.send_raw("bob@restante.test", EMPTY);
    let second = server.send_raw("eve@restante.test", EMPTY);
    assert_eq!(next_ids(&mut both, 2), [first, second.clone()]);
    assert_eq!(next_ids(&mut one, 1), [second]);
    // The same inbox twice is heard once.
    let mut twice = open(&server, &format!("?inboxes={bob},{bob}"));
    let ids = [(); 2].map(|()| server.send_raw("bob@restante.test", EMPTY));
    assert_eq!(next_ids(&mut twice, 2), ids);
}

#[test]
fn a_stream_without_a_known_inbox_is_refused_after_a_pause() {
    let (server, ..) = with_two();
    let list = "inboxes must be a comma-separated list of inbox hashes";
    let none = "inboxes must name at least one existing inbox by its hash";
    let refused = |query: &str, message: &str| {
        let began = Instant::now();
        let answer = server.get(&format!("/api/events{query}")).expect_status(400);
        assert!(began.elapsed() >= REFUSAL_PAUSE, "{query}");
        assert_eq!(answer.json()["message"], message, "{query}");
        answer
    };
    std::thread::scope(|scope| {
        for (query, message) in [
            ("", list),
            ("?inboxes=", list),
            ("?inboxes=,%20,", list),
            ("?inboxes=no-hash", none),
            ("?inboxes=bob@restante.test", none),
        ] {
            scope.spawn(move || refused(query, message));
        }
        let answer = refused(&format!("?inboxes={UNKNOWN}"), none);
        assert_eq!(answer.header("content-type"), "application/json");
        assert_snapshot!("unknown_inboxes", shape(&answer.body));
    });
}

#[test]
fn a_stream_without_the_key_is_refused_after_a_pause() {
    let (server, bob, _) = with_two();
    let path = format!("/api/events?inboxes={bob}");
    std::thread::scope(|scope| {
        for headers in [&[][..], &[("X-API-Key", "wrong")]] {
            let (server, path) = (&server, &path);
            scope.spawn(move || {
                let began = Instant::now();
                let answer = server.bare_request("GET", path, headers, "").expect_status(401);
                assert!(began.elapsed() >= REFUSAL_PAUSE);
                assert_eq!(answer.header("www-authenticate"), "ApiKey");
            });
        }
    });
    let is_quick = || {
        let began = Instant::now();
        server.bare_request("GET", "/api/check-key", &[], "").expect_status(401);
        began.elapsed() < REFUSAL_PAUSE
    };
    assert!((0..3).any(|_| is_quick()), "only streams pause");
}

#[test]
fn a_client_that_comes_back_gets_what_it_missed_first() {
    let (server, bob, eve) = with_two();
    let ids: Vec<_> = ["bob", "eve", "bob", "bob"]
        .iter()
        .map(|name| server.send_raw(&format!("{name}@restante.test"), EMPTY))
        .collect();
    let mut streams = [
        open_with(&server, &format!("?inboxes={bob},{eve}"), &[("Last-Event-ID", &ids[0])]),
        open(&server, &format!("?inboxes={bob},{eve}&lastEventId={}", ids[0])),
        // The header is what a browser sets by itself: it wins.
        open_with(
            &server,
            &format!("?inboxes={bob},{eve}&lastEventId={}", ids[3]),
            &[("last-event-id", &ids[0])],
        ),
    ];
    let live = server.send_raw("eve@restante.test", EMPTY);
    for stream in &mut streams {
        let expected = [&ids[1..], std::slice::from_ref(&live)].concat();
        assert_eq!(next_ids(stream, 4), expected, "no gap, no duplicate, then live");
    }
    let mut bobs = open(&server, &format!("?inboxes={bob}&lastEventId={}", ids[0]));
    assert_eq!(next_ids(&mut bobs, 2), ids[2..], "only the inboxes subscribed to");
}

#[test]
fn an_id_that_is_unknown_gives_no_replay_and_one_that_was_deleted_does() {
    let (server, bob, eve) = with_two();
    let ids: Vec<_> = (0..3).map(|_| server.send_raw("bob@restante.test", EMPTY)).collect();
    server
        .delete(&format!("/api/inboxes/bob@restante.test/emails/{}", ids[0]))
        .expect_status(204);
    server
        .delete(&format!("/api/inboxes/bob@restante.test/emails/{}", ids[1]))
        .expect_status(204);
    let mut after_deleted = open(&server, &format!("?inboxes={bob}&lastEventId={}", ids[0]));
    let unknown = "msg_0123456789abcdef0123456789abcdef";
    let mut without_replay: Vec<_> = ["", "x", unknown]
        .map(|id| open(&server, &format!("?inboxes={bob},{eve}&lastEventId={id}")))
        .into();
    without_replay.push(open(&server, &format!("?inboxes={bob}&lastEventId={}", ids[2])));
    let live = server.send_raw("bob@restante.test", EMPTY);
    // What was deleted meanwhile is no arrival any more.
    assert_eq!(next_ids(&mut after_deleted, 2), [ids[2].clone(), live.clone()]);
    for stream in &mut without_replay {
        assert_eq!(stream.next_event().unwrap().id, live);
    }
}

#[test]
fn a_long_replay_is_whole_and_in_order() {
    let (server, bob, _) = with_two();
    let ids = server.send_many("bob@restante.test", 400);
    let mut stream = open(&server, &format!("?inboxes={bob}&lastEventId={}", ids[0]));
    let live = server.send_many("bob@restante.test", 50);
    assert_eq!(next_ids(&mut stream, 449), [&ids[1..], &live].concat());
}

#[test]
fn a_stream_outlives_its_inbox_and_never_hears_a_later_one_at_the_address() {
    let (server, bob, eve) = with_two();
    let mut stream = open(&server, &format!("?inboxes={bob},{eve}"));
    let mut alone = open(&server, &format!("?inboxes={bob}"));
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
    assert_eq!(
        server.create_plain("bob@restante.test"),
        bob,
        "the hash is that of the address"
    );
    server.send_raw("bob@restante.test", EMPTY);
    let id = server.send_raw("eve@restante.test", EMPTY);
    assert_eq!(next_ids(&mut stream, 1), [id]);
    assert_eq!(alone.next_piece().unwrap(), ": connected\n\n");
    assert!(
        alone.is_silent_for(Duration::from_millis(100)),
        "open, but nothing to say"
    );
}

#[test]
fn a_stream_outlives_the_expiry_of_its_inbox() {
    let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
    let server = TestServer::start_with_clock(&[], clock.clone());
    let short = server
        .create(&json!({ "emailAddress": "bob@restante.test", "ttl": 60 }))
        .json();
    let eve = server.create_plain("eve@restante.test");
    let query = format!("?inboxes={},{eve}", short["inboxHash"].as_str().unwrap());
    let mut stream = open(&server, &query);
    clock.advance(Duration::from_mins(1));
    let id = server.send_raw("eve@restante.test", EMPTY);
    assert_eq!(next_ids(&mut stream, 1), [id]);
}

#[test]
fn an_email_can_be_fetched_before_its_event_is_heard() {
    let (server, bob, _) = with_two();
    let mut stream = open(&server, &format!("?inboxes={bob}"));
    for _ in 0..10 {
        server.send_raw("bob@restante.test", EMPTY);
        let id = stream.next_event().unwrap().id;
        server
            .get(&format!("/api/inboxes/bob@restante.test/emails/{id}"))
            .expect_status(200);
    }
}

#[test]
fn the_event_follows_the_250() {
    let (server, bob, _) = with_two();
    let mut stream = open(&server, &format!("?inboxes={bob}"));
    let mut smtp = socket::connect(server.smtp);
    smtp.set_nodelay(true).unwrap();
    let dialogue = "EHLO c.test\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<bob@restante.test>\r\nDATA\r\n";
    socket::write(&mut smtp, dialogue.as_bytes());
    socket::read_until(&mut smtp, "354 ");
    socket::write(&mut smtp, b"\r\n.\r\n");
    let id = stream.next_event().unwrap().id;
    // Whoever hears the event finds the 250 in its socket already.
    smtp.set_nonblocking(true).unwrap();
    let mut reply = [0; 1024];
    let length = smtp.read(&mut reply).expect("the 250 is there");
    let reply = String::from_utf8_lossy(&reply[..length]);
    assert!(reply.contains(&format!("250 2.0.0 Ok: {id}\r\n")), "{reply}");
}

#[test]
fn a_stream_beyond_the_limit_is_refused_until_another_ends() {
    let server = TestServer::start(&[("SERVER_MAX_STREAMS", "2")]);
    let bob = server.create_plain("bob@restante.test");
    let query = format!("?inboxes={bob}");
    let (first, _second) = (open(&server, &query), open(&server, &query));
    let again = || EventStream::open(server.http, &format!("/api/events{query}"), &[KEY]);
    let refused = again().head.to_ascii_lowercase();
    assert!(refused.starts_with("http/1.1 503 "), "{refused}");
    assert!(refused.contains("\r\nretry-after: 1\r\n"), "{refused}");
    drop(first);
    let began = Instant::now();
    while !again().head.starts_with("HTTP/1.1 200 ") {
        assert!(began.elapsed() < Duration::from_secs(10), "the place is not free again");
    }
}

#[test]
fn a_stop_of_the_server_ends_streams() {
    let (server, bob, _) = with_two();
    let mut stream = open(&server, &format!("?inboxes={bob}"));
    let began = Instant::now();
    server.stop();
    assert_eq!(stream.next_event(), None);
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "before the grace of a stop is over"
    );
}

#[test]
fn a_client_that_does_not_keep_up_has_its_stream_ended_and_finds_the_rest_later() {
    let (server, bob, eve) = with_two();
    let mut slow = open(&server, &format!("?inboxes={bob}"));
    // Together much more than the buffers of two sockets and the queue of the stream hold.
    let large = format!("Subject: {}\r\n\r\n", "x".repeat(200_000));
    let ids: Vec<_> = (0..100).map(|_| server.send_raw("bob@restante.test", &large)).collect();
    // Another stream is silent for longer than the slow one is waited for.
    let mut quiet = open(&server, &format!("?inboxes={eve}"));
    quiet.next_piece().unwrap();
    assert!(quiet.is_silent_for(Duration::from_secs(11)));
    let heard: Vec<_> = std::iter::from_fn(|| slow.next_event()).map(|event| event.id).collect();
    assert!(!heard.is_empty() && heard.len() < 100, "{} events", heard.len());
    assert_eq!(heard, ids[..heard.len()]);
    let mut again = open(
        &server,
        &format!("?inboxes={bob}&lastEventId={}", heard.last().unwrap()),
    );
    assert_eq!(next_ids(&mut again, 100 - heard.len()), ids[heard.len()..]);
}

#[test]
fn head_shows_the_headers_of_a_stream_and_ends() {
    let (server, bob, _) = with_two();
    let key = format!("X-API-Key: {API_KEY}");
    let head = format!("HEAD /api/events?inboxes={bob} HTTP/1.1");
    let answer = socket::exchange(server.http, &[&head, "Host: localhost", &key], b"");
    assert_eq!(socket::status(&answer), 200);
    assert!(
        answer.ends_with("\r\n\r\n") && answer.contains("text/event-stream"),
        "{answer}"
    );
}
