//! What every request passes and every answer carries: hosts, request ids, security headers, methods, routes, health.

use std::net::TcpStream;
use std::sync::Arc;

use insta::assert_snapshot;
use restante_model::SystemClock;

use crate::harness::{API_KEY, TestServer, shape, socket};

#[test]
fn health_is_told_without_a_key() {
    let server = TestServer::start(&[]);
    for path in ["/health/live", "/health/ready"] {
        let answer = server.bare_request("GET", path, &[], "").expect_status(200);
        assert_eq!(answer.body, r#"{"status":"ok"}"#, "{path}");
        assert_eq!(answer.header("content-type"), "application/json");
    }
}

#[test]
fn only_hosts_that_are_this_machine_are_served_on_loopback() {
    let server = TestServer::start(&[]);
    let status = |host: &[u8]| {
        let head = [b"GET /health/live HTTP/1.1\r\nHost: ".as_slice(), host].concat();
        let mut socket = socket::connect(server.http);
        socket::write(
            &mut socket,
            &[&head, b"\r\nConnection: close\r\n\r\n".as_slice()].concat(),
        );
        let answer = socket::read_to_end(&mut socket);
        (socket::status(&answer), answer)
    };
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8080", "127.9.9.9", "[::1]:80"] {
        assert_eq!(status(host.as_bytes()).0, 200, "{host}");
    }
    for host in [
        "evil.test",
        "evil.test:8080",
        "localhost.evil.test",
        "10.0.0.1",
        "",
        "evil.test@localhost",
        "[::2]",
    ] {
        assert_eq!(status(host.as_bytes()).0, 403, "{host}");
    }
    // Bytes that are no text name no host of ours either.
    let (refused, answer) = status(b"\xff.evil.test");
    assert_eq!(refused, 403, "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    assert_snapshot!("foreign_host", shape(body));
}

#[test]
fn a_request_names_its_host_once_unless_it_is_older_than_that() {
    let server = TestServer::start(&[]);
    let status = |head: &[&str]| socket::exchange(server.http, head, b"");
    for head in [
        &["GET /health/live HTTP/1.1"][..],
        &["GET /health/live HTTP/1.1", "Host: localhost", "Host: localhost"],
        &["GET /health/live HTTP/1.0", "Host: localhost", "Host: evil.test"],
    ] {
        let answer = status(head);
        assert!(answer.contains(" 400 "), "{head:?}: {answer}");
        assert!(answer.contains("Host header must be there once"), "{answer}");
    }
    assert!(status(&["GET /health/live HTTP/1.0"]).contains(" 200 "));
}

#[test]
fn a_server_for_others_serves_any_host() {
    let server = TestServer::start(&[("SERVER_HOST", "0.0.0.0")]);
    let local = format!("127.0.0.1:{}", server.http.port()).parse().unwrap();
    let answer = socket::exchange(local, &["GET /health/live HTTP/1.1", "Host: mail.example.test"], b"");
    assert_eq!(socket::status(&answer), 200);
}

#[test]
fn every_answer_carries_a_request_id_and_security_headers() {
    let server = TestServer::start(&[]);
    let answers = [
        server.get("/api/check-key").expect_status(200),
        server.bare_request("GET", "/api/check-key", &[], "").expect_status(401),
        server.get("/api/no-such-route").expect_status(404),
        server.request("PUT", "/api/check-key", None).expect_status(405),
        server.delete("/api/inboxes/a@restante.test").expect_status(204),
        server.bare_request("GET", "/health/live", &[], "").expect_status(200),
    ];
    for answer in &answers {
        let id = answer.header("x-request-id");
        assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert_eq!(
            answer.header("content-security-policy"),
            "default-src 'none'; frame-ancestors 'none'"
        );
        assert_eq!(answer.header("cache-control"), "no-store");
        assert_eq!(
            answer.header("access-control-allow-origin"),
            "",
            "no CORS unless configured"
        );
    }
    assert_ne!(answers[0].header("x-request-id"), answers[1].header("x-request-id"));
}

#[test]
fn a_sane_request_id_is_taken_over() {
    let server = TestServer::start(&[]);
    let longest = "x".repeat(128);
    for id in ["build-7_a.b", longest.as_str()] {
        let answer = server.bare_request(
            "GET",
            "/api/check-key",
            &[("X-API-Key", API_KEY), ("X-Request-Id", id)],
            "",
        );
        assert_eq!(answer.header("x-request-id"), id);
    }
    let too_long = "x".repeat(129);
    for id in ["a b", "<script>", "a\"b", too_long.as_str()] {
        let answer = server.bare_request("GET", "/health/live", &[("X-Request-Id", id)], "");
        assert_eq!(answer.header("x-request-id").len(), 32, "{id}");
    }
}

#[test]
fn an_unknown_route_is_a_404_of_its_own() {
    let server = TestServer::start(&[]);
    let answer = server.get("/api/nothing?x=1").expect_status(404);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_snapshot!("unknown_route", shape(&answer.body));
    for path in [
        "/api/inboxes/",
        "/api/inboxes/a@restante.test/",
        "/api/inboxes/a@restante.test/emails/x/y",
        "/api/check-key/",
        "/API/check-key",
    ] {
        let text = server.get(path).expect_status(404).json()["message"].to_string();
        assert!(text.starts_with("\"Route not found: "), "{path}: {text}");
    }
}

#[test]
fn a_wrong_method_is_a_405_that_names_the_right_ones() {
    let server = TestServer::start(&[]);
    let inbox = "/api/inboxes/a@restante.test";
    let rows = [
        ("POST", "/api/check-key".to_owned(), "GET,HEAD"),
        ("DELETE", "/api/server-info".to_owned(), "GET,HEAD"),
        ("PUT", "/api/inboxes".to_owned(), "DELETE,GET,HEAD,POST"),
        ("PATCH", "/api/inboxes".to_owned(), "DELETE,GET,HEAD,POST"),
        ("POST", inbox.to_owned(), "DELETE,GET,HEAD"),
        ("POST", format!("{inbox}/sync"), "GET,HEAD"),
        ("DELETE", format!("{inbox}/emails"), "GET,HEAD"),
        ("PATCH", format!("{inbox}/emails/x"), "DELETE,GET,HEAD"),
        ("PUT", format!("{inbox}/emails/x/raw"), "GET,HEAD"),
        ("GET", format!("{inbox}/emails/x/read"), "PATCH"),
        ("POST", "/api/events".to_owned(), "GET,HEAD"),
        ("OPTIONS", "/api/check-key".to_owned(), "GET,HEAD"),
        ("BREW", "/api/check-key".to_owned(), "GET,HEAD"),
        ("POST", "/health/live".to_owned(), "GET,HEAD"),
    ];
    for (method, path, allowed) in rows {
        let answer = server.request(method, &path, None);
        assert_eq!(answer.status, 405, "{method} {path}");
        let mut allow: Vec<_> = answer.header("allow").split(',').map(str::trim).collect();
        allow.sort_unstable();
        assert_eq!(allow.join(","), allowed, "{method} {path}");
        let body = answer.json();
        assert_eq!(body["statusCode"], 405);
        assert_eq!(body["error"], "Method Not Allowed");
        assert_eq!(body["message"], format!("Method not allowed: {method}"));
    }
}

#[test]
fn head_is_get_without_the_body() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    for path in [
        "/health/live",
        "/api/check-key",
        "/api/inboxes",
        "/api/inboxes/bob@restante.test",
        "/api/inboxes/bob@restante.test/emails",
        "/api/inboxes/bob@restante.test/sync",
    ] {
        let key = format!("X-API-Key: {API_KEY}");
        let head = format!("HEAD {path} HTTP/1.1");
        let answer = socket::exchange(server.http, &[&head, "Host: localhost", &key], b"");
        assert_eq!(socket::status(&answer), 200, "{path}");
        assert!(answer.ends_with("\r\n\r\n"), "{path} has no body: {answer}");
        let length = server.get(path).body.len();
        assert!(answer.contains(&format!("content-length: {length}\r\n")), "{answer}");
    }
    let key = format!("X-API-Key: {API_KEY}");
    let head = "HEAD /api/inboxes/nobody@restante.test HTTP/1.1";
    let answer = socket::exchange(server.http, &[head, "Host: localhost", &key], b"");
    assert_eq!(socket::status(&answer), 404);
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[test]
fn a_request_under_way_is_finished_when_the_server_stops() {
    let server = TestServer::start(&[]);
    let http = server.http;
    let mut socket = socket::connect(http);
    let body = r#"{"emailAddress":"bob@restante.test"}"#;
    let head = format!(
        "POST /api/inboxes HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {API_KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    socket::write(&mut socket, head.as_bytes());
    socket::read_until(&mut socket, "HTTP/1.1 100 Continue\r\n\r\n");
    let stopping = std::thread::spawn(|| server.stop());
    while TcpStream::connect(http).is_ok() {}
    socket::write(&mut socket, body.as_bytes());
    assert_eq!(socket::status(&socket::read_to_end(&mut socket)), 201);
    let server = TestServer::start_in(stopping.join().unwrap(), &[], Arc::new(SystemClock));
    server.get("/api/inboxes/bob@restante.test").expect_status(200);
}
