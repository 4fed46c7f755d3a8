//! A million mails in ten thousand inboxes: what they take in memory, on disk and at a start, for measuring by hand.
//!
//! `cargo run --release -p restante-storage --example million -- DIRECTORY [MAILS] [INBOXES] [full]`
//!
//! stores mails of 2 KB in inboxes taken at random, lists all inboxes by pages of 50, marks a tenth as read, stops and
//! starts (cleanly, after a kill, without an index), deletes half one by one, and lets the rest expire.
//! `million DIRECTORY 0 1000000` tells what empty inboxes take.
//! With `full` it ends after the starts, and `million DIRECTORY start` starts the store once more.
//! Each line tells the seconds of a phase, the highest resident memory in it, that at its end, the bytes of the index
//! and of the log for each mail stored, and the bytes of both.
//! A start is a process of its own; the others are one, whose highest resident memory stands in the last line.

#![expect(clippy::cast_precision_loss, reason = "the figures are for a person")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, RemovalReason, Timestamp};
use restante_storage::{Embedded, EmbeddedConfig, ListPage, NewEmail, NewInbox, Part, Retention, Stamp, Store};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// As in the server: the figures are about its allocator too.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const WRITERS: usize = 64;
const NOW: Timestamp = Timestamp::from_unix_ms(1_769_341_276_000);
const LIFE: Duration = Duration::from_hours(1);
/// Emails of one page.
const PAGE: usize = 50;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let dir = PathBuf::from(arguments.get(1).expect("a directory"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if arguments.get(2).is_some_and(|word| word == "start") {
        return runtime.block_on(start(&dir, arguments.get(3).map(String::as_str)));
    }
    let number = |at: usize, otherwise| {
        arguments
            .get(at)
            .map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (mails, inboxes) = (number(2, 1_000_000), number(3, 10_000));
    let stays_full = arguments.get(4).is_some_and(|word| word == "full");
    runtime.block_on(run(&dir, mails, inboxes, stays_full));
}

fn open(dir: &Path) -> Arc<Embedded> {
    let stamp = Stamp {
        profile: "service".to_owned(),
        signing_key: String::new(),
        event_key: String::new(),
        seal_mac_key: String::new(),
    };
    Arc::new(Embedded::open(&EmbeddedConfig::new(dir, stamp)).expect("the store opens"))
}

/// Opens the store, says how long that took, and closes it, or ends without closing it with `kill`.
async fn start(dir: &Path, end: Option<&str>) {
    let started = Instant::now();
    let store = open(dir);
    store.last_sequence().await.expect("the store reads");
    println!(
        "  {:6.2} s  peak {:6.1} MB  {:?}",
        started.elapsed().as_secs_f64(),
        memory_mb("VmHWM:"),
        store.recovery(),
    );
    match end {
        Some("kill") => {
            let inbox = create(&store, "killed").await;
            fill(&store, &Arc::from([inbox]), 5_000).await;
            std::process::abort();
        }
        _ => store.close().await,
    }
}

async fn run(dir: &Path, mails: usize, inboxes: usize, stays_full: bool) {
    let report = Report::new(dir, mails);
    let mut store = open(dir);
    let mut keys = Vec::with_capacity(inboxes);
    report.phase("empty", async {}).await;
    let creating = async {
        for first in (0..inboxes).step_by(256) {
            let store = &store;
            let mut created = JoinSet::new();
            for number in first..inboxes.min(first + 256) {
                let store = Arc::clone(store);
                created.spawn(async move { create(&store, &format!("i{number}")).await });
            }
            keys.extend(created.join_all().await);
        }
    };
    report.phase("create", creating).await;
    let keys: Arc<[InboxKey]> = keys.into();
    report.phase("fill", fill(&store, &keys, mails)).await;
    report.phase("list", list(&store, &keys)).await;
    report.phase("mark", each(&store, &keys, 10, Change::Mark)).await;
    report.phase("sync", sync(&store, &keys)).await;
    store.close().await;
    drop(store);
    starts(dir);
    if stays_full {
        return;
    }
    store = open(dir);
    report.phase("reopen", async {}).await;
    report.phase("delete", each(&store, &keys, 2, Change::Delete)).await;
    report.phase("settle", settle(dir)).await;
    report.phase("expire", expire(&store)).await;
    report.phase("settle", settle(dir)).await;
    store.close().await;
    println!(
        "highest {:.1} MB",
        f64::from_bits(report.highest.load(Ordering::Relaxed) as u64)
    );
}

fn starts(dir: &Path) {
    let start = |what: &str, end: &str| {
        print!("start {what:12}");
        std::io::stdout().flush().expect("a place to print to");
        let program = std::env::current_exe().expect("this program");
        // It may end by a signal, as it was told to.
        let _ = Command::new(program)
            .arg(dir)
            .args(["start", end])
            .status()
            .expect("it starts");
    };
    start("clean", "kill");
    start("after kill", "close");
    for entry in fs::read_dir(dir).expect("the store is there").flatten() {
        if entry.file_name().to_string_lossy().starts_with("index.") && entry.path().is_dir() {
            fs::remove_dir_all(entry.path()).expect("the index can be removed");
        }
    }
    start("rebuild", "close");
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
        expires_at: NOW.after(LIFE),
    };
    let key = inbox.key;
    let new = NewInbox {
        inbox,
        idempotency: None,
    };
    store.create_inbox(new, NOW).await.expect("the address is free");
    key
}

/// Stores mails, each in an inbox taken at random.
async fn fill(store: &Arc<Embedded>, inboxes: &Arc<[InboxKey]>, mails: usize) {
    let left = Arc::new(AtomicUsize::new(mails));
    let content = Bytes::from(vec![b'x'; 2_000]);
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let (store, left) = (Arc::clone(store), Arc::clone(&left));
        let (inboxes, content) = (Arc::clone(inboxes), content.clone());
        writers.spawn(async move {
            loop {
                let number = left.fetch_sub(1, Ordering::Relaxed);
                if number == 0 || number > usize::MAX / 2 {
                    return;
                }
                let at = NOW.after(Duration::from_millis((mails - number) as u64 / 10));
                let new = NewEmail {
                    inbox: inboxes[scattered(number) % inboxes.len()],
                    id: EmailId::new(at),
                    received_at: at,
                    parts: vec![
                        (Part::Metadata, content.slice(..600)),
                        (Part::Facts, content.slice(..300)),
                        (Part::Raw, content.clone()),
                    ],
                    event: None,
                };
                store
                    .accept(vec![new], &Retention::UNLIMITED, NOW)
                    .await
                    .expect("the store takes mail");
            }
        });
    }
    writers.join_all().await;
}

