//! The end of the log after a crash, and damage that is none of a crash.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::Retention;
use crate::conformance::{START, create, deposit, email, everything, ids, text};
use crate::embedded::frame::{FILE_HEADER, Frame, Salt};
use crate::embedded::log::segment_path;
use crate::embedded::scan::{Bodies, Scanner, Step};
use crate::embedded::shared::segments_dir;

/// A closed store whose last call was a transaction for two inboxes.
struct Filled {
    dir: tempfile::TempDir,
    config: EmbeddedConfig,
    inboxes: [Inbox; 2],
    kept: EmailId,
    log: PathBuf,
    /// What the manifest said before anyone noted where the log ends.
    manifest: Vec<u8>,
    content: Vec<u8>,
    /// Where each call begins; the last is the transaction.
    calls: Vec<usize>,
}

async fn filled() -> Filled {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let store = Embedded::open(&config).unwrap();
    let segments = segments_dir(&config.path);
    let manifest = fs::read(segments.join("manifest")).unwrap();
    let inboxes = [create(&store, "one").await, create(&store, "two").await];
    let kept = deposit(&store, &inboxes[0], "kept").await;
    let emails = inboxes.iter().map(|inbox| email(inbox, "torn")).collect();
    store.accept(emails, &Retention::UNLIMITED, START).await.unwrap();
    store.close().await;
    drop(store);
    let log = segment_path(&segments, 1);
    let mut scanner = Scanner::open(&segments, 1, 0, Bodies::Skipped).unwrap().unwrap();
    let mut calls = vec![FILE_HEADER];
    while let Step::Call(_) = scanner.next_call().unwrap() {
        calls.push(usize::try_from(scanner.offset()).unwrap());
    }
    calls.pop();
    assert_eq!(calls.len(), 4);
    Filled {
        content: fs::read(&log).unwrap(),
        manifest,
        dir,
        config,
        inboxes,
        kept,
        log,
        calls,
    }
}

impl Filled {
    /// Puts this log in place, as if the store had not been closed.
    fn write(&self, log: &[u8]) {
        assert!(self.dir.path().exists());
        fs::write(&self.log, log).unwrap();
        fs::write(self.log.with_file_name("manifest"), &self.manifest).unwrap();
    }

    /// Opens a store with this log, and no index that may be believed.
    fn open(&self, log: &[u8]) -> Result<Embedded, OpenError> {
        self.write(log);
        fs::remove_file(self.config.path.join("index.marker")).unwrap();
        Embedded::open(&self.config)
    }

    async fn assert_last_call_is_gone(&self, store: &Embedded, torn_bytes: usize) {
        assert_eq!(store.recovery().torn_bytes, torn_bytes as u64);
        assert_eq!(ids(store, &self.inboxes[0], START).await, [self.kept]);
        assert_eq!(ids(store, &self.inboxes[1], START).await, []);
        assert_eq!(store.last_sequence().await, Ok(1));
    }
}

#[tokio::test]
async fn a_tail_torn_at_any_byte_is_cut() {
    let filled = filled().await;
    let last = *filled.calls.last().unwrap();
    for end in last..filled.content.len() {
        let store = filled.open(&filled.content[..end]).unwrap();
        filled.assert_last_call_is_gone(&store, end - last).await;
    }
    // The store goes on behind the cut.
    let store = filled.open(&filled.content[..filled.content.len() - 1]).unwrap();
    let next = deposit(&store, &filled.inboxes[1], "next").await;
    drop(store);
    let store = Embedded::open(&filled.config).unwrap();
    assert_eq!(
        store.recovery(),
        Recovery {
            replayed: 0,
            ..Recovery::default()
        }
    );
    assert_eq!(ids(&store, &filled.inboxes[1], START).await, [next]);
}

