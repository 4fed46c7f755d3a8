//! What stands in the way of compaction: it goes round it, tries again, and leaves nothing half done.

use std::fs;
use std::time::Duration;

use rustix::io::Errno;

use super::compaction::{assert_same_rows, passing, rows, settled, tight};
use super::faults::{self, Fault};
use super::*;
use crate::Retention;
use crate::conformance::{START, create, deposit, email, ids};
use crate::embedded::log::{segment_numbers, segment_path};
use crate::embedded::shared::segments_dir;

/// Waits until something is so.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    });
    assert!(waited.await.is_ok(), "{what}");
}

/// A store of several segments in which one of eight emails is kept, opened so that compaction begins with it.
struct Holed {
    _dir: tempfile::TempDir,
    config: EmbeddedConfig,
    store: Option<Embedded>,
    inbox: Inbox,
    kept: Vec<EmailId>,
    /// The first four of its segments, in which some mail is live.
    segments: [u32; 4],
}

impl Holed {
    /// Filled by a store that does not compact.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = tight(dir.path());
        let filling = EmbeddedConfig {
            compact_below: Some(0),
            ..config.clone()
        };
        let store = Embedded::open(&filling).unwrap();
        let inbox = create(&store, "holed").await;
        let (mut kept, mut others) = (Vec::new(), Vec::new());
        for number in 0..64 {
            let id = deposit(&store, &inbox, &"x".repeat(300 + number)).await;
            if number % 8 == 7 {
                kept.push(id);
            } else {
                others.push(id);
            }
        }
        for id in others {
            assert_eq!(
                store.delete_email(inbox.key, id, RemovalReason::Manual, START).await,
                Ok(true)
            );
        }
        settled(&store).await;
        store.close().await;
        kept.reverse();
        let numbers = segment_numbers(&segments_dir(&config.path)).unwrap();
        Self {
            segments: *numbers.first_chunk().unwrap(),
            _dir: dir,
            config,
            store: None,
            inbox,
            kept,
        }
    }

    fn open(&mut self) -> &Embedded {
        self.store = None;
        self.store.insert(Embedded::open(&self.config).unwrap())
    }

    fn has(&self, segment: u32) -> bool {
        segment_path(&segments_dir(&self.config.path), segment).exists()
    }

    fn numbers(&self) -> Vec<u32> {
        segment_numbers(&segments_dir(&self.config.path)).unwrap()
    }

    /// All that is kept is there, also for a start without an index.
    async fn assert_whole(&mut self) {
        let (key, kept) = (self.inbox.key, self.kept.clone());
        let store = self.store.take().unwrap();
        settled(&store).await;
        assert_eq!(ids(&store, &self.inbox, START).await, kept);
        let before = rows(&store);
        drop(store);
        fs::remove_file(self.config.path.join("index.marker")).unwrap();
        let store = self.open();
        assert_same_rows(&rows(store), &before);
        for id in &kept {
            assert!(store.email(key, *id, &[Part::Raw], START).await.unwrap().is_some());
        }
    }
}

#[tokio::test]
async fn a_shortage_of_the_process_sets_no_segment_aside() {
    for errno in [Errno::MFILE, Errno::NOMEM, Errno::NFILE] {
        let mut holed = Holed::new().await;
        let segment = holed.segments[1];
        let fault = match errno {
            Errno::MFILE => Fault::Read(segment),
            Errno::NOMEM => Fault::Delete(segment),
            _ => Fault::Manifest,
        };
        faults::set_errno(&holed.config.path, fault, 2, errno);
        settled(holed.open()).await;
        assert_eq!(faults::left(&holed.config.path, fault), 0, "{fault:?}");
        assert!(!holed.segments.iter().any(|segment| holed.has(*segment)), "{fault:?}");
        holed.assert_whole().await;
    }
}

#[tokio::test]
async fn one_segment_that_cannot_be_read_or_deleted_holds_up_no_other() {
    for fault in [Fault::Read, Fault::Delete] {
        let mut holed = Holed::new().await;
        let [first, stuck, third, fourth] = holed.segments;
        let fault = fault(stuck);
        let path = holed.config.path.clone();
        faults::set(&path, fault, usize::MAX);
        holed.open();
        until("the others go", || {
            ![first, third, fourth].iter().any(|segment| holed.has(*segment))
        })
        .await;
        assert!(holed.has(stuck));
        // Once it can, it goes without a restart.
        faults::set(&path, fault, 0);
        until("it goes as well", || !holed.has(stuck)).await;
        holed.assert_whole().await;
    }
}

