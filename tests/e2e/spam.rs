//! Spam analysis through the whole server (interface additions, "Spam analysis"): with a real rspamd, and with a stand-in
//! for what a real one does not do.

mod real;
mod rspamd;
mod stand_in;

use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile};
use serde_json::{Value, json};

use crate::harness::TestServer;
use crate::stored;

const BOB: &str = "bob@restante.test";
const CAROL: &str = "carol@restante.test";
const EVE: &str = "eve@restante.test";

const HAM: &[u8] = b"From: alice@sender.test\r\nSubject: plain\r\n\r\nhello\r\n";

/// A server that asks rspamd at this URL; its inboxes want analysis unless they say otherwise.
fn server(url: &str, more: &[(&str, &str)]) -> TestServer {
    let asked = [("SPAM_ANALYSIS_ENABLED", "true"), ("RSPAMD_URL", url)];
    TestServer::start(&[&asked[..], more].concat())
}

/// A plain inbox that does not want its mail analysed.
fn create_without_analysis(server: &TestServer, address: &str) {
    let body = json!({ "emailAddress": address, "encryption": "plain", "spamAnalysis": false });
    let inbox = server.create(&body).expect_status(201).json();
    assert_eq!(inbox["spamAnalysis"], false);
}

/// The analysis of an email in a plain inbox.
fn analysis(server: &TestServer, address: &str, id: &str) -> Value {
    stored::field(server, address, id, "parsed")["spamAnalysis"].take()
}

/// The analysis of an email in an encrypted inbox, where nothing else shows it.
fn sealed_analysis(server: &TestServer, address: &str, id: &str, key: &DecapsulationKey) -> Value {
    let email = server
        .get(&format!("/api/inboxes/{address}/emails/{id}"))
        .expect_status(200);
    assert!(!email.body.contains("spam"), "{}", email.body);
    let info = server.get("/api/server-info").json();
    let pinned = VerifyingKey::from_base64url(info["serverSigPk"].as_str().unwrap()).unwrap();
    let payload = SealedPayload::from_json(email.json()["encryptedParsed"].to_string().as_bytes()).unwrap();
    let opened = payload
        .verify(&pinned, WireProfile::Service)
        .unwrap()
        .open(key)
        .unwrap();
    let mut parsed: Value = serde_json::from_slice(opened.expose()).unwrap();
    parsed["spamAnalysis"].take()
}

fn skipped(why: &str) -> Value {
    json!({ "status": "skipped", "info": why })
}

/// What an analysis without its time says: that is different each time, and never 0.
fn without_time(mut analysis: Value) -> Value {
    let took = analysis.as_object_mut().unwrap().remove("processingTimeMs").unwrap();
    assert!(took.as_u64().unwrap() > 0, "{took}");
    analysis
}