#[tokio::test]
async fn a_tail_with_any_byte_changed_is_cut() {
    let filled = filled().await;
    let last = *filled.calls.last().unwrap();
    for at in last..filled.content.len() {
        let mut log = filled.content.clone();
        log[at] ^= 0x20;
        let store = filled.open(&log).unwrap();
        filled.assert_last_call_is_gone(&store, log.len() - last).await;
    }
    let mut zeros = filled.content[..last].to_vec();
    zeros.resize(last + 70_000, 0);
    let store = filled.open(&zeros).unwrap();
    filled.assert_last_call_is_gone(&store, 70_000).await;
}

#[tokio::test]
async fn a_last_group_that_is_known_to_be_synced_is_never_cut() {
    let filled = filled().await;
    let manifest = filled.log.with_file_name("manifest");
    let noted = fs::read(&manifest).unwrap();
    assert_ne!(noted, filled.manifest, "a clean close notes the end");
    let last = *filled.calls.last().unwrap();
    // Of the frame and the head; damage in a body stops no start.
    let spoiled = (last..last + 60).step_by(7).map(|at| {
        let mut log = filled.content.clone();
        log[at] ^= 1;
        (log, last)
    });
    let cut = [0, 7, FILE_HEADER, last - 1, last, filled.content.len() - 1];
    let cut = cut.map(|end| {
        let start = filled.calls.iter().rev().find(|call| **call <= end);
        (filled.content[..end].to_vec(), start.copied().unwrap_or(0))
    });
    for (log, damaged) in spoiled.chain(cut) {
        fs::write(&filled.log, &log).unwrap();
        fs::write(&manifest, &noted).unwrap();
        let _ = fs::remove_file(filled.config.path.join("index.marker"));
        match Embedded::open(&filled.config) {
            Err(OpenError::Damaged { segment: 1, offset, .. }) => assert_eq!(offset, damaged as u64),
            other => panic!("{other:?}"),
        }
        assert_eq!(fs::read(&filled.log).unwrap(), log, "it is left as it is");
    }
}

