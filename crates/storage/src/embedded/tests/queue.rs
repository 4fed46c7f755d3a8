//! Webhooks and their queue: the same after compaction, after a crash in the midst of it, and after a rebuild.

use std::fs;

use proptest::prelude::*;

use super::compaction::{assert_same_rows, compacting, crashed, rows, settled};
use super::faults::{self, CrashPoint, Fault};
use super::model::runtime;
use super::player::{Act, Player, act, attempt, dispatch};
use super::*;
use crate::conformance::{START, create, email};
use crate::embedded::index::{Index, Rows as _};
use crate::embedded::log::{segment_numbers, segment_path};
use crate::embedded::rows::queue_key;
use crate::embedded::shared::segments_dir;
use crate::embedded::view::View;
use crate::{NewWebhook, QueueItem, Retention, Topics, WebhookScope, WebhookStore, WebhookUpdate};
use restante_model::WebhookId;

/// All that is kept of webhooks and their queue, with its content.
pub(super) async fn queued(store: &Embedded) -> Vec<QueueItem> {
    let (mut items, mut place) = (Vec::new(), None);
    loop {
        let page = store.queue_items(place, 7).await.unwrap();
        assert_eq!(page.damaged, 0);
        items.extend(page.items);
        match page.next {
            Some(next) => place = Some(next),
            None => return items,
        }
    }
}

fn reopened(config: &EmbeddedConfig, is_rebuilt: bool) -> Embedded {
    if is_rebuilt {
        fs::remove_file(config.path.join("index.marker")).unwrap();
    }
    let store = Embedded::open(config).unwrap();
    assert_eq!(store.recovery().rebuilt, is_rebuilt);
    store
}

/// Plays, and now and then opens the store again, with its index or without.
async fn play(acts: &[Act], config: &EmbeddedConfig) {
    let (mut store, mut player) = (Embedded::open(config).unwrap(), Player::new());
    for (number, act) in acts.iter().enumerate() {
        player.act(&store, act).await;
        if number % 20 == 19 {
            let expected = queued(&store).await;
            settled(&store).await;
            assert_eq!(queued(&store).await, expected, "compaction changes nothing");
            let before = rows(&store);
            drop(store);
            store = reopened(config, number % 40 == 39);
            assert_same_rows(&rows(&store), &before);
            assert_eq!(queued(&store).await, expected);
        }
    }
    settled(&store).await;
    let before = rows(&store);
    drop(store);
    let store = reopened(config, true);
    assert_same_rows(&rows(&store), &before);
}

async fn play_and_crash(acts: &[Act], percent: u64, point: CrashPoint) {
    let dir = tempfile::tempdir().unwrap();
    let config = compacting(dir.path(), percent);
    let (store, mut player) = (Embedded::open(&config).unwrap(), Player::new());
    let (before, after) = acts.split_at(acts.len() / 2);
    for act in before {
        player.act(&store, act).await;
    }
    faults::set(&config.path, Fault::Compaction(point), usize::MAX);
    for act in after {
        player.act(&store, act).await;
    }
    settled(&store).await;
    let expected = queued(&store).await;
    for is_believed in [true, false] {
        let copy = crashed(&config, &format!("believed-{is_believed}"), is_believed);
        let store = Embedded::open(&copy).unwrap();
        assert_eq!(store.recovery().rebuilt, !is_believed);
        assert_eq!(queued(&store).await, expected);
        settled(&store).await;
        assert_eq!(queued(&store).await, expected);
        let before = rows(&store);
        drop(store);
        let store = reopened(&copy, true);
        assert_same_rows(&rows(&store), &before);
        assert_eq!(queued(&store).await, expected);
    }
}

/// A webhook of all inboxes that listens to everything.
async fn listen(store: &Embedded, config: &'static [u8]) -> WebhookId {
    let new = NewWebhook {
        id: WebhookId::random(),
        scope: WebhookScope::Global,
        topics: Topics {
            arrivals: true,
            removals: true,
        },
        config: Bytes::from_static(config),
        idempotency: None,
    };
    let id = new.id;
    store.create_webhook(new, 100, START).await.unwrap();
    id
}

/// Mail that comes and goes until so many segments were begun.
async fn fill(store: &Embedded, config: &EmbeddedConfig, inbox: &Inbox, segments: u32) {
    let dir = segments_dir(&config.path);
    while segment_numbers(&dir).unwrap().last().copied() < Some(segments) {
        let new = NewEmail {
            event: Some(Bytes::from_static(b"event")),
            ..email(inbox, &"x".repeat(400))
        };
        let id = new.id;
        store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
        let deleted = store.delete_email(inbox.key, id, RemovalReason::Manual, START).await;
        assert_eq!(deleted, Ok(true));
    }
}

