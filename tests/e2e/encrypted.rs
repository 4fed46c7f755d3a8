//! Encrypted inboxes, read with the client's side of the envelope (interface, "Encrypted payload").

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use restante_envelope::{DecapsulationKey, OpenError, SealedPayload, VerifyingKey, WireProfile, base64url};
use serde_json::Value;

use crate::harness::mail::RICH;
use crate::harness::{TestServer, shape};

const EMAILS: &str = "/api/inboxes/bob@restante.test/emails";

/// What a client keeps of its inbox.
struct Client {
    key: DecapsulationKey,
    pinned: VerifyingKey,
}

impl Client {
    /// Creates `bob@restante.test` and pins the key in the answer.
    fn new(server: &TestServer) -> Self {
        let key = DecapsulationKey::generate();
        let inbox = server.create_encrypted("bob@restante.test", &key);
        let pinned = base64url::decode(inbox["serverSigPk"].as_str().unwrap()).unwrap();
        Self {
            key,
            pinned: VerifyingKey::parse(&pinned).unwrap(),
        }
    }

    fn try_open(&self, payload: &Value) -> Result<String, OpenError> {
        let payload = SealedPayload::from_json(payload.to_string().as_bytes())?;
        let plaintext = payload.verify(&self.pinned, WireProfile::Service)?.open(&self.key)?;
        Ok(String::from_utf8(plaintext.expose().to_vec()).unwrap())
    }

    fn open(&self, payload: &Value) -> String {
        self.try_open(payload).unwrap()
    }
}

#[test]
fn records_hold_payloads_and_nothing_readable() {
    let server = TestServer::start(&[]);
    Client::new(&server);
    let id = server.send_raw("bob@restante.test", RICH);
    let list = server.get(EMAILS).expect_status(200);
    assert_snapshot!("list", shape(&list.body));
    let whole = server.get(&format!("{EMAILS}?includeContent=true")).expect_status(200);
    assert_snapshot!("list_with_content", shape(&whole.body));
    let email = server.get(&format!("{EMAILS}/{id}")).expect_status(200);
    assert_eq!(format!("[{}]", email.body), whole.body);
    let raw = server.get(&format!("{EMAILS}/{id}/raw")).expect_status(200);
    assert_snapshot!("raw", shape(&raw.body));
}

#[test]
fn every_payload_verifies_under_the_pinned_key_and_opens_to_what_a_plain_inbox_shows() {
    let server = TestServer::start(&[]);
    let client = Client::new(&server);
    server.create_plain("eve@restante.test");
    let ids = server.send_to(&["Bob+Tag@restante.test", "eve@restante.test"], RICH);
    let sealed = server.get(&format!("{EMAILS}/{}", ids[0])).expect_status(200).json();
    let eve = format!("/api/inboxes/eve@restante.test/emails/{}", ids[1]);
    let plain = server.get(&eve).expect_status(200).json();
    let document = |field: &Value| String::from_utf8(STANDARD.decode(field.as_str().unwrap()).unwrap()).unwrap();

    assert_eq!(client.open(&sealed["encryptedParsed"]), document(&plain["parsed"]));
    let metadata = document(&plain["metadata"]);
    let metadata = metadata
        .replace(&ids[1], &ids[0])
        .replace("eve@restante.test", "bob+tag@restante.test");
    assert_eq!(client.open(&sealed["encryptedMetadata"]), metadata);

    // The source is sealed as base64 text, since every SDK decodes it twice.
    let raw = server
        .get(&format!("{EMAILS}/{}/raw", ids[0]))
        .expect_status(200)
        .json();
    let raw = STANDARD.decode(client.open(&raw["encryptedRaw"])).unwrap();
    let raw = String::from_utf8(raw).unwrap();
    let received = raw.strip_suffix(RICH).unwrap_or_else(|| panic!("{raw:?}"));
    assert!(
        received.contains("for <Bob+Tag@restante.test>") && received.contains(&ids[0]),
        "{received:?}"
    );
}