#[tokio::test]
async fn damage_before_the_tail_is_an_error() {
    let filled = filled().await;
    for call in &filled.calls[..filled.calls.len() - 1] {
        let mut log = filled.content.clone();
        log[call + 30] ^= 1;
        match filled.open(&log) {
            Err(OpenError::Damaged { segment: 1, offset, .. }) => assert_eq!(offset, *call as u64),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_short_first_segment_is_a_new_store() {
    let filled = filled().await;
    for end in 0..FILE_HEADER {
        let store = filled.open(&filled.content[..end]).unwrap();
        assert_eq!(store.usage().await, Ok(Usage::default()));
        create(&store, "new").await;
    }
}

#[tokio::test]
async fn an_empty_segment_at_the_end_is_no_trouble() {
    let filled = filled().await;
    for header in [0, 7, FILE_HEADER] {
        fs::write(
            segment_path(&segments_dir(&filled.config.path), 2),
            &filled.content[..header],
        )
        .unwrap();
        let store = filled.open(&filled.content).unwrap();
        assert_eq!(ids(&store, &filled.inboxes[0], START).await.len(), 2);
    }
}

#[tokio::test]
async fn an_index_that_is_ahead_of_the_log_is_made_anew() {
    let filled = filled().await;
    filled.write(&filled.content[..*filled.calls.last().unwrap()]);
    let store = Embedded::open(&filled.config).unwrap();
    assert!(store.recovery().rebuilt);
    filled.assert_last_call_is_gone(&store, 0).await;
}

#[tokio::test]
async fn a_torn_tail_is_cut_without_a_rebuild() {
    let filled = filled().await;
    let log = [&filled.content, b"rstR and half a record".as_slice()].concat();
    fs::write(&filled.log, log).unwrap();
    let store = Embedded::open(&filled.config).unwrap();
    let expected = Recovery {
        torn_bytes: 22,
        ..Recovery::default()
    };
    assert_eq!(store.recovery(), expected);
    assert_eq!(ids(&store, &filled.inboxes[0], START).await.len(), 2);
}

#[tokio::test]
async fn an_index_of_another_log_is_made_anew() {
    let (filled, other) = (filled().await, filled().await);
    let store = other.open(&other.content).unwrap();
    let long = email(&other.inboxes[0], &"long".repeat(1000));
    store.accept(vec![long], &Retention::UNLIMITED, START).await.unwrap();
    store.close().await;
    drop(store);
    let restored = fs::read(&other.log).unwrap();
    fs::write(&filled.log, &restored).unwrap();
    let store = Embedded::open(&filled.config).unwrap();
    let expected = Recovery {
        rebuilt: true,
        replayed: 5,
        ..Recovery::default()
    };
    assert_eq!(store.recovery(), expected);
    assert_eq!(ids(&store, &other.inboxes[0], START).await.len(), 3);
}

#[tokio::test]
async fn a_damaged_index_is_made_anew() {
    let filled = filled().await;
    let is_index = |path: &PathBuf| path.is_dir() && path.extension().is_some_and(|number| number != "log");
    let entries = || {
        fs::read_dir(&filled.config.path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    for damage in [b"".as_slice(), &[0xff; 4096]] {
        let index = entries().find(is_index).unwrap();
        for file in ["db", "conf"] {
            fs::write(index.join(file), damage).unwrap();
        }
        let store = Embedded::open(&filled.config).unwrap();
        assert_eq!(ids(&store, &filled.inboxes[0], START).await.len(), 2);
        assert_eq!(ids(&store, &filled.inboxes[1], START).await.len(), 1);
        store.close().await;
    }
}

#[tokio::test]
async fn a_damaged_part_is_told_when_it_is_read() {
    let filled = filled().await;
    let mut log = filled.content.clone();
    let at = log.windows(11).position(|bytes| bytes == b"raw of kept").unwrap();
    log[at] ^= 1;
    fs::write(&filled.log, log).unwrap();
    let store = Embedded::open(&filled.config).unwrap();
    let read = |part| store.email(filled.inboxes[0].key, filled.kept, part, START);
    assert!(matches!(read(&[Part::Raw]).await, Err(ReadError::Damaged)));
    let metadata = read(&[Part::Metadata]).await.unwrap().unwrap();
    assert_eq!(text(&metadata, Part::Metadata).as_deref(), Some("metadata of kept"));
    // Its size is told without a look at the content.
    let size = "metadata of kept".len() + "raw of kept".len();
    assert_eq!(read(&[]).await.unwrap().unwrap().bytes, size as u64);
    let page = store
        .list(filled.inboxes[0].key, everything(&[Part::Metadata, Part::Raw]), START)
        .await
        .unwrap();
    let listed = |email: &StoredEmail| (text(email, Part::Metadata).is_some(), text(email, Part::Raw).is_some());
    let all: Vec<_> = page.emails.iter().map(listed).collect();
    let whole = all.iter().filter(|email| **email == (true, true)).count();
    assert_eq!((all.len(), whole), (2, 1), "the other one is listed without its source");
}

#[tokio::test]
async fn mail_that_looks_like_records_does_not_mislead() {
    let filled = filled().await;
    let store = filled.open(&filled.content).unwrap();
    // As if much had been synced before this record; only the salt of the file is not known to a sender.
    let head = [7].into_iter().chain([1; 16]).chain([0]).collect::<Vec<u8>>();
    let frame = Frame {
        head: 18,
        body: 0,
        following: 0,
        group: 1 << 40,
    };
    let forged = [frame.encode(Salt([0; 8]), &head).as_slice(), &head].concat();
    let near = Frame {
        group: filled.content.len() as u64 + 1,
        ..frame
    };
    let near = [near.encode(Salt([0; 8]), &head).as_slice(), &head].concat();
    let mut tricky = email(&filled.inboxes[1], "tricky");
    tricky.parts = vec![(Part::Raw, [forged, near].concat().repeat(2_000).into())];
    store.accept(vec![tricky], &Retention::UNLIMITED, START).await.unwrap();
    drop(store);
    let mut log = fs::read(&filled.log).unwrap();
    log.pop();
    let store = filled.open(&log).unwrap();
    assert_eq!(store.recovery().torn_bytes, (log.len() - filled.content.len()) as u64);
}
