//! What an inbox is beside its names: what was asked for at its creation, what is done to its mail, whether it ends.

use std::sync::Arc;

use restante_model::chaos::{Blackhole, Latency};
use restante_model::{ChaosConfig, Inbox, InboxKey, RemovalReason, Timestamp};

use super::{START, after_ms, create, deposit, is_shown, plain_inbox, repeatable, request};
use crate::{CreateError, Created, Store};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    what_was_asked_for_is_kept(&*open().await).await;
    chaos_is_shown_at_once_and_replaced(&*open().await).await;
    chaos_of_an_inbox_that_is_gone_is_not_set(&*open().await).await;
    readers_never_see_what_was_before(open().await).await;
    an_inbox_that_never_ends_is_left_alone(&*open().await).await;
}

/// A configuration that is told apart by its number.
pub fn chaos(number: u64) -> Arc<ChaosConfig> {
    Arc::new(ChaosConfig {
        enabled: true,
        expires_at: number.is_multiple_of(2).then(|| after_ms(number)),
        latency: Some(Latency {
            enabled: true,
            min_delay_ms: number,
            max_delay_ms: 60_000,
            jitter: true,
            probability: 0.25,
        }),
        blackhole: number.is_multiple_of(3).then_some(Blackhole {
            enabled: true,
            trigger_webhooks: true,
        }),
        ..ChaosConfig::default()
    })
}

/// What every way to an inbox says of its chaos; all must say the same.
pub(super) async fn shown(store: &dyn Store, inbox: &Inbox, now: Timestamp) -> Option<Arc<ChaosConfig>> {
    // The second look may find it in a cache.
    let mut found = Vec::new();
    for _ in 0..2 {
        found.push(store.inbox(&inbox.address, now).await.unwrap().unwrap());
        found.push(store.inbox_by_hash(&inbox.hash, now).await.unwrap().unwrap());
    }
    let page = store.inboxes(None, 1000, now).await.unwrap();
    found.extend(page.inboxes.into_iter().filter(|listed| listed.key == inbox.key));
    assert_eq!(found.len(), 5);
    assert!(found.iter().all(|one| one.chaos == found[0].chaos), "{found:?}");
    found.swap_remove(0).chaos.clone()
}

async fn what_was_asked_for_is_kept(store: &dyn Store) {
    for number in 0..8_u8 {
        let mut inbox = plain_inbox(&format!("inbox{number}"), 60_000);
        inbox.email_auth = number & 4 == 0;
        inbox.spam_analysis = number & 1 > 0;
        inbox.persistent = number & 2 > 0;
        inbox.chaos = (number > 5).then(|| chaos(number.into()));
        store.create_inbox(repeatable(&inbox, number, 1), START).await.unwrap();
        let again = Inbox {
            key: InboxKey::new(START),
            ..inbox.clone()
        };
        let again = store.create_inbox(repeatable(&again, number, 1), START).await.unwrap();
        let Created::Repeated(again) = again else {
            panic!("{again:?} for a repeated request");
        };
        let found = store.inbox(&inbox.address, START).await.unwrap().unwrap();
        for found in [found, again] {
            assert_eq!(
                (found.email_auth, found.spam_analysis, found.persistent),
                (inbox.email_auth, inbox.spam_analysis, inbox.persistent)
            );
            assert_eq!(found.chaos, inbox.chaos);
        }
        assert_eq!(shown(store, &inbox, START).await, inbox.chaos);
    }
}

async fn chaos_is_shown_at_once_and_replaced(store: &dyn Store) {
    let (inbox, other) = (create(store, "inbox").await, create(store, "other").await);
    let email = deposit(store, &inbox, "mail").await;
    for given in [
        Some(chaos(1)),
        Some(chaos(2)),
        Some(chaos(2)),
        None,
        None,
        Some(chaos(3)),
    ] {
        assert_eq!(store.set_chaos(inbox.key, given.clone(), START).await, Ok(true));
        assert_eq!(shown(store, &inbox, START).await, given);
        assert_eq!(shown(store, &other, START).await, None);
    }
    assert!(store.email(inbox.key, email, &[], START).await.unwrap().is_some());
    let usage = store.usage().await.unwrap();
    assert_eq!((usage.inboxes, usage.emails), (2, 1));
    let ends = [inbox.key, other.key];
    assert_eq!(store.retire(&ends, RemovalReason::Manual, START).await, Ok(2));
    assert_eq!(store.usage().await.unwrap().live_bytes, 0);
}

