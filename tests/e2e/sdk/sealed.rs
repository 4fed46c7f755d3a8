//! Nothing is believed that the server of an encrypted inbox has not signed, whoever stands between.

use std::time::Duration;

use restante_client::{
    Email, EmailId, EmailMatcher, Encryption, Error, ExportedInbox, IfKnown, Inbox, SignatureError, Strategy,
};
use restante_envelope::{DecapsulationKey, base64url};
use serde_json::{Value, json};

use super::meddler::Meddler;
use super::{MODES, PROFILES, STRATEGIES, bob, builder, client_with, run};
use crate::harness::mail::RICH;
use crate::harness::{API_KEY, TestServer};

const BOB: &str = "bob@restante.test";

/// Longer than any mail takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// An encrypted inbox whose client speaks through a meddler.
async fn through(meddler: &Meddler) -> Inbox {
    let client = builder(&meddler.url(), Strategy::Polling).build().unwrap();
    bob(&client, Encryption::Encrypted).await
}

/// What every way to read an email says.
async fn refusals(inbox: &Inbox, id: EmailId) -> Vec<Error> {
    let wait = inbox.wait_for(EmailMatcher::new().text("see")).timeout(PATIENCE);
    let none = inbox.wait_for_none(EmailMatcher::new().subject("other"));
    let results = [
        inbox.email(id).await.err(),
        inbox.raw(id).await.err(),
        inbox.emails().await.err(),
        inbox.summaries().await.err(),
        wait.await.err(),
        none.await.err(),
    ];
    results
        .into_iter()
        .map(|result| result.expect("it is refused"))
        .collect()
}

fn id(text: &str) -> EmailId {
    text.parse().unwrap()
}

/// Changes a payload wherever an answer has one.
fn each_payload(answer: &mut Value, change: &impl Fn(&mut Value)) {
    match answer {
        Value::Object(fields) if fields.contains_key("ct_kem") => change(answer),
        Value::Object(fields) => fields.values_mut().for_each(|value| each_payload(value, change)),
        Value::Array(items) => items.iter_mut().for_each(|item| each_payload(item, change)),
        _ => {}
    }
}

/// The text of a base64url field with another first character.
fn spoil(field: &mut Value) {
    let text = field.as_str().unwrap();
    let first = if text.starts_with('A') { "B" } else { "A" };
    *field = json!(format!("{first}{}", &text[1..]));
}

#[test]
fn mail_that_another_server_sealed_for_the_same_key_is_a_key_mismatch() {
    for profile in PROFILES {
        let (genuine, other) = (TestServer::start(profile), TestServer::start(profile));
        let meddler = Meddler::before(&genuine);
        run(async {
            let inbox = through(&meddler).await;
            // The other server has an inbox at the same address for the same key, and signs for itself.
            other.create(&meddler.posted()).expect_status(201);
            let sent = id(&other.send_raw(BOB, RICH));
            meddler.turn_to(&other);
            for refusal in refusals(&inbox, sent).await {
                let mismatch = Error::SignatureVerification(SignatureError::ServerKeyMismatch);
                assert_eq!(format!("{refusal:?}"), format!("{mismatch:?}"));
                assert!(refusal.to_string().contains("nothing was opened"), "{refusal}");
            }
        });
    }
}

#[test]
fn a_wait_in_any_strategy_ends_with_what_another_key_signed() {
    let other = TestServer::start(&[]).create_encrypted(BOB, &DecapsulationKey::generate());
    for strategy in STRATEGIES {
        let server = TestServer::start(&[]);
        run(async {
            let client = client_with(&server, strategy);
            let export = bob(&client, Encryption::Encrypted).await.export().to_json();
            let mut export: Value = serde_json::from_str(&export).unwrap();
            export["serverSigPk"] = other["serverSigPk"].clone();
            let export = ExportedInbox::parse(export.to_string().as_bytes()).unwrap();
            let inbox = client.import_inbox(export, IfKnown::Replace).unwrap();
            let wait = inbox.wait_for(EmailMatcher::new().subject("never")).timeout(PATIENCE);
            let sending = async { tokio::task::block_in_place(|| server.send(BOB, "other", "text")) };
            let (found, ()) = tokio::join!(wait.into_future(), sending);
            let error = found.unwrap_err();
            let mismatch = SignatureError::ServerKeyMismatch;
            assert!(
                matches!(error, Error::SignatureVerification(reason) if reason == mismatch),
                "{error:?}"
            );
        });
    }
}

#[test]
fn the_pinned_key_in_a_payload_of_another_server_does_not_help() {
    let (genuine, other) = (TestServer::start(&[]), TestServer::start(&[]));
    let meddler = Meddler::before(&genuine);
    run(async {
        let inbox = through(&meddler).await;
        let sent = genuine.send_raw(BOB, RICH);
        let email = genuine.get(&format!("/api/inboxes/{BOB}/emails/{sent}")).json();
        let pinned = email["encryptedMetadata"]["server_sig_pk"].clone();
        other.create(&meddler.posted()).expect_status(201);
        let sent = id(&other.send_raw(BOB, RICH));
        meddler.turn_to(&other);
        meddler.change(move |_, answer| {
            each_payload(answer, &|payload| payload["server_sig_pk"] = pinned.clone());
        });
        are_invalid(&refusals(&inbox, sent).await);
    });
}

#[test]
fn whatever_a_signature_covers_cannot_be_changed() {
    let server = TestServer::start(&[]);
    let meddler = Meddler::before(&server);
    run(async {
        let inbox = through(&meddler).await;
        let sent = id(&server.send_raw(BOB, RICH));
        for field in ["ct_kem", "nonce", "aad", "ciphertext", "sig"] {
            meddler.change(move |_, answer| each_payload(answer, &|payload| spoil(&mut payload[field])));
            are_invalid(&refusals(&inbox, sent).await);
        }
        meddler.change(|_, _| ());
        assert_eq!(inbox.email(sent).await.unwrap().subject(), "Grüße");
    });
}

