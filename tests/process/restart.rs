//! What a restart keeps: everything.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile, base64url};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::peer::{Peer, without_trace};

const PLAIN: &str = "plain@restante.test";
const SEALED: &str = "sealed@restante.test";

/// Everything that clients can see of an inbox.
fn seen(server: &Daemon, address: &str) -> Value {
    let inbox = format!("/api/inboxes/{address}");
    let raws: Vec<_> = server
        .emails(address)
        .iter()
        .map(|email| raw(server, address, email))
        .collect();
    json!([
        server.get(&inbox),
        server.get(&format!("{inbox}/sync")),
        server.get(&format!("{inbox}/emails?includeContent=true")),
        raws,
    ])
}

fn raw(server: &Daemon, address: &str, email: &Value) -> Value {
    let id = email["id"].as_str().unwrap();
    server.get(&format!("/api/inboxes/{address}/emails/{id}/raw"))
}

#[test]
fn inboxes_mail_marks_deletions_and_keys_outlive_the_process() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    let client = DecapsulationKey::generate();
    let kem_key = base64url::encode(client.encapsulation_key().as_bytes());
    server.create(PLAIN, None);
    let pinned = server.create(SEALED, Some(&kem_key))["serverSigPk"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut peer = Peer::greeted(server.smtp);
    let message = |n: usize| format!("Subject: number {n}\r\n\r\n{}\r\n", "text ".repeat(n * 300)).into_bytes();
    let ids: Vec<_> = (0..4).map(|n| peer.deliver(&[PLAIN, SEALED], &message(n))).collect();
    for (address, id) in [(PLAIN, &server.emails(PLAIN)[3]), (SEALED, &server.emails(SEALED)[2])] {
        let email = format!("/api/inboxes/{address}/emails/{}", id["id"].as_str().unwrap());
        let _ = server
            .request("PATCH", &format!("{email}/read"), None)
            .expect_status(204);
    }
    let doomed = server.emails(PLAIN)[0]["id"].as_str().unwrap().to_owned();
    let doomed = format!("/api/inboxes/{PLAIN}/emails/{doomed}");
    let _ = server.request("DELETE", &doomed, None).expect_status(204);
    let before = (
        seen(&server, PLAIN),
        seen(&server, SEALED),
        server.get("/api/server-info"),
        server.key.clone(),
    );
    assert_eq!(ids.iter().map(Vec::len).sum::<usize>(), 8);
    drop(peer);
    server.stop();

    let server = Daemon::start(home.path(), &[]);
    assert!(server.ready_after < Duration::from_secs(5), "{:?}", server.ready_after);
    let after = (
        seen(&server, PLAIN),
        seen(&server, SEALED),
        server.get("/api/server-info"),
        server.key.clone(),
    );
    assert_eq!(after, before);
    let marks = |address| -> Vec<_> {
        let emails = server.emails(address).into_iter();
        emails.map(|email| email["isRead"] == true).collect()
    };
    assert_eq!(marks(PLAIN), [false, false, true]);
    assert_eq!(marks(SEALED), [false, false, true, false]);
    let _ = server.request("GET", &doomed, None).expect_status(404);

    let pinned = VerifyingKey::from_base64url(&pinned).unwrap();
    for (n, email) in server.emails(SEALED).iter().rev().enumerate() {
        let payload = raw(&server, SEALED, email)["encryptedRaw"].to_string();
        let payload = SealedPayload::from_json(payload.as_bytes()).unwrap();
        let opened = payload
            .verify(&pinned, WireProfile::Service)
            .unwrap()
            .open(&client)
            .unwrap();
        assert_eq!(without_trace(&STANDARD.decode(opened.expose()).unwrap()), message(n));
    }
    let more = Peer::greeted(server.smtp).deliver(&[PLAIN, SEALED], b"after\r\n");
    assert_eq!(more.len(), 2);
    assert_eq!(server.emails(PLAIN).len(), 4);
}

#[test]
fn a_key_that_was_replaced_is_the_key_from_the_next_start_on() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    let old = server.key.clone();
    server.stop();
    std::fs::remove_file(home.path().join("data/.api-key")).unwrap();
    let mut server = Daemon::start(home.path(), &[]);
    assert_ne!(server.key, old);
    assert_eq!(server.get("/api/check-key")["ok"], true);
    server.key = old;
    let _ = server.request("GET", "/api/check-key", None).expect_status(401);
}