async fn chaos_of_an_inbox_that_is_gone_is_not_set(store: &dyn Store) {
    let [retired, reaped, expired] = ["retired", "reaped", "expired"].map(|name| plain_inbox(name, 60_000));
    for inbox in [&retired, &reaped, &expired] {
        store.create_inbox(request(inbox), START).await.unwrap();
        assert_eq!(store.set_chaos(inbox.key, Some(chaos(1)), START).await, Ok(true));
    }
    store.retire(&[reaped.key], RemovalReason::Manual, START).await.unwrap();
    while store.reap(10, START).await.unwrap().more {}
    store
        .retire(&[retired.key], RemovalReason::Manual, START)
        .await
        .unwrap();
    let end = expired.expires_at;
    let unknown = InboxKey::new(START);
    for inbox in [retired.key, reaped.key, expired.key, unknown] {
        for chaos in [Some(chaos(2)), None] {
            assert_eq!(store.set_chaos(inbox, chaos, end).await, Ok(false));
        }
    }
    // A new life begins without what was done in the one before.
    let next = Inbox {
        key: InboxKey::new(START),
        ..retired.clone()
    };
    store.create_inbox(request(&next), START).await.unwrap();
    assert_eq!(shown(store, &next, START).await, None);
}

/// Whoever saw a change never sees what was before it, however much they ask meanwhile.
async fn readers_never_see_what_was_before(store: Arc<dyn Store>) {
    const CHANGES: u64 = 60;
    let inbox = create(&*store, "inbox").await;
    store.set_chaos(inbox.key, Some(chaos(0)), START).await.unwrap();
    let readers: Vec<_> = (0..4)
        .map(|reader| {
            let (store, inbox) = (Arc::clone(&store), inbox.clone());
            #[expect(clippy::disallowed_methods, reason = "a test of a race")]
            tokio::spawn(async move {
                let mut seen = 0;
                while seen < CHANGES {
                    let found = match reader % 2 {
                        0 => store.inbox(&inbox.address, START).await,
                        _ => store.inbox_by_hash(&inbox.hash, START).await,
                    };
                    let found = found.unwrap().unwrap();
                    let number = found
                        .chaos
                        .as_ref()
                        .and_then(|chaos| chaos.latency)
                        .unwrap()
                        .min_delay_ms;
                    assert!(number >= seen, "{number} after {seen}");
                    seen = number;
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for number in 1..=CHANGES {
        store.set_chaos(inbox.key, Some(chaos(number)), START).await.unwrap();
        assert_eq!(shown(&*store, &inbox, START).await, Some(chaos(number)));
    }
    for reader in readers {
        reader.await.unwrap();
    }
}

async fn an_inbox_that_never_ends_is_left_alone(store: &dyn Store) {
    let mut inbox = plain_inbox("never", 0);
    inbox.expires_at = Inbox::NEVER;
    store.create_inbox(request(&inbox), START).await.unwrap();
    assert_eq!(store.next_expiry().await, Ok(None));
    let late = Timestamp::from_unix_ms(Inbox::NEVER.unix_ms() - 1);
    for now in [START, late, Inbox::NEVER] {
        assert_eq!(store.retire_expired(100, now).await, Ok(0));
    }
    assert!(is_shown(store, &inbox, late).await);
    let short = plain_inbox("short", 60_000);
    store.create_inbox(request(&short), START).await.unwrap();
    assert_eq!(store.next_expiry().await, Ok(Some(short.expires_at)));
    assert_eq!(store.retire_expired(100, late).await, Ok(1));
    assert_eq!(store.next_expiry().await, Ok(None));
    let again = Inbox {
        key: InboxKey::new(START),
        ..inbox.clone()
    };
    let taken = store.create_inbox(request(&again), late).await;
    assert!(matches!(taken, Err(CreateError::AddressTaken)), "{taken:?}");
    assert_eq!(store.retire(&[inbox.key], RemovalReason::Manual, late).await, Ok(1));
    assert!(!is_shown(store, &inbox, late).await);
}