#[test]
fn a_document_in_clear_is_refused() {
    let server = TestServer::start(&[]);
    let plain = TestServer::start(&[]);
    let meddler = Meddler::before(&server);
    run(async {
        let inbox = through(&meddler).await;
        plain.create_plain(BOB);
        let sent = id(&plain.send_raw(BOB, RICH));
        meddler.turn_to(&plain);
        let hash = json!(inbox.hash());
        meddler.change(move |_, answer| {
            let records = match answer {
                Value::Array(records) => records.iter_mut().collect(),
                record => vec![record],
            };
            for record in records.into_iter().filter(|record| record.get("inboxId").is_some()) {
                record["inboxId"] = hash.clone();
            }
        });
        are_invalid(&refusals(&inbox, sent).await);
    });
}

/// Every refusal is one of the signature, and its text does not tell it from one of decryption.
fn are_invalid(refusals: &[Error]) {
    for refusal in refusals {
        let invalid = Error::SignatureVerification(SignatureError::Invalid);
        assert_eq!(format!("{refusal:?}"), format!("{invalid:?}"));
        assert_eq!(refusal.to_string(), Error::Decryption.to_string());
    }
}

#[test]
fn a_genuine_document_of_another_email_is_refused() {
    let server = TestServer::start(&[]);
    let meddler = Meddler::before(&server);
    run(async {
        let inbox = through(&meddler).await;
        let [first, second] = [1, 2].map(|number| {
            let sent = server.send_raw(BOB, &format!("Subject: {number}\r\n\r\n"));
            server.get(&format!("/api/inboxes/{BOB}/emails/{sent}")).json()
        });
        let ids = [&first, &second].map(|email| id(email["id"].as_str().unwrap()));
        let metadata = first["encryptedMetadata"].clone();
        meddler.change(move |_, answer| {
            let records = match answer {
                Value::Array(records) => records.iter_mut().collect(),
                record => vec![record],
            };
            for record in records.into_iter().filter(|record| record["id"] == second["id"]) {
                record["encryptedMetadata"] = metadata.clone();
            }
        });
        let refused = inbox.email(ids[1]).await.unwrap_err();
        assert!(matches!(refused, Error::UnexpectedAnswer { .. }), "{refused:?}");
        let listed = inbox.each_summary().await.unwrap();
        assert_eq!(listed[0].as_ref().unwrap_err().id, ids[1]);
        assert_eq!(listed[1].as_ref().unwrap().subject(), "1");

        let record = first;
        meddler.change(move |_, answer| *answer = record.clone());
        let refused = inbox.email(ids[1]).await.unwrap_err();
        assert!(matches!(refused, Error::UnexpectedAnswer { .. }), "{refused:?}");
    });
}

#[test]
fn one_damaged_email_hides_no_other() {
    for mode in MODES {
        let server = TestServer::start(&[]);
        let meddler = Meddler::before(&server);
        run(async {
            let client = builder(&meddler.url(), Strategy::Polling).build().unwrap();
            let inbox = bob(&client, mode).await;
            let ids: Vec<_> = server.send_many(BOB, 3).iter().map(|sent| id(sent)).collect();
            let damaged = json!(ids[1]);
            meddler.change(move |_, answer| {
                for record in answer.as_array_mut().into_iter().flatten() {
                    if record["id"] == damaged {
                        record
                            .as_object_mut()
                            .unwrap()
                            .retain(|name, _| !name.to_lowercase().contains("metadata"));
                        let field = if mode == Encryption::Plain {
                            "metadata"
                        } else {
                            "encryptedMetadata"
                        };
                        record[field] = json!("damaged");
                    }
                }
            });
            let emails = inbox.each_email().await.unwrap();
            let shown: Vec<_> = emails.iter().map(|email| email.as_ref().map(Email::id)).collect();
            assert_eq!(*shown[0].as_ref().unwrap(), ids[2]);
            assert_eq!(*shown[2].as_ref().unwrap(), ids[0]);
            let unreadable = *shown[1].as_ref().unwrap_err();
            assert_eq!(unreadable.id, ids[1]);
            assert!(matches!(unreadable.error, Error::Decryption), "{unreadable:?}");
            assert!(unreadable.to_string().starts_with(&ids[1].to_string()), "{unreadable}");
            for refused in [inbox.emails().await.err(), inbox.summaries().await.err()] {
                assert!(matches!(refused, Some(Error::Decryption)), "{refused:?}");
            }
            inbox.delete_email(unreadable.id).await.unwrap();
            assert_eq!(inbox.emails().await.unwrap().len(), 2);
        });
    }
}

#[test]
fn debug_shows_no_key() {
    let server = TestServer::start(&[]);
    run(async {
        let inbox = bob(&client_with(&server, Strategy::Auto), Encryption::Encrypted).await;
        let secret = serde_json::from_str::<Value>(&inbox.export().to_json()).unwrap()["secretKey"].clone();
        let wait = inbox.wait_for(EmailMatcher::new());
        let shown = format!("{inbox:?} {inbox:#?} {wait:?}");
        assert!(shown.contains(BOB), "{shown}");
        // As base64url, and as the numbers of bytes.
        assert!(!shown.contains(&secret.as_str().unwrap()[..16]), "{shown}");
        let bytes = base64url::decode(&secret.as_str().unwrap()[..16]).unwrap();
        let numbers = format!("{bytes:?}");
        assert!(!shown.contains(numbers.trim_matches(['[', ']'])), "{shown}");
        assert!(!shown.contains(API_KEY), "{shown}");
    });
}
