//! Who gets a mail, and who is refused.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use restante_envelope::{DecapsulationKey, base64url};
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use serde_json::json;

use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids, without_trace};
use crate::stored;

const BOB: &str = "bob@restante.test";
const CAROL: &str = "carol@restante.test";
const REJECTED: &str = "550 5.1.1 Recipient address rejected";

#[test]
fn plain_and_encrypted_inboxes_share_one_transaction() {
    let server = TestServer::start(&[]);
    let message = b"Subject: to all\r\n\r\nhello\r\n";
    let plain: Vec<_> = (0..12).map(|n| format!("plain{n}@restante.test")).collect();
    let sealed: Vec<_> = (0..12)
        .map(|n| (format!("sealed{n}@restante.test"), DecapsulationKey::generate()))
        .collect();
    for address in &plain {
        server.create_plain(address);
    }
    for (address, key) in &sealed {
        let key = base64url::encode(key.encapsulation_key().as_bytes());
        let body = json!({ "emailAddress": address, "encryption": "encrypted", "clientKemPk": key });
        let _ = server.request("POST", "/api/inboxes", Some(&body)).expect_status(201);
    }
    let addresses = plain.iter().chain(sealed.iter().map(|(address, _)| address));
    let addresses: Vec<_> = addresses.map(String::as_str).collect();
    let acknowledged: BTreeSet<_> = Peer::greeted(server.smtp)
        .deliver(&addresses, message)
        .into_iter()
        .collect();

    assert_eq!(acknowledged.len(), 24);
    let stored: Vec<_> = addresses
        .iter()
        .flat_map(|address| stored::ids(&server, address))
        .collect();
    assert_eq!(stored.len(), 24, "one email each");
    assert_eq!(stored.into_iter().collect::<BTreeSet<_>>(), acknowledged);
    for address in &plain {
        assert_eq!(stored::messages(&server, address), [message]);
    }
    for (address, key) in &sealed {
        let id = stored::ids(&server, address).remove(0);
        let raw = stored::sealed_raw(&server, address, &id, key);
        assert_eq!(without_trace(&raw), message);
    }
}

#[test]
fn an_inbox_is_refused_from_the_moment_that_it_expires() {
    let clock = Arc::new(FakeClock::at(Timestamp::from_unix_ms(1_769_341_276_000)));
    let server = TestServer::start_with_clock(&[], clock.clone());
    for address in [BOB, CAROL] {
        let body = json!({ "emailAddress": address, "encryption": "plain", "ttl": 60 });
        let _ = server.request("POST", "/api/inboxes", Some(&body)).expect_status(201);
    }
    let mut peer = Peer::greeted(server.smtp);
    clock.advance(Duration::from_millis(59_999));
    assert_eq!(peer.deliver(&[BOB], b"in time\r\n").len(), 1);
    peer.open_transaction(&[BOB]);
    clock.advance(Duration::from_millis(1));
    assert_eq!(peer.data(b"granted in time, sent too late\r\n").unwrap(), REJECTED);
    clock.advance(Duration::from_secs(1));
    assert_eq!(peer.say("MAIL FROM:<alice@sender.test>"), "250 2.1.0 Ok");
    assert_eq!(peer.say(&format!("RCPT TO:<{CAROL}>")), REJECTED);
    let _ = server.get(&format!("/api/inboxes/{BOB}/emails")).expect_status(404);
}

#[test]
fn a_mail_whose_inbox_goes_before_its_end_reaches_nobody() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    server.create_plain(CAROL);
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB, CAROL]);
    let _ = server
        .request("DELETE", &format!("/api/inboxes/{CAROL}"), None)
        .expect_status(204);
    assert_eq!(peer.data(b"to both or none\r\n").unwrap(), REJECTED);
    assert_eq!(stored::ids(&server, BOB), [""; 0]);

    server.create_plain(CAROL);
    assert_eq!(
        stored::ids(&server, CAROL),
        [""; 0],
        "the new life of the address begins empty"
    );
    assert_eq!(peer.deliver(&[BOB, CAROL], b"again\r\n").len(), 2);
}

#[test]
fn a_refusal_says_whether_the_domain_or_the_inbox_is_wrong() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    for (recipient, expected) in [
        (
            "<bob@other.test>",
            "550 5.7.1 This server does not accept mail for domain: other.test",
        ),
        (
            "<bob@sub.restante.test>",
            "550 5.7.1 This server does not accept mail for domain: sub.restante.test",
        ),
        ("<nobody@restante.test>", REJECTED),
        ("<bob@localhost>", REJECTED),
        ("<Postmaster>", REJECTED),
    ] {
        assert_eq!(peer.say(&format!("RCPT TO:{recipient}")), expected);
    }
    assert_eq!(stored_ids(&peer.data(b"hi\r\n").unwrap()).len(), 1);
    assert_eq!(stored::messages(&server, BOB), [b"hi\r\n"]);
}

#[test]
fn one_inbox_gets_one_email_however_it_is_spelled() {
    let server = TestServer::start(&[]);
    server.create_plain(BOB);
    server.create_plain("postmaster@restante.test");
    let mut peer = Peer::greeted(server.smtp);
    let spellings = [
        BOB,
        BOB,
        "BOB@Restante.TEST",
        "bob+tag@restante.test",
        "Postmaster",
        "POSTMASTER@restante.test",
    ];
    let ids = peer.deliver(&spellings, b"once\r\n");
    assert_eq!(ids.len(), 2);
    assert_eq!(stored::messages(&server, BOB), [b"once\r\n"]);
    assert_eq!(stored::messages(&server, "postmaster@restante.test"), [b"once\r\n"]);
}

#[test]
fn a_pipelined_transaction_of_100_recipients_gets_102_replies_in_few_pieces() {
    let server = TestServer::start(&[]);
    let known: Vec<_> = (0..100).filter(|n| n % 3 > 0).collect();
    for n in &known {
        server.create_plain(&format!("user{n}@restante.test"));
    }
    let mut packet = vec!["MAIL FROM:<alice@sender.test>".to_owned()];
    let mut expected = vec!["250 2.1.0 Ok"];
    for n in 0..100 {
        packet.push(format!("RCPT TO:<user{n}@restante.test>"));
        expected.push(if known.contains(&n) { "250 2.1.5 Ok" } else { REJECTED });
    }
    packet.push("DATA\r\n".to_owned());
    expected.push("354 End data with <CR><LF>.<CR><LF>");

    let mut peer = Peer::greeted(server.smtp);
    peer.send(packet.join("\r\n").as_bytes()).unwrap();
    let (replies, pieces) = peer.lines_in_pieces(102);
    assert_eq!(replies, expected);
    assert!(pieces <= 4, "{pieces} pieces");
    peer.send(b"hi\r\n.\r\n").unwrap();
    assert_eq!(stored_ids(&peer.reply().unwrap()).len(), known.len());
}
