//! `kill -9` at random moments under load loses nothing that was acknowledged.
//!
//! This program runs itself again as a child that writes to a store and prints what was acknowledged, kills it,
//! opens the store and compares; round after round on the same store.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, RemovalReason, Timestamp};
use restante_storage::{Embedded, EmbeddedConfig, ListPage, NewEmail, NewInbox, Part, Stamp, Store};
use tokio::time::Instant;

const ROUNDS: u64 = 10;
const WRITERS: u64 = 8;
const NOW: Timestamp = Timestamp::from_unix_ms(1_769_341_276_000);
const OPENING: Duration = Duration::from_secs(5);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match arguments.as_slice() {
        [_, child, dir, round] if child == "child" => {
            runtime.block_on(write_until_killed(Path::new(dir), round.parse().expect("a number")));
        }
        [program, ..] => runtime.block_on(kill_and_compare(program)),
        [] => unreachable!("a program has a name"),
    }
}

fn config(dir: &Path) -> EmbeddedConfig {
    let stamp = Stamp {
        profile: "service".to_owned(),
        signing_key: String::new(),
        event_key: String::new(),
        seal_mac_key: String::new(),
    };
    let mut config = EmbeddedConfig::new(dir.join("store"), stamp);
    // Small, so that kills meet the start of segments too.
    config.segment_bytes = 2 * 1024 * 1024;
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

async fn write_until_killed(dir: &Path, round: u64) {
    let store = Arc::new(Embedded::open(&config(dir)).expect("the store opens"));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(Arc::clone(&store), round * WRITERS + writer));
    }
    while writers.join_next().await.is_some() {}
}

/// One line in one write, so that a kill leaves whole lines or a last one without its end.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())
        .and_then(|()| out.flush())
        .expect("the parent reads");
}

async fn write(store: Arc<Embedded>, writer: u64) {
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
        store.accept(emails.clone(), NOW).await.expect("the store takes mail");
        for (number, email) in emails.into_iter().enumerate() {
            say(&format!("stored {} {}", number as u64 + 2 * writer, email.id));
            stored.push((email.inbox, email.id));
        }
        if numbers.below(4) == 0 {
            let (inbox, id) = stored.swap_remove(usize::try_from(numbers.below(stored.len() as u64)).expect("small"));
            say(&format!("deleting {id}"));
            let deleted = store.delete_email(inbox, id, RemovalReason::Manual, NOW).await;
            assert_eq!(deleted, Ok(true));
            say(&format!("deleted {id}"));
        }
    }
}

async fn create(store: &Embedded, local: &str) -> Inbox {
    let address = address(local);
    let inbox = Inbox {
        key: InboxKey::new(NOW),
        hash: InboxHash::of_address(&address),
        address,
        mode: InboxMode::Plain,
        email_auth: false,
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
        event: None,
    }
}

/// What the children were told.
#[derive(Default)]
struct Told {
    /// Emails by the number of their inbox.
    stored: HashMap<String, u64>,
    deleting: HashSet<String>,
    deleted: HashSet<String>,
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
            _ => panic!("the child said {line:?}"),
        }
    }
}

async fn kill_and_compare(program: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut told = Told::default();
    let mut numbers = Numbers(std::process::id().into());
    for round in 0..ROUNDS {
        let lines = 1 + numbers.below(1_500);
        run_child(program, dir.path(), round, lines, &mut told);
        let started = Instant::now();
        let store = Embedded::open(&config(dir.path())).expect("the store opens after a kill");
        assert!(started.elapsed() < OPENING, "opening took {:?}", started.elapsed());
        assert!(!store.recovery().rebuilt, "the index is believed under the same boot");
        compare(&store, round, &told).await;
        println!(
            "round {round}: {} stored, {} deleted, {:?}",
            told.stored.len(),
            told.deleted.len(),
            store.recovery()
        );
    }
    assert!(!told.stored.is_empty() && !told.deleted.is_empty());
}

/// Runs a child, kills it after so many lines, and hears all that it said.
fn run_child(program: &str, dir: &Path, round: u64, lines: u64, told: &mut Told) {
    let mut child = Command::new(program)
        .arg("child")
        .arg(dir)
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
            present.insert(email.id.to_string(), number);
        }
    }
    for (id, inbox) in &told.stored {
        if told.deleted.contains(id) {
            assert!(!present.contains_key(id), "{id} came back");
        } else if !told.deleting.contains(id) {
            assert_eq!(present.get(id), Some(inbox), "{id} was acknowledged and is lost");
        }
    }
}
