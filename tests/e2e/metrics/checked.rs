//! What was found out about mail: email authentication, and the spam filter.

use std::path::Path;

use restante_testkit::dns::DnsServer;
use serde_json::json;

use super::{BOB, EVE, assert_moves, unchecked};
use crate::harness::TestServer;
use crate::harness::mail::EMPTY;
use crate::peer::Peer;

#[test]
fn checks_are_counted_by_what_they_found_and_apart_from_those_that_were_skipped() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let dns = DnsServer::start(&fixtures.join("dns"));
    let signed = std::fs::read(fixtures.join("dkim/rsa-and-ed25519.eml")).unwrap();
    let server = TestServer::start(&[("DNS_RESOLVER", &dns.address().to_string())]);
    server
        .create(&json!({ "emailAddress": BOB, "emailAuth": true }))
        .expect_status(201);
    server
        .create(&json!({ "emailAddress": EVE, "emailAuth": false }))
        .expect_status(201);
    let send = |from: &str, to: &[&str], message: &[u8]| {
        let mut peer = Peer::greeted(server.smtp);
        assert!(peer.say(&format!("MAIL FROM:<{from}>")).starts_with("250 "));
        for to in to {
            assert!(peer.say(&format!("RCPT TO:<{to}>")).starts_with("250 "));
        }
        assert!(peer.data(message).unwrap().starts_with("250 "));
    };
    let mail = |emails, bytes: usize| {
        vec![
            ("connections.total", 1),
            ("emails.received", 1),
            ("emails.recipients", emails),
            ("emails.receivedBytes", i64::try_from(bytes).unwrap()),
            ("spam.skipped", 1),
        ]
    };
    let one_each = |words: [&'static str; 4]| words.map(|path| (path, 1)).to_vec();
    let passed = one_each([
        "auth.spf.pass",
        "auth.dkim.pass",
        "auth.dmarc.pass",
        "auth.reverseDns.pass",
    ]);
    let skipped = one_each([
        "auth.spf.skipped",
        "auth.dkim.skipped",
        "auth.dmarc.skipped",
        "auth.reverseDns.skipped",
    ]);
    let expected = [mail(1, signed.len()), passed.clone()].concat();
    assert_moves(&server, &expected, || send("joerg@signed.test", &[BOB], &signed));
    let expected = [mail(1, signed.len()), skipped.clone()].concat();
    assert_moves(&server, &expected, || send("joerg@signed.test", &[EVE], &signed));
    let expected = [mail(2, signed.len()), passed, skipped].concat();
    assert_moves(&server, &expected, || send("joerg@signed.test", &[BOB, EVE], &signed));
    // Another body: the signatures fail, and SPF alone is aligned.
    let broken = [signed.as_slice(), b"more\r\n"].concat();
    let verdicts = one_each([
        "auth.spf.pass",
        "auth.dkim.fail",
        "auth.dmarc.pass",
        "auth.reverseDns.pass",
    ]);
    let expected = [mail(1, broken.len()), verdicts].concat();
    assert_moves(&server, &expected, || send("joerg@signed.test", &[BOB], &broken));
    // No signature is neither good nor bad.
    let bare = b"From: joerg@fail.spf.test\r\n\r\nhi\r\n";
    let verdicts = one_each([
        "auth.spf.fail",
        "auth.dkim.other",
        "auth.dmarc.other",
        "auth.reverseDns.pass",
    ]);
    let expected = [mail(1, bare.len()), verdicts].concat();
    assert_moves(&server, &expected, || send("joerg@fail.spf.test", &[BOB], bare));
}

#[test]
fn test_emails_are_counted_apart() {
    let server = TestServer::start(&[("SDK_DEVELOPMENT", "true")]);
    server.create_plain(BOB);
    let make = || {
        server
            .request("POST", "/api/test/emails", Some(&json!({ "to": BOB })))
            .expect_status(201)
    };
    assert_moves(&server, &[("emails.testEmails", 1)], make);
}

#[test]
fn a_spam_filter_that_does_not_answer_is_an_error_and_one_that_is_not_asked_is_skipped() {
    let away = [("SPAM_ANALYSIS_ENABLED", "true"), ("RSPAMD_URL", "http://127.0.0.1:9")];
    let server = TestServer::start(&away);
    for (address, wanted) in [(BOB, true), (EVE, false)] {
        let inbox = json!({ "emailAddress": address, "encryption": "plain", "spamAnalysis": wanted });
        server.create(&inbox).expect_status(201);
    }
    let stored = |emails| {
        let mail = [
            ("emails.received", 1),
            ("emails.recipients", emails),
            ("emails.receivedBytes", 2),
        ];
        [unchecked(emails), mail.into()].concat()
    };
    let asked = |emails| {
        let mut moved = stored(emails);
        moved.retain(|(path, _)| *path != "spam.skipped");
        moved.push(("spam.errors", 1));
        moved
    };
    assert_moves(&server, &asked(1), || server.send_raw(BOB, EMPTY));
    assert_moves(&server, &stored(1), || server.send_raw(EVE, EMPTY));
    assert_moves(&server, &asked(2), || server.send_to(&[BOB, EVE], EMPTY));
}
