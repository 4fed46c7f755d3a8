//! A disk that fails while the server starts: one line, an exit code, and nothing is harmed.

use std::fs;
use std::path::Path;

use crate::daemon::{Daemon, run};
use crate::faults::{self, Fault};
use crate::told::{BOB, Told};

/// Starts that fail: the calls and how, which file of the data directory they are about if not all, and what the line
/// says.
const OF_A_STORE: [(&str, &str, Option<&str>, &str); 7] = [
    ("fsync", "EIO", None, "Input/output error"),
    ("openat", "EROFS", Some("store/LOCK"), "Read-only file system"),
    (
        "openat",
        "EMFILE",
        Some("store/segments/00000001.log"),
        "Too many open files",
    ),
    (
        "read,pread64",
        "EIO",
        Some("store/segments/00000001.log"),
        "Input/output error",
    ),
    ("read,pread64", "EIO", Some("store/stamp"), "Input/output error"),
    (
        "ftruncate",
        "EROFS",
        Some("store/segments/00000001.log"),
        "Read-only file system",
    ),
    ("rename,renameat,renameat2", "ENOSPC", None, "No space left on device"),
];

/// The same while the index is made anew from the log.
const OF_AN_INDEX: [(&str, &str, Option<&str>, &str); 2] = [
    (
        "mkdir,mkdirat",
        "ENOSPC",
        Some("store/index.*"),
        "No space left on device",
    ),
    ("openat", "ENOSPC", Some("store/index.*/v0"), "No space left on device"),
];

/// The same in a directory where nothing is yet.
const OF_NOTHING: [(&str, &str, Option<&str>, &str); 5] = [
    ("mkdir,mkdirat", "EROFS", None, "Read-only file system"),
    ("fsync", "EIO", None, "Input/output error"),
    ("rename,renameat,renameat2", "ENOSPC", None, "No space left on device"),
    (
        "pwrite64",
        "ENOSPC",
        Some("store/segments/00000001.log"),
        "No space left on device",
    ),
    ("fsync", "EIO", Some("store/segments"), "Input/output error"),
];

/// A start under the fault says one line with these words, and ends with 1.
fn fails(home: &Path, (calls, error, file, words): (&str, &str, Option<&str>, &str)) {
    let data = home.join("data");
    // The number of a new index is not known beforehand; a name without one comes out nine times.
    let names = file
        .iter()
        .flat_map(|file| (1..10).map(|n| file.replace('*', &n.to_string())));
    let files: Vec<_> = names.map(|name| data.join(name)).collect();
    let fault = Fault {
        calls,
        fate: &format!("error={error}"),
        files: &files,
    };
    let variables = [("LOG_LEVEL", "error"), ("DATA_PATH", data.to_str().unwrap())];
    let ended = run(fault.throughout(home, &variables));
    assert_eq!(ended.status.code(), Some(1), "{calls} {error} {file:?}: {ended:?}");
    assert_eq!(ended.logged.lines().count(), 1, "{calls} {error} {file:?}: {ended:?}");
    let names_the_directory = ended.logged.contains(data.to_str().unwrap());
    assert!(
        names_the_directory && ended.logged.contains(words),
        "{calls} {error} {file:?}: {ended:?}"
    );
}

/// A store with mail, closed.
fn filled(home: &Path) -> Told {
    let server = Daemon::start(home, &[]);
    server.create(BOB, None);
    let mut told = Told::default();
    for subject in ["one", "two", "three"] {
        told.deliver(&server, subject);
    }
    server.stop();
    told
}

#[test]
fn a_store_that_cannot_be_opened_is_left_as_it_is() {
    if !faults::are_permitted() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let told = filled(&home);
    for fault in OF_A_STORE {
        fails(&home, fault);
    }
    told.check_exactly(&Daemon::start(&home, &[]));
}

#[test]
fn an_index_that_cannot_be_made_costs_no_mail() {
    if !faults::are_permitted() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let told = filled(&home);
    for fault in OF_AN_INDEX {
        let marker = home.join("data/store/index.marker");
        // After a failed start there may be none.
        let _ = fs::remove_file(marker);
        fails(&home, fault);
    }
    told.check_exactly(&Daemon::start(&home, &[]));
}

#[test]
fn an_index_that_cannot_be_read_costs_no_mail() {
    if !faults::are_permitted() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let told = filled(&home);
    let data = home.join("data");
    let variables = [("DATA_PATH", data.to_str().unwrap())];
    let index = data.join("store/index.1");
    let files = [index.join("current"), index.join("tables/0")];
    assert!(files.iter().all(|file| file.is_file()), "{files:?}");
    let fault = Fault {
        calls: "read,pread64",
        fate: "error=EIO",
        files: &files,
    };
    let server = Daemon::start_by(fault.throughout(&home, &variables), &home, &variables);
    told.check_exactly(&server);
}

#[test]
fn a_first_start_that_failed_may_be_repeated() {
    if !faults::are_permitted() {
        return;
    }
    for fault in OF_NOTHING {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fails(&home, fault);
        filled(&home).check_exactly(&Daemon::start(&home, &[]));
    }
}