#[tokio::test]
async fn what_is_gone_stays_gone_although_its_end_went_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = compacting(dir.path(), 100);
    let store = Embedded::open(&config).unwrap();
    // What is queued in the first segment is moved, but the segment stays until the next start.
    let fault = Fault::Compaction(CrashPoint::Requeued);
    faults::set(&config.path, fault, 1);
    let inbox = create(&store, "busy").await;
    let (gone, kept) = (listen(&store, b"gone").await, listen(&store, b"kept").await);
    fill(&store, &config, &inbox, 2).await;
    settled(&store).await;
    fill(&store, &config, &inbox, 3).await;
    settled(&store).await;
    assert_eq!(faults::left(&config.path, fault), 0);
    dispatch(&store, usize::MAX, START).await;
    assert!(store.remove_webhook(gone, START).await.unwrap());
    while store.reap_webhooks(100, START).await.unwrap().more {}
    fill(&store, &config, &inbox, 12).await;
    let dir_of_segments = segments_dir(&config.path);
    let numbers = || segment_numbers(&dir_of_segments).unwrap();
    let compacted = tokio::time::timeout(std::time::Duration::from_secs(30), async {
        while numbers()[1] < 6 {
            tokio::task::yield_now().await;
        }
    });
    compacted.await.expect("all but the first segment are compacted");
    drop(store);
    // As it is: nothing moves any more.
    config.compact_below = Some(0);
    let store = reopened(&config, false);
    let last = store.events(1000).await.unwrap().last().unwrap().sequence;
    let first = fs::read(segment_path(&segments_dir(&config.path), 1)).unwrap();
    assert!(
        first.windows(4).any(|bytes| bytes == b"gone"),
        "it still tells of the webhook"
    );
    let (before, expected) = (rows(&store), queued(&store).await);
    drop(store);
    let store = reopened(&config, true);
    assert_same_rows(&rows(&store), &before);
    assert_eq!(queued(&store).await, expected);
    assert_eq!(store.webhook(gone, START).await, Ok(None));
    assert_eq!(store.webhook_config(kept).await.unwrap().unwrap().1.as_ref(), b"kept");
    // No sequence is given twice.
    let end = segment_numbers(&segments_dir(&config.path))
        .unwrap()
        .last()
        .copied()
        .unwrap();
    fill(&store, &config, &inbox, end + 1).await;
    let sequences: Vec<_> = store
        .events(1000)
        .await
        .unwrap()
        .iter()
        .map(|event| event.sequence)
        .collect();
    assert!(sequences.is_sorted() && sequences.last() > Some(&last));
}

/// Events and deliveries come and go by the thousand, beside webhooks that stay and a backlog that is parked.
#[tokio::test]
async fn a_queue_that_is_worked_off_gives_its_segments_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.segment_bytes = 256 * 1024;
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "busy").await;
    listen(&store, b"served").await;
    let parked = listen(&store, b"parked").await;
    for round in 0..8 {
        let new = |_| NewEmail {
            event: Some(Bytes::from(vec![7; 4_000])),
            ..email(&inbox, "mail")
        };
        let emails: Vec<_> = (0..100).map(new).collect();
        store
            .accept(emails.clone(), &Retention::UNLIMITED, START)
            .await
            .unwrap();
        for email in emails {
            let deleted = store
                .delete_email(email.inbox, email.id, RemovalReason::Manual, START)
                .await;
            assert_eq!(deleted, Ok(true));
        }
        dispatch(&store, usize::MAX, START).await;
        if round == 0 {
            let update = WebhookUpdate {
                id: parked,
                revision: store.webhook(parked, START).await.unwrap().unwrap().revision,
                config: None,
                enabled: Some(false),
            };
            store.update_webhook(update, START).await.unwrap();
        }
        // The first three of a claim succeed.
        for _ in 0..140 {
            attempt(&store, 3, 0, START).await;
        }
        settled(&store).await;
        let live = store.usage().await.unwrap().live_bytes;
        let taken: u64 = super::compaction::segment_lengths(&config).iter().sum();
        assert!(
            taken <= 2 * live + 2 * config.segment_bytes,
            "round {round}: {taken} bytes for {live} live"
        );
    }
    let first = segment_numbers(&segments_dir(&config.path)).unwrap()[0];
    assert!(first > 1, "what is parked was moved");
    let is_parked =
        |item: &&QueueItem| matches!(item, QueueItem::Delivery(queued) if queued.webhook == *parked.as_bytes());
    assert_eq!(queued(&store).await.iter().filter(is_parked).count(), 300);
}

