//! Webhooks and a clock that is set back.

use restante_model::{EventId, EventType, WebhookId};

use super::*;
use crate::conformance::queue::{RULES, claim};
use crate::conformance::webhooks::{of, subscribe};
use crate::conformance::{START, after_ms, create, email};
use crate::{AttemptVerdict, Claimed, NewDelivery, Retention, START_SPREAD, Settlement, WebhookStore};

/// Mail for a webhook, dispatched at a time.
async fn mail_for(store: &Embedded, inbox: &Inbox, webhook: WebhookId, count: usize, now: Timestamp) -> Vec<u64> {
    let new = |_| NewEmail {
        event: Some(Bytes::from_static(b"event")),
        ..email(inbox, "mail")
    };
    let emails = (0..count).map(new).collect();
    store.accept(emails, &Retention::UNLIMITED, now).await.unwrap();
    let events = store.events(100).await.unwrap();
    let deliveries = events.iter().map(|event| NewDelivery {
        webhook,
        event: event.sequence,
        event_type: EventType::EmailReceived,
        event_id: EventId::of(event.email, EventType::EmailReceived, None),
    });
    let last = events.last().unwrap().sequence;
    store.dispatch(last, deliveries.collect(), now).await.unwrap();
    events.iter().map(|event| event.sequence).collect()
}

async fn settle(store: &Embedded, claimed: &Claimed, verdict: AttemptVerdict, now: Timestamp) {
    let settlements = claimed.deliveries.iter().map(|given| Settlement {
        lease: given.lease,
        started_at: now,
        verdict,
        report: Bytes::from_static(b"report"),
    });
    store.settle(settlements.collect(), &RULES, now).await.unwrap();
}

fn events_of(claimed: &Claimed) -> Vec<u64> {
    claimed.deliveries.iter().map(|given| given.lease.event).collect()
}

#[tokio::test]
async fn first_attempts_wait_for_no_clock() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Embedded::open(&config(dir.path())).unwrap();
    let inbox = create(&store, "inbox").await;
    let webhook = subscribe(&store, of(&inbox)).await;
    let mut expected = mail_for(&store, &inbox, webhook, 20, after_ms(3_000_000)).await;
    let given = claim(&store, 5, after_ms(3_000_000)).await;
    assert_eq!(events_of(&given), expected[..5]);
    // The clock is set back by 50 minutes.
    settle(&store, &given, AttemptVerdict::Succeeded, START).await;
    expected.drain(..5);
    expected.extend(mail_for(&store, &inbox, webhook, 5, START).await);
    let given = claim(&store, 3, START).await;
    assert_eq!(events_of(&given), expected[..3]);
    assert_eq!(given.next_due, Some(START), "there is more at once");
    // The same after a start.
    store = reopened(store, dir.path());
    assert_eq!(events_of(&claim(&store, 99, START).await), expected);
}

#[tokio::test]
async fn overdue_retries_are_spread_once_more_by_a_clock_that_was_set_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(&config(dir.path())).unwrap();
    let inbox = create(&store, "inbox").await;
    let webhook = subscribe(&store, of(&inbox)).await;
    mail_for(&store, &inbox, webhook, 3, START).await;
    let given = claim(&store, 3, START).await;
    let again = AttemptVerdict::Failed {
        retry_at: Some(after_ms(1000)),
    };
    settle(&store, &given, again, START).await;
    // Opened by a clock that is a day ahead.
    let store = reopened(store, dir.path());
    let ahead = claim(&store, 99, after_ms(86_400_000)).await;
    store.release(&ahead.deliveries.iter().map(|given| given.lease).collect::<Vec<_>>());
    claim(&store, 0, after_ms(60_000)).await;
    let spread = after_ms(60_000).after(START_SPREAD);
    assert_eq!(claim(&store, 99, spread).await.deliveries.len(), 3);
}