#[tokio::test]
async fn without_room_only_what_needs_none_goes() {
    let mut holed = Holed::new().await;
    let path = holed.config.path.clone();
    faults::set_free_bytes(&path, 0);
    let before = holed.numbers();
    let dead = dead_segment(&mut holed).await;
    until("the dead segment goes", || !holed.has(dead)).await;
    let left: Vec<_> = before.into_iter().filter(|number| *number != dead).collect();
    assert!(left.iter().all(|number| holed.has(*number)), "the others need copies");
    let store = holed.store.as_ref().unwrap();
    let late = email(&holed.inbox, "late");
    let refused = store.accept(vec![late], &Retention::UNLIMITED, START).await;
    assert_eq!(refused, Err(AcceptError::NoRoom));
    // Room for one of them is enough for this one.
    let live = |segment: &u32| store.shared.index().unwrap().live_bytes(*segment).unwrap().unwrap();
    let (_, sealed) = left.split_last().unwrap();
    let small = *sealed.iter().min_by_key(|number| live(number)).unwrap();
    let large = *sealed.iter().max_by_key(|number| live(number)).unwrap();
    assert!(live(&small) < live(&large));
    faults::set_free_bytes(&path, 2 * live(&small) + 1);
    until("the smallest goes", || !holed.has(small)).await;
    assert!(holed.has(large));
    faults::set_free_bytes(&path, u64::MAX);
    until("all go that are worth it", || !holed.has(sealed[0])).await;
    holed.assert_whole().await;
}

/// Opens the store and deletes the mail in its second segment; gives the number of that.
async fn dead_segment(holed: &mut Holed) -> u32 {
    let dead = holed.segments[1];
    let inbox = holed.inbox.key;
    let kept = holed.kept.clone();
    let store = holed.open();
    let index = store.shared.index().unwrap();
    let mut gone = Vec::new();
    for id in kept {
        if index.mail(inbox, id).unwrap().unwrap().place.segment == dead {
            assert_eq!(
                store.delete_email(inbox, id, RemovalReason::Manual, START).await,
                Ok(true)
            );
            gone.push(id);
        }
    }
    assert!(!gone.is_empty());
    holed.kept.retain(|id| !gone.contains(id));
    dead
}

#[tokio::test]
async fn damage_that_nobody_needs_any_more_goes() {
    let mut holed = Holed::new().await;
    let [first, damaged, third, _] = holed.segments;
    let log = segment_path(&segments_dir(&holed.config.path), damaged);
    let mut content = fs::read(&log).unwrap();
    // The first frame: nothing in it can be read.
    content[40] ^= 1;
    fs::write(&log, &content).unwrap();
    holed.open();
    until("the others go", || !holed.has(first) && !holed.has(third)).await;
    assert!(holed.has(damaged));
    drop(holed.store.take());
    dead_segment(&mut holed).await;
    until("it goes", || !holed.has(damaged)).await;
    holed.assert_whole().await;
}

#[tokio::test]
async fn a_full_disk_keeps_no_segment_from_going() {
    let mut holed = Holed::new().await;
    let path = holed.config.path.clone();
    faults::set_errno(&path, Fault::Manifest, usize::MAX, Errno::NOSPC);
    settled(holed.open()).await;
    assert!(!holed.segments.iter().any(|segment| holed.has(*segment)));
    let notes = || {
        let entries = fs::read_dir(segments_dir(&path)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|extension| extension == "gone"))
            .count()
    };
    assert!(notes() > 1);
    faults::set(&path, Fault::Manifest, 0);
    holed.assert_whole().await;
    let store = holed.store.as_ref().unwrap();
    for _ in 0..20 {
        passing(store, &holed.inbox).await;
    }
    settled(store).await;
    until("the manifest says it now", || notes() == 0).await;
    holed.assert_whole().await;
}
