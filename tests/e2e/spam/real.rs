//! With rspamd as it is installed.

use std::sync::Arc;

use restante_envelope::DecapsulationKey;
use restante_model::SystemClock;
use serde_json::json;

use super::rspamd::Rspamd;
use super::{BOB, CAROL, EVE, HAM, analysis, create_without_analysis, sealed_analysis, server, skipped, without_time};
use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids};
use crate::stored;

/// The generic test for unsolicited bulk mail: every spam filter takes this line for spam.
const GTUBE: &str = concat!(
    "From: alice@sender.test\r\nTo: bob@restante.test\r\nSubject: test pattern\r\n\r\n",
    "XJS*C4JDBQADN1.NSBN3*2IDNEN*",
    "GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X\r\n"
);

#[test]
fn the_test_pattern_is_spam_and_stored_for_everybody() {
    let rspamd = Rspamd::start();
    let server = server(&rspamd.url(), &[]);
    server.create_plain(BOB);
    let key = DecapsulationKey::generate();
    let inbox = server.create_encrypted(EVE, &key);
    assert_eq!(inbox["spamAnalysis"], true);
    create_without_analysis(&server, CAROL);
    let ids = Peer::greeted(server.smtp).deliver(&[BOB, EVE, CAROL], GTUBE.as_bytes());

    let plain = analysis(&server, BOB, &ids[0]);
    assert_eq!(sealed_analysis(&server, EVE, &ids[1], &key), plain);
    let expected = json!({
        "status": "analyzed",
        "score": 15.0,
        "requiredScore": 15.0,
        "action": "reject",
        "isSpam": true,
        "symbols": [{ "name": "GTUBE", "score": 0.0 }],
    });
    assert_eq!(without_time(plain), expected);
    let off = skipped("Spam analysis is off for this inbox");
    assert_eq!(analysis(&server, CAROL, &ids[2]), off);
    assert_eq!(stored::messages(&server, BOB), [GTUBE.as_bytes()]);

    // Both logs name the message by the first id of the 250.
    let logged = rspamd.wait_for(&format!("qid: <{}>", ids[0])).unwrap();
    for fact in ["ip: 127.0.0.1,", "from: <alice@sender.test>", "rcpts: <"] {
        assert!(logged.contains(fact), "{fact} in {logged}");
    }
}

#[test]
fn an_ordinary_message_is_no_spam_and_its_analysis_outlives_the_server() {
    let rspamd = Rspamd::start();
    // A worker asks for no password, and minds none.
    let first = server(&rspamd.url(), &[("RSPAMD_PASSWORD", "sesame")]);
    first.create_plain(BOB);
    let id = Peer::greeted(first.smtp).deliver(&[BOB], HAM).remove(0);
    let seen = analysis(&first, BOB, &id);
    let expected = json!({
        "status": "analyzed",
        "score": 0.0,
        "requiredScore": 15.0,
        "action": "no action",
        "isSpam": false,
        "symbols": [],
    });
    assert_eq!(without_time(seen.clone()), expected);
    let second = TestServer::start_in(first.stop(), &[], Arc::new(SystemClock));
    assert_eq!(analysis(&second, BOB, &id), seen);
}

#[test]
fn rspamd_takes_senders_and_greetings_of_every_kind() {
    let rspamd = Rspamd::start();
    let server = server(&rspamd.url(), &[]);
    server.create_plain(BOB);
    let mut peer = Peer::greeted(server.smtp);
    // Its log has no word for the null sender and for one in UTF-8, which some versions do not read, and shows an address
    // without its quotes.
    for (helo, from, extension, told) in [
        ("localhost", "", "", ""),
        (
            "[IPv6:2001:db8::1]",
            "\"odd, one\"@sender.test",
            "",
            "from: <odd, one@sender.test>",
        ),
        ("b\u{fc}cher.test", "j\u{f6}rg@b\u{fc}cher.test", " SMTPUTF8", ""),
    ] {
        assert!(peer.say(&format!("EHLO {helo}")).starts_with("250"), "{helo}");
        let reply = peer.say(&format!("MAIL FROM:<{from}>{extension}"));
        assert!(reply.starts_with("250 "), "{reply}");
        assert!(peer.say(&format!("RCPT TO:<{BOB}>")).starts_with("250 "));
        let id = stored_ids(&peer.data(HAM).unwrap()).remove(0);
        let analysis = analysis(&server, BOB, &id);
        assert_eq!(analysis["status"], "analyzed", "{from}: {analysis}");
        let logged = rspamd.wait_for(&format!("qid: <{id}>")).unwrap();
        assert!(logged.contains(told), "{from}: {logged}");
    }
}
