//! Starts that cannot work say so in one line.

use std::fs;

use super::compaction::{crashed, passing, settled, tight};
use super::*;
use crate::conformance::webhooks::subscribe;
use crate::conformance::{create, deposit};
use crate::embedded::log::{segment_numbers, segment_path};
use crate::embedded::shared::segments_dir;
use crate::{WebhookScope, WebhookStore as _};

fn line(opened: Result<Embedded, OpenError>) -> String {
    let line = opened.expect_err("this must not open").to_string();
    assert!(!line.contains('\n'));
    line
}

#[tokio::test]
async fn a_second_instance_is_refused_until_the_first_ends() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(&config(dir.path())).unwrap();
    let refused = line(Embedded::open(&config(dir.path())));
    assert!(refused.ends_with("store is in use by another instance"), "{refused}");
    store.close().await;
    // A closed store has let go, even before it is dropped.
    let second = Embedded::open(&config(dir.path())).unwrap();
    drop(store);
    assert!(matches!(
        Embedded::open(&config(dir.path())),
        Err(OpenError::Locked { .. })
    ));
    drop(second);
    Embedded::open(&config(dir.path())).unwrap();
}

#[test]
fn a_path_that_is_no_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("store"), "a file").unwrap();
    let refused = line(Embedded::open(&config(dir.path())));
    assert!(refused.ends_with("store is not a directory"), "{refused}");
    let mut below = config(dir.path());
    below.path = below.path.join("below");
    assert!(matches!(Embedded::open(&below), Err(OpenError::NotADirectory { .. })));
}

#[test]
fn other_formats_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Embedded::open(&config(dir.path())).unwrap());
    let stamp = dir.path().join("store/stamp");
    for format in [1, 4, 99] {
        fs::write(&stamp, format!("restante-store\nformat {format}\nprofile service\n")).unwrap();
        let refused = line(Embedded::open(&config(dir.path())));
        let expected = format!(
            "has format {format}, and this version reads format 5: export it with the version that wrote it and import \
             that here, or use another data directory (docs/STORE.md)"
        );
        assert!(refused.ends_with(&expected), "{refused}");
    }
    fs::write(&stamp, "something else").unwrap();
    let refused = line(Embedded::open(&config(dir.path())));
    assert!(refused.contains("has format unknown"), "{refused}");
}

#[tokio::test]
async fn another_stamp_opens_an_empty_store_only() {
    let dir = tempfile::tempdir().unwrap();
    let ours = config(dir.path());
    let mut other = config(dir.path());
    other.stamp.profile = "vaultsandbox".to_owned();
    drop(Embedded::open(&ours).unwrap());
    drop(Embedded::open(&other).unwrap());
    let store = Embedded::open(&ours).unwrap();
    let inbox = create(&store, "sealed").await;
    drop(store);
    let refused = line(Embedded::open(&other));
    assert!(
        refused.contains(
            "was filled with wire profile service, and this start has vaultsandbox: start with the former again, \
             use another data directory, or delete this one with all its mail"
        ),
        "{refused}"
    );
    // Retired is not empty; reaped is.
    let store = Embedded::open(&ours).unwrap();
    store.retire(&[inbox.key], RemovalReason::Manual, now()).await.unwrap();
    drop(store);
    assert!(matches!(Embedded::open(&other), Err(OpenError::OtherStamp { .. })));
    let store = Embedded::open(&ours).unwrap();
    assert!(!store.reap(10, now()).await.unwrap().more);
    drop(store);
    Embedded::open(&other).unwrap();
    // Nor is a store empty with a webhook alone: its configuration is sealed.
    let store = Embedded::open(&ours).unwrap();
    let webhook = subscribe(&store, WebhookScope::Global).await;
    drop(store);
    assert!(matches!(Embedded::open(&other), Err(OpenError::OtherStamp { .. })));
    let store = Embedded::open(&ours).unwrap();
    assert!(store.remove_webhook(webhook, now()).await.unwrap());
    assert!(!store.reap_webhooks(10, now()).await.unwrap().more);
    drop(store);
    drop(Embedded::open(&other).unwrap());
}

