//! Waits at servers that fail, in a hurry.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use restante_model::Timestamp;
use restante_testkit::receiver::{Answer, Receiver, Request, Stage};
use serde::Serialize;
use serde_json::{Value, json};

use super::search::{Pace, Search};
use crate::email::tests::{email, numbered};
use crate::inbox::{InboxFacts, InboxKeys, KnownInbox};
use crate::{Client, Email, EmailMatcher, Error, Inbox, RetrySettings, Strategy};

const HURRY: Pace = Pace {
    last_look: Duration::from_millis(400),
    head_start: Duration::from_millis(20),
    presence: Duration::from_millis(50),
};
const SOON: Duration = Duration::from_millis(200);
/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn inbox(server: &Receiver, max_retries: u32) -> Inbox {
    let delay = Duration::from_millis(150);
    let client = Client::builder(server.url(""), "key")
        .strategy(Strategy::Polling)
        .retry(RetrySettings { max_retries, delay })
        .build()
        .unwrap();
    let facts = InboxFacts {
        address: "bob@restante.test".to_owned(),
        hash: numbered(1, "").inbox_id,
        expires_at: Timestamp::parse("2036-01-25T11:41:16.000Z"),
        terms: None,
    };
    let keys = InboxKeys::Plain;
    Inbox::new(client, Arc::new(KnownInbox { facts, keys }))
}

/// Waits in vain for any email, with a last look that is cut off before all repetitions are done.
async fn none(inbox: Inbox) -> Result<(), Error> {
    Search::paced(inbox, EmailMatcher::new(), 1, HURRY)
        .run(SOON)
        .await?
        .none()
}

async fn one(inbox: Inbox, matcher: EmailMatcher, limit: Duration) -> Result<Vec<Email>, Error> {
    Search::paced(inbox, matcher, 1, HURRY)
        .run(limit)
        .await?
        .into_result(limit)
}

/// An email whose text is its number.
fn numbered_email(number: u32) -> Email {
    let mut email = email();
    email.summary = numbered(number, "wanted");
    email.content.text = Some(number.to_string());
    email
}

fn answer(value: &Value) -> Answer {
    Answer::status(200).body(value.to_string())
}

/// A record as the server tells it: plain documents are base64 of their JSON.
fn record(email: &impl Serialize) -> Value {
    let mut record = serde_json::to_value(email).unwrap();
    for document in ["metadata", "parsed"] {
        if let Some(document) = record.get_mut(document) {
            *document = STANDARD.encode(document.to_string()).into();
        }
    }
    record
}

/// An email that can be had.
fn had(number: u32) -> Answer {
    answer(&record(&numbered_email(number)))
}

/// An inbox of three emails; each is given as `given` says for its number.
fn holding(given: impl Fn(u32) -> Answer + Send + Sync + 'static) -> Receiver {
    let server = Receiver::start();
    server.by_rule(move |request: &Request| {
        let target = request.target.split('?').next().unwrap();
        if target.ends_with("/sync") {
            return answer(&json!({ "emailCount": 3, "emailsHash": "of three" }));
        }
        if target.ends_with("/emails") {
            return answer(&[3, 2, 1].map(|number| record(&numbered(number, "wanted"))).into());
        }
        let number = (1..=3).find(|number| target.ends_with(&numbered(*number, "").id.to_string()));
        given(number.unwrap())
    });
    server
}

#[tokio::test]
async fn who_could_not_look_does_not_say_that_nothing_is_there() {
    let failures = [
        Answer::status(503),
        Answer::status(429).header("Retry-After", "20"),
        Answer::stalled(Stage::BeforeStatus),
    ];
    for (failure, max_retries) in failures.into_iter().zip([9, 9, 0]) {
        let server = Receiver::start();
        server.always(failure.clone());
        let inbox = inbox(&server, max_retries);
        let (none, one) = tokio::join!(none(inbox.clone()), one(inbox, EmailMatcher::new(), SOON));
        for error in [none.unwrap_err(), one.unwrap_err()] {
            assert!(
                matches!(error, Error::RequestTimeout { limit, .. } if limit == HURRY.last_look),
                "{failure:?}: {error:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_look_that_fails_says_why() {
    // The subscription has begun, and hears nothing of it.
    let server = holding(had);
    let inbox = inbox(&server, 0);
    let other = EmailMatcher::new().subject("other");
    let wait = Search::paced(inbox, other, 1, HURRY).run(SOON);
    let breaking = async {
        server.wait_for(2).await;
        server.always(Answer::status(503));
    };
    let (looked, ()) = tokio::join!(wait, breaking);
    let error = looked.unwrap_err();
    assert_eq!(error.status(), Some(503), "{error:?}");
}

#[tokio::test]
async fn an_email_that_cannot_be_had_keeps_no_other_waiting() {
    for failure in [Answer::status(500), Answer::stalled(Stage::InBody)] {
        for max_retries in [0, 9] {
            let failure = failure.clone();
            let server = holding(move |number| match number {
                1 => failure.clone(),
                number => had(number),
            });
            let two = EmailMatcher::new().text("2");
            let found = one(inbox(&server, max_retries), two, PATIENCE).await.unwrap();
            assert_eq!(found[0].id(), numbered(2, "").id);
        }
    }
}

#[tokio::test]
async fn an_email_that_cannot_be_had_may_be_the_one() {
    let server = holding(|number| match number {
        1 => Answer::status(500),
        number => had(number),
    });
    let inbox = inbox(&server, 0);
    let matcher = EmailMatcher::new().text("1");
    let error = one(inbox.clone(), matcher.clone(), SOON).await.unwrap_err();
    assert_eq!(error.status(), Some(500), "{error:?}");
    let none = Search::paced(inbox, matcher, 1, HURRY).run(SOON).await;
    assert_eq!(none.unwrap_err().status(), Some(500));
}

#[tokio::test]
async fn the_oldest_that_fits_is_found() {
    let server = holding(had);
    let found = one(inbox(&server, 0), EmailMatcher::new(), PATIENCE).await.unwrap();
    assert_eq!(found[0].id(), numbered(1, "").id);
}

#[tokio::test]
async fn a_subscription_that_ends_without_a_word_is_not_a_closed_client() {
    let inbox = inbox(&Receiver::start(), 0);
    let mut search = Search::new(inbox.clone(), EmailMatcher::new(), 1);
    let error = search.hear(None).unwrap_err();
    assert!(matches!(error, Error::Stream(_)), "{error:?}");
    inbox.client().close();
    assert!(matches!(search.hear(None), Err(Error::Closed)));
}
