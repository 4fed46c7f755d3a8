//! The server and the client of a test.

use std::sync::Arc;
use std::time::Duration;

use restante_client::{Client, ClientBuilder, Error, Inbox, NewInbox, RetrySettings};
use restante_model::Timestamp;
use restante_testkit::FakeClock;
use restante_testkit::receiver::{Answer, Receiver};
use serde_json::json;

/// The key of every client here.
pub(crate) const KEY: &str = "a-key-for-tests-of-the-transport-only";
/// When the clock of every client begins: Sun, 06 Nov 1994 08:49:37 GMT.
pub(crate) const NOW: Timestamp = Timestamp::from_unix_ms(784_111_777_000);
/// The address of the plain inbox.
pub(crate) const ADDRESS: &str = "a@restante.test";
/// A pause between attempts that is none.
const NO_PAUSE: Duration = Duration::from_millis(1);
/// A pause that a test does not live to see the end of.
pub(crate) const FOREVER: Duration = Duration::from_secs(100_000);

/// A client of the server that repeats without a pause.
pub(crate) fn builder(server: &Receiver) -> ClientBuilder {
    builder_of(&server.url(""))
}

/// A client of the server at a URL that repeats without a pause.
pub(crate) fn builder_of(url: &str) -> ClientBuilder {
    Client::builder(url, KEY)
        .retry(RetrySettings {
            max_retries: 3,
            delay: NO_PAUSE,
        })
        .clock(Arc::new(FakeClock::at(NOW)))
}

pub(crate) fn client(server: &Receiver) -> Client {
    builder(server).build().expect("the settings can work")
}

/// A client that would never end if it repeated anything.
pub(crate) fn client_that_must_not_repeat(url: &str) -> ClientBuilder {
    builder_of(url).retry(RetrySettings {
        max_retries: u32::MAX,
        delay: FOREVER,
    })
}

/// What is told at once, as opposed to after a pause of hours.
pub(crate) async fn at_once<T>(work: impl Future<Output = T>) -> T {
    let told = tokio::time::timeout(Duration::from_secs(20), work).await;
    told.expect("it is told at once")
}

/// The answer to `check_key`.
pub(crate) fn fine() -> Answer {
    Answer::status(200).body(r#"{"ok":true}"#)
}

/// A refusal with the error body of the interface.
pub(crate) fn refusal(status: u16, message: &str) -> Answer {
    let body = json!({"statusCode": status, "message": message, "error": "Reason"});
    Answer::status(status).body(body.to_string())
}

/// A plain inbox as the server shows it, which lives for so many seconds after [`NOW`].
pub(crate) fn plain_inbox(secs: u64) -> Answer {
    let body = json!({
        "emailAddress": ADDRESS,
        "expiresAt": NOW.after(Duration::from_secs(secs)),
        "inboxHash": "h".repeat(42) + "A",
        "encrypted": false,
        "emailAuth": false,
    });
    Answer::status(201).body(body.to_string())
}

/// A plain inbox of the client, which lives for an hour.
pub(crate) async fn created(server: &Receiver, client: &Client) -> Inbox {
    server.script([plain_inbox(3600)]);
    let created = client.create_inbox(NewInbox::new().plain()).await;
    created.expect("the server answers with an inbox")
}

/// The name of an error's kind.
pub(crate) fn kind(error: &Error) -> String {
    let shown = format!("{error:?}");
    shown.split(['(', ' ']).next().unwrap_or_default().to_owned()
}