/// A number made from another one, spread over all numbers.
fn scattered(number: usize) -> usize {
    let mixed = (number as u64 ^ (number as u64 >> 13)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 20).unwrap_or_default()
}

/// Goes through all pages of all inboxes with the metadata, as the API does.
async fn list(store: &Arc<Embedded>, inboxes: &[InboxKey]) {
    for inbox in inboxes {
        let mut before = None;
        loop {
            let found = page(store, *inbox, before, vec![Part::Metadata]).await;
            before = found.emails.last().map(|email| email.id);
            if !found.more {
                break;
            }
        }
    }
}

async fn page(
    store: &Embedded,
    inbox: InboxKey,
    before: Option<EmailId>,
    parts: Vec<Part>,
) -> restante_storage::EmailPage {
    let page = ListPage {
        before,
        max_rows: PAGE,
        max_bytes: 1 << 20,
        parts,
    };
    store.list(inbox, page, NOW).await.expect("the store reads")
}

#[derive(Clone, Copy)]
enum Change {
    Mark,
    Delete,
}

/// Changes every `nth` email.
async fn each(store: &Arc<Embedded>, inboxes: &Arc<[InboxKey]>, nth: usize, change: Change) {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..WRITERS {
        let (store, next, inboxes) = (Arc::clone(store), Arc::clone(&next), Arc::clone(inboxes));
        workers.spawn(async move {
            while let Some(inbox) = inboxes.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
                let mut before = None;
                loop {
                    let found = page(&store, inbox, before, Vec::new()).await;
                    before = found.emails.last().map(|email| email.id);
                    for email in found.emails.iter().step_by(nth) {
                        let done = match change {
                            Change::Mark => store.mark_read(inbox, email.id, NOW).await,
                            Change::Delete => store.delete_email(inbox, email.id, RemovalReason::Manual, NOW).await,
                        };
                        assert_eq!(done, Ok(true));
                    }
                    if !found.more {
                        break;
                    }
                }
            }
        });
    }
    workers.join_all().await;
}

