//! Mail that was not taken, by cause; faults that inboxes asked for.

use serde_json::{Value, json};

use super::{BOB, EVE, assert_moves, settled, unchecked};
use crate::harness::TestServer;
use crate::harness::mail::EMPTY;
use crate::peer::Peer;

/// A connection on which so many refusals of a cause are met.
fn refused(cause: &'static str, count: i64) -> Vec<(&'static str, i64)> {
    vec![("connections.total", 1), ("rejections.total", count), (cause, count)]
}

/// What is said to a command is a refusal with this code.
#[track_caller]
fn assert_refused(peer: &mut Peer, command: &str, code: &str) {
    let reply = peer.say(command);
    assert!(reply.starts_with(code), "{command}: {reply}");
}

fn greeted_with_mail(server: &TestServer) -> Peer {
    let mut peer = Peer::greeted(server.smtp);
    assert!(peer.say("MAIL FROM:<alice@sender.test>").starts_with("250 "));
    peer
}

#[test]
fn a_refused_recipient_counts_by_what_was_wrong_with_it() {
    let server = TestServer::start(&[("SMTP_MAX_RECIPIENTS", "2")]);
    server.create_plain(BOB);
    assert_moves(&server, &refused("rejections.noInbox", 2), || {
        let mut peer = greeted_with_mail(&server);
        assert_refused(&mut peer, "RCPT TO:<nobody@restante.test>", "550 5.1.1 ");
        assert_refused(&mut peer, "RCPT TO:<noone@restante.test>", "550 5.1.1 ");
    });
    assert_moves(&server, &refused("rejections.domain", 1), || {
        assert_refused(
            &mut greeted_with_mail(&server),
            "RCPT TO:<bob@elsewhere.test>",
            "550 5.7.1 ",
        );
    });
    assert_moves(&server, &refused("rejections.recipients", 1), || {
        let mut peer = greeted_with_mail(&server);
        for tag in ["a", "b"] {
            assert!(
                peer.say(&format!("RCPT TO:<bob+{tag}@restante.test>"))
                    .starts_with("250 ")
            );
        }
        assert_refused(&mut peer, "RCPT TO:<bob+c@restante.test>", "452 4.5.3 ");
    });
    assert_moves(&server, &[("connections.total", 1)], || {
        let mut peer = Peer::greeted(server.smtp);
        assert_refused(&mut peer, "RCPT TO:<bob@restante.test>", "503 ");
        assert_refused(&mut peer, "NONSENSE", "500 ");
        assert_refused(&mut peer, "MAIL FROM:nonsense", "501 ");
    });
}

#[test]
fn a_message_that_is_too_large_counts_once_wherever_that_is_found() {
    let server = TestServer::start(&[("SMTP_MAX_MESSAGE_SIZE", "1000"), ("SMTP_MAX_HEADER_SIZE", "500")]);
    server.create_plain(BOB);
    let size = refused("rejections.size", 1);
    assert_moves(&server, &size, || {
        let mut peer = Peer::greeted(server.smtp);
        assert_refused(&mut peer, "MAIL FROM:<alice@sender.test> SIZE=1001", "552 5.3.4 ");
    });
    let line = format!("{}\r\n", "x".repeat(98));
    let large_header = format!("Subject: {}\r\n\r\n", "x".repeat(600));
    for message in [format!("\r\n{}", line.repeat(11)), large_header] {
        assert_moves(&server, &size, || {
            let mut peer = Peer::greeted(server.smtp);
            peer.open_transaction(&[BOB]);
            let reply = peer.data(message.as_bytes()).unwrap();
            assert!(reply.starts_with("552 5.3.4 "), "{reply}");
        });
    }
    assert_moves(&server, &size, || {
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(&[BOB]);
        peer.send(&[b"BDAT 1001 LAST\r\n".as_slice(), &[b'x'; 1001]].concat())
            .unwrap();
        let reply = peer.reply().unwrap();
        assert!(reply.starts_with("552 5.3.4 "), "{reply}");
    });
}

#[test]
fn a_message_that_finds_its_inbox_gone_has_none() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    server.delete("/api/inboxes/bob@restante.test").expect_status(204);
    assert!(peer.data(EMPTY.as_bytes()).unwrap().starts_with("550 5.1.1 "));
    drop(peer);
    let rejections = settled(&server)["rejections"].take();
    assert_eq!((&rejections["noInbox"], &rejections["total"]), (&json!(1), &json!(1)));
}

#[test]
fn who_brings_too_much_and_who_finds_no_room_are_told_apart() {
    let limited = [("SMTP_RATE_LIMIT_ENABLED", "true"), ("SMTP_RATE_LIMIT_MAX_EMAILS", "1")];
    let server = TestServer::start(&limited);
    server.create_plain(BOB);
    server.send_raw(BOB, EMPTY);
    assert_moves(&server, &refused("rejections.rate", 1), || {
        assert_refused(
            &mut greeted_with_mail(&server),
            "RCPT TO:<bob@restante.test>",
            "450 4.7.1 ",
        );
    });
    let full = TestServer::start(&[("STORAGE_MIN_FREE_BYTES", "1000000000000000")]);
    full.create_plain(BOB);
    let checked_for_nothing = [unchecked(1), refused("rejections.noRoom", 1)].concat();
    assert_moves(&full, &checked_for_nothing, || {
        let mut peer = Peer::greeted(full.smtp);
        peer.open_transaction(&[BOB]);
        assert!(peer.data(EMPTY.as_bytes()).unwrap().starts_with("452 4.3.1 "));
    });
}

#[test]
fn a_connection_that_is_turned_away_is_counted_as_such_only() {
    let server = TestServer::start(&[("SMTP_MAX_CONNECTIONS", "1")]);
    let first = Peer::greeted(server.smtp);
    for _ in 0..2 {
        let refusal = Peer::connect(server.smtp).unwrap().reply().unwrap();
        assert!(refusal.starts_with("421 4.7.0 "), "{refusal}");
    }
    drop(first);
    assert_eq!(
        settled(&server)["connections"],
        json!({ "total": 1, "active": 0, "rejected": 2 })
    );
}

fn with_fault(server: &TestServer, address: &str, chaos: &Value) {
    let body = json!({ "emailAddress": address, "encryption": "plain", "chaos": chaos });
    server.create(&body).expect_status(201);
}

#[test]
fn faults_are_counted_by_kind() {
    let server = TestServer::start(&[("CHAOS_ENABLED", "true")]);
    let rate = json!({ "enabled": true, "randomError": { "enabled": true, "errorRate": 1.0 } });
    with_fault(&server, BOB, &rate);
    let met = [refused("rejections.chaos", 1), vec![("chaos.randomError", 1)]].concat();
    assert_moves(&server, &met, || {
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(&[BOB]);
        assert!(peer.data(EMPTY.as_bytes()).unwrap().starts_with('4'));
    });
    with_fault(
        &server,
        EVE,
        &json!({ "enabled": true, "blackhole": { "enabled": true } }),
    );
    let swallowed = [("connections.total", 1), ("chaos.blackhole", 1)];
    assert_moves(&server, &swallowed, || server.send_raw(EVE, EMPTY));
}
