//! Replies that come late, and all that may happen until then.

use tokio::time::{Instant, sleep};

use super::*;

/// What is said to a message for bob, and after how much time.
async fn delayed(fixture: &Fixture) -> (String, Duration) {
    let act = async |mut client: Client| {
        client.greet().await;
        client.offer("a@sender.test", &["bob"]).await;
        let began = Instant::now();
        let mut heard = client.line().await;
        heard.truncate(10);
        let waited = began.elapsed();
        let _ = client.send(b"QUIT\r\n").await;
        client.heard().await;
        (heard, waited)
    };
    let (ended, outcome) = fixture.serve(act).await;
    ended.unwrap();
    outcome
}

#[tokio::test(start_paused = true)]
async fn a_delay_goes_with_every_outcome() {
    let late = || latency(0, 60_000, false);
    for (chaos, reply) in [
        (json!({}), "250 2.0.0 "),
        (blackhole(), "250 2.0.0 "),
        (greylist("ip", 2), "451 4.7.1 "),
        (connection_drop(true), ""),
        (connection_drop(false), ""),
    ] {
        let fixture = with_bob(and(late(), &chaos)).await;
        assert_eq!(
            delayed(&fixture).await,
            (reply.to_owned(), Duration::from_mins(1)),
            "{chaos}"
        );
        assert_eq!(fixture.monitor.counts().met(Fault::Latency), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn with_jitter_no_delay_is_outside_its_bounds() {
    let fixture = with_bob(latency(1000, 3000, true)).await;
    let mut delays = Vec::new();
    for _ in 0..20 {
        delays.push(delayed(&fixture).await.1);
    }
    let bounds = Duration::from_secs(1)..=Duration::from_secs(3);
    assert!(delays.iter().all(|delay| bounds.contains(delay)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay != delays[0]), "{delays:?}");
}

#[tokio::test(start_paused = true)]
async fn mail_is_stored_as_late_as_it_is_answered() {
    let fixture = with_bob(latency(0, 5000, false)).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.offer("a@sender.test", &["bob"]).await;
        sleep(Duration::from_millis(4999)).await;
        assert!(ids(&fixture, "bob").await.is_empty());
        let reply = client.reply().await;
        client.say("QUIT", "221 ").await;
        reply
    };
    let (_, reply) = fixture.serve(act).await;
    assert_eq!(
        ids(&fixture, "bob").await,
        [reply.trim_end().strip_prefix("250 2.0.0 Ok: ").unwrap()]
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_does_not_wait_and_stores_nothing() {
    let fixture = with_bob(latency(0, 60_000, false)).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.offer("a@sender.test", &["bob"]).await;
        sleep(Duration::from_secs(3)).await;
        fixture.stop.cancel();
        client.rest().await
    };
    let (ended, said) = fixture.serve(act).await;
    ended.unwrap();
    assert_eq!(said, ("421 4.3.2 localhost Server is shutting down\r\n".to_owned(), 3));
    assert!(ids(&fixture, "bob").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_session_lasts_no_longer_for_a_delay() {
    let fixture = Fixture::with(|parts| {
        seeded(1)(parts);
        parts.limits.session = Duration::from_secs(10);
    });
    let fixture = fixture.await;
    set(&fixture, "bob", latency(0, 60_000, false)).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client.offer("a@sender.test", &["bob"]).await;
        client.rest().await
    };
    let (ended, said) = fixture.serve(act).await;
    ended.unwrap();
    assert_eq!(
        said,
        ("421 4.4.2 localhost Timeout, closing connection\r\n".to_owned(), 10)
    );
    assert!(ids(&fixture, "bob").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_memory_of_a_message_is_held_until_it_is_answered() {
    let fixture = Fixture::with(|parts| {
        seeded(1)(parts);
        parts.limits.max_inflight_bytes = 1500;
    });
    let fixture = fixture.await;
    set(&fixture, "bob", latency(0, 5000, false)).await;
    let asks_for_room = async |expected: &str| {
        let act = async |mut client: Client| {
            client.greet().await;
            client.say("MAIL FROM:<> SIZE=1000", expected).await;
            client.say("QUIT", "221 ").await;
        };
        fixture.serve(act).await.0.unwrap();
    };
    let act = async |mut client: Client| {
        client.greet().await;
        client.say("MAIL FROM:<> SIZE=1000", "250 ").await;
        client.say("RCPT TO:<bob@restante.test>", "250 ").await;
        client.say("DATA", "354 ").await;
        client.send(b"a message\r\n.\r\n").await.unwrap();
        sleep(Duration::from_secs(2)).await;
        asks_for_room("452 4.3.1 ").await;
        assert!(client.reply().await.starts_with("250 "));
        asks_for_room("250 ").await;
        client.say("QUIT", "221 ").await;
    };
    fixture.serve(act).await.0.unwrap();
}
