//! Greylists, for clients of any address: a proxy names them.

use std::net::Ipv4Addr;

use restante_model::Timestamp;
use restante_testkit::FakeClock;

use super::*;

/// Whether a message from this address and reverse-path is taken.
fn passes(server: &TestServer, ip: Ipv4Addr, reverse_path: &str) -> bool {
    let mut peer = Peer::connect(server.smtp).unwrap();
    // PROXY, TCP over IPv4, from the address and port 40000 to 192.0.2.1:25.
    let header = [
        &b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c"[..],
        &ip.octets(),
        b"\xc0\x00\x02\x01\x9c\x40\x00\x19",
    ];
    peer.send(&header.concat()).unwrap();
    assert!(peer.reply().unwrap().starts_with("220 "));
    assert!(peer.say("EHLO client.test").starts_with("250-"));
    assert!(peer.say(&format!("MAIL FROM:<{reverse_path}>")).starts_with("250 "));
    assert!(peer.say(&format!("RCPT TO:<{BOB}>")).starts_with("250 "));
    let reply = peer.data(MAIL).unwrap();
    assert!(
        reply.starts_with("250 2.0.0 ") || reply.starts_with("451 4.7.1 "),
        "{reply}"
    );
    reply.starts_with("250 ")
}

/// A server behind a proxy, at a time that the test sets, where bob greylists.
fn greylisting(greylist: &Value) -> (TestServer, Arc<FakeClock>) {
    let clock = Arc::new(FakeClock::at(Timestamp::from_unix_ms(1_769_341_276_000)));
    let variables = [("CHAOS_ENABLED", "true"), ("SMTP_PROXY_PROTOCOL_NETWORKS", "127.0.0.1")];
    let server = TestServer::start_with_clock(&variables, clock.clone());
    server.create_plain(BOB);
    set(&server, BOB, &json!({ "greylist": greylist }));
    (server, clock)
}

#[test]
fn senders_are_told_apart_by_each_key() {
    let (one, two) = (Ipv4Addr::new(203, 0, 113, 1), Ipv4Addr::new(203, 0, 113, 2));
    let attempts = [
        (one, "Alice@Sender.test"),
        (one, "bob@sender.test"),
        (two, "alice@sender.test"),
        (one, "alice@sender.test"),
    ];
    for (track_by, passed) in [
        (json!("ip"), [false, true, false, true]),
        (json!("sender"), [false, false, true, true]),
        (json!("ip_sender"), [false, false, false, true]),
    ] {
        let (server, _) = greylisting(&json!({ "enabled": true, "trackBy": track_by }));
        assert_eq!(
            attempts.map(|(ip, path)| passes(&server, ip, path)),
            passed,
            "{track_by}"
        );
        let stored = passed.iter().filter(|passed| **passed).count();
        assert_eq!(server.email_ids(BOB).len(), stored);
    }
}

#[test]
fn attempts_are_counted_for_a_window_and_then_anew() {
    let greylist = json!({ "enabled": true, "maxAttempts": 3, "retryWindowMs": 60_000 });
    let (server, clock) = greylisting(&greylist);
    let attempt = |wait_ms| {
        clock.advance(Duration::from_millis(wait_ms));
        passes(&server, Ipv4Addr::new(203, 0, 113, 1), "alice@sender.test")
    };
    let passed = [0, 30_000, 29_998, 1, 1, 0, 0].map(attempt);
    assert_eq!(passed, [false, false, true, true, false, false, true]);
}
