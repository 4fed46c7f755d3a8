//! Limits of requests and answers, and the order in which requests are refused (decisions, section 2).

use std::io::Read as _;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use restante_model::SystemClock;
use serde_json::json;
use tokio::time::Instant;

use crate::harness::mail::EMPTY;
use crate::harness::{API_KEY, TestServer, shape, socket};

const KEY: (&str, &str) = ("X-API-Key", API_KEY);
const JSON: (&str, &str) = ("Content-Type", "application/json");
const TEXT: (&str, &str) = ("Content-Type", "text/plain");
/// Bytes of a JSON body, at most.
const BODY_MAX: usize = 256 * 1024;

/// An empty object of so many bytes.
fn padded(bytes: usize) -> String {
    format!("{{{}}}", " ".repeat(bytes - 2))
}

#[test]
fn a_body_has_at_most_256_kib() {
    let server = TestServer::start(&[]);
    let create = |body: &str| server.exchange("POST", "/api/inboxes", &[KEY, JSON], body.as_bytes());
    assert_eq!(create(&padded(BODY_MAX)).status, 201);
    let refused = create(&padded(BODY_MAX + 1));
    assert_eq!(refused.status, 413, "{}", refused.head);
    assert_snapshot!("too_large", shape(&refused.body));
}

#[test]
fn a_client_that_sends_all_of_a_large_body_before_it_reads_still_learns_why_it_is_refused() {
    let server = TestServer::start(&[]);
    let body = padded(4 << 20);
    for (method, path, key, media_type, status) in [
        ("POST", "/api/inboxes", "wrong", "application/json", 401),
        ("POST", "/api/nothing", API_KEY, "application/json", 404),
        ("PUT", "/api/inboxes", API_KEY, "application/json", 405),
        ("POST", "/api/inboxes", API_KEY, "application/json", 413),
        ("POST", "/api/inboxes", API_KEY, "text/plain", 415),
    ] {
        for length in [
            format!("Content-Length: {}\r\n\r\n", body.len()),
            format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len()),
        ] {
            let head = format!(
                "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\
                 Content-Type: {media_type}\r\n{length}"
            );
            let mut socket = socket::connect(server.http);
            socket::write(&mut socket, head.as_bytes());
            socket::write(&mut socket, body.as_bytes());
            assert_eq!(socket::status(&socket::read_to_end(&mut socket)), status);
        }
    }
}

#[test]
fn a_body_without_a_length_is_limited_as_well() {
    let server = TestServer::start(&[]);
    let create = |body: &str| {
        let key = format!("X-API-Key: {API_KEY}");
        let head = [
            "POST /api/inboxes HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Transfer-Encoding: chunked",
            &key,
        ];
        let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        socket::status(&socket::exchange(server.http, &head, chunked.as_bytes()))
    };
    assert_eq!(create(&padded(BODY_MAX)), 201);
    assert_eq!(create(&padded(BODY_MAX + 1)), 413);
}

