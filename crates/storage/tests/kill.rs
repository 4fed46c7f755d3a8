//! `kill -9` at random moments under load loses nothing that was acknowledged.
//!
//! This program runs itself again as a child that writes to a store and prints what was acknowledged, kills it,
//! opens the store and compares; round after round on the same store. It does so twice: once with mail that mostly
//! stays, and once with mail that mostly goes and tiny segments, so that the kills meet compaction.
//! Meanwhile webhooks come, change and go, and one hears of everything, also of mail that is thrown away: each of its
//! events is waiting, queued or told. What is done to the mail of an inbox changes all the time.

#[path = "kill/chaos.rs"]
mod chaos;
#[path = "kill/webhooks.rs"]
mod webhooks;

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, RemovalReason, Timestamp};
use restante_storage::{Embedded, EmbeddedConfig, ListPage, NewEmail, NewInbox, Part, Retention, Stamp, Store};
use tokio::time::Instant;
use webhooks::Heard;

const ROUNDS: u64 = 10;
const WRITERS: u64 = 8;
const NOW: Timestamp = Timestamp::from_unix_ms(1_769_341_276_000);
const OPENING: Duration = Duration::from_secs(5);

/// What the children do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// Mail mostly stays.
    Growth,
    /// Mail mostly goes, and inboxes with it.
    Churn,
}

impl Load {
    fn parse(name: &str) -> Self {
        match name {
            "Growth" => Self::Growth,
            _ => Self::Churn,
        }
    }

    /// Small, so that kills meet the start of segments too.
    fn segment_bytes(self) -> u64 {
        match self {
            Self::Growth => 2 * 1024 * 1024,
            Self::Churn => 64 * 1024,
        }
    }

    /// Of a hundred emails.
    fn deletes(self) -> u64 {
        match self {
            Self::Growth => 25,
            Self::Churn => 90,
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match arguments.as_slice() {
        [_, child, dir, load, round] if child == "child" => {
            let round = round.parse().expect("a number");
            runtime.block_on(write_until_killed(Path::new(dir), Load::parse(load), round));
        }
        [program, ..] => {
            for load in [Load::Growth, Load::Churn] {
                runtime.block_on(kill_and_compare(program, load));
            }
        }
        [] => unreachable!("a program has a name"),
    }
}

fn config(dir: &Path, load: Load) -> EmbeddedConfig {
    let stamp = Stamp {
        profile: "service".to_owned(),
        signing_key: String::new(),
        event_key: String::new(),
        seal_mac_key: String::new(),
    };
    let mut config = EmbeddedConfig::new(dir.join("store"), stamp);
    config.segment_bytes = load.segment_bytes();
    config
}

/// Numbers that differ from seed to seed and not from run to run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The content of an email, made from its id so that the parent knows it.
fn content(id: EmailId) -> Bytes {
    let mut numbers = Numbers(u64::from_le_bytes(*id.as_bytes().last_chunk().expect("16 bytes")));
    let len = match numbers.below(10) {
        0 => 50_000 + numbers.below(100_000),
        _ => numbers.below(4_000),
    };
    id.as_bytes()
        .iter()
        .copied()
        .cycle()
        .take(usize::try_from(len).expect("small"))
        .collect()
}

async fn write_until_killed(dir: &Path, load: Load, round: u64) {
    let store = Arc::new(Embedded::open(&config(dir, load)).expect("the store opens"));
    webhooks::listen(&store).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(Arc::clone(&store), load, round * WRITERS + writer));
    }
    if load == Load::Churn {
        writers.spawn(create_and_end(Arc::clone(&store)));
    }
    writers.spawn(chaos::change(Arc::clone(&store), round));
    writers.spawn(webhooks::throw_away(Arc::clone(&store), round));
    writers.spawn(webhooks::change(Arc::clone(&store), round));
    writers.spawn(webhooks::deliver(Arc::clone(&store), round));
    while writers.join_next().await.is_some() {}
}

/// One line in one write, so that a kill leaves whole lines or a last one without its end.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| out.flush())
        .expect("the parent reads");
}

