//! Writes and syncs that fail, and disks without room.

use std::time::Duration;

use super::faults::{self, Fault};
use super::*;
use crate::Retention;
use crate::conformance::{START, create, deposit, email, ids, is_shown};

pub(super) async fn available_again(store: &Embedded) {
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        while !store.is_available() {
            tokio::task::yield_now().await;
        }
    });
    waited.await.expect("the store reopens itself");
}

#[tokio::test]
async fn a_failed_group_is_unknown_and_the_store_goes_on() {
    for fault in [Fault::Write, Fault::Sync, Fault::Roll, Fault::Index] {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(dir.path());
        // Every call needs a new segment.
        config.segment_bytes = if fault == Fault::Roll { 1 } else { 1024 * 1024 };
        let store = Embedded::open(&config).unwrap();
        let inbox = create(&store, "trouble").await;
        let before = deposit(&store, &inbox, "before").await;
        faults::set(&config.path, fault, 1);
        let lost = email(&inbox, &"lost".repeat(1000));
        let refused = store.accept(vec![lost.clone()], &Retention::UNLIMITED, START).await;
        assert_eq!(refused, Err(AcceptError::Unavailable(Unavailable)), "{fault:?}");
        available_again(&store).await;
        // The index failed after the sync: the mail is kept, though the sender does not know.
        let kept = if fault == Fault::Index {
            vec![lost.id, before]
        } else {
            vec![before]
        };
        assert_eq!(ids(&store, &inbox, START).await, kept, "{fault:?}");
        assert!(is_shown(&store, &inbox, START).await);
        let repeated = store
            .accept(vec![lost.clone()], &Retention::UNLIMITED, START)
            .await
            .unwrap();
        assert_eq!(repeated[0].sequence, 2, "{fault:?}");
        let after = deposit(&store, &inbox, "after").await;
        drop(store);
        let store = Embedded::open(&config).unwrap();
        assert_eq!(ids(&store, &inbox, START).await, [after, lost.id, before], "{fault:?}");
    }
}

#[tokio::test]
async fn a_store_that_cannot_reopen_still_reads() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "read-only").await;
    let id = deposit(&store, &inbox, "intact").await;
    faults::set(&config.path, Fault::Reopen, usize::MAX);
    faults::set(&config.path, Fault::Sync, 1);
    assert!(store.mark_read(inbox.key, id, START).await.is_err());
    assert!(!store.is_available());
    assert!(store.mark_read(inbox.key, id, START).await.is_err());
    let found = store.email(inbox.key, id, &[Part::Raw], START).await.unwrap().unwrap();
    assert_eq!(found.part(Part::Raw).unwrap(), "raw of intact");
    assert!(!found.is_read);
    faults::set(&config.path, Fault::Reopen, 0);
    available_again(&store).await;
    assert!(store.mark_read(inbox.key, id, START).await.unwrap());
}

#[tokio::test]
async fn a_store_in_trouble_can_be_closed_and_dropped() {
    for closes in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path());
        let store = Embedded::open(&config).unwrap();
        let inbox = create(&store, "stuck").await;
        faults::set(&config.path, Fault::Reopen, usize::MAX);
        faults::set(&config.path, Fault::Write, 1);
        assert!(
            store
                .accept(vec![email(&inbox, "lost")], &Retention::UNLIMITED, START)
                .await
                .is_err()
        );
        if closes {
            store.close().await;
        }
        drop(store);
        let store = Embedded::open(&config).unwrap();
        assert_eq!(ids(&store, &inbox, START).await, []);
    }
}

#[tokio::test]
async fn the_room_for_mail_is_what_is_free_above_the_floor() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.min_free_bytes = 1000;
    let store = Embedded::open(&config).unwrap();
    for (free, room) in [(1_000_000, 999_000), (1001, 1), (1000, 0), (999, 0), (0, 0)] {
        faults::set_free_bytes(&config.path, free);
        assert_eq!(store.room().await, Ok(room), "{free}");
    }
    store.close().await;
    assert_eq!(store.room().await, Err(Unavailable));
}

#[tokio::test]
async fn below_the_floor_of_free_space_mail_is_refused_and_deletes_work() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "full").await;
    let id = deposit(&store, &inbox, "before").await;
    drop(store);
    config.min_free_bytes = u64::MAX;
    let store = Embedded::open(&config).unwrap();
    let mut empty = email(&inbox, "of no size");
    empty.parts.clear();
    for new in [email(&inbox, "late"), empty] {
        assert_eq!(
            store.accept(vec![new], &Retention::UNLIMITED, START).await,
            Err(AcceptError::NoRoom)
        );
    }
    assert!(store.is_available() && !store.takes_mail().await);
    assert!(
        store
            .delete_email(inbox.key, id, RemovalReason::Manual, START)
            .await
            .unwrap()
    );
    assert_eq!(store.retire(&[inbox.key], RemovalReason::Manual, START).await, Ok(1));
    assert_eq!(
        store
            .accept(vec![email(&inbox, "late")], &Retention::UNLIMITED, START)
            .await,
        Err(AcceptError::Gone)
    );
}
