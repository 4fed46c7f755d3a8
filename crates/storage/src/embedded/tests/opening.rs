//! Starts that cannot work say so in one line.

use std::fs;

use super::*;
use crate::conformance::create;

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
    for format in [1, 99] {
        fs::write(&stamp, format!("restante-store\nformat {format}\nprofile service\n")).unwrap();
        let refused = line(Embedded::open(&config(dir.path())));
        let expected = format!("has format {format}, and this version reads format 3");
        assert!(refused.ends_with(&expected), "{refused}");
    }
    fs::remove_file(&stamp).unwrap();
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
    drop(Embedded::open(&ours).unwrap());
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
    for file in ["LOCK", "stamp", "segments/00000001.log", "index.marker"] {
        assert_eq!(mode(&config.path.join(file)), 0o600, "{file}");
    }
}