/// A store of several segments, closed, with a gap where compaction was.
async fn compacted(dir: &Path) -> (EmbeddedConfig, Vec<u32>) {
    let mut config = tight(dir);
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "kept").await;
    for _ in 0..20 {
        passing(&store, &inbox).await;
        deposit(&store, &inbox, &"x".repeat(700)).await;
    }
    settled(&store).await;
    store.close().await;
    config.compact_below = Some(0);
    let segments = segment_numbers(&segments_dir(&config.path)).unwrap();
    assert!(segments.len() > 3);
    assert_ne!(
        segments.last(),
        Some(&u32::try_from(segments.len()).unwrap()),
        "there is a gap"
    );
    (config, segments)
}

#[tokio::test]
async fn a_missing_segment_stops_the_start_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (config, segments) = compacted(dir.path()).await;
    for segment in segments {
        for is_believed in [true, false] {
            let copy = crashed(&config, &format!("without-{segment}-{is_believed}"), is_believed);
            let file = segment_path(&segments_dir(&copy.path), segment);
            let moved = file.with_extension("elsewhere");
            fs::rename(&file, &moved).unwrap();
            let refused = line(Embedded::open(&copy));
            assert!(
                refused.ends_with(&format!("is not whole: {} is missing", file.display())),
                "{refused}"
            );
            // It is no worse for having been tried: with the file it opens.
            fs::rename(&moved, &file).unwrap();
            let store = Embedded::open(&copy).unwrap();
            assert_eq!(store.recovery().rebuilt, !is_believed);
            assert_eq!(store.usage().await.unwrap().emails, 20);
        }
    }
}

#[tokio::test]
async fn without_its_list_of_segments_a_store_does_not_open() {
    let dir = tempfile::tempdir().unwrap();
    let (config, _) = compacted(dir.path()).await;
    let manifest = segments_dir(&config.path).join("manifest");
    let good = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    let refused = line(Embedded::open(&config));
    let expected = format!("is not whole: {} is missing", manifest.display());
    assert!(refused.ends_with(&expected), "{refused}");
    let mut spoiled = good.clone();
    spoiled[25] ^= 1;
    fs::write(&manifest, spoiled).unwrap();
    let refused = line(Embedded::open(&config));
    let expected = format!("is damaged: {} cannot be read", manifest.display());
    assert!(refused.ends_with(&expected), "{refused}");
    fs::write(&manifest, good).unwrap();
    Embedded::open(&config).unwrap();
}

#[tokio::test]
async fn a_deleted_segment_that_came_back_is_deleted_again() {
    let dir = tempfile::tempdir().unwrap();
    let config = tight(dir.path());
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "kept").await;
    let first = segment_path(&segments_dir(&config.path), 1);
    let ghost = first.with_extension("ghost");
    fs::hard_link(&first, &ghost).unwrap();
    for _ in 0..20 {
        passing(&store, &inbox).await;
    }
    settled(&store).await;
    drop(store);
    assert!(!first.exists());
    fs::rename(&ghost, &first).unwrap();
    fs::remove_file(config.path.join("index.marker")).unwrap();
    let store = Embedded::open(&config).unwrap();
    assert!(!first.exists());
    let usage = store.usage().await.unwrap();
    assert_eq!((usage.inboxes, usage.emails), (1, 0));
}

type ReplacedKey = fn(&mut Stamp) -> &mut String;

#[tokio::test]
async fn a_replaced_key_stops_the_start_of_a_store_with_inboxes() {
    let dir = tempfile::tempdir().unwrap();
    let ours = config(dir.path());
    let store = Embedded::open(&ours).unwrap();
    create(&store, "sealed").await;
    drop(store);
    let keys: [(&str, ReplacedKey); 3] = [
        ("signing key one", |stamp| &mut stamp.signing_key),
        ("event key two", |stamp| &mut stamp.event_key),
        ("seal MAC key three", |stamp| &mut stamp.seal_mac_key),
    ];
    for (stored, replaced) in keys {
        let mut other = ours.clone();
        *replaced(&mut other.stamp) = "other".to_owned();
        let refused = line(Embedded::open(&other));
        let expected = format!("was filled with {stored}, and this start has other:");
        assert!(refused.contains(&expected), "{refused}");
    }
    Embedded::open(&ours).unwrap();
}

#[test]
fn only_the_owner_may_look_inside() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let _store = Embedded::open(&config).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&config.path), 0o700);
    assert_eq!(mode(&config.path.join("segments")), 0o700);
    for file in [
        "LOCK",
        "stamp",
        "segments/00000001.log",
        "segments/manifest",
        "index.marker",
    ] {
        assert_eq!(mode(&config.path.join(file)), 0o600, "{file}");
    }
}
