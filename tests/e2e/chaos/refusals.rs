//! Refusals at random: each reply, and how a session goes on.

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_reply_comes_each_with_its_code_once() {
    let server = with_bob(&error(1.0, &["temporary", "permanent"]));
    let expected = ["421 4.7.0 ", "450 4.2.1 ", "451 4.3.0 ", "452 4.3.1 "];
    let expected: BTreeSet<_> = expected.into_iter().chain(PERMANENT).map(str::to_owned).collect();
    let mut heard = BTreeSet::new();
    let mut peer = Peer::greeted(server.smtp);
    // Of nine kinds, 300 messages leave one out once in 10^15 times.
    for _ in 0..300 {
        peer.open_transaction(&[BOB]);
        let reply = peer.data(MAIL).unwrap();
        assert_eq!(reply.matches(&reply[..3]).count(), 1, "{reply}");
        assert!(reply[10..].starts_with("Simulated fault: "), "{reply}");
        if reply.starts_with("421 ") {
            assert_eq!(peer.rest(), "", "a 421 is the last word");
            peer = Peer::greeted(server.smtp);
        }
        heard.insert(reply[..10].to_owned());
        if heard == expected {
            break;
        }
    }
    assert_eq!(heard, expected);
    assert!(server.email_ids(BOB).is_empty());
}

#[test]
fn a_rate_is_about_kept() {
    let server = with_bob(&error(0.5, &["permanent"]));
    let mut peer = Peer::greeted(server.smtp);
    let refused = (0..100).filter(|_| {
        peer.open_transaction(&[BOB]);
        peer.data(MAIL).unwrap().starts_with('5')
    });
    let refused = refused.count();
    // Six standard deviations are 30.
    assert!((20..=80).contains(&refused), "{refused} of 100");
    assert_eq!(server.email_ids(BOB).len(), 100 - refused);
}

#[test]
fn a_refusal_holds_for_all_recipients_and_the_strictest_wins() {
    let server = with_bob(&json!({ "greylist": { "enabled": true, "maxAttempts": 100 } }));
    server.create_plain(EVE);
    let both = || {
        let mut peer = Peer::greeted(server.smtp);
        peer.open_transaction(&[BOB, EVE]);
        peer.data(MAIL).unwrap()
    };
    assert!(both().starts_with("451 4.7.1 "));
    set(&server, EVE, &error(1.0, &["permanent"]));
    let reply = both();
    assert!(PERMANENT.iter().any(|code| reply.starts_with(code)), "{reply}");
    set(&server, EVE, &blackhole(false));
    assert!(both().starts_with("451 4.7.1 "));
    assert!(server.email_ids(BOB).is_empty() && server.email_ids(EVE).is_empty());
}

#[test]
fn a_pipelined_message_after_a_temporary_refusal_is_taken() {
    let server = with_bob(&json!({ "greylist": { "enabled": true } }));
    for chunked in [false, true] {
        set(
            &server,
            BOB,
            &json!({ "greylist": { "enabled": true, "trackBy": if chunked { "ip" } else { "sender" } } }),
        );
        let mut peer = Peer::greeted(server.smtp);
        let envelope = format!("MAIL FROM:<a@sender.test>\r\nRCPT TO:<{BOB}>\r\n");
        let mut codes = Vec::new();
        if chunked {
            let message = format!("{envelope}BDAT 9 LAST\r\na messageBDAT 0\r\n");
            peer.send(message.repeat(2).as_bytes()).unwrap();
            codes.extend((0..8).map(|_| peer.reply().unwrap()[..4].to_owned()));
            // A chunk without a transaction is answered by itself.
            assert_eq!(codes, ["250 ", "250 ", "451 ", "503 ", "250 ", "250 ", "250 ", "503 "]);
        } else {
            peer.send(format!("{envelope}DATA\r\n").as_bytes()).unwrap();
            codes.extend((0..3).map(|_| peer.reply().unwrap()[..4].to_owned()));
            peer.send(format!("a message\r\n.\r\n{envelope}DATA\r\n").as_bytes())
                .unwrap();
            codes.extend((0..4).map(|_| peer.reply().unwrap()[..4].to_owned()));
            peer.send(b"a message\r\n.\r\nQUIT\r\n").unwrap();
            codes.extend((0..2).map(|_| peer.reply().unwrap()[..4].to_owned()));
            assert_eq!(
                codes,
                ["250 ", "250 ", "354 ", "451 ", "250 ", "250 ", "354 ", "250 ", "221 "]
            );
        }
    }
    assert_eq!(server.email_ids(BOB).len(), 2);
}
