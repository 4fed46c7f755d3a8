//! What hostile input may cost.

use std::fs;
use std::net::SocketAddr;
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::daemon::Daemon;
use crate::peer::{Peer, without_trace};

const BOB: &str = "bob@restante.test";

/// Clients that send at the same time.
const SENDERS: usize = 24;

/// A line of `/proc/<pid>/status`, in bytes.
pub(crate) fn memory(server: &Daemon, field: &str) -> u64 {
    let path = format!("/proc/{}/status", server.pid().as_raw_nonzero());
    let status = fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    let kib: u64 = line
        .trim_start_matches(':')
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib * 1024
}

/// Sends 64 MiB without a line end, and then one.
fn endless_line(peer: &mut Peer) {
    let block = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        peer.send(&block).unwrap();
    }
    assert!(peer.say("").starts_with("500 5.5.2 "), "one answer");
    assert_eq!(peer.say("NOOP"), "250 2.0.0 Ok");
}

#[test]
fn a_line_of_64_mb_is_dropped_in_constant_memory() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    let mut peer = Peer::greeted(server.smtp);
    // The first line warms up whatever a line may touch.
    endless_line(&mut peer);
    let before = memory(&server, "VmHWM");
    endless_line(&mut peer);
    let rise = memory(&server, "VmHWM") - before;
    assert!(rise < 1 << 20, "{rise} bytes more");
}

/// A message of almost 4 MiB.
fn large_message(sender: usize) -> Vec<u8> {
    let line = format!("{sender:0>70}\r\n");
    [
        b"Subject: large\r\n\r\n",
        line.repeat((4 << 20) / line.len() - 1).as_bytes(),
    ]
    .concat()
}

/// Sends until it is taken; how often it was refused for now.
fn insist(smtp: SocketAddr, declares: bool, message: &[u8]) -> usize {
    let mut peer = Peer::greeted(smtp);
    let size = if declares {
        format!(" SIZE={}", message.len())
    } else {
        String::new()
    };
    for refusals in 0.. {
        let mail = peer.say(&format!("MAIL FROM:<a@sender.test>{size}"));
        let mut reply = mail.clone();
        if mail.starts_with("250 ") {
            assert!(peer.say(&format!("RCPT TO:<{BOB}>")).starts_with("250 "));
            reply = peer.data(message).unwrap();
        }
        if reply.starts_with("250 ") {
            return refusals;
        }
        assert!(reply.starts_with("452 4.3.1 "), "{reply}");
    }
    unreachable!("refusals end before numbers do")
}

#[test]
fn many_large_messages_at_once_stay_within_the_budget() {
    let home = tempfile::tempdir().unwrap();
    let variables = [
        ("SMTP_MAX_MESSAGE_SIZE", "4194304"),
        ("SMTP_MAX_INFLIGHT_BYTES", "16777216"),
    ];
    let server = Daemon::start(home.path(), &variables);
    server.create(BOB, None);
    let before = memory(&server, "VmHWM");
    let smtp = server.smtp;
    let refusals: usize = thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| scope.spawn(move || insist(smtp, sender % 2 == 0, &large_message(sender))))
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).sum()
    });
    assert!(refusals > 0, "the budget is too small for all at once");
    let rise = memory(&server, "VmHWM") - before;
    assert!(rise < 64 << 20, "{rise} bytes more");

    let mut expected: Vec<_> = (0..SENDERS).map(large_message).collect();
    for email in server.emails(BOB) {
        let id = email["id"].as_str().unwrap();
        let raw = server.get(&format!("/api/inboxes/{BOB}/emails/{id}/raw"));
        let raw = STANDARD.decode(raw["raw"].as_str().unwrap()).unwrap();
        let at = expected.iter().position(|message| message == without_trace(&raw));
        expected.swap_remove(at.expect("a message that was sent, whole and once"));
    }
    assert_eq!(expected.len(), 0, "all arrived");
}