#[test]
fn a_body_that_breaks_off_creates_nothing() {
    let server = TestServer::start(&[]);
    let mut socket = socket::connect(server.http);
    let request = format!(
        "POST /api/inboxes HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {API_KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{{}}"
    );
    socket::write(&mut socket, request.as_bytes());
    socket.shutdown(Shutdown::Write).unwrap();
    let answer = socket::read_to_end(&mut socket);
    assert!(answer.is_empty() || socket::status(&answer) == 400, "{answer}");
    assert_eq!(server.get("/api/inboxes").body, r#"{"inboxes":[]}"#);
}

#[test]
fn of_several_faults_the_first_in_the_order_is_told() {
    let server = TestServer::start(&[("LOCAL_ALLOW_CLEAR_ALL_INBOXES", "false")]);
    server.create_plain("bob@restante.test");
    let id = server.send_raw("bob@restante.test", EMPTY);
    let wrong_key = ("X-API-Key", "wrong");
    let too_large = "{".repeat(BODY_MAX + 1);
    let taken = r#"{"emailAddress":"bob@restante.test","ttl":59}"#;
    let inbox = "/api/inboxes/bob@restante.test";
    let nobody = "/api/inboxes/nobody@restante.test";
    let read = format!("{inbox}/emails/{id}/read");
    let read_unknown = format!("{nobody}/emails/{id}/read");
    let rows = [
        // Key, route, method, media type.
        ("POST", "/api/nothing", [wrong_key, TEXT], too_large.as_str(), 401),
        ("PUT", "/api/inboxes", [wrong_key, TEXT], too_large.as_str(), 401),
        ("POST", "/api/nothing", [KEY, TEXT], "{", 404),
        ("PUT", "/api/nothing", [KEY, JSON], "{", 404),
        ("PUT", "/api/inboxes", [KEY, TEXT], "{", 405),
        ("PUT", inbox, [KEY, JSON], "{", 405),
        ("POST", "/api/inboxes", [KEY, TEXT], &too_large, 415),
        ("PATCH", &read_unknown, [KEY, TEXT], "{", 415),
        // Size, body, resource, policy.
        ("POST", "/api/inboxes", [KEY, JSON], &too_large, 413),
        ("PATCH", &read_unknown, [KEY, JSON], &too_large, 413),
        ("PATCH", &read_unknown, [KEY, JSON], "{", 400),
        ("PATCH", &read_unknown, [KEY, JSON], "{}", 404),
        ("GET", &format!("{nobody}/emails?limit=0"), [KEY, JSON], "", 400),
        (
            "GET",
            &format!("{nobody}/emails?includeContent=x"),
            [KEY, JSON],
            "",
            400,
        ),
        ("POST", "/api/inboxes", [KEY, JSON], taken, 400),
        ("DELETE", "/api/inboxes", [KEY, JSON], "{", 400),
        ("DELETE", "/api/inboxes", [KEY, JSON], "", 403),
        ("PATCH", &read, [KEY, JSON], "", 204),
    ];
    for (method, path, headers, body, status) in rows {
        let answer = server.exchange(method, path, &headers, body.as_bytes());
        assert_eq!(answer.status, status, "{method} {path} {:.20}: {}", body, answer.body);
    }
}

#[test]
fn answers_share_a_budget_of_memory_until_they_are_sent() {
    let server = TestServer::start(&[("HTTP_MAX_INFLIGHT_BYTES", "65536")]);
    server.create_plain("bob@restante.test");
    let small = server.send_raw("bob@restante.test", EMPTY);
    // More than the buffers of two sockets take.
    let line = format!("{}\r\n", "x".repeat(8190));
    let large = server.send_raw("bob@restante.test", &format!("\r\n{}", line.repeat(2000)));
    let source = |id: &str| format!("/api/inboxes/bob@restante.test/emails/{id}/raw");
    server.get(&source(&small)).expect_status(200);

    let list = "/api/inboxes/bob@restante.test/emails?includeContent=true";
    let email = format!("/api/inboxes/bob@restante.test/emails/{large}");
    for path in [source(&large).as_str(), list, &email] {
        let slow = reading_slowly(&server, path);
        let answer = server.get(&source(&small)).expect_status(503);
        assert_snapshot!("busy", shape(&answer.body));
        assert_eq!(answer.header("retry-after"), "1");
        server.get(list).expect_status(503);
        server.get("/api/inboxes/bob@restante.test").expect_status(200);
        server.get("/health/ready").expect_status(200);

        drop(slow);
        assert_eq!(once_there_is_room(&server, &source(&small)), 200);
    }
    assert_eq!(once_there_is_room(&server, &source(&large)), 200);
}

/// The status of an answer once no other holds its memory: a client has an answer before the server gives that back.
fn once_there_is_room(server: &TestServer, path: &str) -> u16 {
    let mut statuses = (0..10_000).map(|_| server.get(path).status);
    let status = statuses.find(|status| *status != 503);
    status.expect("what was held comes back")
}

#[test]
fn nothing_is_read_before_there_is_memory_for_it() {
    let budget = [("HTTP_MAX_INFLIGHT_BYTES", "65536")];
    let server = TestServer::start(&budget);
    server.create_plain("bob@restante.test");
    let line = format!("{}\r\n", "x".repeat(8190));
    let large = server.send_raw("bob@restante.test", &format!("\r\n{}", line.repeat(2000)));
    server.create_plain("eve@restante.test");
    let body = format!("untouched-marker\r\n{}", line.repeat(2));
    let spoiled = server.send_raw("eve@restante.test", &format!("\r\n{body}"));
    let data = server.stop();
    assert_eq!(spoil(data.path(), b"untouched-marker"), 1);
    let server = TestServer::start_in(data, &budget, Arc::new(SystemClock));

    let emails = "/api/inboxes/eve@restante.test/emails";
    let paths = [
        format!("{emails}/{spoiled}"),
        format!("{emails}/{spoiled}/raw"),
        format!("{emails}?includeContent=true"),
    ];
    // Whoever reads it finds that it is spoiled; who has no memory does not.
    let slow = reading_slowly(&server, &format!("/api/inboxes/bob@restante.test/emails/{large}/raw"));
    for path in &paths {
        server.get(path).expect_status(503);
    }
    server.get(emails).expect_status(503);
    drop(slow);
    for (path, found) in paths.iter().zip([500, 500, 200]) {
        let mut again = (0..10_000).map(|_| server.get(path).status);
        assert_eq!(again.find(|status| *status != 503), Some(found), "{path}");
    }
    // A list shows what can be read: the metadata of the one email, but not its content.
    for (path, count) in [(paths[2].as_str(), 0), (emails, 1)] {
        let mut again = (0..10_000).map(|_| server.get(path));
        let list = again.find(|answer| answer.status != 503).unwrap();
        assert_eq!(list.json().as_array().unwrap().len(), count, "{path}");
    }
}

/// Asks for an answer and takes no more of it than its first bytes.
///
/// What an answer before it held comes back a moment after its last byte: until then the server says 503.
fn reading_slowly(server: &TestServer, path: &str) -> TcpStream {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {API_KEY}\r\n\r\n");
    let mut tries = (0..10_000).map(|_| {
        let mut socket = socket::connect(server.http);
        socket::write(&mut socket, request.as_bytes());
        let mut status = [0; 12];
        socket.read_exact(&mut status).unwrap();
        (socket, status)
    });
    let (socket, status) = tries.find(|(_, status)| status != b"HTTP/1.1 503").unwrap();
    assert_eq!(status, *b"HTTP/1.1 200");
    socket
}

#[test]
fn a_connection_beyond_the_limit_is_served_when_another_ends() {
    let server = TestServer::start(&[("SERVER_MAX_CONNECTIONS", "2")]);
    let ask = || {
        let mut socket = socket::connect(server.http);
        socket::write(&mut socket, b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
        socket
    };
    let (mut first, mut second) = (ask(), ask());
    for socket in [&mut first, &mut second] {
        socket::read_until(socket, r#"{"status":"ok"}"#);
    }
    let mut third = ask();
    third.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(third.read(&mut [0]).is_err(), "it waits");
    drop(first);
    third.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket::read_until(&mut third, r#"{"status":"ok"}"#);
}

#[test]
fn a_request_head_has_at_most_128_kib() {
    let server = TestServer::start(&[]);
    let answer = |bytes: usize| {
        let filler = format!("X-Filler: {}", "x".repeat(bytes));
        let head = ["GET /health/live HTTP/1.1", "Host: localhost", &filler];
        socket::status(&socket::exchange(server.http, &head, b""))
    };
    assert_eq!(answer(100 * 1024), 200);
    assert_eq!(answer(130 * 1024), 431);
}

#[test]
fn half_a_request_head_is_cut_after_10_seconds() {
    let server = TestServer::start(&[]);
    let mut socket = socket::connect(server.http);
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket::write(&mut socket, b"GET /api/check-key HT");
    let began = Instant::now();
    assert_eq!(socket::read_to_end(&mut socket), "");
    let secs = began.elapsed().as_secs_f64();
    assert!((9.5..15.0).contains(&secs), "{secs}");
}

#[test]
fn a_connection_serves_one_request_after_another() {
    let server = TestServer::start(&[]);
    let mut socket = socket::connect(server.http);
    let request = |path: &str, more: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {API_KEY}\r\n{more}\r\n")
    };
    let pipelined = [
        request("/api/check-key", ""),
        request("/api/nothing", ""),
        request("/api/check-key", "Connection: close\r\n"),
    ];
    socket::write(&mut socket, pipelined.concat().as_bytes());
    let answers = socket::read_to_end(&mut socket);
    let statuses: Vec<_> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["200", "404", "200"]);
}

#[test]
fn what_a_disk_has_spoiled_is_a_500_that_says_nothing_but_where_to_look() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    let id = server.send_raw("bob@restante.test", "Subject: a\r\n\r\nuntouched-marker\r\n");
    let data = server.stop();
    let spoiled = spoil(data.path(), b"untouched-marker");
    assert_eq!(spoiled, 1, "one record holds the text");
    let server = TestServer::start_in(data, &[], Arc::new(SystemClock));
    let path = format!("/api/inboxes/bob@restante.test/emails/{id}/raw");
    let headers = [KEY, ("X-Request-Id", "look-here")];
    let answer = server.bare_request("GET", &path, &headers, "").expect_status(500);
    assert_snapshot!("internal_error", shape(&answer.body));
    assert_eq!(answer.header("x-request-id"), "look-here");
    assert_eq!(
        server.get("/api/inboxes").json()["inboxes"][0]["emailAddress"],
        json!("bob@restante.test")
    );
}

/// Changes one byte of a text wherever a file below the directory holds it; how many did.
fn spoil(directory: &std::path::Path, text: &[u8]) -> usize {
    let mut spoiled = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            spoiled += spoil(&path, text);
            continue;
        }
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(text.len()).position(|window| window == text) {
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            spoiled += 1;
        }
    }
    spoiled
}
