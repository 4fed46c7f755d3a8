//! The API over TLS: beside plain HTTP, with the same answers, limits and deadlines.

use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use restante_model::SystemClock;
use rustls::version::{TLS12, TLS13};
use tempfile::TempDir;

use crate::harness::tls::{self, Pair, TlsSocket};
use crate::harness::{API_KEY, TestServer, socket};

const HTTPS: [(&str, &str); 2] = [("SERVER_HTTPS_ENABLED", "true"), ("SERVER_HTTPS_PORT", "0")];

/// A server with a certificate of its own authority, whose certificate clients trust.
fn start(variables: &[(&str, &str)]) -> (TestServer, String) {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().to_owned();
    let own = [("TLS_SELF_SIGNED", "true")];
    let variables = [&HTTPS[..], &own, variables].concat();
    let server = TestServer::start_in(data, &variables, Arc::new(SystemClock));
    let trusted = fs::read_to_string(path.join("tls/authority.pem")).unwrap();
    (server, trusted)
}

fn connect(server: &TestServer, trusted: &str) -> TlsSocket {
    tls::connect(server.https.unwrap(), trusted).unwrap()
}

#[test]
fn both_schemes_and_both_versions_give_the_same_answers() {
    let (server, trusted) = start(&[]);
    let key = format!("X-API-Key: {API_KEY}");
    for head in [
        &["GET /api/check-key HTTP/1.1", "Host: localhost", &key][..],
        &["GET /api/check-key HTTP/1.1", "Host: localhost"],
        &["GET /api/check-key HTTP/1.1", "Host: evil.test", &key],
        &["GET /health/ready HTTP/1.1", "Host: 127.0.0.1:8443"],
        &["GET /nothing HTTP/1.1", "Host: localhost"],
    ] {
        let plain = socket::exchange(server.http, head, b"");
        let (_, body) = plain.split_once("\r\n\r\n").unwrap();
        for (version, name) in [(&TLS12, "localhost"), (&TLS13, "127.0.0.1")] {
            let socket = tls::connect_with(server.https.unwrap(), &trusted, name, &[version]).unwrap();
            let answer = tls::exchange(socket, head);
            assert_eq!(socket::status(&answer), socket::status(&plain), "{head:?}: {answer}");
            assert!(answer.ends_with(body), "{answer}");
        }
    }
}

#[test]
fn the_answers_are_those_of_the_api() {
    let (server, trusted) = start(&[]);
    let get = |head: &[&str]| socket::status(&tls::exchange(connect(&server, &trusted), head));
    let key = format!("X-API-Key: {API_KEY}");
    let path = "GET /api/check-key HTTP/1.1";
    assert_eq!(get(&[path, "Host: localhost", &key]), 200);
    assert_eq!(get(&[path, "Host: localhost"]), 401);
    assert_eq!(get(&[path, "Host: evil.test", &key]), 403);
}

#[test]
fn a_stream_brings_mail_over_tls() {
    let (server, trusted) = start(&[]);
    let hash = server.create_plain("bob@restante.test");
    let mut stream = connect(&server, &trusted);
    let head = format!("GET /api/events?inboxes={hash} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {API_KEY}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut read = String::new();
    read_until(&mut stream, &mut read, "\r\n\r\n");
    let id = server.send_raw("bob@restante.test", "Subject: hello\r\n\r\n");
    read_until(&mut stream, &mut read, &format!("id: {id}\n"));
}

fn read_until(stream: &mut TlsSocket, read: &mut String, text: &str) {
    let mut buffer = [0; 1024];
    while !read.contains(text) {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "{text:?} in {read}");
        read.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
}

#[test]
fn a_large_body_goes_both_ways() {
    let (server, trusted) = start(&[]);
    server.create_plain("bob@restante.test");
    let text = "0123456789abcdef".repeat(64 * 1024);
    server.send("bob@restante.test", "large", &text);
    let id = server.email_ids("bob@restante.test").remove(0);
    let head = [
        &format!("GET /api/inboxes/bob@restante.test/emails/{id} HTTP/1.1"),
        "Host: localhost",
        &format!("X-API-Key: {API_KEY}"),
    ];
    let answer = tls::exchange(connect(&server, &trusted), &head);
    let plain = socket::exchange(server.http, &head, b"");
    assert_eq!(socket::status(&answer), 200);
    assert_eq!(
        answer.split_once("\r\n\r\n").unwrap().1,
        plain.split_once("\r\n\r\n").unwrap().1
    );
    assert!(answer.len() > text.len());
}

#[test]
fn who_does_not_speak_tls_is_cut_and_disturbs_nobody() {
    let (server, trusted) = start(&[]);
    let mut stranger = socket::connect(server.https.unwrap());
    socket::write(&mut stranger, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // What comes is an alert, or the end, within the patience of the socket: no HTTP.
    let mut answer = Vec::new();
    let read = stranger.read_to_end(&mut answer);
    assert!(read.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true));
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let _works = connect(&server, &trusted);
}

#[test]
fn a_handshake_that_does_not_end_is_cut() {
    let (server, _) = start(&[("TLS_HANDSHAKE_TIMEOUT", "200")]);
    for sent in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00"] {
        let mut silent = socket::connect(server.https.unwrap());
        socket::write(&mut silent, sent);
        let mut answer = Vec::new();
        let read = silent.read_to_end(&mut answer);
        assert!(read.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true));
    }
}

#[test]
fn both_schemes_share_the_places() {
    let (server, trusted) = start(&[("SERVER_MAX_CONNECTIONS", "1")]);
    let held = connect(&server, &trusted);
    let mut plain = ask(&server);
    assert!(is_silent(&plain), "the one place is taken");
    drop(held);
    let mut answer = String::new();
    plain.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    plain.read_to_string(&mut answer).unwrap();
    assert_eq!(socket::status(&answer), 200);
}

/// A plain connection with a request on it.
fn ask(server: &TestServer) -> TcpStream {
    let mut plain = socket::connect(server.http);
    socket::write(
        &mut plain,
        b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    plain
}

fn is_silent(socket: &TcpStream) -> bool {
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let read = socket.peek(&mut [0]);
    read.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
}

#[test]
fn smtp_begins_with_the_same_certificate_on_a_port_of_its_own() {
    let (server, trusted) = start(&[("SMTP_TLS_PORT", "0"), ("SMTP_PORT", "off")]);
    assert_eq!(server.smtp.port(), 0, "off");
    let mut smtp = tls::connect(server.smtp_tls.unwrap(), &trusted).unwrap();
    read_until(&mut smtp, &mut String::new(), "220 mx.restante.test ");
}

#[test]
fn without_a_setting_there_is_no_https() {
    let server = TestServer::start(&[("TLS_SELF_SIGNED", "true")]);
    assert_eq!(server.https, None);
}

#[test]
fn a_certificate_of_somebody_else_is_served() {
    let files = tempfile::tempdir().unwrap();
    let pair = Pair::new(&["localhost"]);
    let server = start_with(&pair, &files);
    assert!(tls::connect(server.https.unwrap(), &pair.chain).is_ok());
    let stranger = Pair::new(&["localhost"]);
    assert!(tls::connect(server.https.unwrap(), &stranger.chain).is_err());
}

fn start_with(pair: &Pair, files: &TempDir) -> TestServer {
    let [chain, key] = pair.write(files.path());
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (chain, key) = (text(&chain), text(&key));
    let files = [("TLS_CERT_PATH", chain.as_str()), ("TLS_KEY_PATH", key.as_str())];
    TestServer::start(&[&HTTPS[..], &files].concat())
}