#[tokio::test]
async fn a_damaged_configuration_keeps_no_segment_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = compacting(dir.path(), 100);
    config.compact_below = Some(0);
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "busy").await;
    let (damaged, kept) = (listen(&store, b"damaged").await, listen(&store, b"kept").await);
    fill(&store, &config, &inbox, 5).await;
    dispatch(&store, usize::MAX, START).await;
    store.close().await;
    drop(store);
    let first = segment_path(&segments_dir(&config.path), 1);
    let mut bytes = fs::read(&first).unwrap();
    let at = bytes.windows(7).position(|bytes| bytes == b"damaged").unwrap();
    bytes[at] ^= 1;
    fs::write(&first, bytes).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    let held = HeldStore::hold(&config.path).unwrap();
    let verified = held.verify(scratch.path(), |_| (), |finding| found.push(finding.clone()));
    assert_eq!(verified.unwrap().findings, 1);
    assert_eq!(
        (&found[0].problem, found[0].webhook),
        (&Problem::ConfigDamaged, Some(damaged))
    );
    drop(held);
    config.compact_below = Some(100);
    let store = Embedded::open(&config).unwrap();
    fill(&store, &config, &inbox, 8).await;
    settled(&store).await;
    assert!(!first.exists(), "its segment goes all the same");
    assert_eq!(store.webhook_config(damaged).await.unwrap().unwrap().1.len(), 0);
    assert_eq!(store.webhook_config(kept).await.unwrap().unwrap().1.as_ref(), b"kept");
    drop(store);
    // What it says is as before.
    let store = reopened(&config, true);
    assert!(store.webhook(damaged, START).await.unwrap().is_some());
}

#[tokio::test]
async fn verification_finds_a_queue_whole_and_names_what_the_index_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let config = compacting(dir.path(), 80);
    let (store, mut player) = (Embedded::open(&config).unwrap(), Player::new());
    let of = None;
    player.act(&store, &Act::CreateInbox).await;
    let create = Act::CreateWebhook {
        of,
        removals: true,
        config: 9,
    };
    player.act(&store, &create).await;
    for round in 0..30 {
        let (inboxes, data) = (vec![0, 0], round);
        player.act(&store, &Act::Accept { inboxes, data }).await;
        player.act(&store, &Act::Delete(round)).await;
        player.act(&store, &Act::Dispatch(3)).await;
        player.act(&store, &Act::Attempt { max: 3, salt: round }).await;
    }
    settled(&store).await;
    store.close().await;
    drop(store);
    let findings = |config: &EmbeddedConfig| {
        let scratch = tempfile::tempdir().unwrap();
        let mut found = Vec::new();
        let held = HeldStore::hold(&config.path).unwrap();
        held.verify(scratch.path(), |_| (), |finding| found.push(finding.clone()))
            .unwrap();
        found
    };
    assert_eq!(findings(&config), []);
    let index_dir = crate::embedded::marker::trusted(&config.path).unwrap().unwrap();
    let index = Index::open(&index_dir).unwrap();
    let (name, _) = index.prefix(queue_key::DELIVERIES, 1).unwrap().remove(0);
    let mut view = View::new(&index).unwrap();
    view.delete(name.to_vec());
    view.write().unwrap();
    index.flush().unwrap();
    drop(index);
    crate::embedded::marker::closed(&config.path, &index_dir).unwrap();
    let found = findings(&config);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].problem, Problem::RowMissing("delivery"));
    assert_eq!(found[0].webhook, player.webhooks.first().copied());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn compaction_and_a_rebuild_change_nothing_of_a_queue(
        acts in proptest::collection::vec(act(), 20..150),
        percent in 50..=100_u64,
    ) {
        let dir = tempfile::tempdir().unwrap();
        runtime().block_on(play(&acts, &compacting(dir.path(), percent)));
    }

    #[test]
    fn a_crash_of_compaction_changes_nothing_of_a_queue(
        acts in proptest::collection::vec(act(), 20..120),
        percent in 50..=100_u64,
        point in proptest::sample::select(vec![
            CrashPoint::Moved,
            CrashPoint::Requeued,
            CrashPoint::Emptied,
            CrashPoint::Checkpointed,
            CrashPoint::Deleted,
        ]),
    ) {
        runtime().block_on(play_and_crash(&acts, percent, point));
    }
}
