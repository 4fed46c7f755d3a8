//! Connections that end instead of a reply: FIN and RST, in clear and under TLS.

use std::io::{Read as _, Write as _};

use super::*;
use crate::harness::tls::{self, TlsSocket};

#[test]
fn a_connection_ends_with_fin_or_rst_as_was_asked() {
    for (graceful, kind) in [(true, ErrorKind::UnexpectedEof), (false, ErrorKind::ConnectionReset)] {
        let server = with_bob(&connection_drop(graceful));
        for _ in 0..3 {
            assert_eq!(answer(&server).unwrap_err().kind(), kind);
        }
        assert!(server.email_ids(BOB).is_empty());
    }
}

#[test]
fn a_fin_says_that_all_was_read_also_when_more_has_come() {
    let server = with_bob(&connection_drop(true));
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    peer.send(b"BDAT 5 LAST\r\nhi, b").unwrap();
    // A server that closes on unread bytes resets the connection.
    let _ = peer.send(&b"NOOP\r\n".repeat(100));
    assert_eq!(peer.rest(), "");
}

#[test]
fn the_connection_drops_for_all_recipients_and_the_harder_way_wins() {
    let server = with_bob(&connection_drop(true));
    server.create_plain(EVE);
    set(&server, EVE, &error(1.0, &["permanent"]));
    let ends = |server: &TestServer| {
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(&[EVE, BOB]);
        peer.data(MAIL).unwrap_err().kind()
    };
    assert_eq!(ends(&server), ErrorKind::UnexpectedEof);
    set(&server, EVE, &connection_drop(false));
    assert_eq!(ends(&server), ErrorKind::ConnectionReset);
    assert!(server.email_ids(BOB).is_empty() && server.email_ids(EVE).is_empty());
}

/// A server with a certificate, on a port of STARTTLS and one of implicit TLS, and what clients trust.
fn encrypted(chaos: &Value) -> (TestServer, String) {
    let data = tempfile::tempdir().unwrap();
    let authority = data.path().join("tls/authority.pem");
    let variables = [
        ("CHAOS_ENABLED", "true"),
        ("TLS_SELF_SIGNED", "true"),
        ("SMTP_TLS_PORT", "0"),
    ];
    let server = TestServer::start_in(data, &variables, Arc::new(SystemClock));
    server.create_plain(BOB);
    set(&server, BOB, chaos);
    (server, std::fs::read_to_string(authority).unwrap())
}

/// Sends a message after the greeting, and gives back all that is said until the connection ends, and how it does.
fn converse(mut socket: TlsSocket) -> (String, Option<ErrorKind>) {
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    let steps = [
        "",
        "EHLO client.test\r\n",
        "MAIL FROM:<a@sender.test>\r\n",
        "RCPT TO:<bob@restante.test>\r\n",
        "DATA\r\n",
        "Subject: hi\r\n\r\nhi\r\n.\r\n",
    ];
    for step in steps {
        socket.write_all(step.as_bytes()).unwrap();
        match socket.read(&mut buffer) {
            // Only what was closed with close_notify ends so; rustls takes anything else for an attack.
            Ok(0) => return (heard, None),
            Ok(read) => heard.push_str(str::from_utf8(&buffer[..read]).unwrap()),
            Err(error) => return (heard, Some(error.kind())),
        }
    }
    panic!("the connection goes on: {heard}");
}

#[test]
fn under_tls_a_fin_is_told_and_a_reset_is_not() {
    for (graceful, end) in [(true, None), (false, Some(ErrorKind::ConnectionReset))] {
        let (server, trusted) = encrypted(&connection_drop(graceful));
        let socket = tls::connect(server.smtp_tls.unwrap(), &trusted).unwrap();
        let (heard, ended) = converse(socket);
        assert!(heard.ends_with("354 End data with <CR><LF>.<CR><LF>\r\n"), "{heard}");
        assert_eq!(ended, end);
        assert!(server.email_ids(BOB).is_empty());
    }
}
