//! Waiting through the SDK: what came before, during and after the call, in every strategy and mode.

mod endings;

use std::thread;
use std::time::Duration;

use restante_client::{Client, EmailId, EmailMatcher, Encryption, Error, Inbox, Strategy};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{MODES, PROFILES, STRATEGIES, bob, client, client_with, run, wanted};
use crate::harness::TestServer;
use crate::harness::mail::RICH;

const BOB: &str = "bob@restante.test";

/// Longer than any mail takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a test in every strategy and mode, each with a server of its own.
fn everywhere(profile: &[(&str, &str)], test: &impl AsyncFn(&TestServer, &Client, Inbox)) {
    for strategy in STRATEGIES {
        for mode in MODES {
            println!("{strategy:?} {mode:?} {profile:?}");
            let server = TestServer::start(profile);
            run(async {
                let client = client_with(&server, strategy);
                let inbox = bob(&client, mode).await;
                test(&server, &client, inbox).await;
            });
        }
    }
}

fn about(subject: &str) -> EmailMatcher {
    EmailMatcher::new().subject(subject)
}

/// A matcher that fits only what fits, and a channel that tells each email that it was asked about.
fn telling(subject: &str) -> (EmailMatcher, mpsc::Receiver<String>) {
    let (seen, told) = mpsc::channel(64);
    let wanted = subject.to_owned();
    let matcher = EmailMatcher::new().predicate(move |email| {
        let _ = seen.try_send(email.subject().to_owned());
        email.subject() == wanted
    });
    (matcher, told)
}

/// Sends from a thread, so that a wait of the test goes on.
async fn send(server: &TestServer, subject: &str) {
    let smtp = server.smtp;
    let message = format!("Subject: {subject}\r\n\r\ntext\r\n");
    let sending = thread::spawn(move || crate::peer::Peer::greeted(smtp).deliver(&[BOB], message.as_bytes()));
    tokio::task::spawn_blocking(|| sending.join().unwrap()).await.unwrap();
}

#[test]
fn an_email_that_came_before_is_found_whole() {
    for profile in PROFILES {
        everywhere(profile, &async |server, _, inbox| {
            server.send(BOB, "other", "text");
            let id: EmailId = server.send_raw(BOB, RICH).parse().unwrap();
            let matcher = about("grüße").from("juergen@sender.test").to("bob@restante.test");
            let matcher = matcher
                .text("see")
                .header("X-Twice", "two")
                .predicate(|email| !email.attachments().is_empty());
            let email = inbox.wait_for(matcher).timeout(PATIENCE).await.unwrap();
            assert_eq!(email.id(), id);
            assert_eq!(email, inbox.email(id).await.unwrap());
        });
    }
}

#[test]
fn an_email_that_comes_during_the_wait_is_found() {
    everywhere(&[], &async |server, _, inbox| {
        send(server, "first").await;
        let (matcher, mut told) = telling("second");
        let wait = inbox.wait_for(matcher).timeout(PATIENCE);
        let sending = async {
            // The wait has begun: it was asked about the first email.
            assert_eq!(told.recv().await.unwrap(), "first");
            send(server, "second").await;
        };
        let (found, ()) = tokio::join!(wait.into_future(), sending);
        assert_eq!(found.unwrap().subject(), "second");
        assert_eq!(told.try_recv().unwrap(), "second");
    });
}

#[test]
fn several_emails_come_in_the_order_of_their_arrival_each_once() {
    everywhere(&[], &async |server, _, inbox| {
        for number in 0..3 {
            send(server, &format!("wanted {number}")).await;
            send(server, "other").await;
        }
        let wait = inbox.wait_for_many(9, about("wanted")).timeout(PATIENCE);
        let sending = async {
            for number in 3..9 {
                send(server, &format!("wanted {number}")).await;
                send(server, "other").await;
            }
        };
        let (found, ()) = tokio::join!(wait.into_future(), sending);
        let subjects: Vec<_> = found.unwrap().iter().map(|email| email.subject().to_owned()).collect();
        let expected: Vec<_> = (0..9).map(|number| format!("wanted {number}")).collect();
        assert_eq!(subjects, expected);
        assert!(inbox.wait_for_many(0, about("wanted")).await.unwrap().is_empty());
    });
}

#[test]
fn that_none_comes_is_known_after_the_window() {
    everywhere(&[], &async |server, _, inbox| {
        send(server, "other").await;
        let begun = Instant::now();
        inbox
            .wait_for_none(about("wanted"))
            .window(Duration::from_millis(300))
            .await
            .unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(300));
    });
}

#[test]
fn one_that_should_not_come_ends_the_window() {
    everywhere(&[], &async |server, _, inbox| {
        send(server, "first").await;
        let (matcher, mut told) = telling("unwanted");
        let wait = inbox.wait_for_none(matcher).window(PATIENCE);
        let sending = async {
            assert_eq!(told.recv().await.unwrap(), "first");
            send(server, "unwanted").await;
        };
        let begun = Instant::now();
        let (found, ()) = tokio::join!(wait.into_future(), sending);
        let newest = inbox.summaries().await.unwrap()[0].id;
        let error = found.unwrap_err();
        assert!(
            matches!(error, Error::UnexpectedEmail { id, .. } if id == newest),
            "{error:?}"
        );
        assert_eq!(
            error.to_string(),
            format!("an email with what the predicate asks came: {newest}")
        );
        // One that is there already counts too.
        let there = inbox.wait_for_none(about("unwanted")).window(PATIENCE).await;
        assert!(matches!(there, Err(Error::UnexpectedEmail { .. })), "{there:?}");
        assert!(begun.elapsed() < PATIENCE);
    });
}

#[test]
fn two_clients_wait_for_the_same_email() {
    for strategy in STRATEGIES {
        let server = TestServer::start(&[]);
        run(async {
            let one = bob(&client_with(&server, strategy), Encryption::Plain).await;
            let other = client_with(&server, Strategy::Auto).inbox(BOB).await.unwrap();
            let waits = [&one, &other].map(|inbox| inbox.wait_for(about("wanted")).timeout(PATIENCE).into_future());
            let [one, other] = waits;
            let (one, other, ()) = tokio::join!(one, other, send(&server, "wanted"));
            assert_eq!(one.unwrap(), other.unwrap());
        });
    }
}

#[test]
fn waits_side_by_side_find_each_their_own() {
    let server = TestServer::start(&[]);
    run(async {
        let client = client(&server);
        let mut waits = JoinSet::new();
        let mut addresses = Vec::new();
        for mode in MODES.repeat(10) {
            let inbox = client.create_inbox(wanted(mode)).await.unwrap();
            addresses.push(inbox.address().to_owned());
            let wait = inbox.wait_for(about("wanted")).timeout(PATIENCE).into_future();
            waits.spawn(async move { (inbox.address().to_owned(), wait.await.unwrap()) });
        }
        for address in addresses.iter().rev() {
            let message = format!("Subject: wanted by {address}\r\n\r\n");
            tokio::task::block_in_place(|| server.send_raw(address, &message));
        }
        let found = waits.join_all().await;
        assert_eq!(found.len(), 20);
        for (address, email) in found {
            assert_eq!(email.subject(), format!("wanted by {address}"));
        }
    });
}
