//! A log that is damaged in the middle: who says so, and what gives up the damaged part.

use std::fs;
use std::path::Path;

use restante_model::EmailId;

use super::{PLAIN, filled, raw, refusal, store};
use crate::daemon::{Daemon, command, run};

/// Changes a bit in the head of the record of an email.
fn damage_head(home: &Path, id: &str) {
    let log = home.join("data/store/segments/00000001.log");
    let mut bytes = fs::read(&log).unwrap();
    let id: EmailId = id.parse().unwrap();
    let at = bytes.windows(16).position(|window| window == id.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(log, bytes).unwrap();
}

#[test]
fn damage_that_stops_a_start_is_given_up_by_a_command_and_the_rest_is_read() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let server = Daemon::start(home.path(), &[]);
    let emails = server.emails(PLAIN);
    let before: Vec<_> = emails.iter().map(|email| raw(&server, PLAIN, email)).collect();
    server.stop();
    damage_head(home.path(), emails[1]["id"].as_str().unwrap());
    let told = store(home.path(), &["export", "--skip-damaged", "export"], 0).logged;
    assert!(
        told.contains("exported 2 inboxes and 8 emails, "),
        "the index knows it: {told}"
    );
    fs::remove_file(home.path().join("data/store/index.marker")).unwrap();

    let start = run(command(home.path(), &[("LOG_LEVEL", "error")]));
    assert_eq!(start.status.code(), Some(1), "{start:?}");
    let line = start.logged.trim_end();
    let (_, place) = line.split_once("segment 1 cannot be read at byte ").unwrap();
    let (offset, way_out) = place.split_once("; ").unwrap();
    assert_eq!(
        way_out,
        "`server store rebuild --accept-damage` gives up what cannot be read (docs/STORE.md)"
    );
    assert_eq!(refusal(home.path(), &["rebuild"], 4), line);
    assert_eq!(
        refusal(home.path(), &["rebuild", "--accept-damage"], 4),
        "nothing was given up: say --yes where there is no terminal to ask on"
    );
    assert_eq!(refusal(home.path(), &["rebuild"], 4), line, "nothing was given up");
    store(home.path(), &["verify"], 1);

    let told = store(home.path(), &["rebuild", "--accept-damage", "--yes"], 0);
    let lines: Vec<_> = told.said.lines().collect();
    let [given_up, rebuilt] = lines[..] else {
        panic!("{told:?}");
    };
    let start = format!("segment 1 byte {offset}: gave up ");
    assert!(given_up.starts_with(&start), "{given_up}");
    let end = " bytes; what was recorded there is lost, be it mail, a deletion or an inbox";
    assert!(given_up.ends_with(end), "{given_up}");
    assert!(rebuilt.starts_with("made the index anew: 2 inboxes, "), "{rebuilt}");
    let told = store(home.path(), &["verify"], 0).said;
    let note = format!("segment 1 offset {offset} note: ");
    assert!(told.starts_with(&note), "{told}");
    assert!(told.contains(" bytes cannot be read, and were given up\n"), "{told}");

    let server = Daemon::start(home.path(), &[]);
    let left = server.emails(PLAIN);
    assert_eq!(left, [&emails[..1], &emails[2..]].concat());
    let after: Vec<_> = left.iter().map(|email| raw(&server, PLAIN, email)).collect();
    assert_eq!(after, [&before[..1], &before[2..]].concat());
}

#[test]
fn a_log_without_damage_gives_nothing_up() {
    let home = tempfile::tempdir().unwrap();
    filled(home.path());
    let told = store(home.path(), &["rebuild", "--accept-damage", "--yes"], 0).said;
    let expected = "nothing in the log had to be given up\nmade the index anew: 2 inboxes, 8 emails, ";
    assert!(told.starts_with(expected), "{told}");
}
