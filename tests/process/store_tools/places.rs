//! What commands keep others from, leave behind, and leave alone.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{chown, symlink};
use std::process::Stdio;

use tokio::time::Instant;

use super::{copy_keys, filled, refusal, store};
use crate::daemon::{Daemon, PATIENCE, command, run};

#[test]
fn a_reset_takes_what_a_killed_import_left_and_a_start_tells_of_it() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let left = home.path().join("data/store.import");
    fs::rename(home.path().join("data/store"), &left).unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.wait_for_log("a command that was killed left ./data/store.import, with mail perhaps");
    server.stop();
    store(home.path(), &["reset", "--yes"], 0);
    assert!(!left.exists() && !home.path().join("data/store").exists());
    assert_eq!(
        refusal(home.path(), &["reset", "--yes"], 4),
        "there is no store in ./data/store"
    );
}

/// The second import begins while the first one waits for the rest of its export.
#[test]
fn an_import_keeps_others_and_servers_out_until_it_ends() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    filled(from.path());
    let file = from.path().join("export");
    let name = file.to_str().unwrap();
    store(from.path(), &["export", name], 0);
    copy_keys(from.path(), to.path());
    let whole = fs::read(&file).unwrap();
    let mut first = command(to.path(), &[]);
    first.args(["store", "import", "-"]).stdin(Stdio::piped());
    let mut first = first.stdout(Stdio::null()).spawn().unwrap();
    let mut rest = first.stdin.take().unwrap();
    rest.write_all(&whole[..whole.len() / 2]).unwrap();
    let building = to.path().join("data/store.import/stamp");
    let began = Instant::now();
    while !building.exists() {
        assert!(began.elapsed() < PATIENCE, "the import has not begun");
        std::thread::yield_now();
    }
    let line = refusal(to.path(), &["import", name], 3);
    assert!(line.ends_with("data/store is in use by another instance"), "{line}");
    let start = run(command(to.path(), &[("LOG_LEVEL", "error")]));
    assert_eq!(start.status.code(), Some(1), "{start:?}");
    rest.write_all(&whole[whole.len() / 2..]).unwrap();
    drop(rest);
    assert!(first.wait().unwrap().success());
    let told = store(to.path(), &["verify"], 0).said;
    assert!(told.starts_with("nothing is wrong: 2 inboxes, 8 emails, "), "{told}");
    let names = fs::read_dir(to.path().join("data")).unwrap();
    assert!(
        names
            .map(|name| name.unwrap().file_name())
            .all(|name| name != "store.import")
    );
}

#[test]
fn an_export_replaces_nothing_of_the_data_directory_and_follows_a_link() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    for inside in ["data/export", "data/store/LOCK"] {
        let line = refusal(home.path(), &["export", inside], 4);
        assert_eq!(
            line,
            format!("{inside} is in the data directory: an export goes elsewhere")
        );
    }
    let line = refusal(home.path(), &["export", "."], 4);
    assert!(line.contains("is not a file"), "{line}");
    let (target, pointer) = (home.path().join("target"), home.path().join("link"));
    fs::write(&target, "").unwrap();
    symlink(&target, &pointer).unwrap();
    store(home.path(), &["export", "link"], 0);
    assert!(pointer.is_symlink() && fs::metadata(&target).unwrap().len() > 100);
}

/// The superuser may write everywhere, and the owner's server could not open what it has written.
#[test]
fn the_superuser_leaves_the_store_of_another_user_alone() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    Daemon::start(home.path(), &[]).stop();
    let data = home.path().join("data");
    chown(data.join("store"), Some(65_534), None).unwrap();
    let end = "data/store belongs to user id 65534, and this process runs as user id 0: run it as the owner";
    for words in [&["stats"][..], &["verify"], &["reset", "--yes"]] {
        let line = refusal(home.path(), words, 4);
        assert!(line.ends_with(end), "{line}");
    }
    let start = run(command(home.path(), &[("LOG_LEVEL", "error")]));
    assert_eq!(start.status.code(), Some(1), "{start:?}");
    assert!(start.logged.trim_end().ends_with(end), "{start:?}");
    fs::remove_dir_all(data.join("store")).unwrap();
    chown(&data, Some(65_534), None).unwrap();
    let from = tempfile::tempdir().unwrap();
    filled(from.path());
    store(from.path(), &["export", "export"], 0);
    for key in ["signing-key", "event-key", "seal-mac-key"] {
        fs::copy(from.path().join("data").join(key), data.join(key)).unwrap();
    }
    let name = from.path().join("export");
    let line = refusal(home.path(), &["import", name.to_str().unwrap()], 4);
    assert!(line.contains("data belongs to user id 65534"), "{line}");
    assert!(!data.join("store").exists());
}
