//! Greylists: whose attempts count together, and for how long.

use super::*;

/// Whether a message of this sender is stored.
async fn passes(fixture: &Fixture, ip: &str, reverse_path: &str) -> bool {
    let act = async |mut client: Client| {
        client.greet().await;
        let reply = client.deliver_to(reverse_path, &["bob"]).await;
        client.say("QUIT", "221 ").await;
        reply
    };
    let (ended, reply) = fixture.serve_from(ip, 4096, act).await;
    ended.unwrap();
    assert!(
        reply.starts_with("250 2.0.0 ") || reply.starts_with("451 4.7.1 "),
        "{reply}"
    );
    reply.starts_with("250 ")
}

#[tokio::test]
async fn senders_are_told_apart_by_each_key() {
    let (one, two) = ("192.0.2.1", "192.0.2.2");
    for (track_by, passed) in [
        ("ip", [false, true, false, true]),
        ("sender", [false, false, true, true]),
        ("ip_sender", [false, false, false, true]),
    ] {
        let fixture = with_bob(greylist(track_by, 2)).await;
        let mut outcomes = Vec::new();
        for (ip, reverse_path) in [
            (one, "A@sender.test"),
            (one, "b@sender.test"),
            (two, "a@Sender.test"),
            (one, "a@sender.test"),
        ] {
            outcomes.push(passes(&fixture, ip, reverse_path).await);
        }
        assert_eq!(outcomes, passed, "{track_by}");
        let passed = passed.iter().filter(|passed| **passed).count();
        assert_eq!(ids(&fixture, "bob").await.len(), passed);
        let refused = 4 - u64::try_from(passed).unwrap();
        assert_eq!(fixture.monitor.counts().met(Fault::Greylist), refused);
        assert_eq!(fixture.monitor.counts().refused(Refusal::Chaos), refused);
    }
}

#[tokio::test]
async fn a_window_is_counted_from_its_first_attempt() {
    let fixture = with_bob(greylist("ip", 3)).await;
    let mut outcomes = Vec::new();
    for wait_ms in [0, 100_000, 199_999, 1, 299_999, 0, 0, 1] {
        fixture.clock.advance(Duration::from_millis(wait_ms));
        outcomes.push(passes(&fixture, "192.0.2.1", "").await);
    }
    assert_eq!(outcomes, [false, false, true, false, false, true, true, false]);
}

#[tokio::test]
async fn attempts_end_with_the_life_of_an_inbox() {
    let fixture = with_bob(greylist("ip", 2)).await;
    assert!(!passes(&fixture, "192.0.2.1", "").await);
    fixture.inboxes.delete("bob@restante.test").await.unwrap();
    create(&fixture, "bob", greylist("ip", 2)).await;
    assert!(!passes(&fixture, "192.0.2.1", "").await);
    assert!(passes(&fixture, "192.0.2.1", "").await);
}
