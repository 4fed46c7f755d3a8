//! Fills a store and empties it again, round after round, and prints what it takes: for measuring by hand.
//!
//! `cargo run --release -p restante-storage --example refill -- DIRECTORY [ROUNDS] [MAILS] [stays]`
//!
//! 16 writers store mails of 2, 75 and 1,000 KB, mixed 80/18/2, and delete half of them as they go, or none with
//! `stays`; the inboxes of a round are retired and reaped while the next one fills.
//! The index is told in bytes for each mail of the highest count so far.

#![expect(clippy::cast_precision_loss, reason = "the figures are for a person")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, RemovalReason, Timestamp};
use restante_storage::{Embedded, EmbeddedConfig, NewEmail, NewInbox, Part, Retention, Stamp, Store};
use tokio::time::Instant;

const WRITERS: usize = 16;
const NOW: Timestamp = Timestamp::from_unix_ms(1_769_341_276_000);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize, otherwise| {
        arguments
            .get(at)
            .map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let dir = PathBuf::from(arguments.get(1).expect("a directory"));
    let (rounds, mails) = (number(2, 10), number(3, 20_000));
    let stays = arguments.get(4).is_some_and(|word| word == "stays");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(refill(&dir, rounds, mails, stays));
}

async fn refill(dir: &Path, rounds: usize, mails: usize, stays: bool) {
    let stamp = Stamp {
        profile: "service".to_owned(),
        signing_key: String::new(),
        event_key: String::new(),
        seal_mac_key: String::new(),
    };
    let config = EmbeddedConfig::new(dir, stamp);
    let store = Arc::new(Embedded::open(&config).expect("the store opens"));
    let content = Bytes::from(vec![b'x'; 1_000_000]);
    let mut old: Vec<InboxKey> = Vec::new();
    let mut highest = 0;
    println!("round  mails/s  p50 ms  p99 ms  live MB  log MB  settled MB  (ratio)  index B/mail  RSS MB");
    for round in 0..rounds {
        let emptying = tokio::task::JoinSet::from_iter([empty(Arc::clone(&store), std::mem::take(&mut old))]);
        let started = Instant::now();
        let left = Arc::new(AtomicUsize::new(mails));
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let inbox = create(&store, &format!("r{round}w{writer}")).await;
            old.push(inbox);
            writers.spawn(write(
                Arc::clone(&store),
                inbox,
                Arc::clone(&left),
                content.clone(),
                stays,
            ));
        }
        let mut times: Vec<Duration> = writers.join_all().await.into_iter().flatten().collect();
        let elapsed = started.elapsed();
        emptying.join_all().await;
        times.sort_unstable();
        let live = store.usage().await.expect("the store reads").live_bytes;
        let log = bytes_of(&dir.join("segments"));
        let settled = settled(dir).await;
        highest = highest.max(store.usage().await.expect("the store reads").emails);
        println!(
            "{round:5}  {:7.0}  {:6.2}  {:6.2}  {:7.1}  {:6.1}  {:10.1}  ({:.2})    {:12.0}  {:6.1}",
            mails as f64 / elapsed.as_secs_f64(),
            times[times.len() / 2].as_secs_f64() * 1e3,
            times[times.len() * 99 / 100].as_secs_f64() * 1e3,
            live as f64 / 1e6,
            log as f64 / 1e6,
            settled as f64 / 1e6,
            settled as f64 / live as f64,
            index_bytes(dir) as f64 / highest as f64,
            rss_mb(),
        );
    }
    store.close().await;
}

async fn create(store: &Embedded, local: &str) -> InboxKey {
    let address = InboxAddress::parse(&format!("{local}@restante.test")).expect("a valid address");
    let inbox = Inbox {
        key: InboxKey::new(NOW),
        hash: InboxHash::of_address(&address),
        address,
        mode: InboxMode::Plain,
        email_auth: false,
        spam_analysis: false,
        persistent: false,
        chaos: None,
        created_at: NOW,
        expires_at: Timestamp::MAX,
    };
    let key = inbox.key;
    let new = NewInbox {
        inbox,
        idempotency: None,
    };
    store.create_inbox(new, NOW).await.expect("the address is free");
    key
}

/// Stores mails until none is left to store, and gives the time that each took.
async fn write(
    store: Arc<Embedded>,
    inbox: InboxKey,
    left: Arc<AtomicUsize>,
    content: Bytes,
    stays: bool,
) -> Vec<Duration> {
    let (mut times, mut stored) = (Vec::new(), Vec::new());
    loop {
        let number = left.fetch_sub(1, Ordering::Relaxed);
        if number == 0 || number > usize::MAX / 2 {
            return times;
        }
        let size = match (number * 37) % 100 {
            0..80 => 2_000,
            80..98 => 75_000,
            _ => 1_000_000,
        };
        let new = NewEmail {
            inbox,
            id: EmailId::new(NOW),
            received_at: NOW,
            parts: vec![
                (Part::Metadata, content.slice(..200)),
                (Part::Raw, content.slice(..size)),
            ],
            event: None,
        };
        stored.push(new.id);
        let started = Instant::now();
        store
            .accept(vec![new], &Retention::UNLIMITED, NOW)
            .await
            .expect("the store takes mail");
        times.push(started.elapsed());
        if !stays && times.len() % 2 == 0 {
            let id = stored.swap_remove((number * 7919) % stored.len());
            let deleted = store.delete_email(inbox, id, RemovalReason::Manual, NOW).await;
            assert_eq!(deleted, Ok(true));
        }
    }
}

async fn empty(store: Arc<Embedded>, inboxes: Vec<InboxKey>) {
    store
        .retire(&inboxes, RemovalReason::Ttl, NOW)
        .await
        .expect("the store writes");
    while store.reap(256, NOW).await.expect("the store writes").more {}
}

/// The bytes of the log once they have not changed for a second.
async fn settled(dir: &Path) -> u64 {
    let mut before = 0;
    loop {
        let now = bytes_of(&dir.join("segments"));
        if now == before {
            return now;
        }
        before = now;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

fn bytes_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

fn index_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_index = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("index.") && entry.path().is_dir()
    };
    entries.filter(is_index).map(|entry| bytes_of(&entry.path())).sum()
}

fn rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or_default() / 1e3
}
