//! With a stand-in of rspamd that does as the test says.

use std::net::{Ipv4Addr, TcpListener};

use restante_testkit::dns::DnsServer;
use restante_testkit::receiver::{Answer, Receiver, Stage};
use serde_json::json;
use tokio::time::{Duration, Instant};

use super::{BOB, CAROL, HAM, analysis, create_without_analysis, server, skipped, without_time};
use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids};
use crate::stored;

const ANSWER: &str = concat!(
    r#"{"is_skipped":false,"score":6.5,"required_score":5,"action":"add header","symbols":{"LOW":{"score":-0.5},"#,
    r#""HIGH":{"score":7,"description":"a rule","options":["what was found"]}}}"#
);

/// What an inbox shows of [`ANSWER`], without the time.
fn shown() -> serde_json::Value {
    json!({
        "status": "analyzed",
        "score": 6.5,
        "requiredScore": 5.0,
        "action": "add header",
        "isSpam": true,
        "symbols": [
            { "name": "HIGH", "score": 7.0, "description": "a rule", "options": ["what was found"] },
            { "name": "LOW", "score": -0.5 },
        ],
    })
}

#[test]
fn rspamd_is_asked_once_a_message_and_only_if_somebody_wants_to_know() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::status(200).body(ANSWER));
    let server = server(&rspamd.url("/base"), &[("RSPAMD_PASSWORD", "sesame")]);
    let twin = "twin@restante.test";
    server.create_plain(BOB);
    server.create_plain(twin);
    create_without_analysis(&server, CAROL);
    let mut peer = Peer::greeted(server.smtp);
    let off = skipped("Spam analysis is off for this inbox");

    let id = peer.deliver(&[CAROL], HAM).remove(0);
    assert_eq!(analysis(&server, CAROL, &id), off);
    assert_eq!(rspamd.requests(), []);

    peer.open_transaction(&[CAROL, BOB, twin]);
    assert_eq!(rspamd.requests(), [], "nobody is asked before the message is there");
    let ids = stored_ids(&peer.data(HAM).unwrap());
    assert_eq!(analysis(&server, CAROL, &ids[0]), off);
    for (address, id) in [(BOB, &ids[1]), (twin, &ids[2])] {
        assert_eq!(without_time(analysis(&server, address, id)), shown());
    }
    let requests = rspamd.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/base/checkv2")
    );
    assert_eq!(request.body, HAM);
    for (name, value) in [
        ("ip", "127.0.0.1"),
        ("helo", "client.test"),
        ("from", "alice@sender.test"),
        ("queue-id", &ids[0]),
        ("password", "sesame"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    let recipients = request.headers.iter().filter(|(name, _)| name == "rcpt");
    let recipients: Vec<_> = recipients.map(|(_, value)| value.as_str()).collect();
    assert_eq!(recipients, [CAROL, BOB, twin]);
}

#[test]
fn an_inbox_follows_the_default_and_the_server_has_the_last_word() {
    let rspamd = Receiver::start();
    rspamd.always(Answer::status(200).body(ANSWER));
    let wanted = json!({ "emailAddress": CAROL, "encryption": "plain", "spamAnalysis": true });

    let server = server(&rspamd.url(""), &[("SPAM_ANALYSIS_INBOX_DEFAULT", "false")]);
    assert_eq!(server.get("/api/server-info").json()["spamAnalysisEnabled"], true);
    server.create_plain(BOB);
    assert_eq!(server.create(&wanted).expect_status(201).json()["spamAnalysis"], true);
    let ids = Peer::greeted(server.smtp).deliver(&[BOB, CAROL], HAM);
    let off = skipped("Spam analysis is off for this inbox");
    assert_eq!(analysis(&server, BOB, &ids[0]), off);
    assert_eq!(without_time(analysis(&server, CAROL, &ids[1])), shown());
    assert_eq!(rspamd.requests().len(), 1);

    let server = TestServer::start(&[("RSPAMD_URL", &rspamd.url(""))]);
    assert_eq!(server.get("/api/server-info").json()["spamAnalysisEnabled"], false);
    assert_eq!(server.create(&wanted).expect_status(201).json()["spamAnalysis"], false);
    let ids = Peer::greeted(server.smtp).deliver(&[CAROL], HAM);
    let off = skipped("Spam analysis is off on this server");
    assert_eq!(analysis(&server, CAROL, &ids[0]), off);
    assert_eq!(rspamd.requests().len(), 1);
}

#[test]
fn mail_is_stored_whatever_becomes_of_rspamd() {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let nobody = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let wrong = Receiver::start();
    wrong.always(Answer::status(403).body("secret of rspamd"));
    let broken = Receiver::start();
    broken.always(Answer::closed());
    let slow = Receiver::start();
    slow.always(Answer::stalled(Stage::InBody));
    for (url, info) in [
        (nobody, "rspamd does not accept connections (connection refused)"),
        (wrong.url(""), "rspamd refused the password"),
        (
            broken.url(""),
            "rspamd broke the connection off, or does not speak HTTP",
        ),
        (slow.url(""), "rspamd did not answer within 500 ms"),
    ] {
        let server = server(&url, &[("RSPAMD_PASSWORD", "sesame"), ("RSPAMD_TIMEOUT_MS", "500")]);
        server.create_plain(BOB);
        let id = Peer::greeted(server.smtp).deliver(&[BOB], HAM).remove(0);
        let expected = json!({ "status": "error", "info": info });
        assert_eq!(without_time(analysis(&server, BOB, &id)), expected);
        assert_eq!(stored::messages(&server, BOB), [HAM]);
    }
}

#[test]
fn a_silent_rspamd_and_a_silent_dns_server_are_waited_for_at_once() {
    let (rspamd, dns) = (Receiver::start(), DnsServer::silent());
    rspamd.always(Answer::stalled(Stage::BeforeStatus));
    let resolver = dns.address().to_string();
    let both = [
        ("RSPAMD_TIMEOUT_MS", "4000"),
        ("EMAIL_AUTH_TIMEOUT", "4000"),
        ("DNS_RESOLVER", resolver.as_str()),
        ("EMAIL_AUTH_INBOX_DEFAULT", "true"),
    ];
    let server = server(&rspamd.url(""), &both);
    server.create_plain(BOB);
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    let start = Instant::now();
    let id = stored_ids(&peer.data(HAM).unwrap()).remove(0);
    // The rest is for a busy machine.
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(4), "{took:?}");
    assert!(took < Duration::from_secs(7), "{took:?}");
    let parsed = stored::field(&server, BOB, &id, "parsed");
    assert_eq!(parsed["authResults"]["spf"]["result"], "temperror");
    assert_eq!(parsed["spamAnalysis"]["info"], "rspamd did not answer within 4000 ms");
}
