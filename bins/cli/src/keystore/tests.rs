//! Several writers, damaged files, permissions.

use std::sync::Barrier;
use std::thread;

use restante_client::Timestamp;

use super::*;

const URL: &str = "http://127.0.0.1:8080";

fn silent(folder: &Path) -> Keystore {
    Keystore::new(folder.join("restante"), |_| {})
}

fn add(keystore: &Keystore, address: &str) -> Result<(), KeystoreError> {
    keystore.update(|document| {
        document.server_mut(URL).put(Entry::example(address, Timestamp::MAX));
        Ok(())
    })
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_put_in_is_there_for_its_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let keystore = silent(home.path());
    assert!(keystore.read().unwrap().server(URL).is_none());
    add(&keystore, "a@x.test").unwrap();
    let document = keystore.read().unwrap();
    assert_eq!(
        document.server(URL).unwrap().find("A@X.test").unwrap().address(),
        "a@x.test"
    );
    assert!(document.server("http://127.0.0.1:8081").is_none());
    let folder = home.path().join("restante");
    assert_eq!((mode(&folder), mode(&keystore.path())), (0o700, 0o600));
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["keystore.json", "keystore.lock"]);
}

#[test]
fn twenty_writers_at_once_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let start = Barrier::new(20);
    thread::scope(|scope| {
        for writer in 0..20 {
            let (home, start) = (home.path(), &start);
            scope.spawn(move || {
                // Each with a keystore, and so with a lock, of its own: as processes have.
                let keystore = silent(home);
                start.wait();
                for count in 0..5 {
                    add(&keystore, &format!("w{writer}-{count}@x.test")).unwrap();
                }
            });
        }
    });
    let document = silent(home.path()).read().unwrap();
    let inboxes = document.server(URL).unwrap();
    assert_eq!(inboxes.entries().len(), 100);
    assert!(inboxes.find("w19-4@x.test").is_some());
}

#[test]
fn a_change_that_fails_leaves_everything_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let keystore = silent(home.path());
    add(&keystore, "a@x.test").unwrap();
    let before = fs::read(keystore.path()).unwrap();
    let failed: Result<(), KeystoreError> = keystore.update(|document| {
        document.server_mut(URL).remove("a@x.test");
        Err(KeystoreError::Locked { path: PathBuf::new() })
    });
    assert!(matches!(failed, Err(KeystoreError::Locked { .. })));
    assert_eq!(fs::read(keystore.path()).unwrap(), before);
}

#[test]
fn a_damaged_file_is_named_and_never_overwritten() {
    for (content, part) in [
        ("", "no JSON at line"),
        ("{\"version\":1,", "no JSON at line 1"),
        ("{\"version\":1}", "unexpected fields"),
        ("[]", "unexpected fields"),
        (
            "{\"version\":1,\"servers\":{},\n\"S3CRET\":1}",
            "unexpected fields at line 2",
        ),
        ("{\"version\":2,\"keys\":[]}", "version 2"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let keystore = silent(home.path());
        fs::create_dir(home.path().join("restante")).unwrap();
        fs::write(keystore.path(), content).unwrap();
        for error in [keystore.read().err(), add(&keystore, "a@x.test").err()] {
            let text = error.unwrap().to_string();
            assert!(
                text.contains(part) && text.contains(&keystore.path().display().to_string()),
                "{text}"
            );
            assert!(!text.contains("S3CRET"), "{text}");
        }
        assert_eq!(fs::read_to_string(keystore.path()).unwrap(), content);
    }
}

#[test]
fn permissions_that_are_too_wide_are_repaired() {
    let home = tempfile::tempdir().unwrap();
    let keystore = silent(home.path());
    add(&keystore, "a@x.test").unwrap();
    fs::set_permissions(keystore.path(), Permissions::from_mode(0o644)).unwrap();
    keystore.read().unwrap();
    assert_eq!(mode(&keystore.path()), 0o600);
}

#[test]
fn a_link_stays_one_and_its_target_gets_the_keys() {
    let home = tempfile::tempdir().unwrap();
    let keystore = silent(home.path());
    fs::create_dir(home.path().join("restante")).unwrap();
    fs::create_dir(home.path().join("elsewhere")).unwrap();
    let target = home.path().join("elsewhere/keys.json");
    std::os::unix::fs::symlink("../elsewhere/keys.json", keystore.path()).unwrap();
    for address in ["a@x.test", "b@x.test"] {
        add(&keystore, address).unwrap();
        assert!(keystore.path().is_symlink());
        assert!(fs::read_to_string(&target).unwrap().contains(address));
    }
    assert_eq!(mode(&target), 0o600);
    assert_eq!(fs::read_dir(home.path().join("elsewhere")).unwrap().count(), 1);
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("restante"), "a file").unwrap();
    let text = add(&silent(home.path()), "a@x.test").unwrap_err().to_string();
    assert!(
        text.starts_with(&home.path().join("restante").display().to_string()),
        "{text}"
    );
}
