//! `email.deleted`: one for each email, whoever removed it.

use std::collections::BTreeMap;

use restante_model::{EventType, RemovalReason};
use restante_testkit::receiver::Receiver;

use super::{hook, start};
use crate::peer::Peer;

const BOB: &str = "bob@restante.test";
const EVE: &str = "eve@restante.test";
const AL: &str = "al@restante.test";

#[test]
fn each_removal_is_told_once_with_its_reason_and_its_inbox() {
    let home = tempfile::tempdir().unwrap();
    let receiver = Receiver::start();
    let server = start(home.path(), &[("INBOX_MAX_EMAILS", "3")]);
    let mut hashes = BTreeMap::new();
    for address in [BOB, EVE, AL] {
        let inbox = server.create(address, None);
        hashes.insert(address, inbox["inboxHash"].as_str().unwrap().to_owned());
    }
    hook(&server, "/api/webhooks", &receiver.url("/"), &[EventType::EmailDeleted]);
    let mut peer = Peer::greeted(server.smtp);
    let mut send = |address| peer.deliver(&[address], b"Subject: a\r\n\r\n").remove(0);
    let mut expected = BTreeMap::new();
    let mut expect = |id: &String, address: &str, reason: RemovalReason| {
        expected.insert(
            id.clone(),
            (address.to_owned(), hashes[address].clone(), reason.as_str().to_owned()),
        );
    };

    let bobs: Vec<_> = (0..5).map(|_| send(BOB)).collect();
    let eves: Vec<_> = (0..3).map(|_| send(EVE)).collect();
    let als: Vec<_> = (0..2).map(|_| send(AL)).collect();
    for id in &bobs[..2] {
        expect(id, BOB, RemovalReason::Eviction);
    }
    for id in &bobs[2..] {
        expect(id, BOB, RemovalReason::Manual);
    }
    for id in &eves {
        expect(id, EVE, RemovalReason::Manual);
    }
    for id in &als {
        expect(id, AL, RemovalReason::Manual);
    }
    let one = format!("/api/inboxes/{BOB}/emails/{}", bobs[2]);
    let _ = server.request("DELETE", &one, None).expect_status(204);
    let whole = format!("/api/inboxes/{EVE}");
    let _ = server.request("DELETE", &whole, None).expect_status(204);
    let all = server.request("DELETE", "/api/inboxes", None).expect_status(200);
    assert_eq!(all.json()["deleted"], 2);

    receiver.block_for(expected.len());
    server.stop();
    let requests = receiver.requests();
    assert_eq!(requests.len(), expected.len(), "none is told twice");
    let told: BTreeMap<_, _> = requests
        .iter()
        .map(|request| {
            let body = request.json();
            assert_eq!(body["type"], "email.deleted");
            let field = |name: &str| body["data"][name].as_str().unwrap().to_owned();
            assert!(field("deletedAt").ends_with('Z'));
            (field("id"), (field("inboxEmail"), field("inboxId"), field("reason")))
        })
        .collect();
    assert_eq!(told, expected);
}
