//! A disk that is really full: a file system in memory, of the server's own, which ends with it.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::daemon::{Daemon, command};
use crate::peer::{Peer, stored_ids};
use crate::told::{BOB, health, send_chunk, wait_until_ready};

/// Some segments of 64 MiB.
const DISK: &str = "size=224m";
/// What the server leaves free of it.
const FLOOR: &str = "33554432";

/// Who runs a command with mounts of its own: root, or anybody who is root of a user namespace.
const OWN_MOUNTS: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];

/// Mounts the disk at its first argument and becomes the rest.
const SCRIPT: &str = r#"mount -t tmpfs -o "$0" restante "$1" && shift && exec "$@""#;

/// The command with a disk of its own at this path; none where this machine does not permit that, which is told.
fn on_own_disk(path: &Path, command: &Command) -> Option<Command> {
    let under = |options: &[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(options).args(["sh", "-c", SCRIPT, DISK]).arg(path);
        unshare
    };
    let permits = |options: &&&[&str]| {
        under(options)
            .arg("true")
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    let Some(options) = OWN_MOUNTS.iter().find(permits) else {
        eprintln!("no full disk on this machine, which permits no mounts, only a limit of file sizes");
        return None;
    };
    let mut unshare = under(options);
    unshare.env_clear().stdin(Stdio::null());
    unshare.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    unshare.current_dir(command.get_current_dir().expect("it has a home"));
    unshare.arg(command.get_program());
    Some(unshare)
}

#[test]
fn a_full_disk_refuses_mail_until_deletions_have_made_room() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let variables = [
        ("DATA_PATH", data.to_str().unwrap()),
        // The file of the key is on a disk that only the server sees.
        ("LOCAL_API_KEY", "0123456789abcdef0123456789abcdef"),
        ("STORAGE_MIN_FREE_BYTES", FLOOR),
    ];
    let Some(command) = on_own_disk(&data, &command(home.path(), &variables)) else {
        return;
    };
    let server = Daemon::start_by(command, home.path(), &variables);
    server.create(BOB, None);
    let mut peer = Peer::greeted(server.smtp);
    let mut send = |lines| {
        peer.open_transaction(&[BOB]);
        let message = format!("Subject: {lines} lines\r\n\r\n{}", "0123456789abcdef\r\n".repeat(lines));
        send_chunk(&mut peer, message.as_bytes())
    };
    let mut stored = Vec::new();
    // What is too large for the room that is left is refused, what is smaller is not.
    for lines in [900_000, 200_000, 20_000] {
        let refusal = loop {
            let reply = send(lines);
            if !reply.starts_with("250 ") {
                break reply;
            }
            stored.extend(stored_ids(&reply));
        };
        assert!(refusal.starts_with("452 4.3.1 "), "{refusal}");
    }
    assert_eq!((health(&server, "ready"), health(&server, "live")), (503, 200));
    assert_eq!(server.emails(BOB).len(), stored.len());

    let kept = stored.split_off(stored.len() - 1);
    for id in stored {
        let email = format!("/api/inboxes/{BOB}/emails/{id}");
        let _ = server.request("DELETE", &email, None).expect_status(204);
    }
    wait_until_ready(&server);
    let new = stored_ids(&send(900_000));
    let shown: Vec<_> = server.emails(BOB).iter().map(|email| email["id"].clone()).collect();
    assert_eq!(shown, [new[0].as_str(), kept[0].as_str()]);
    server.stop();
}
