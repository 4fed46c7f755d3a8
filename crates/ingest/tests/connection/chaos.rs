//! Mail that meets the faults that its inboxes asked for: what the client hears, and what is stored.

use std::sync::atomic::Ordering;
use std::time::Duration;

use restante_inbox::{CreateRequest, ListRequest};
use restante_ingest::{ChaosRules, IngestParts};
use restante_model::ChaosConfig;
use restante_monitor::{Fault, Refusal};
use serde_json::{Value, json};

use crate::fixture::{Client, Fixture};

mod delays;
mod greylists;
mod refusals;
mod several;

/// A server where inboxes may ask for faults, and bob has asked for these.
async fn with_bob(chaos: Value) -> Fixture {
    let fixture = Fixture::with(seeded(1)).await;
    set(&fixture, "bob", chaos).await;
    fixture
}

/// Faults by the dice of a seed.
fn seeded(seed: u64) -> impl FnOnce(&mut IngestParts) {
    move |parts| parts.chaos = Some(ChaosRules { seed: Some(seed) })
}

/// Has an inbox ask for faults; that it is on is said here.
async fn set(fixture: &Fixture, inbox: &str, mut chaos: Value) {
    if chaos.get("enabled").is_none() {
        chaos["enabled"] = true.into();
    }
    let chaos: ChaosConfig = serde_json::from_value(chaos).unwrap();
    let inbox = fixture.inboxes.find(&format!("{inbox}@restante.test")).await.unwrap();
    fixture.inboxes.set_chaos(&inbox, chaos).await.unwrap();
}

/// One more inbox, which has asked for these.
async fn create(fixture: &Fixture, inbox: &str, chaos: Value) {
    let request = CreateRequest {
        address: Some(format!("{inbox}@restante.test")),
        ..CreateRequest::default()
    };
    fixture.inboxes.create(request).await.unwrap();
    set(fixture, inbox, chaos).await;
}

/// The ids of the emails of an inbox.
async fn ids(fixture: &Fixture, inbox: &str) -> Vec<String> {
    let inbox = fixture.inboxes.find(&format!("{inbox}@restante.test")).await.unwrap();
    let request = ListRequest {
        before: None,
        limit: 100,
        include_content: false,
    };
    let emails = fixture.inboxes.list(&inbox, &request).await.unwrap().emails;
    emails.iter().map(|email| email.id.to_string()).collect()
}

fn connection_drop(graceful: bool) -> Value {
    json!({ "connectionDrop": { "enabled": true, "probability": 1.0, "graceful": graceful } })
}

fn error(rate: f64, types: &[&str]) -> Value {
    json!({ "randomError": { "enabled": true, "errorRate": rate, "errorTypes": types } })
}

fn blackhole() -> Value {
    json!({ "blackhole": { "enabled": true, "triggerWebhooks": false } })
}

fn latency(min_delay_ms: u64, max_delay_ms: u64, jitter: bool) -> Value {
    json!({ "latency": {
        "enabled": true, "minDelayMs": min_delay_ms, "maxDelayMs": max_delay_ms, "jitter": jitter, "probability": 1.0,
    } })
}

fn greylist(track_by: &str, max_attempts: u32) -> Value {
    json!({ "greylist": {
        "enabled": true, "retryWindowMs": 300_000, "maxAttempts": max_attempts, "trackBy": track_by,
    } })
}

/// Both.
fn and(mut one: Value, other: &Value) -> Value {
    let fields = one.as_object_mut().unwrap();
    fields.extend(other.as_object().unwrap().clone());
    one
}

