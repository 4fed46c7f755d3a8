//! A panic in a parser costs one message its content, and nothing else.

use restante_inbox::{Content, Parser, Source};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::sealing::open;

/// Reads a message as ever, unless it has the word that a bug might trip over.
fn trips_over<T>(raw: &[u8], read: fn(&[u8]) -> T) -> T {
    assert!(
        !raw.windows(4).any(|word| word == b"BOOM"),
        "secret words of the message"
    );
    read(raw)
}

const FRAGILE: Parser = Parser {
    parse: |raw| trips_over(raw, restante_message::parse),
    summary: |raw| trips_over(raw, restante_message::summary),
};

const BOOM: &str = "From: a@sender.test\r\nSubject: BOOM\r\n\r\nbody\r\n";
const FINE: &str = "From: a@sender.test\r\nSubject: fine\r\n\r\nbody\r\n";

#[tokio::test]
async fn a_message_that_cannot_be_parsed_is_kept_as_it_came() {
    let fixture = Fixture::with_parser(FRAGILE);
    let plain = fixture.create("alice@restante.test").await.unwrap();
    let (sealed, key) = fixture.create_encrypted("bob@restante.test").await;
    let ids = fixture.deposit(&[&plain, &sealed], BOOM).await;
    // Its header block once, and its content for the sealed copy.
    assert_eq!(fixture.inboxes.parser_panics(), 2);

    let view = fixture.inboxes.email(&plain, ids[0]).await.unwrap();
    let Content::Plain { metadata, parsed } = view.content else {
        panic!("a plain email")
    };
    shows_that_alone(&metadata, &parsed.unwrap());
    let Source::Plain(raw) = fixture.inboxes.raw(&plain, ids[0]).await.unwrap() else {
        panic!("a plain source")
    };
    assert!(raw.ends_with(BOOM.as_bytes()));

    let view = fixture.inboxes.email(&sealed, ids[1]).await.unwrap();
    let Content::Sealed { metadata, parsed } = view.content else {
        panic!("a sealed email")
    };
    let parsed = open(&fixture, &parsed.unwrap(), &key);
    shows_that_alone(&open(&fixture, &metadata, &key), &parsed);
}

/// The envelope, no content, and the one defect.
fn shows_that_alone(metadata: &[u8], parsed: &[u8]) {
    let metadata: Value = serde_json::from_slice(metadata).unwrap();
    assert_eq!(
        [&metadata["from"], &metadata["subject"]],
        ["alice@sender.test", "(no subject)"]
    );
    let parsed: Value = serde_json::from_slice(parsed).unwrap();
    assert_eq!(parsed["defects"], json!(["The message cannot be parsed."]));
    assert_eq!([&parsed["text"], &parsed["html"]], [&Value::Null, &Value::Null]);
    assert_eq!(parsed["headers"], json!({}));
}

#[tokio::test]
async fn mail_before_and_after_it_is_read_as_ever() {
    let fixture = Fixture::with_parser(FRAGILE);
    let inbox = fixture.create("alice@restante.test").await.unwrap();
    let mut ids = fixture.deposit(&[&inbox], FINE).await;
    // One that is too large to be prepared between two reads, too.
    let large = format!("{BOOM}{}", "x".repeat(100_000));
    let _ = fixture.deposit(&[&inbox], BOOM).await;
    let _ = fixture.deposit(&[&inbox], &large).await;
    ids.extend(fixture.deposit(&[&inbox], FINE).await);
    assert_eq!(fixture.inboxes.parser_panics(), 2);
    for id in ids {
        let Content::Plain { parsed, .. } = fixture.inboxes.email(&inbox, id).await.unwrap().content else {
            panic!("a plain email")
        };
        let parsed: Value = serde_json::from_slice(&parsed.unwrap()).unwrap();
        assert_eq!(parsed["text"], "body\n");
    }
    assert_eq!(fixture.inboxes.parser_panics(), 2);
}
