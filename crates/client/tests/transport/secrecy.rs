//! What is shown, and what is not.

use restante_client::{Client, Error};
use restante_testkit::receiver::Receiver;

use super::stage::{ADDRESS, KEY, builder, client, created, refusal};

#[tokio::test]
async fn no_key_is_shown() {
    let server = Receiver::start();
    let unfinished = builder(&server).ca_certificate("-----BEGIN PRIVATE KEY-----");
    let client = client(&server);
    let inbox = created(&server, &client).await;
    server.script([refusal(401, "Invalid API key")]);
    let error = client.check_key().await.unwrap_err();
    for shown in [
        format!("{unfinished:?} {unfinished:#?}"),
        format!("{client:?} {client:#?}"),
        format!("{inbox:?} {inbox:#?}"),
        format!("{error} {error:?}"),
    ] {
        assert!(!shown.contains(KEY) && !shown.contains("PRIVATE KEY"), "{shown}");
    }
    // The bytes of a file, as `Debug` shows them.
    assert!(!format!("{unfinished:?}").contains("45, 45, 45"));
}

/// A failed assertion shows these.
#[tokio::test]
async fn what_is_shown_fits_a_line() {
    let server = Receiver::start();
    let client = client(&server);
    let inbox = created(&server, &client).await;
    let url = server.url("");
    assert_eq!(format!("{client:?}"), format!("Client {{ url: {url:?}, .. }}"));
    let expected = format!(
        "Inbox {{ address: {ADDRESS:?}, hash: {}, is_encrypted: false, expires_at: {}, .. }}",
        inbox.hash(),
        inbox.expires_at().unwrap()
    );
    assert_eq!(format!("{inbox:?}"), expected);
    assert_eq!(
        format!("{:?}", client.webhooks()),
        format!("Webhooks {{ client: Client {{ url: {url:?}, .. }}, path: \"/api/webhooks\" }}")
    );
}

#[test]
fn a_client_that_cannot_be_made_shows_no_key() {
    for (url, key) in [
        (KEY, "http://127.0.0.1:8080"),
        ("http://127.0.0.1:8080", ""),
        ("http://127.0.0.1:8080", " \n"),
        ("http://127.0.0.1:8080", "a-key-for-tests\nof-the-transport-only"),
        ("http://me:a-key-for-tests@127.0.0.1", KEY),
    ] {
        let error = Client::new(url, key).unwrap_err();
        assert!(matches!(&error, Error::Configuration(_)), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("a-key-for-tests"), "{error}");
    }
}

/// The text names what is wrong with a key, and not the key.
#[test]
fn a_key_that_can_be_none_is_refused_with_the_reason() {
    for (key, says) in [
        ("", "the API key is empty"),
        (" \n", "the API key is empty"),
        (
            "a-key\nanother",
            "the API key has more than one line; is it the file of a key?",
        ),
        (
            "a-k\u{e9}y",
            "the API key has a character that no key has, as its character 4",
        ),
        (
            "a-key\u{7f}",
            "the API key has a character that no key has, as its character 6",
        ),
        (
            "a\tkey",
            "the API key has a character that no key has, as its character 2",
        ),
    ] {
        let error = Client::new("http://127.0.0.1:8080", key).unwrap_err();
        assert!(matches!(&error, Error::Configuration(_)), "{error:?}");
        assert_eq!(error.to_string(), says);
    }
}
