//! Email authentication over real sockets: SMTP in, a DNS server of the test behind, results over the API
//! (decisions, section 9).

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile, base64url};
use restante_testkit::dns::DnsServer;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use crate::harness::TestServer;
use crate::peer::{Peer, stored_ids};

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";

/// A server that asks `dns`; its inboxes want authentication unless they say otherwise.
fn server(dns: &DnsServer, more: &[(&str, &str)]) -> TestServer {
    let resolver = dns.address().to_string();
    let asked = [
        ("DNS_RESOLVER", resolver.as_str()),
        ("EMAIL_AUTH_INBOX_DEFAULT", "true"),
    ];
    TestServer::start(&[&asked[..], more].concat())
}

fn zones() -> DnsServer {
    DnsServer::start(&fixtures().join("dns"))
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A message that dkimpy signed for `signed.test`, which lets 127.0.0.1 send for it.
fn signed() -> Vec<u8> {
    std::fs::read(fixtures().join("dkim/rsa-and-ed25519.eml")).unwrap()
}

/// Sends the message from `joerg@signed.test`; the ids in the 250.
fn send(server: &TestServer, to: &[&str], message: &[u8]) -> Vec<String> {
    let mut peer = Peer::greeted(server.smtp);
    assert!(peer.say("MAIL FROM:<joerg@signed.test>").starts_with("250 "));
    for recipient in to {
        assert!(peer.say(&format!("RCPT TO:<{recipient}>")).starts_with("250 "));
    }
    stored_ids(&peer.data(message).unwrap())
}

/// The results in a plain inbox.
fn results(server: &TestServer, address: &str, id: &str) -> Value {
    let email = server
        .get(&format!("/api/inboxes/{address}/emails/{id}"))
        .expect_status(200)
        .json();
    let parsed = STANDARD.decode(email["parsed"].as_str().unwrap()).unwrap();
    serde_json::from_slice::<Value>(&parsed).unwrap()["authResults"].take()
}

/// The results of a message for a new plain inbox.
fn results_of(server: &TestServer, message: &[u8]) -> Value {
    server.create_plain(BOB);
    let id = send(server, &[BOB], message).remove(0);
    results(server, BOB, &id)
}

/// The verdicts of SPF, each signature, DMARC and reverse DNS.
fn verdicts(results: &Value) -> String {
    let dkim = results["dkim"].as_array().unwrap().iter().map(|entry| &entry["result"]);
    let all = std::iter::once(&results["spf"]["result"]).chain(dkim);
    let all = all.chain([&results["dmarc"]["result"], &results["reverseDns"]["result"]]);
    all.map(|verdict| verdict.as_str().unwrap())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_good_message_passes_everything() {
    let dns = zones();
    let results = results_of(&server(&dns, &[]), &signed());
    assert_eq!(verdicts(&results), "pass pass pass pass pass");
    assert_eq!(results["spf"]["ip"], "127.0.0.1");
    assert_eq!(results["spf"]["domain"], "signed.test");
    for (entry, selector) in [(0, "rsa"), (1, "ed")] {
        assert_eq!(results["dkim"][entry]["domain"], "signed.test");
        assert_eq!(results["dkim"][entry]["selector"], selector);
        assert!(results["dkim"][entry]["signature"].as_str().unwrap().len() > 80);
    }
    assert_eq!(results["dmarc"]["policy"], "reject");
    assert_eq!(results["dmarc"]["aligned"], true);
    assert_eq!(results["dmarc"]["domain"], "signed.test");
    assert_eq!(results["reverseDns"]["hostname"], "localhost");
}

#[test]
fn an_encrypted_inbox_has_the_same_results_sealed() {
    let dns = zones();
    let server = server(&dns, &[]);
    let key = DecapsulationKey::generate();
    let inbox = server.create_encrypted(EVE, &key);
    server.create_plain(BOB);
    let ids = send(&server, &[EVE, BOB], &signed());

    let pinned = base64url::decode(inbox["serverSigPk"].as_str().unwrap()).unwrap();
    let pinned = VerifyingKey::parse(&pinned).unwrap();
    let email = server
        .get(&format!("/api/inboxes/{EVE}/emails/{}", ids[0]))
        .expect_status(200);
    assert!(!email.body.contains("signed.test"), "{}", email.body);
    let sealed = SealedPayload::from_json(email.json()["encryptedParsed"].to_string().as_bytes()).unwrap();
    let opened = sealed
        .verify(&pinned, WireProfile::Service)
        .unwrap()
        .open(&key)
        .unwrap();
    let parsed: Value = serde_json::from_slice(opened.expose()).unwrap();

    assert_eq!(verdicts(&parsed["authResults"]), "pass pass pass pass pass");
    assert_eq!(parsed["authResults"], results(&server, BOB, &ids[1]));
}

#[test]
fn one_flipped_byte_of_the_body_fails_dkim_and_the_rest_follows() {
    let dns = zones();
    let mut message = signed();
    let place = message.windows(5).position(|word| word == b"Yours").unwrap();
    message[place] ^= 1;
    let server = server(&dns, &[]);
    let results = results_of(&server, &message);
    assert_eq!(verdicts(&results), "pass fail fail pass pass");
    let details = "body hash did not verify: the body was changed after signing";
    assert_eq!(results["dkim"][0]["details"], details);
    assert_eq!(
        results["dmarc"]["details"],
        "SPF for signed.test passed and is aligned with signed.test"
    );

    // Without a reverse-path of the author's domain nothing is left for DMARC.
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    let id = stored_ids(&peer.data(&message).unwrap()).remove(0);
    let results = self::results(&server, BOB, &id);
    assert_eq!(verdicts(&results), "none fail fail fail pass");
    assert_eq!(results["dmarc"]["policy"], "reject");
    assert_eq!(results["dmarc"]["aligned"], false);
}

#[test]
fn each_inbox_gets_what_it_asked_for() {
    let dns = zones();
    let server = server(&dns, &[]);
    server.create_plain(BOB);
    let unasked = json!({ "emailAddress": EVE, "encryption": "plain", "emailAuth": false });
    server.create(&unasked).expect_status(201);
    let ids = send(&server, &[EVE, BOB], &signed());
    let skipped = results(&server, EVE, &ids[0]);
    assert_eq!(verdicts(&skipped), "skipped skipped skipped skipped");
    assert_eq!(verdicts(&results(&server, BOB, &ids[1])), "pass pass pass pass pass");

    let asked = dns.all_queries();
    let id = send(&server, &[EVE], &signed()).remove(0);
    assert_eq!(results(&server, EVE, &id), skipped);
    assert_eq!(dns.all_queries(), asked, "nobody asked for results");
}

#[test]
fn the_master_switch_skips_all_and_says_so() {
    let dns = zones();
    let server = server(&dns, &[("EMAIL_AUTH_ENABLED", "false")]);
    let wanted = json!({ "emailAddress": BOB, "encryption": "plain", "emailAuth": true });
    let inbox = server.create(&wanted).expect_status(201).json();
    assert_eq!(inbox["emailAuth"], false);
    let id = send(&server, &[BOB], &signed()).remove(0);
    assert_eq!(verdicts(&results(&server, BOB, &id)), "skipped skipped skipped skipped");
    assert_eq!(dns.all_queries(), 0);
}

#[test]
fn each_check_has_its_switch() {
    for (switch, expected) in [
        ("EMAIL_AUTH_SPF_ENABLED", "skipped pass pass pass pass"),
        ("EMAIL_AUTH_DKIM_ENABLED", "pass skipped pass pass"),
        ("EMAIL_AUTH_DMARC_ENABLED", "pass pass pass skipped pass"),
        ("EMAIL_AUTH_REVERSE_DNS_ENABLED", "pass pass pass pass skipped"),
    ] {
        let dns = zones();
        let results = results_of(&server(&dns, &[(switch, "false")]), &signed());
        assert_eq!(verdicts(&results), expected, "{switch}");
    }
}

#[test]
fn a_dead_dns_server_delays_the_250_by_no_more_than_the_timeout() {
    let dns = DnsServer::silent();
    let server = server(&dns, &[("EMAIL_AUTH_TIMEOUT", "4000")]);
    server.create_plain(BOB);
    let mut peer = Peer::greeted(server.smtp);
    peer.open_transaction(&[BOB]);
    assert_eq!(dns.all_queries(), 0, "MAIL and RCPT are answered without the DNS");
    let start = Instant::now();
    let id = stored_ids(&peer.data(&signed()).unwrap()).remove(0);
    // The rest is for a busy machine.
    assert!(
        start.elapsed() < Duration::from_millis(4000 + 1500),
        "{:?}",
        start.elapsed()
    );

    let results = results(&server, BOB, &id);
    assert_eq!(verdicts(&results), "temperror none none none pass");
    let silence = "the DNS server did not answer in time";
    for (result, question) in [
        (&results["spf"], "looking up the SPF record of sender.test"),
        (&results["dkim"][0], "looking up the key at rsa._domainkey.signed.test"),
        (&results["dkim"][1], "looking up the key at ed._domainkey.signed.test"),
        (&results["dmarc"], "looking up the DMARC record of signed.test"),
    ] {
        assert_eq!(result["details"], format!("{question}: {silence}"));
    }
}