#[test]
fn each_payload_has_an_encapsulation_and_a_nonce_of_its_own() {
    let server = TestServer::start(&[]);
    Client::new(&server);
    for _ in 0..2 {
        server.send_raw("bob@restante.test", RICH);
    }
    let list = server.get(&format!("{EMAILS}?includeContent=true")).json();
    let payloads = [0, 1].map(|n| [list[n]["encryptedMetadata"].clone(), list[n]["encryptedParsed"].clone()]);
    for field in ["ct_kem", "nonce", "ciphertext", "sig"] {
        let mut seen: Vec<_> = payloads
            .iter()
            .flatten()
            .map(|payload| payload[field].to_string())
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 4, "{field}");
    }
}

#[test]
fn a_payload_is_the_same_at_every_read_and_after_a_restart() {
    let server = TestServer::start(&[]);
    let client = Client::new(&server);
    let id = server.send_raw("bob@restante.test", RICH);
    let paths = [
        EMAILS.to_owned(),
        format!("{EMAILS}?includeContent=true"),
        format!("{EMAILS}/{id}"),
        format!("{EMAILS}/{id}/raw"),
    ];
    let first = paths.each_ref().map(|path| server.get(path).expect_status(200).body);
    let second = paths.each_ref().map(|path| server.get(path).expect_status(200).body);
    assert_eq!(second, first);
    let server = TestServer::start_in(server.stop(), &[], Arc::new(restante_model::SystemClock));
    let third = paths.each_ref().map(|path| server.get(path).expect_status(200).body);
    assert_eq!(third, first);
    // What arrives now is signed with the key that the client pinned before.
    let id = server.send_raw("bob@restante.test", RICH);
    let email = server.get(&format!("{EMAILS}/{id}")).json();
    assert!(client.open(&email["encryptedMetadata"]).contains(&id));
}

#[test]
fn nobody_else_can_open_a_payload_and_no_part_stands_in_for_another() {
    let server = TestServer::start(&[]);
    let client = Client::new(&server);
    let id = server.send_raw("bob@restante.test", RICH);
    let email = server.get(&format!("{EMAILS}/{id}")).json();
    let payload = &email["encryptedMetadata"];
    let other = Client {
        key: DecapsulationKey::generate(),
        pinned: client.pinned.clone(),
    };
    assert_eq!(other.try_open(payload), Err(OpenError::Decryption));
    let mut swapped = payload.clone();
    swapped["aad"] = email["encryptedParsed"]["aad"].clone();
    assert_eq!(client.try_open(&swapped), Err(OpenError::Signature));
}

#[test]
fn the_plaintext_never_reaches_the_disk() {
    let server = TestServer::start(&[]);
    Client::new(&server);
    server.create_plain("eve@restante.test");
    let marked =
        |marker: &str| format!("From: {marker}from@sender.test\r\nSubject: {marker}subject\r\n\r\n{marker}text\r\n");
    let id = server.send_raw("bob@restante.test", &marked("sealed-"));
    server.send_raw("eve@restante.test", &marked("readable-"));
    server.get(&format!("{EMAILS}/{id}")).expect_status(200);
    server.get(&format!("{EMAILS}/{id}/raw")).expect_status(200);
    let data = server.stop();
    let holds = |needle: &str| files(data.path()).iter().any(|file| contains(file, needle.as_bytes()));
    assert!(holds("readable-subject"), "the search finds what is there");
    for part in ["from", "subject", "text"] {
        assert!(!holds(&format!("sealed-{part}")), "{part}");
    }
    // Nor in any of the three ways in which its base64 text may begin.
    for cut in 0..3 {
        assert!(
            !holds(&STANDARD.encode(&"sealed-subject"[cut..])[..12]),
            "base64 at {cut}"
        );
    }
}

/// The content of every file below a directory.
fn files(directory: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![std::fs::read(&path).unwrap()]
        }
    };
    entries.flat_map(read).collect()
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}
