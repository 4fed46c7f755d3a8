//! The API key: who is let in, what the others are told, and how often (interface, "Authentication").

use insta::assert_snapshot;

use crate::harness::{API_KEY, TestServer, shape, socket};

const WRONG: &str = "test-key-0123456789-0123456789-012345678_";

#[test]
fn the_right_key_is_confirmed_whatever_the_case_of_the_header_name() {
    let server = TestServer::start(&[]);
    let answer = server.get("/api/check-key").expect_status(200);
    assert_eq!(answer.body, r#"{"ok":true}"#);
    assert_eq!(answer.header("content-type"), "application/json");
    for name in ["X-API-Key", "x-api-key", "X-Api-KEY"] {
        let key = format!("{name}: {API_KEY}");
        let answer = socket::exchange(
            server.http,
            &["GET /api/check-key HTTP/1.1", "Host: localhost", &key],
            b"",
        );
        assert_eq!(socket::status(&answer), 200, "{name}");
    }
}

#[test]
fn a_missing_and_a_wrong_key_are_refused_in_their_own_words() {
    let server = TestServer::start(&[]);
    let missing = server.bare_request("GET", "/api/check-key", &[], "").expect_status(401);
    assert_snapshot!("missing_key", shape(&missing.body));
    assert_eq!(missing.header("www-authenticate"), "ApiKey");
    let with_blank = format!("{API_KEY} x");
    for key in ["", "short", WRONG, &API_KEY[1..], &API_KEY.to_uppercase(), &with_blank] {
        let answer = server.bare_request("GET", "/api/check-key", &[("X-API-Key", key)], "");
        let wrong = answer.expect_status(401);
        assert_snapshot!("wrong_key", shape(&wrong.body));
        assert_eq!(wrong.header("www-authenticate"), "ApiKey");
        assert!(!wrong.body.contains(WRONG));
    }
}

#[test]
fn every_route_below_api_needs_the_key_before_anything_else() {
    let server = TestServer::start(&[]);
    let routes = [
        ("GET", "/api/check-key"),
        ("GET", "/api/server-info"),
        ("POST", "/api/inboxes"),
        ("GET", "/api/inboxes"),
        ("DELETE", "/api/inboxes"),
        ("GET", "/api/inboxes/a@restante.test"),
        ("DELETE", "/api/inboxes/a@restante.test"),
        ("GET", "/api/inboxes/a@restante.test/sync"),
        ("GET", "/api/inboxes/a@restante.test/emails"),
        ("GET", "/api/inboxes/a@restante.test/emails/x"),
        ("DELETE", "/api/inboxes/a@restante.test/emails/x"),
        ("GET", "/api/inboxes/a@restante.test/emails/x/raw"),
        ("PATCH", "/api/inboxes/a@restante.test/emails/x/read"),
        ("GET", "/api/no-such-route"),
        ("PUT", "/api/check-key"),
        ("GET", "/api"),
        ("GET", "/api/"),
    ];
    for (method, path) in routes {
        let answer = server.bare_request(method, path, &[], "");
        assert_eq!(answer.status, 401, "{method} {path}");
    }
    // The routes that are not the API's need none, and give none away.
    assert_eq!(server.bare_request("GET", "/", &[], "").status, 404);
    assert_eq!(server.bare_request("GET", "/apis", &[], "").status, 404);
    assert_eq!(server.bare_request("GET", "/%61pi/check-key", &[], "").status, 404);
}

#[test]
fn the_twenty_first_failure_of_a_minute_is_too_many_but_the_right_key_is_always_served() {
    let server = TestServer::start(&[]);
    for attempt in 1..=20 {
        let headers: &[_] = if attempt % 2 == 0 { &[("X-API-Key", WRONG)] } else { &[] };
        let answer = server.bare_request("GET", "/api/server-info", headers, "");
        assert_eq!(answer.status, 401, "attempt {attempt}");
    }
    for headers in [&[("X-API-Key", WRONG)][..], &[]] {
        let answer = server
            .bare_request("GET", "/api/server-info", headers, "")
            .expect_status(429);
        assert_snapshot!("too_many_requests", shape(&answer.body));
        let wait: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    for _ in 0..30 {
        server.get("/api/check-key").expect_status(200);
    }
    // Neither right requests nor those without need of a key are counted as failures.
    assert_eq!(server.bare_request("GET", "/health/live", &[], "").status, 200);
}

#[test]
fn a_general_limit_counts_requests_with_the_right_key_too() {
    let server = TestServer::start(&[("THROTTLE_LIMIT", "3"), ("THROTTLE_TTL", "600000")]);
    for _ in 0..3 {
        server.get("/api/check-key").expect_status(200);
    }
    let refused = server.get("/api/server-info").expect_status(429);
    assert_snapshot!("too_many_requests", shape(&refused.body));
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((590..=600).contains(&wait), "{wait}");
    assert_eq!(server.bare_request("GET", "/health/ready", &[], "").status, 200);
}

#[test]
fn a_key_that_was_made_at_the_first_start_is_the_one_that_is_asked_for() {
    let data = tempfile::tempdir().unwrap();
    let key = "file-key-0123456789-0123456789-0123456789";
    std::fs::write(data.path().join(".api-key"), format!("{key}\n")).unwrap();
    let server = TestServer::start_without_key(data);
    let status = |key: &str| {
        server
            .bare_request("GET", "/api/check-key", &[("X-API-Key", key)], "")
            .status
    };
    assert_eq!(status(key), 200);
    assert_eq!(status(API_KEY), 401);
}
