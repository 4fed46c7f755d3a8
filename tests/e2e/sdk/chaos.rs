//! Faults through the SDK: asked for, shown, met by mail, cleared, refused.

use std::time::Duration;

use lettre::address::Envelope;
use lettre::{SmtpTransport, Transport as _};
use restante_client::chaos::{Chaos, ChaosConfig, Delays, Drops, ErrorKind, Errors, Greylisting, TrackBy};
use restante_client::{Encryption, Error, NewInbox, Timestamp};

use super::{MODES, PROFILES, bob, client, run, wanted};
use crate::harness::TestServer;

const ON: (&str, &str) = ("CHAOS_ENABLED", "true");

/// One attempt to bring a mail; the code of a refusal.
fn attempt(server: &TestServer, to: &str) -> Result<(), Option<u16>> {
    let envelope = Envelope::new("alice@sender.test".parse().ok(), vec![to.parse().unwrap()]).unwrap();
    let transport = SmtpTransport::builder_dangerous(server.smtp.ip().to_string()).port(server.smtp.port());
    let sent = transport
        .build()
        .send_raw(&envelope, b"Subject: Hello\r\n\r\nHello\r\n");
    sent.map(drop).map_err(|error| error.status().map(Into::into))
}

fn everything() -> Chaos {
    Chaos::new()
        .until(Timestamp::parse("2099-01-01T00:00:00.000Z").unwrap())
        .latency(Delays::between(Duration::from_millis(5), Duration::from_millis(10)).probability(0.5))
        .connection_drop(Drops::reset().probability(0.25))
        .random_error(Errors::of([ErrorKind::Temporary, ErrorKind::Permanent]).rate(0.3))
        .greylist(
            Greylisting::new()
                .retry_window(Duration::from_mins(1))
                .track_by(TrackBy::Ip),
        )
        .blackhole_that_webhooks_hear_of()
}

#[test]
fn what_is_asked_for_is_shown_until_it_is_cleared() {
    for profile in PROFILES {
        for mode in MODES {
            let server = TestServer::start(&[profile, &[ON]].concat());
            run(async {
                let client = client(&server);
                assert!(client.server_info().await.unwrap().chaos_enabled);
                let inbox = bob(&client, mode).await;
                assert_eq!(inbox.chaos().await.unwrap(), ChaosConfig::default());

                let set = inbox.set_chaos(&everything()).await.unwrap();
                assert_eq!(inbox.chaos().await.unwrap(), set);
                assert!(set.enabled && set.expires_at.is_some());
                let latency = set.latency.unwrap();
                assert_eq!(
                    (latency.min_delay_ms, latency.max_delay_ms, latency.jitter),
                    (5, 10, true)
                );
                assert!(!set.connection_drop.unwrap().graceful);
                assert_eq!(set.random_error.unwrap().error_types.len(), 2);
                // The server fills in what was not said.
                let greylist = set.greylist.unwrap();
                assert_eq!((greylist.retry_window_ms, greylist.max_attempts), (60_000, 2));
                assert!(set.blackhole.unwrap().trigger_webhooks);

                let replaced = inbox.set_chaos(&Chaos::new().blackhole()).await.unwrap();
                assert!(replaced.latency.is_none() && !replaced.blackhole.unwrap().trigger_webhooks);
                inbox.clear_chaos().await.unwrap();
                inbox.clear_chaos().await.unwrap();
                assert_eq!(inbox.chaos().await.unwrap(), ChaosConfig::default());
            });
        }
    }
}

#[test]
fn mail_meets_what_was_asked_for() {
    for mode in MODES {
        let server = TestServer::start(&[ON]);
        run(async {
            let inbox = bob(&client(&server), mode).await;
            let attempts = async |chaos: Chaos| {
                inbox.set_chaos(&chaos).await.unwrap();
                attempt(&server, inbox.address())
            };
            let refused = attempts(Chaos::new().random_error(Errors::permanent().rate(1.0))).await;
            assert!(matches!(refused, Err(Some(550..=554))), "{refused:?}");
            let refused = attempts(Chaos::new().greylist(Greylisting::new())).await;
            assert_eq!(refused, Err(Some(451)));
            assert_eq!(attempt(&server, inbox.address()), Ok(()));
            let dropped = attempts(Chaos::new().connection_drop(Drops::graceful())).await;
            assert_eq!(dropped, Err(None));
            assert_eq!(attempts(Chaos::new().blackhole()).await, Ok(()));
            assert_eq!(inbox.summaries().await.unwrap().len(), 1, "one was let through");
            inbox.clear_chaos().await.unwrap();
            assert_eq!(attempt(&server, inbox.address()), Ok(()));
            assert_eq!(inbox.summaries().await.unwrap().len(), 2);
        });
    }
}

#[test]
fn an_inbox_is_created_with_faults() {
    for mode in MODES {
        let server = TestServer::start(&[ON]);
        run(async {
            let wish = wanted(mode).chaos(Chaos::new().blackhole());
            let inbox = client(&server).create_inbox(wish).await.unwrap();
            assert!(inbox.chaos().await.unwrap().blackhole.unwrap().enabled);
            assert_eq!(attempt(&server, inbox.address()), Ok(()));
            assert!(inbox.summaries().await.unwrap().is_empty());
        });
    }
}

#[test]
fn a_value_out_of_its_bounds_is_named() {
    let server = TestServer::start(&[ON]);
    run(async {
        let inbox = bob(&client(&server), Encryption::Plain).await;
        let minute = Duration::from_mins(1);
        for (chaos, field) in [
            (
                Chaos::new().latency(Delays::of(minute).probability(1.5)),
                "latency.probability",
            ),
            (Chaos::new().latency(Delays::of(minute * 2)), "latency.maxDelayMs"),
            (
                Chaos::new().random_error(Errors::temporary().rate(-0.1)),
                "randomError.errorRate",
            ),
            (
                Chaos::new().connection_drop(Drops::reset().probability(2.0)),
                "connectionDrop.probability",
            ),
        ] {
            let refused = inbox.set_chaos(&chaos).await.unwrap_err();
            assert_eq!(refused.status(), Some(400), "{refused}");
            assert!(refused.to_string().contains(field), "{refused}");
        }
        assert_eq!(inbox.chaos().await.unwrap(), ChaosConfig::default());
        inbox
            .set_chaos(&Chaos::new().latency(Delays::of(minute)))
            .await
            .unwrap();
    });
}

#[test]
fn a_server_that_does_not_do_it_says_so() {
    let server = TestServer::start(&[]);
    run(async {
        let client = client(&server);
        assert!(!client.server_info().await.unwrap().chaos_enabled);
        // Not asked for in vain: the inbox is made all the same.
        let wish = NewInbox::new().chaos(Chaos::new().blackhole());
        let inbox = client.create_inbox(wish).await.unwrap();
        let refusals = [
            inbox.chaos().await.err(),
            inbox.set_chaos(&Chaos::new().blackhole()).await.err(),
            inbox.clear_chaos().await.err(),
        ];
        for refusal in refusals.map(Option::unwrap) {
            assert_eq!(refusal.status(), Some(403), "{refusal}");
            assert!(refusal.to_string().contains("SVC_CHAOS_ENABLED"), "{refusal}");
        }
        assert_eq!(attempt(&server, inbox.address()), Ok(()));
        assert_eq!(inbox.summaries().await.unwrap().len(), 1);
        inbox.delete().await.unwrap();
        let gone = inbox.chaos().await.unwrap_err();
        assert!(matches!(gone, Error::InboxNotFound(_)), "{gone:?}");
    });
}
