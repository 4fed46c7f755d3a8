//! Files that may not grow: clients hear so, earlier mail stays, and a restart finds all that was acknowledged.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Resource, prlimit};

use crate::daemon::{Daemon, command};
use crate::peer::{Peer, stored_ids};
use crate::told::{Told, health, wait_until_ready};

const BOB: &str = "bob@restante.test";

/// The server with files of at most so many blocks of half or a whole kilobyte, whichever the shell counts in: beyond
/// that every write fails, as on a full disk.
fn with_small_files(home: &Path, blocks: u32) -> Command {
    let server = command(home, &[]);
    let mut shell = Command::new("sh");
    shell.env_clear().current_dir(home).stdin(Stdio::null());
    shell.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let script = format!("ulimit -f {blocks}; exec \"$0\"");
    shell.args(["-c", &script]).arg(server.get_program());
    shell
}

/// The ids of the inbox in order of arrival, once the store has reopened itself: until then it answers 503.
fn ids_when_back(server: &Daemon) -> Vec<String> {
    let lists = (0..10_000).map(|_| server.request("GET", &format!("/api/inboxes/{BOB}/emails"), None));
    let mut lists = lists.skip_while(|list| list.status == 503);
    let list = lists.next().expect("the store comes back").expect_status(200).json();
    let oldest_first = list.as_array().unwrap().iter().rev();
    oldest_first
        .map(|email| email["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn failing_writes_are_told_and_cost_nothing_that_was_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create(BOB, None);
    server.stop();

    let server = Daemon::start_by(with_small_files(home.path(), 600), home.path(), &[]);
    let message = format!("Subject: x\r\n\r\n{}", "0123456789abcdef\r\n".repeat(400)).into_bytes();
    let mut peer = Peer::greeted(server.smtp);
    let mut acknowledged = Vec::new();
    let refusal = loop {
        peer.open_transaction(&[BOB]);
        let reply = peer.data(&message).unwrap();
        if !reply.starts_with("250 ") {
            break reply;
        }
        acknowledged.extend(stored_ids(&reply));
        assert!(acknowledged.len() < 1000, "the limit is never reached");
    };
    assert!(
        refusal.starts_with("451 4.3.0 ") || refusal.starts_with("452 4.3.1 "),
        "{refusal}"
    );
    assert_eq!(peer.say("NOOP"), "250 2.0.0 Ok", "the connection goes on");
    assert_eq!(ids_when_back(&server), acknowledged, "earlier mail can be read");
    let ended = server.stop();
    assert!(ended.logged.contains("File too large"), "{}", ended.logged);

    let server = Daemon::start(home.path(), &[]);
    assert_eq!(ids_when_back(&server), acknowledged);
    let id = Peer::greeted(server.smtp).deliver(&[BOB], b"room again\r\n").remove(0);
    assert_eq!(server.emails(BOB)[0]["id"], id.as_str());
}

/// Lets the files of a server that runs grow to this size, or without end.
fn limit_file_sizes(server: &Daemon, bytes: Option<u64>) {
    let mut limit = prlimit(
        Some(server.pid()),
        Resource::Fsize,
        rustix::process::getrlimit(Resource::Fsize),
    )
    .unwrap();
    limit.current = bytes.or(limit.maximum);
    prlimit(Some(server.pid()), Resource::Fsize, limit).unwrap();
}

#[test]
fn a_limit_that_comes_and_goes_refuses_mail_but_no_deletion() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    server.create(BOB, None);
    let mut told = Told::default();
    // The segment becomes larger than the index, which the limit shall not reach.
    for n in 0..16 {
        told.deliver(&server, &format!("large {n}"));
    }
    let segment = home.path().join("data/store/segments/00000001.log");
    limit_file_sizes(&server, Some(fs::metadata(segment).unwrap().len() + 2_000));
    let mut refusals = (0..1_000).map(|n| told.send(&server, &format!("during {n}")).expect("there is no room"));
    // The write that fails cannot be told from any other trouble, and what comes while the store reopens neither.
    assert!(refusals.next().unwrap().starts_with("451 4.3.0 "));
    assert!(
        refusals.any(|refusal| refusal.starts_with("452 4.3.1 ")),
        "nobody is told that there is no room"
    );
    assert_eq!((health(&server, "ready"), health(&server, "live")), (503, 200));
    told.delete_oldest(&server, 204);
    told.check_exactly(&server);
    limit_file_sizes(&server, None);
    wait_until_ready(&server);
    told.deliver(&server, "after");
    server.kill();
    told.check_exactly(&Daemon::start(home.path(), &[]));
}
