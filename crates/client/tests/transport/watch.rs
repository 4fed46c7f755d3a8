//! Subscriptions to a server that does not do as it should, and with settings at their limits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use restante_client::{ClientBuilder, Error, Existing, Inbox, PollingSettings, ReconnectSettings, Strategy, Watch};
use restante_testkit::receiver::{Answer, Receiver, Request, Stage};
use serde_json::{Value, json};

use crate::stage::{ADDRESS, at_once, builder, created, refusal};

/// Longer than a client takes that does what it should not.
const A_MOMENT: Duration = Duration::from_millis(300);

/// A client that polls without a pause.
fn polling(server: &Receiver) -> ClientBuilder {
    let often = Duration::from_millis(5);
    builder(server).strategy(Strategy::Polling).polling(PollingSettings {
        initial: often,
        multiplier: 1.0,
        max: often,
        jitter: 0.0,
    })
}

async fn watch(server: &Receiver, builder: ClientBuilder) -> (Inbox, Watch) {
    let client = builder.build().expect("the settings can work");
    let inbox = created(server, &client).await;
    let watch = at_once(inbox.watch(Existing::Skip)).await;
    let watch = watch.expect("the server answers with a baseline");
    (inbox, watch)
}

/// An inbox without mail, with an `emailsHash` by any formula.
fn told(hash: &str) -> Answer {
    let body = json!({"emailCount": 0, "emailsHash": hash});
    Answer::status(200).body(body.to_string())
}

fn no_emails() -> Answer {
    Answer::status(200).body("[]")
}

fn count(requests: &[Request], end: &str) -> usize {
    let path = |request: &Request| request.target.split('?').next().map(str::to_owned);
    let ends = |request: &&Request| path(request).is_some_and(|path| path.ends_with(end));
    requests.iter().filter(ends).count()
}

/// The event of a plain email.
fn event(inbox: &Inbox) -> Value {
    let id = format!("msg_{}", "0".repeat(32));
    let received = "1994-11-06T08:49:37.000Z";
    let metadata = json!({"id": id, "from": "a@b.test", "to": ADDRESS, "subject": "s", "receivedAt": received});
    let metadata = base64(metadata.to_string().as_bytes());
    json!({"inboxId": inbox.hash(), "emailId": id, "metadata": metadata})
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// A stream of these events that stays open.
fn stream(events: &str) -> Answer {
    // The receiver sends half of it.
    let body = format!("{events}{}", ":".repeat(events.len()));
    let kind = Answer::stalled(Stage::InBody).header("Content-Type", "text/event-stream");
    kind.body(body)
}

#[tokio::test]
async fn events_of_somebody_else_do_not_make_the_client_compare_each_time() {
    let server = Receiver::start();
    let client = builder(&server).strategy(Strategy::Sse).build().unwrap();
    let inbox = created(&server, &client).await;
    let events = format!("{}data: {}\n\n", "data: ping\n\n".repeat(100), event(&inbox));
    server.by_rule(move |request| {
        if request.target.starts_with("/api/events") {
            stream(&events)
        } else if request.target.ends_with("/sync") {
            told("x")
        } else {
            no_emails()
        }
    });
    let mut watch = at_once(inbox.watch(Existing::Skip)).await.unwrap();
    at_once(watch.next()).await.unwrap().unwrap();
    // The baseline, and the comparison after the connection; one more if all of this took long.
    let compared = count(&server.requests(), "/sync");
    assert!((2..=3).contains(&compared), "{compared}");
}

#[tokio::test]
async fn a_hash_by_another_formula_is_no_change_each_time() {
    let server = Receiver::start();
    server.by_rule(|request| {
        if request.target.ends_with("/sync") {
            told("another formula")
        } else {
            no_emails()
        }
    });
    let (_, _watch) = watch(&server, polling(&server)).await;
    let requests = server.wait_for(20).await;
    assert_eq!(count(&requests, "/emails"), 1, "the baseline alone lists");
}

#[tokio::test]
async fn polling_and_the_stream_wait_as_long_as_the_server_asks() {
    for status in [429, 503] {
        for strategy in [Strategy::Polling, Strategy::Sse] {
            let server = Receiver::start();
            let asked = AtomicUsize::new(0);
            server.by_rule(move |request| match request.target.as_str() {
                path if path.ends_with("/sync") && asked.fetch_add(1, Ordering::SeqCst) == 0 => told("x"),
                path if path.contains("/emails") => no_emails(),
                _ => refusal(status, "later").header("Retry-After", "600"),
            });
            let reconnect = ReconnectSettings {
                delay: Duration::from_millis(1),
                max_attempts: 100,
                connect_timeout: Duration::from_secs(20),
            };
            let (_, mut watch) = watch(&server, polling(&server).strategy(strategy).reconnect(reconnect)).await;
            server.wait_for(4).await;
            let next = tokio::time::timeout(A_MOMENT, watch.next()).await;
            assert!(next.is_err(), "{status} {strategy:?}: {next:?}");
            // The inbox, its two of the baseline, and one that was refused.
            let requests = server.requests().len();
            assert_eq!(requests, 4, "{status} {strategy:?}");
        }
    }
}

#[tokio::test]
async fn the_longest_durations_mean_never() {
    let never = Duration::MAX;
    let reconnect = ReconnectSettings {
        delay: never,
        max_attempts: 1,
        connect_timeout: never,
    };
    let pauses = PollingSettings {
        initial: never,
        multiplier: 2.0,
        max: never,
        jitter: 1.0,
    };
    for strategy in [Strategy::Auto, Strategy::Sse, Strategy::Polling] {
        let server = Receiver::start();
        server.by_rule(|request| {
            if request.target.starts_with("/api/events") {
                stream("data: ping\n\n")
            } else if request.target.ends_with("/sync") {
                told("x")
            } else {
                no_emails()
            }
        });
        let builder = builder(&server).strategy(strategy).timeout(never);
        let (_, mut watch) = watch(&server, builder.reconnect(reconnect).polling(pauses)).await;
        let next = tokio::time::timeout(A_MOMENT, watch.next()).await;
        assert!(next.is_err(), "{strategy:?}: {next:?}");
        // The inbox, the two of its baseline, and what its task asked first.
        server.wait_for(4).await;
    }
}

#[tokio::test]
async fn an_inbox_of_another_client_is_refused() {
    let server = Receiver::start();
    server.by_rule(|request| {
        if request.target.ends_with("/sync") {
            told("x")
        } else {
            no_emails()
        }
    });
    // Before anything polls, which would be given the scripted answer.
    let other = polling(&server).build().unwrap();
    let strange = created(&server, &other).await;
    let (inbox, watch) = watch(&server, polling(&server)).await;
    let refusals = [
        other.watch(std::slice::from_ref(&inbox), Existing::Skip).await.err(),
        watch.add(&strange).await.err(),
    ];
    for refusal in refusals {
        assert!(
            matches!(&refusal, Some(Error::Configuration(text)) if text.contains(ADDRESS)),
            "{refusal:?}"
        );
    }
    watch.add(&inbox).await.unwrap();
}