async fn write(store: Arc<Embedded>, load: Load, writer: u64) {
    let mut numbers = Numbers(writer);
    let inboxes = [
        create(&store, &format!("a{writer}")).await,
        create(&store, &format!("b{writer}")).await,
    ];
    let mut stored = Vec::new();
    loop {
        let emails: Vec<_> = inboxes
            .iter()
            .take(1 + usize::from(numbers.below(4) == 0))
            .map(new_email)
            .collect();
        store
            .accept(emails.clone(), &Retention::UNLIMITED, NOW)
            .await
            .expect("the store takes mail");
        for (number, email) in emails.into_iter().enumerate() {
            say(&format!("stored {} {}", number as u64 + 2 * writer, email.id));
            stored.push((email.inbox, email.id));
        }
        if numbers.below(4) == 0
            && let Some((inbox, id)) = stored.last()
        {
            assert_eq!(store.mark_read(*inbox, *id, NOW).await, Ok(true));
            say(&format!("read {id}"));
        }
        if !stored.is_empty() && numbers.below(100) < load.deletes() {
            let (inbox, id) = stored.swap_remove(usize::try_from(numbers.below(stored.len() as u64)).expect("small"));
            say(&format!("deleting {id}"));
            let deleted = store.delete_email(inbox, id, RemovalReason::Manual, NOW).await;
            assert_eq!(deleted, Ok(true));
            say(&format!("deleted {id}"));
        }
    }
}

/// Inboxes that come and go at one address, with an email each.
async fn create_and_end(store: Arc<Embedded>) {
    if let Some(last) = store.inbox(&address("brief"), NOW).await.expect("the store reads") {
        end(&store, last.key).await;
    }
    loop {
        let inbox = create(&store, "brief").await;
        store
            .accept(vec![new_email(&inbox)], &Retention::UNLIMITED, NOW)
            .await
            .expect("the store takes mail");
        end(&store, inbox.key).await;
    }
}

async fn end(store: &Embedded, inbox: InboxKey) {
    assert_eq!(store.retire(&[inbox], RemovalReason::Manual, NOW).await, Ok(1));
    say(&format!("ended {}", name_of(inbox)));
    while store.reap(10, NOW).await.expect("the store reaps").more {}
}

fn name_of(inbox: InboxKey) -> String {
    u128::from_be_bytes(*inbox.as_bytes()).to_string()
}

async fn create(store: &Embedded, local: &str) -> Inbox {
    let address = address(local);
    let inbox = Inbox {
        key: InboxKey::new(NOW),
        hash: InboxHash::of_address(&address),
        address,
        mode: InboxMode::Plain,
        email_auth: false,
        spam_analysis: true,
        persistent: true,
        chaos: None,
        created_at: NOW,
        expires_at: Timestamp::MAX,
    };
    let new = NewInbox {
        inbox: inbox.clone(),
        idempotency: None,
    };
    store.create_inbox(new, NOW).await.expect("the address is free");
    inbox
}

fn address(local: &str) -> InboxAddress {
    InboxAddress::parse(&format!("{local}@restante.test")).expect("a valid address")
}

fn new_email(inbox: &Inbox) -> NewEmail {
    let id = EmailId::new(NOW);
    NewEmail {
        inbox: inbox.key,
        id,
        received_at: NOW,
        parts: vec![
            (Part::Metadata, Bytes::copy_from_slice(id.as_bytes())),
            (Part::Raw, content(id)),
        ],
        event: Some(webhooks::data(id)),
    }
}

/// What the children were told.
#[derive(Default)]
struct Told {
    /// Emails by the number of their inbox.
    stored: HashMap<String, u64>,
    deleting: HashSet<String>,
    deleted: HashSet<String>,
    read: HashSet<String>,
    /// Keys of inboxes.
    ended: HashSet<String>,
    /// Of webhooks.
    heard: Heard,
    chaos: chaos::Told,
}

impl Told {
    fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["stored", inbox, id] => {
                self.stored.insert((*id).to_owned(), inbox.parse().expect("a number"));
            }
            ["deleting", id] => {
                self.deleting.insert((*id).to_owned());
            }
            ["deleted", id] => {
                self.deleted.insert((*id).to_owned());
            }
            ["read", id] => {
                self.read.insert((*id).to_owned());
            }
            ["ended", inbox] => {
                self.ended.insert((*inbox).to_owned());
            }
            words if self.heard.hear(words) || self.chaos.hear(words) => {}
            _ => panic!("the child said {line:?}"),
        }
    }
}

