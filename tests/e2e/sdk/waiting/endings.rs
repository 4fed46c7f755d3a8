//! Waits that end without what they wait for: the time is over, or the inbox, the client or the server is gone.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use restante_client::{Client, Encryption, Error, PollingSettings, RetrySettings, Strategy, Timestamp};
use restante_testkit::FakeClock;
use tokio::time::Instant;

use super::{BOB, PATIENCE, about, everywhere, send, telling};
use crate::harness::TestServer;
use crate::sdk::meddler::Meddler;
use crate::sdk::{MODES, STRATEGIES, bob, builder, client_with, run, wanted};

#[test]
fn a_time_out_tells_what_was_asked_for_and_what_was_there() {
    everywhere(&[], &async |server, _, inbox| {
        send(server, "wanted").await;
        send(server, "other").await;
        send(server, "another").await;
        let begun = Instant::now();
        let wait = inbox
            .wait_for_many(2, about("wanted").from("alice"))
            .timeout(Duration::from_millis(300));
        let error = wait.await.unwrap_err();
        assert!(begun.elapsed() >= Duration::from_millis(300));
        let expected = r#"1 of 2 emails with subject "wanted", from "alice" within 0.3 s; others there: 2"#;
        assert_eq!(error.to_string(), expected);
    });
}

/// A client that looks once and not again within the test.
fn drowsy(server: &TestServer) -> Client {
    let hour = Duration::from_hours(1);
    let polling = PollingSettings {
        initial: hour,
        multiplier: 1.0,
        max: hour,
        jitter: 0.0,
    };
    let client = builder(&format!("http://{}", server.http), Strategy::Polling);
    client.polling(polling).build().unwrap()
}

#[test]
fn a_last_look_finds_what_polling_has_not_asked_for_yet() {
    side_by_side(&MODES, &|mode| {
        let server = TestServer::start(&[]);
        run(async {
            let inbox = bob(&drowsy(&server), mode).await;
            send(&server, "first").await;
            let (matcher, mut told) = telling("second");
            let wait = inbox.wait_for(matcher).timeout(Duration::from_millis(1500));
            let sending = async {
                assert_eq!(told.recv().await.unwrap(), "first");
                send(&server, "second").await;
            };
            let (found, ()) = tokio::join!(wait.into_future(), sending);
            assert_eq!(found.unwrap().subject(), "second");
            let there = inbox.wait_for_none(about("second")).window(Duration::ZERO).await;
            assert!(matches!(there, Err(Error::UnexpectedEmail { .. })), "{there:?}");
        });
    });
}

/// Runs a test that waits for each of these at the same time.
fn side_by_side<T: Copy + Send + Sync>(cases: &[T], test: &(impl Fn(T) + Sync)) {
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || test(*case));
        }
    });
}

#[test]
fn a_wait_in_an_inbox_that_expires_says_so() {
    side_by_side(&STRATEGIES, &|strategy| {
        let clock = Arc::new(FakeClock::at(Timestamp::parse("2026-01-25T11:41:16.000Z").unwrap()));
        let server = TestServer::start_with_clock(&[], Arc::<FakeClock>::clone(&clock));
        run(async {
            let wish = wanted(Encryption::Plain).address(BOB).ttl(Duration::from_mins(1));
            let inbox = client_with(&server, strategy).create_inbox(wish).await.unwrap();
            send(&server, "first").await;
            let (matcher, mut told) = telling("second");
            let begun = Instant::now();
            let wait = inbox.wait_for(matcher).timeout(PATIENCE);
            let expiring = async {
                assert_eq!(told.recv().await.unwrap(), "first");
                clock.advance(Duration::from_mins(1));
            };
            let (found, ()) = tokio::join!(wait.into_future(), expiring);
            let error = found.unwrap_err();
            assert!(matches!(error, Error::InboxNotFound(_)), "{strategy:?}: {error:?}");
            assert!(begun.elapsed() < PATIENCE, "{strategy:?}: it is not waited to the end");
            // Nor does a wait begin there.
            for error in [
                inbox.wait_for(about("x")).await.err(),
                inbox.wait_for_none(about("x")).await.err(),
            ] {
                assert!(
                    matches!(error, Some(Error::InboxNotFound(_))),
                    "{strategy:?}: {error:?}"
                );
            }
        });
    });
}

#[test]
fn a_deleted_email_is_not_waited_for_and_a_closed_client_does_not_wait() {
    everywhere(&[], &async |server, client, inbox| {
        send(server, "wanted").await;
        let id = inbox.summaries().await.unwrap()[0].id;
        inbox.delete_email(id).await.unwrap();
        let wait = inbox.wait_for(about("wanted")).timeout(Duration::from_millis(200));
        let error = wait.await.unwrap_err();
        assert!(matches!(error, Error::WaitTimeout { others: 0, .. }), "{error:?}");

        send(server, "first").await;
        let (matcher, mut told) = telling("second");
        let wait = inbox.wait_for(matcher).timeout(PATIENCE);
        let closing = async {
            told.recv().await.unwrap();
            client.close();
        };
        let (found, ()) = tokio::join!(wait.into_future(), closing);
        let error = found.unwrap_err();
        assert!(matches!(error, Error::Closed), "{error:?}");
    });
}

/// A client that repeats no request by itself, so that a wait has to.
fn impatient(url: &str) -> Client {
    let retry = RetrySettings {
        max_retries: 0,
        delay: Duration::from_millis(10),
    };
    builder(url, Strategy::Polling).retry(retry).build().unwrap()
}

#[test]
fn trouble_that_passes_does_not_end_a_wait() {
    let server = TestServer::start(&[]);
    let meddler = Meddler::before(&server);
    run(async {
        let inbox = bob(&impatient(&meddler.url()), Encryption::Plain).await;
        send(&server, "wanted").await;
        meddler.be_deaf(3);
        let email = inbox.wait_for(about("wanted")).timeout(PATIENCE).await.unwrap();
        assert_eq!(email.subject(), "wanted");
        assert_eq!(meddler.deaf_for(), 0);
    });
}

#[test]
fn a_server_that_went_away_is_no_time_out() {
    let server = TestServer::start(&[]);
    let meddler = Meddler::before(&server);
    run(async {
        let inbox = bob(&impatient(&meddler.url()), Encryption::Plain).await;
        send(&server, "first").await;
        let (matcher, mut told) = telling("second");
        let wait = inbox.wait_for(matcher).timeout(Duration::from_millis(1500));
        let leaving = async {
            assert_eq!(told.recv().await.unwrap(), "first");
            drop(meddler);
        };
        let (found, ()) = tokio::join!(wait.into_future(), leaving);
        let error = found.unwrap_err();
        assert!(matches!(error, Error::Network { .. }), "{error:?}");
    });
}
