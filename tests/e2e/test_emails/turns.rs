//! How many test emails are worked on at a time: their memory has a bound.

use std::io::{ErrorKind, Write as _};
use std::net::TcpStream;

use super::*;

/// The largest body that is taken.
const LARGEST: usize = 256 * 1024;

/// Begins a request and keeps its body back; the server asks for that when the turn of the request has come.
fn begin(server: &TestServer, length: usize) -> TcpStream {
    let head = format!(
        "POST {ROUTE} HTTP/1.1\r\nHost: {}\r\nX-API-Key: {API_KEY}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
        server.http
    );
    let mut client = socket::connect(server.http);
    socket::write(&mut client, head.as_bytes());
    client
}

fn is_asked_for_its_body(client: &mut TcpStream) {
    socket::read_until(client, "HTTP/1.1 100 Continue\r\n\r\n");
}

#[test]
fn who_comes_beyond_the_bound_waits_with_its_body_and_smtp_does_not() {
    let server = start(&[]);
    let mut first: Vec<_> = (0..16).map(|_| begin(&server, LARGEST)).collect();
    first.iter_mut().for_each(is_asked_for_its_body);
    let body = json!({ "to": BOB, "text": "x".repeat(250_000) }).to_string();
    let mut late = begin(&server, body.len());
    late.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let silent = late.read(&mut [0]).unwrap_err().kind();
    assert!(
        matches!(silent, ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{silent}"
    );
    server.send_raw(BOB, "Subject: at once\r\n\r\nhi\r\n");
    assert_eq!(server.email_ids(BOB).len(), 1);
    // One that gives up makes room for the next.
    drop(first.pop());
    late.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    is_asked_for_its_body(&mut late);
    late.write_all(body.as_bytes()).unwrap();
    assert_eq!(socket::status(&socket::read_to_end(&mut late)), 201);
    assert_eq!(server.email_ids(BOB).len(), 2);
}

#[test]
fn a_crowd_is_served_one_after_the_other() {
    let server = start(&[]);
    let body = json!({ "to": BOB, "text": "x".repeat(200_000) }).to_string();
    let mut crowd: Vec<_> = (0..60).map(|_| begin(&server, body.len())).collect();
    let serve = |client: &mut TcpStream| {
        is_asked_for_its_body(client);
        client.write_all(body.as_bytes()).unwrap();
        socket::status(&socket::read_to_end(client))
    };
    let answers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = crowd.iter_mut().map(|client| scope.spawn(|| serve(client))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(answers, [201; 60]);
    assert_eq!(server.email_ids(BOB).len(), 60);
}
