//! What an encrypted inbox hands out opens with the client's key only, and says what a plain one says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_envelope::{DecapsulationKey, SealedPayload, Signature, WireProfile};
use restante_inbox::{Content, DepositError, ListRequest, Source};
use serde_json::Value;

use crate::fixture::{Fixture, SEALING_BYTES};

const MESSAGE: &str = "From: Alice <alice@sender.test>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nhello\r\n";

pub(crate) fn open(fixture: &Fixture, payload: &SealedPayload, key: &DecapsulationKey) -> Vec<u8> {
    let json = serde_json::to_vec(payload).unwrap();
    let payload = SealedPayload::from_json(&json).unwrap();
    let verified = payload
        .verify(fixture.inboxes.verifying_key(), WireProfile::Service)
        .unwrap();
    verified.open(key).unwrap().expose().to_vec()
}

#[tokio::test]
async fn every_part_opens_and_keeps_its_signature() {
    let fixture = Fixture::new();
    let (inbox, key) = fixture.create_encrypted("bob@restante.test").await;
    let id = fixture.deposit(&[&inbox], MESSAGE).await[0];

    let view = fixture.inboxes.email(&inbox, id).await.unwrap();
    let Content::Sealed {
        metadata,
        parsed: Some(parsed),
    } = view.content
    else {
        panic!("a sealed email")
    };
    let metadata: Value = serde_json::from_slice(&open(&fixture, &metadata, &key)).unwrap();
    assert_eq!(metadata["subject"], "Grüße");
    assert_eq!(metadata["id"], id.to_string());
    let content: Value = serde_json::from_slice(&open(&fixture, &parsed, &key)).unwrap();
    assert_eq!(content["text"], "hello\n");

    let Source::Sealed(raw) = fixture.inboxes.raw(&inbox, id).await.unwrap() else {
        panic!("a sealed source")
    };
    let text = STANDARD.decode(open(&fixture, &raw, &key)).unwrap();
    let (trace, message) = text.split_at(text.len() - MESSAGE.len());
    assert_eq!(message, MESSAGE.as_bytes());
    assert!(trace.starts_with(b"Received: from client.test "));

    let again = fixture.inboxes.email(&inbox, id).await.unwrap();
    let Content::Sealed {
        parsed: Some(again), ..
    } = again.content
    else {
        panic!("a sealed email")
    };
    assert_eq!(
        serde_json::to_string(&again).unwrap(),
        serde_json::to_string(&parsed).unwrap()
    );
}

#[tokio::test]
async fn readers_who_are_first_at_the_same_time_get_the_same_signature() {
    let fixture = Fixture::new();
    let (inbox, _key) = fixture.create_encrypted("bob@restante.test").await;
    let id = fixture.deposit(&[&inbox], MESSAGE).await[0];
    let read = async || {
        let Source::Sealed(raw) = fixture.inboxes.raw(&inbox, id).await.unwrap() else {
            panic!("a sealed source")
        };
        serde_json::to_string(&raw).unwrap()
    };
    let (one, other) = tokio::join!(read(), read());
    assert_eq!(one, other);
    assert_eq!(read().await, one);
}

#[tokio::test]
async fn metadata_is_signed_once_whoever_asks_first() {
    let fixture = Fixture::new();
    let (inbox, key) = fixture.create_encrypted("bob@restante.test").await;
    let mut watch = fixture.inboxes.watch(&[inbox.hash], None).await.unwrap();
    let id = fixture.deposit(&[&inbox], MESSAGE).await[0];

    let at_arrival = fixture.inboxes.stored_bytes(&inbox, id).await.unwrap();
    let metadata = |content| match content {
        Content::Sealed { metadata, .. } => metadata,
        Content::Plain { .. } => panic!("a sealed email"),
    };
    let streamed = metadata(watch.next().await.unwrap().content);
    let opened: Value = serde_json::from_slice(&open(&fixture, &streamed, &key)).unwrap();
    assert_eq!(opened["subject"], "Grüße");
    let signed = fixture.inboxes.stored_bytes(&inbox, id).await.unwrap();
    assert_eq!(signed - at_arrival, Signature::LEN as u64, "arrival signs nothing");
    let request = ListRequest {
        before: None,
        limit: 10,
        include_content: false,
    };
    let list = fixture.inboxes.list(&inbox, &request).await.unwrap();
    let listed = metadata(list.emails[0].content.clone());
    // Signing is hedged: two signatures of the same bytes differ.
    assert_eq!(
        serde_json::to_string(&listed).unwrap(),
        serde_json::to_string(&streamed).unwrap()
    );
}

#[tokio::test]
async fn a_message_to_both_kinds_of_inbox_is_one_email_each() {
    let fixture = Fixture::new();
    let plain = fixture.create("alice@restante.test").await.unwrap();
    let (sealed, _key) = fixture.create_encrypted("bob@restante.test").await;
    let ids = fixture.deposit(&[&plain, &sealed, &plain], MESSAGE).await;
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
    let all = ListRequest {
        before: None,
        limit: 10,
        include_content: true,
    };
    let list = fixture.inboxes.list(&plain, &all).await.unwrap();
    assert!(matches!(list.emails[0].content, Content::Plain { parsed: Some(_), .. }));
    let list = fixture.inboxes.list(&sealed, &all).await.unwrap();
    assert!(matches!(
        list.emails[0].content,
        Content::Sealed { parsed: Some(_), .. }
    ));
}

#[tokio::test]
async fn sealed_copies_are_made_only_if_there_is_memory_for_them() {
    let fixture = Fixture::new();
    let (one, _) = fixture.create_encrypted("one@restante.test").await;
    let (two, _) = fixture.create_encrypted("two@restante.test").await;
    let large = format!("Subject: large\r\n\r\n{}\r\n", "x".repeat(SEALING_BYTES / 5));

    let for_two = fixture.inboxes.prepare(fixture.message(&[&one, &two], &large)).await;
    assert_eq!(for_two.unwrap_err(), DepositError::TooLarge, "waiting would not help");
    // The same inbox twice gets one copy.
    let twice = fixture.inboxes.prepare(fixture.message(&[&one, &one], &large)).await;
    drop(twice.unwrap());
    // For one inbox it always fits, if nothing else is being sealed.
    let alone = fixture.inboxes.prepare(fixture.message(&[&one], &large)).await.unwrap();
    let beside = fixture.inboxes.prepare(fixture.message(&[&two], &large)).await;
    assert_eq!(beside.unwrap_err(), DepositError::NoRoom);
    drop(fixture.inboxes.deposit(alone).await.unwrap());
    assert!(fixture.inboxes.prepare(fixture.message(&[&two], &large)).await.is_ok());
}

#[tokio::test]
async fn large_messages_are_sealed_in_turn() {
    let fixture = Fixture::new();
    let (inbox, _) = fixture.create_encrypted("bob@restante.test").await;
    // Each takes all the memory that there is.
    let large = format!("Subject: large\r\n\r\n{}\r\n", "x".repeat(SEALING_BYTES));
    let first = fixture
        .inboxes
        .prepare(fixture.message(&[&inbox], &large))
        .await
        .unwrap();
    let second = fixture.inboxes.prepare(fixture.message(&[&inbox], &large));
    let (second, first) = tokio::join!(second, fixture.inboxes.deposit(first));
    drop(first.unwrap());
    assert!(second.is_ok(), "it waited");
}
