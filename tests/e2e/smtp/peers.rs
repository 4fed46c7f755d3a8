//! Who a client is: by its socket, or by a proxy; and how much it may send.

use crate::harness::TestServer;
use crate::peer::Peer;
use crate::stored;

const BOB: &str = "bob@restante.test";

fn with_bob(variables: &[(&str, &str)]) -> TestServer {
    let server = TestServer::start(variables);
    server.create_plain(BOB);
    server
}

#[test]
fn a_proxy_of_the_settings_names_the_client() {
    let server = with_bob(&[("SMTP_PROXY_PROTOCOL_NETWORKS", "192.0.2.0/24,127.0.0.1")]);
    let mut peer = Peer::connect(server.smtp).unwrap();
    // PROXY, TCP over IPv4, from 203.0.113.7:40000 to 192.0.2.1:25.
    peer.send(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x07\xc0\x00\x02\x01\x9c\x40\x00\x19")
        .unwrap();
    assert!(peer.reply().unwrap().starts_with("220 "));
    assert!(peer.say("EHLO client.test").starts_with("250-"));
    let id = peer.deliver(&[BOB], b"hi\r\n").remove(0);
    let source = String::from_utf8(stored::raw(&server, BOB, &id)).unwrap();
    assert!(source.contains("([203.0.113.7])"), "{source}");
}

#[test]
fn beyond_the_rate_a_client_hears_when_to_come_again() {
    let server = with_bob(&[
        ("SMTP_RATE_LIMIT_ENABLED", "true"),
        ("SMTP_RATE_LIMIT_MAX_EMAILS", "2"),
        ("SMTP_RATE_LIMIT_DURATION", "3600"),
    ]);
    let mut peer = Peer::greeted(server.smtp);
    for _ in 0..2 {
        peer.deliver(&[BOB], b"hi\r\n");
    }
    let mut other = Peer::greeted(server.smtp);
    for peer in [&mut peer, &mut other] {
        assert_eq!(peer.say("MAIL FROM:<alice@sender.test>"), "250 2.1.0 Ok");
        let refusal = peer.say(&format!("RCPT TO:<{BOB}>"));
        assert!(
            refusal.starts_with("450 4.7.1 Too much mail from your address, try again in 3"),
            "{refusal}"
        );
    }
    assert_eq!(stored::ids(&server, BOB).len(), 2);
}

#[test]
fn at_most_so_many_mails_are_taken_however_many_come_at_once() {
    let server = with_bob(&[("SMTP_RATE_LIMIT_ENABLED", "true"), ("SMTP_RATE_LIMIT_MAX_EMAILS", "5")]);
    let mut peers: Vec<_> = (0..20).map(|_| Peer::greeted(server.smtp)).collect();
    for peer in &mut peers {
        peer.open_transaction(&[BOB]);
        assert!(peer.say("DATA").starts_with("354 "));
    }
    for peer in &mut peers {
        peer.send(b"hi\r\n.\r\n").unwrap();
    }
    let replies: Vec<_> = peers.iter_mut().map(|peer| peer.reply().unwrap()).collect();
    let count = |code: &str| replies.iter().filter(|reply| reply.starts_with(code)).count();
    assert_eq!(
        (count("250 2.0.0 Ok: msg_"), count("450 4.7.1 ")),
        (5, 15),
        "{replies:#?}"
    );
    assert_eq!(stored::ids(&server, BOB).len(), 5);
}
