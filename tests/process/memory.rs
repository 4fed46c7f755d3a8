//! What hostile input may cost.

use std::fs;

use crate::daemon::Daemon;
use crate::peer::Peer;

/// A line of `/proc/<pid>/status`, in bytes.
fn memory(server: &Daemon, field: &str) -> u64 {
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

#[test]
fn a_line_of_64_mb_is_dropped_in_constant_memory() {
    let home = tempfile::tempdir().unwrap();
    let server = Daemon::start(home.path(), &[]);
    let block = vec![b'x'; 1 << 20];
    let mut peer = Peer::greeted(server.smtp);
    peer.send(&block).unwrap();
    assert!(peer.say("").starts_with("500 5.5.2 "));

    let before = memory(&server, "VmHWM");
    for _ in 0..64 {
        peer.send(&block).unwrap();
    }
    assert!(peer.say("").starts_with("500 5.5.2 "), "one answer");
    assert_eq!(peer.say("NOOP"), "250 2.0.0 Ok");
    let rise = memory(&server, "VmHWM") - before;
    assert!(rise < 1 << 20, "{rise} bytes more");
}