async fn sync(store: &Arc<Embedded>, inboxes: &[InboxKey]) {
    for inbox in inboxes {
        let status = store.sync(*inbox, NOW).await.expect("the store reads");
        assert!(status.is_some());
    }
}

async fn expire(store: &Arc<Embedded>) {
    let later = NOW.after(LIFE);
    while store.retire_expired(256, later).await.expect("the store writes") > 0 {
        while store.reap(256, later).await.expect("the store writes").more {}
    }
    assert_eq!(store.usage().await.expect("the store reads").emails, 0);
}

/// Waits until neither the log nor the index has changed for two seconds.
async fn settle(dir: &Path) {
    let mut before = (0, 0);
    loop {
        let now = (bytes_of(&dir.join("segments")), index_bytes(dir));
        if now == before {
            return;
        }
        before = now;
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// Where the figures come from.
struct Report {
    dir: PathBuf,
    mails: usize,
    /// The bits of the highest resident memory so far.
    highest: AtomicUsize,
}

impl Report {
    fn new(dir: &Path, mails: usize) -> Self {
        println!(
            "phase         seconds  CPU s  peak MB  at end MB  index B/mail (highest)  index MB  log MB  log B/mail"
        );
        Self {
            dir: dir.to_owned(),
            mails,
            highest: AtomicUsize::new(0),
        }
    }

    async fn phase(&self, name: &str, work: impl Future<Output = ()>) {
        // The highest resident memory begins anew; where that is not allowed it is that of all phases so far.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let highest_index = Arc::new(AtomicUsize::new(0));
        let watcher = JoinSet::from_iter([watch(self.dir.clone(), Arc::clone(&highest_index))]);
        let (started, cpu) = (Instant::now(), cpu_seconds());
        work.await;
        let cpu = cpu_seconds() - cpu;
        let seconds = started.elapsed().as_secs_f64();
        drop(watcher);
        let peak = memory_mb("VmHWM:");
        let highest = f64::from_bits(self.highest.load(Ordering::Relaxed) as u64).max(peak);
        self.highest.store(
            usize::try_from(highest.to_bits()).unwrap_or_default(),
            Ordering::Relaxed,
        );
        let (index, log) = (index_bytes(&self.dir), bytes_of(&self.dir.join("segments")));
        let by_mail = |bytes: u64| bytes as f64 / self.mails.max(1) as f64;
        let highest_index = index.max(highest_index.load(Ordering::Relaxed) as u64);
        println!(
            "{name:12}  {seconds:7.1}  {cpu:5.1}  {peak:7.1}  {:9.1}  {:12.0} ({:7.0})  {:8.1}  {:6.0}  {:10.0}",
            memory_mb("VmRSS:"),
            by_mail(index),
            by_mail(highest_index),
            index as f64 / 1e6,
            log as f64 / 1e6,
            by_mail(log),
        );
    }
}

/// Keeps the highest number of bytes that the index took.
async fn watch(dir: PathBuf, highest: Arc<AtomicUsize>) {
    loop {
        let bytes = usize::try_from(index_bytes(&dir)).unwrap_or_default();
        highest.fetch_max(bytes, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

fn bytes_of(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(bytes).sum()
}

fn index_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_index = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("index.") && entry.path().is_dir()
    };
    entries.filter(is_index).map(|entry| bytes_of(&entry.path())).sum()
}

/// CPU time of this process so far.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name of the program, in hundredths of a second: the 12th and 13th field.
    let fields = stat
        .rsplit_once(')')
        .map_or("", |(_, fields)| fields)
        .split_whitespace();
    fields
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        / 100.0
}

fn memory_mb(what: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kb = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kb.unwrap_or_default() / 1e3
}
