//! Commands that replace, remove and rebuild a store: nothing is half done, and nothing is left behind.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::Retention;
use crate::conformance::{START, create, email};
use crate::embedded::log::segment_path;
use crate::embedded::shared::segments_dir;

/// A closed store with this inbox.
async fn closed_store(config: &EmbeddedConfig, name: &str) {
    let store = Embedded::open(config).unwrap();
    create(&store, name).await;
    store.close().await;
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn one_new_store_at_a_time_is_made_in_a_place_and_nobody_opens_it_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let first = NewStore::begin(&config.path).unwrap().unwrap();
    let store = first.open(stamp()).unwrap();
    create(&store, "bob").await;
    let locked = |error: ToolError| matches!(error, ToolError::Open(OpenError::Locked { .. }));
    assert!(locked(NewStore::begin(&config.path).unwrap_err()));
    assert!(locked(remove(&config.path).unwrap_err()));
    assert!(matches!(Embedded::open(&config), Err(OpenError::Locked { .. })));
    store.close().await;
    drop(store);
    first.finish().unwrap();
    let store = Embedded::open(&config).unwrap();
    assert_eq!(store.usage().await.unwrap().inboxes, 1);
}

#[tokio::test]
async fn a_new_store_that_cannot_take_its_place_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let new = NewStore::begin(&config.path).unwrap().unwrap();
    closed_store(&EmbeddedConfig::new(dir.path().join("store.import"), stamp()), "bob").await;
    let obstacle = config.path.join("LOCK");
    fs::remove_file(&obstacle).unwrap();
    fs::create_dir(&obstacle).unwrap();
    assert!(new.finish().is_err());
    assert_eq!(names(dir.path()), ["store"]);
}

#[test]
fn a_new_store_that_is_given_up_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    NewStore::begin(&config.path).unwrap().unwrap().abandon().unwrap();
    assert_eq!(names(dir.path()), [] as [&str; 0]);
}

#[tokio::test]
async fn a_removal_takes_what_killed_commands_left_too() {
    for has_store in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path());
        if has_store {
            closed_store(&config, "bob").await;
            fs::create_dir(config.path.join("removed")).unwrap();
        }
        for leftover in ["store.import", "store.removed"] {
            closed_store(&EmbeddedConfig::new(dir.path().join(leftover), stamp()), "alice").await;
        }
        fs::write(dir.path().join("signing-key"), "").unwrap();
        assert_eq!(leftovers(&config.path).len(), 2 + usize::from(has_store));
        remove(&config.path).unwrap();
        assert_eq!(names(dir.path()), ["signing-key"]);
    }
}

#[tokio::test]
async fn a_removal_empties_the_directory_that_a_link_leads_to() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let real = EmbeddedConfig::new(elsewhere.path().join("disk"), stamp());
    closed_store(&real, "bob").await;
    let config = config(dir.path());
    symlink(&real.path, &config.path).unwrap();
    remove(&config.path).unwrap();
    assert_eq!(names(elsewhere.path()), ["disk"]);
    assert_eq!(names(&real.path), [] as [&str; 0]);
    closed_store(&config, "alice").await;
    assert_eq!(names(dir.path()), ["store"]);
}

#[tokio::test]
async fn an_index_that_cannot_be_made_anew_leaves_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let config = EmbeddedConfig {
        segment_bytes: 1024,
        ..config(dir.path())
    };
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "bob").await;
    for n in 0..10 {
        let new = email(&inbox, &"text ".repeat(20 * n));
        store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    }
    store.close().await;
    drop(store);
    // The head of a record in a segment that a start with an index does not read.
    let log = segment_path(&segments_dir(&config.path), 1);
    let mut bytes = fs::read(&log).unwrap();
    bytes[60] ^= 1;
    fs::write(&log, bytes).unwrap();
    let before = names(&config.path);
    let held = HeldStore::hold(&config.path).unwrap();
    let error = held.rebuild(|_| ()).unwrap_err();
    assert!(
        matches!(error, ToolError::Open(OpenError::Damaged { segment: 1, .. })),
        "{error}"
    );
    assert_eq!(names(&config.path), before);
    drop(held);
    let store = Embedded::open(&config).unwrap();
    assert!(!store.recovery().rebuilt);
    assert_eq!(store.usage().await.unwrap().emails, 10);
}

#[tokio::test]
async fn the_size_of_an_index_is_that_of_what_it_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "bob").await;
    for _ in 0..50 {
        let new = email(&inbox, "text");
        store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    }
    store.close().await;
    drop(store);
    let held = HeldStore::hold(&config.path).unwrap();
    // What is only in memory has no size: the files of an empty index have some hundred bytes.
    let made = held.rebuild(|_| ()).unwrap().index_bytes;
    assert!(made > 50 * 80, "{made}");
}

#[tokio::test]
async fn damage_in_what_was_deleted_is_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "bob").await;
    let emails = ["the first one", "the second one"].map(|raw| email(&inbox, raw));
    let [first, _] = emails.each_ref().map(|email| email.id);
    for new in emails {
        store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    }
    let deleted = store.delete_email(inbox.key, first, RemovalReason::Manual, START).await;
    assert!(deleted.unwrap());
    store.close().await;
    drop(store);
    let log = segment_path(&segments_dir(&config.path), 1);
    let mut told = Vec::new();
    for (raw, findings) in [("the first one", 0), ("the second one", 1)] {
        let mut bytes = fs::read(&log).unwrap();
        let at = bytes.windows(raw.len()).position(|window| window == raw.as_bytes());
        bytes[at.unwrap()] ^= 1;
        fs::write(&log, bytes).unwrap();
        told.clear();
        let held = HeldStore::hold(&config.path).unwrap();
        let tell = |finding: &Finding| told.push(finding.problem.clone());
        assert_eq!(held.verify(dir.path(), |_| (), tell).unwrap().findings, findings);
    }
    // What is written of an email first is its metadata, which holds the same words here.
    assert_eq!(told, [Problem::DeadDamaged, Problem::PartDamaged(Part::Metadata)]);
}

#[tokio::test]
async fn a_directory_for_temporary_files_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    closed_store(&config, "bob").await;
    let held = HeldStore::hold(&config.path).unwrap();
    let absent = dir.path().join("absent");
    let line = held.verify(&absent, |_| (), |_| ()).unwrap_err().to_string();
    let start = format!("the directory for temporary files, {} (TMPDIR), ", absent.display());
    assert!(line.starts_with(&start), "{line}");
}