#[tokio::test]
async fn mail_is_stored_where_faults_are_off() {
    let over = json!({ "enabled": true, "expiresAt": "2026-01-25T11:41:16.000Z" });
    let later = json!({ "enabled": true, "expiresAt": "2026-01-25T11:41:16.001Z" });
    for (allowed, on, refused) in [
        (true, json!({ "enabled": true }), true),
        (true, json!({ "enabled": false }), false),
        (true, over, false),
        (true, later, true),
        (false, json!({ "enabled": true }), false),
    ] {
        let fixture = Fixture::with(|parts| parts.chaos = allowed.then_some(ChaosRules { seed: None })).await;
        set(&fixture, "bob", and(error(1.0, &["permanent"]), &on)).await;
        let act = async |mut client: Client| {
            client.greet().await;
            let reply = client.deliver().await;
            client.say("QUIT", "221 ").await;
            reply
        };
        let (ended, reply) = fixture.serve(act).await;
        ended.unwrap();
        assert_eq!(reply.contains("Simulated fault"), refused, "{allowed} {on}: {reply}");
        assert_eq!(ids(&fixture, "bob").await.len(), usize::from(!refused));
        assert_eq!(fixture.monitor.counts().met(Fault::RandomError), u64::from(refused));
    }
}

#[tokio::test]
async fn what_is_thrown_away_is_answered_like_what_is_stored() {
    let fixture = with_bob(blackhole()).await;
    let act = async |mut client: Client| {
        client.greet().await;
        let mut replies = Vec::new();
        for _ in 0..2 {
            replies.push(client.deliver().await);
        }
        set(&fixture, "bob", json!({ "enabled": false })).await;
        replies.push(client.deliver().await);
        client.say("QUIT", "221 ").await;
        replies
    };
    let (_, replies) = fixture.serve(act).await;
    let told: Vec<_> = replies
        .iter()
        .map(|reply| reply.trim_end().strip_prefix("250 2.0.0 Ok: ").unwrap())
        .collect();
    assert!(
        told.iter().all(|id| id.len() == 36 && id.starts_with("msg_")),
        "{told:?}"
    );
    assert!(told[0] < told[1] && told[1] < told[2], "{told:?}");
    assert_eq!(ids(&fixture, "bob").await, told[2..]);
    assert_eq!(fixture.monitor.counts().met(Fault::Blackhole), 2);
    assert_eq!(fixture.monitor.counts().emails.received.value(), 1);
    assert_eq!(fixture.monitor.counts().refused(Refusal::Chaos), 0);
}

#[tokio::test]
async fn a_connection_ends_without_a_word_as_was_asked() {
    for (graceful, is_reset) in [(true, false), (false, true)] {
        let fixture = with_bob(connection_drop(graceful)).await;
        let act = async |mut client: Client| {
            client.greet().await;
            client.offer("a@sender.test", &["bob"]).await;
            client.rest().await.0
        };
        let (ended, heard) = fixture.serve(act).await;
        ended.unwrap();
        assert_eq!(heard, "");
        assert_eq!(fixture.was_reset.load(Ordering::Relaxed), is_reset);
        assert!(ids(&fixture, "bob").await.is_empty());
        assert_eq!(fixture.monitor.counts().met(Fault::ConnectionDrop), 1);
        assert_eq!(fixture.monitor.counts().refused(Refusal::Chaos), 0);
    }
}

#[tokio::test]
async fn replies_to_what_came_before_are_not_lost_with_a_connection() {
    let fixture = with_bob(connection_drop(true)).await;
    let act = async |mut client: Client| {
        client.greet().await;
        client
            .send(b"MAIL FROM:<a@sender.test>\r\nRCPT TO:<bob@restante.test>\r\nBDAT 1 LAST\r\nxNOOP\r\n")
            .await
            .unwrap();
        client.rest().await.0
    };
    let (_, heard) = fixture.serve(act).await;
    assert_eq!(heard, "250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n");
}

#[tokio::test]
async fn what_is_not_stored_does_not_count_for_the_rate() {
    let fixture = Fixture::with(|parts| {
        seeded(1)(parts);
        parts.limits.rate = Some(restante_ingest::MailRate {
            max: 1,
            per: Duration::from_mins(1),
        });
    });
    let fixture = fixture.await;
    set(&fixture, "bob", error(1.0, &["permanent"])).await;
    let act = async |mut client: Client| {
        client.greet().await;
        for _ in 0..3 {
            let reply = client.deliver().await;
            assert!(reply.contains("Simulated fault"), "{reply}");
        }
        set(&fixture, "bob", json!({ "enabled": false })).await;
        assert!(client.deliver().await.starts_with("250 "));
        client.say("QUIT", "221 ").await;
    };
    fixture.serve(act).await.0.unwrap();
}
