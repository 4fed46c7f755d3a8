//! Nothing is acknowledged before it is durable: its record, the segment's place in its directory, and every directory
//! above.

use std::fs;
use std::path::Path;
use std::thread;

use crate::daemon::{Daemon, command};
use crate::faults::{self, under_strace};
use crate::peer::{Peer, stored_ids};
use crate::told::send_chunk;
use crate::trace::{self, Call};

const BOB: &str = "bob@restante.test";
const WRITES: [&str; 3] = ["write", "writev", "pwrite64"];
const SYNCS: [&str; 2] = ["fdatasync", "fsync"];

/// A mail that was acknowledged: a word that is nowhere else, and its id.
type Mail = (String, String);

/// What a server does from its first start on, while these clients send so many messages of so many bytes each.
fn traced(home: &Path, senders: usize, mails: usize, bytes: usize) -> (Vec<Mail>, Vec<Call>) {
    let data = home.join("data");
    let variables = [("DATA_PATH", data.to_str().unwrap())];
    let log = home.join("trace");
    let mut options = vec![format!("--output={}", log.display())];
    options.extend(trace::OPTIONS.map(str::to_owned));
    let server = Daemon::start_by(under_strace(&command(home, &variables), &options), home, &variables);
    server.create(BOB, None);
    let smtp = server.smtp;
    let told = thread::scope(|scope| {
        let send = |sender| {
            scope.spawn(move || {
                let mut peer = Peer::greeted(smtp);
                let mut deliver = |n| {
                    let word = format!("mail-{n}-of-{sender}-");
                    let message = format!("Subject: {word}\r\n\r\n{}", "0123456789abcdef\r\n".repeat(bytes / 18));
                    peer.open_transaction(&[BOB]);
                    let id = stored_ids(&send_chunk(&mut peer, message.as_bytes())).remove(0);
                    (word, id)
                };
                (0..mails).map(&mut deliver).collect::<Vec<_>>()
            })
        };
        let senders: Vec<_> = (0..senders).map(send).collect();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    });
    server.stop();
    (told, trace::calls(&fs::read_to_string(log).unwrap()))
}

fn find<'a>(calls: &'a [Call], names: &[&str], text: &str) -> &'a Call {
    let mut found = calls
        .iter()
        .filter(|call| call.is_one_of(names) && call.text.contains(text));
    found.next().unwrap_or_else(|| panic!("no {names:?} of {text}"))
}

/// Whether the file was synced between two lines.
fn is_synced(calls: &[Call], file: &Path, after: usize, before: usize) -> bool {
    calls
        .iter()
        .any(|call| call.is_one_of(&SYNCS) && call.file() == Some(file) && call.begin > after && call.end < before)
}

/// Between the end of each mail's record and its 250 the segment was synced, and so was the segment's place in its
/// directory since it was made.
fn check(told: &[Mail], calls: &[Call]) {
    for (word, id) in told {
        let record = find(calls, &WRITES, word);
        let segment = record.file().unwrap();
        let directory = segment.parent().unwrap();
        assert!(directory.ends_with("store/segments"), "{word} in {}", segment.display());
        let reply = find(calls, &["sendto"], &format!("250 2.0.0 Ok: {id}"));
        assert!(is_synced(calls, segment, record.end, reply.begin), "{word}");
        let made = find(
            calls,
            &["openat"],
            &format!("\"{}\", O_RDWR|O_CREAT", segment.display()),
        );
        assert!(
            is_synced(calls, directory, made.end, reply.begin),
            "{word} in {}",
            segment.display()
        );
    }
}

#[test]
fn a_250_follows_the_sync_of_its_record_and_of_every_directory_above() {
    if !faults::are_permitted() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (told, calls) = traced(&home, 4, 8, 300);
    assert_eq!(told.len(), 32);
    check(&told, &calls);
    // The index is made anew if it is not there.
    let index = home.join("data/store/index.1");
    let first = find(&calls, &["sendto"], "250 2.0.0 Ok: ");
    let lasting = calls.iter().filter_map(|call| Some((call.end, call.new_entry()?)));
    let lasting = lasting.filter(|(end, path)| *end < first.begin && path.starts_with(home.join("data")));
    let mut entries = 0;
    for (end, path) in lasting.filter(|(_, path)| !path.starts_with(&index)) {
        let directory = path.parent().unwrap();
        assert!(
            is_synced(&calls, directory, end, first.begin),
            "the entry {}",
            path.display()
        );
        entries += 1;
    }
    assert!(entries > 8, "{entries}");
}

#[test]
fn a_250_of_a_new_segment_follows_the_sync_of_its_directory() {
    if !faults::are_permitted() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    // A segment takes 64 MiB.
    let (told, calls) = traced(&home, 1, 3, 24_000_000);
    check(&told, &calls);
    let (last, _) = told.last().unwrap();
    let segment = find(&calls, &WRITES, last).file().unwrap().to_owned();
    assert!(segment.ends_with("00000002.log"), "{}", segment.display());
}
