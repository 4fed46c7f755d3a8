//! The inboxes that a client knows, and what the server makes of them.

use std::sync::Arc;
use std::time::Duration;

use restante_client::{Client, Error, ExportedInbox, IfKnown, NewInbox};
use restante_testkit::FakeClock;
use restante_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::stage::{ADDRESS, NOW, builder, client, created, plain_inbox, refusal};

const HOUR: Duration = Duration::from_hours(1);

/// A client whose clock is an hour ahead once its inbox was created.
async fn with_an_expired_inbox(server: &Receiver) -> Client {
    let clock = Arc::new(FakeClock::at(NOW));
    let client = builder(server)
        .clock(clock.clone())
        .build()
        .expect("the settings can work");
    created(server, &client).await;
    clock.advance(HOUR);
    client
}

/// What a server says of a plain inbox with an end.
fn created_body() -> Value {
    json!({
        "emailAddress": ADDRESS,
        "expiresAt": NOW.after(HOUR),
        "inboxHash": "A".repeat(43),
        "encrypted": false,
        "emailAuth": true,
    })
}

fn encrypted(hash: &str) -> Answer {
    let body = json!({
        "emailAddress": ADDRESS,
        "expiresAt": NOW.after(HOUR * 3),
        "inboxHash": hash,
        "encrypted": true,
        "emailAuth": true,
    });
    Answer::status(200).body(body.to_string())
}

#[tokio::test]
async fn a_known_inbox_is_not_asked_for() {
    let server = Receiver::start();
    let client = client(&server);
    created(&server, &client).await;
    let inbox = client.inbox(" A@Restante.test").await.unwrap();
    assert_eq!((inbox.address(), server.requests().len()), (ADDRESS, 1));
}

#[tokio::test]
async fn an_expired_inbox_does_not_hide_a_new_one_at_its_address() {
    let server = Receiver::start();
    let client = with_an_expired_inbox(&server).await;
    server.script([plain_inbox(7200)]);
    let inbox = client.inbox(ADDRESS).await.unwrap();
    assert_eq!(inbox.expires_at(), Some(NOW.after(HOUR * 2)));
    client.inbox(ADDRESS).await.unwrap();
    assert_eq!(server.requests().len(), 2, "the new one is known");
}

#[tokio::test]
async fn an_inbox_that_never_ends_stays_known_and_is_exported_with_the_last_moment_of_all() {
    let server = Receiver::start();
    let clock = Arc::new(FakeClock::at(NOW));
    let client = builder(&server).clock(clock.clone()).build().unwrap();
    let mut endless = created_body();
    endless["expiresAt"] = json!(null);
    server.script([Answer::status(201).body(endless.to_string())]);
    let inbox = client.create_inbox(NewInbox::new().never_expires()).await.unwrap();
    clock.advance(HOUR * 24 * 365 * 100);
    assert_eq!(client.inbox(ADDRESS).await.unwrap().expires_at(), None);
    assert_eq!(server.requests().len(), 1, "it is not asked for");
    assert!(format!("{inbox:?}").contains("expires_at: never"), "{inbox:?}");

    let export = inbox.export();
    assert!(export.to_json().contains(r#""expiresAt": "9999-12-31T23:59:59.999Z""#));
    assert!(format!("{export:?}").contains("expires_at: never"), "{export:?}");
    let read = ExportedInbox::parse(export.to_json().as_bytes()).unwrap();
    assert_eq!(read.expires_at(), None);
    let imported = client.import_inbox(read, IfKnown::Replace).unwrap();
    assert_eq!(imported.expires_at(), None);
    assert_eq!((imported.is_persistent(), imported.spam_analysis()), (None, None));
}

#[tokio::test]
async fn an_inbox_says_what_was_agreed_on() {
    let server = Receiver::start();
    let client = client(&server);
    for (told, expected) in [
        (
            json!({ "spamAnalysis": true, "persistent": false }),
            (Some(true), Some(false)),
        ),
        (
            json!({ "spamAnalysis": false, "persistent": true }),
            (Some(false), Some(true)),
        ),
        // Of a server that knows nothing of them.
        (json!({}), (Some(false), Some(false))),
    ] {
        let mut body = created_body();
        body.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
        server.script([Answer::status(201).body(body.to_string())]);
        let inbox = client.create_inbox(NewInbox::new()).await.unwrap();
        assert_eq!((inbox.spam_analysis(), inbox.is_persistent()), expected, "{told}");
        assert_eq!(inbox.email_auth(), Some(true));
    }
}

#[tokio::test]
async fn an_inbox_whose_end_is_not_told_is_no_answer() {
    let server = Receiver::start();
    let client = client(&server);
    let mut body = created_body();
    body.as_object_mut().unwrap().remove("expiresAt");
    server.script([Answer::status(201).body(body.to_string())]);
    let error = client.create_inbox(NewInbox::new()).await.unwrap_err();
    assert!(matches!(error, Error::UnexpectedAnswer { .. }), "{error:?}");
}

#[tokio::test]
async fn an_expired_inbox_that_is_gone_is_forgotten() {
    let server = Receiver::start();
    let client = with_an_expired_inbox(&server).await;
    server.script([refusal(404, &format!("Inbox not found: {ADDRESS}"))]);
    let error = client.inbox(ADDRESS).await.unwrap_err();
    assert!(matches!(error, Error::InboxNotFound(_)), "{error:?}");
    assert!(client.known_inboxes().is_empty());
}

#[tokio::test]
async fn an_inbox_stays_known_while_the_server_cannot_be_asked() {
    let server = Receiver::start();
    let client = with_an_expired_inbox(&server).await;
    server.script([refusal(401, "Invalid API key")]);
    assert!(client.inbox(ADDRESS).await.is_err());
    assert_eq!(client.known_inboxes().len(), 1);
}

#[tokio::test]
async fn the_key_of_another_clients_inbox_is_missed_and_the_expired_one_forgotten() {
    let server = Receiver::start();
    let client = with_an_expired_inbox(&server).await;
    server.script([encrypted(&"A".repeat(43))]);
    let error = client.inbox(ADDRESS).await.unwrap_err();
    assert!(
        matches!(&error, Error::KeyMissing { address } if address == ADDRESS),
        "{error:?}"
    );
    assert!(client.known_inboxes().is_empty());
}

#[tokio::test]
async fn a_deleted_inbox_is_forgotten() {
    let server = Receiver::start();
    let client = client(&server);
    created(&server, &client).await;
    server.script([Answer::status(204)]);
    client.delete_inbox("A@restante.test").await.unwrap();
    assert!(client.known_inboxes().is_empty());
    created(&server, &client).await;
    server.script([Answer::status(200).body(r#"{"deleted":1}"#)]);
    assert_eq!(client.delete_all_inboxes().await.unwrap(), 1);
    assert!(client.known_inboxes().is_empty());
}