async fn kill_and_compare(program: &str, load: Load) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut told = Told::default();
    let mut numbers = Numbers(std::process::id().into());
    for round in 0..ROUNDS {
        let lines = 1 + numbers.below(2_500);
        run_child(program, dir.path(), load, round, lines, &mut told);
        let started = Instant::now();
        let store = Embedded::open(&config(dir.path(), load)).expect("the store opens after a kill");
        assert!(started.elapsed() < OPENING, "opening took {:?}", started.elapsed());
        assert!(!store.recovery().rebuilt, "the index is believed under the same boot");
        compare(&store, round, &told).await;
        println!(
            "{load:?}, round {round}: {} stored, {} deleted, {:?}",
            told.stored.len(),
            told.deleted.len(),
            store.recovery()
        );
        drop(store);
        // As after a power cut: everything from the log alone.
        std::fs::remove_file(dir.path().join("store/index.marker")).expect("a marker");
        let store = Embedded::open(&config(dir.path(), load)).expect("the store opens without its index");
        assert!(store.recovery().rebuilt);
        compare(&store, round, &told).await;
    }
    assert!(!told.stored.is_empty() && !told.deleted.is_empty());
    told.heard.check_that_much_happened();
    told.chaos.check_that_much_happened();
    assert_eq!(
        load == Load::Churn,
        is_compacted(&dir.path().join("store/segments")),
        "only churn is compacted"
    );
}

/// Whether there are segments fewer than the last one's number.
fn is_compacted(segments: &Path) -> bool {
    let names = std::fs::read_dir(segments).expect("the segments are listed");
    let number = |name: &std::path::PathBuf| name.file_stem()?.to_str()?.parse::<usize>().ok();
    let numbers: Vec<usize> = names.filter_map(|name| number(&name.ok()?.path())).collect();
    numbers.iter().max().is_some_and(|last| numbers.len() < *last)
}

/// Runs a child, kills it after so many lines, and hears all that it said.
fn run_child(program: &str, dir: &Path, load: Load, round: u64, lines: u64, told: &mut Told) {
    let mut child = Command::new(program)
        .arg("child")
        .arg(dir)
        .arg(format!("{load:?}"))
        .arg(round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut said = BufReader::new(child.stdout.take().expect("its output is piped"));
    let mut line = String::new();
    let mut heard = 0;
    while said.read_line(&mut line).expect("the pipe reads") > 0 {
        if let Some(whole) = line.strip_suffix('\n') {
            told.hear(whole);
        }
        heard += 1;
        if heard == lines {
            child.kill().expect("the child is killed");
        }
        line.clear();
    }
    assert!(heard >= lines, "the child ended by itself");
    child.wait().expect("the child has ended");
}

async fn compare(store: &Embedded, rounds: u64, told: &Told) {
    told.heard.compare(store, &told.stored).await;
    told.chaos.compare(store).await;
    let mut present = HashMap::new();
    for number in 0..(rounds + 1) * WRITERS * 2 {
        let local = format!("{}{}", if number % 2 == 0 { 'a' } else { 'b' }, number / 2);
        let Some(inbox) = store.inbox(&address(&local), NOW).await.expect("the store reads") else {
            continue;
        };
        let page = ListPage {
            before: None,
            max_rows: usize::MAX,
            max_bytes: usize::MAX,
            parts: vec![Part::Metadata, Part::Raw],
        };
        let page = store.list(inbox.key, page, NOW).await.expect("the store reads");
        let status = store
            .sync(inbox.key, NOW)
            .await
            .expect("the store reads")
            .expect("the inbox is live");
        assert_eq!(status.email_count, page.emails.len() as u64);
        for email in page.emails {
            assert_eq!(
                email.part(Part::Metadata).map(Bytes::as_ref),
                Some(email.id.as_bytes().as_slice())
            );
            assert_eq!(
                email.part(Part::Raw),
                Some(&content(email.id)),
                "{} is not whole",
                email.id
            );
            let id = email.id.to_string();
            assert!(email.is_read || !told.read.contains(&id), "{id} was read");
            present.insert(id, number);
        }
    }
    if let Some(brief) = store.inbox(&address("brief"), NOW).await.expect("the store reads") {
        assert!(!told.ended.contains(&name_of(brief.key)), "{brief:?} came back");
    }
    for (id, inbox) in &told.stored {
        if told.deleted.contains(id) {
            assert!(!present.contains_key(id), "{id} came back");
        } else if !told.deleting.contains(id) {
            assert_eq!(present.get(id), Some(inbox), "{id} was acknowledged and is lost");
        }
    }
}
