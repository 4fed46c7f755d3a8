//! The wire profile `vaultsandbox`: each row of the table in decisions, section 1, that this version has.

use insta::assert_snapshot;
use restante_envelope::{DecapsulationKey, SealedPayload, VerifyingKey, WireProfile, base64url};
use serde_json::json;

use crate::harness::mail::EMPTY;
use crate::harness::{API_KEY, TestServer, shape};

const PROFILE: (&str, &str) = ("WIRE_PROFILE", "vaultsandbox");

#[test]
fn payloads_carry_the_other_context_and_additional_data() {
    let server = TestServer::start(&[PROFILE]);
    let key = DecapsulationKey::generate();
    let inbox = server.create_encrypted("bob@restante.test", &key);
    let pinned = base64url::decode(inbox["serverSigPk"].as_str().unwrap()).unwrap();
    let pinned = VerifyingKey::parse(&pinned).unwrap();
    let id = server.send_raw("bob@restante.test", EMPTY);
    let path = format!("/api/inboxes/bob@restante.test/emails/{id}");
    let email = server.get(&path).expect_status(200);
    assert_snapshot!("encrypted_email", shape(&email.body));
    let raw = server.get(&format!("{path}/raw")).expect_status(200);
    assert_snapshot!("encrypted_raw", shape(&raw.body));
    for payload in [
        &email.json()["encryptedMetadata"],
        &email.json()["encryptedParsed"],
        &raw.json()["encryptedRaw"],
    ] {
        let read = || SealedPayload::from_json(payload.to_string().as_bytes()).unwrap();
        let verified = read().verify(&pinned, WireProfile::VaultSandbox).unwrap();
        assert!(verified.open(&key).is_ok());
        assert!(read().verify(&pinned, WireProfile::Service).is_err());
    }
}

#[test]
fn metadata_names_one_recipient_as_a_string() {
    let server = TestServer::start(&[PROFILE]);
    server.create_plain("bob@restante.test");
    server.send_raw("Bob+Tag@restante.test", EMPTY);
    let list = server.get("/api/inboxes/bob@restante.test/emails").expect_status(200);
    assert_snapshot!("plain_list", shape(&list.body));
}

#[test]
fn a_taken_address_gives_a_random_alias_at_its_domain() {
    let server = TestServer::start(&[PROFILE]);
    for domain in ["restante.test", "localhost"] {
        let address = format!("bob@{domain}");
        server.create_plain(&address);
        let body = json!({ "emailAddress": address, "encryption": "plain" });
        let inbox = server.create(&body).expect_status(201).json();
        let given = inbox["emailAddress"].as_str().unwrap();
        let (alias, at) = given.split_once('@').unwrap();
        assert_eq!(at, domain);
        assert!(
            alias.len() == 8 && alias.bytes().all(|b| b.is_ascii_hexdigit()),
            "{alias}"
        );
    }
}

#[test]
fn a_taken_client_key_is_a_conflict_all_the_same() {
    let server = TestServer::start(&[PROFILE]);
    let key = DecapsulationKey::generate();
    server.create_encrypted("bob@restante.test", &key);
    let text = base64url::encode(key.encapsulation_key().as_bytes());
    server.create(&json!({ "clientKemPk": text })).expect_status(409);
}

#[test]
fn an_override_that_the_policy_forbids_is_ignored() {
    let key = |()| base64url::encode(DecapsulationKey::generate().encapsulation_key().as_bytes());
    for (policy, wish, encrypted) in [("always", "plain", true), ("never", "encrypted", false)] {
        let server = TestServer::start(&[PROFILE, ("ENCRYPTION_ENABLED", policy)]);
        let body = json!({ "encryption": wish, "clientKemPk": key(()) });
        let inbox = server.create(&body).expect_status(201).json();
        assert_eq!(inbox["encrypted"], encrypted, "{policy}");
    }
}

#[test]
fn the_laptop_encrypts_unless_asked_not_to() {
    let server = TestServer::start(&[PROFILE]);
    let required = server.create(&json!({})).expect_status(400);
    assert_eq!(
        required.json()["message"],
        "clientKemPk is required for an encrypted inbox"
    );
    let plain = server
        .create(&json!({ "encryption": "plain" }))
        .expect_status(201)
        .json();
    assert_eq!(plain["encrypted"], false);
}

#[test]
fn a_store_of_one_profile_does_not_open_under_the_other() {
    let server = TestServer::start(&[]);
    server.create_plain("bob@restante.test");
    let refusal = TestServer::refusal_in(&server.stop(), &[PROFILE]);
    assert!(
        refusal.contains("`service`") || refusal.contains("service"),
        "{refusal}"
    );
    assert!(refusal.contains("vaultsandbox"), "{refusal}");
    assert_eq!(refusal.lines().count(), 1, "{refusal}");
}

#[test]
fn a_repeated_request_for_a_taken_address_gets_the_first_alias() {
    let server = TestServer::start(&[PROFILE]);
    server.create_plain("bob@restante.test");
    let create = || {
        let headers = [
            ("X-API-Key", API_KEY),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", "key"),
        ];
        let body = r#"{"emailAddress":"bob@restante.test","encryption":"plain"}"#;
        server
            .bare_request("POST", "/api/inboxes", &headers, body)
            .expect_status(201)
            .body
    };
    assert_eq!(create(), create());
}
