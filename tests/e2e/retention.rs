//! How much mail is kept, from the settings over SMTP to the API.

use std::sync::Arc;
use std::time::Duration;

use restante_model::Timestamp;
use restante_testkit::FakeClock;
use tokio::time::Instant;

use crate::harness::TestServer;
use crate::peer::Peer;

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";

/// A message with a body of so many bytes.
fn message(body_bytes: usize) -> String {
    let line = format!("{}\r\n", "x".repeat(70));
    format!("Subject: large\r\n\r\n{}", line.repeat(body_bytes / line.len()))
}

/// The ids of an inbox, oldest first.
fn kept(server: &TestServer, address: &str) -> Vec<String> {
    let mut ids = server.email_ids(address);
    ids.reverse();
    ids
}

#[test]
fn a_full_inbox_shows_the_newest_with_the_250() {
    let server = TestServer::start(&[("INBOX_MAX_EMAILS", "10")]);
    server.create_plain(BOB);
    server.create_plain(EVE);
    let other = server.send_raw(EVE, "\r\n");
    let mut peer = Peer::greeted(server.smtp);
    let mut ids = Vec::new();
    for _ in 0..11 {
        ids.extend(peer.deliver(&[BOB], b"hi\r\n"));
    }
    assert_eq!(kept(&server, BOB), ids[1..]);
    server
        .get(&format!("/api/inboxes/{BOB}/emails/{}", ids[0]))
        .expect_status(404);
    assert_eq!(kept(&server, EVE), [other]);
    let sync = server
        .get(&format!("/api/inboxes/{BOB}/sync"))
        .expect_status(200)
        .json();
    assert_eq!(sync["emailCount"], 10);
}

#[test]
fn the_oldest_mail_of_all_inboxes_makes_room() {
    let server = TestServer::start(&[("STORAGE_MAX_BYTES", "100000")]);
    server.create_plain(BOB);
    server.create_plain(EVE);
    let mut ids = Vec::new();
    for address in [BOB, EVE, BOB, EVE] {
        ids.push(server.send_raw(address, &message(30_000)));
    }
    assert_eq!(kept(&server, BOB), ids[2..3]);
    assert_eq!([&ids[1], &ids[3]], [&kept(&server, EVE)[0], &kept(&server, EVE)[1]]);
}

#[test]
fn a_message_larger_than_the_storage_is_refused_and_nothing_goes_for_it() {
    let server = TestServer::start(&[("STORAGE_MAX_BYTES", "100000")]);
    server.create_plain(BOB);
    server.create_plain(EVE);
    let id = server.send_raw(BOB, &message(30_000));
    let mut peer = Peer::greeted(server.smtp);
    for (recipients, bytes) in [(vec![BOB], 101_000), (vec![BOB, EVE], 51_000)] {
        let refusal = refused(&mut peer, &recipients, &message(bytes));
        assert_eq!(refusal, "552 5.3.4 Message too large, it exceeds the storage");
    }
    assert_eq!(kept(&server, BOB), [id]);
    assert_eq!(kept(&server, EVE), Vec::<String>::new());
    // The connection goes on, and what fits is taken.
    assert_eq!(kept(&server, EVE).len() + peer.deliver(&[EVE], b"hi\r\n").len(), 1);
}

/// What the server says at the end of a message that it does not take.
fn refused(peer: &mut Peer, recipients: &[&str], message: &str) -> String {
    assert_eq!(peer.say("MAIL FROM:<alice@sender.test>"), "250 2.1.0 Ok");
    for recipient in recipients {
        assert!(peer.say(&format!("RCPT TO:<{recipient}>")).starts_with("250 "));
    }
    assert!(peer.say("DATA").starts_with("354 "));
    peer.send(message.as_bytes()).unwrap();
    peer.say(".")
}

#[test]
fn mail_goes_when_it_has_reached_its_age() {
    let clock = Arc::new(FakeClock::at(Timestamp::from_unix_ms(1_769_341_276_000)));
    let server = TestServer::start_with_clock(&[("EMAIL_MAX_AGE", "60")], clock.clone());
    server.create_plain(BOB);
    server.send_raw(BOB, "\r\n");
    clock.advance(Duration::from_secs(1));
    let last = server.send_raw(BOB, "\r\n");
    clock.advance(Duration::from_millis(59_999));
    let started = Instant::now();
    while kept(&server, BOB) != [last.clone()] {
        // The task sleeps on the real clock; an inbox that ends has it look at once.
        server.create_plain(EVE);
        server.delete(&format!("/api/inboxes/{EVE}")).expect_status(204);
        assert!(started.elapsed() < Duration::from_secs(20), "the first stays");
    }
}
