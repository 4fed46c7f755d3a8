//! Segments give their space back, and nothing else changes: not by compaction, not by a crash in the midst of it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use restante_envelope::DecapsulationKey;

use super::faults::{self, CrashPoint, Fault};
use super::model::{churn, runtime};
use super::trouble::available_again;
use super::*;
use crate::Retention;
use crate::conformance::model::{Model, Step};
use crate::conformance::{START, create, deposit, email, everything, ids, is_shown, plain_inbox, request, text};
use crate::embedded::log::{segment_numbers, segment_path};
use crate::embedded::marker;
use crate::embedded::rows::{CountRow, decode, encode};
use crate::embedded::shared::segments_dir;

/// Waits until nothing is left to compact.
pub(super) async fn settled(store: &Embedded) {
    let waited = tokio::time::timeout(Duration::from_secs(30), async {
        while !store.shared.segments.ledger.is_settled() {
            tokio::task::yield_now().await;
        }
    });
    let is_settled = waited.await.is_ok();
    assert!(
        is_settled,
        "compaction does not end: {:?}",
        store.shared.segments.ledger
    );
}

/// Keys and values.
type Rows = BTreeSet<(String, Vec<u8>)>;

/// All rows of the index, but for what only tells changes apart.
pub(super) fn rows(store: &Embedded) -> Rows {
    let index = store.shared.index().unwrap();
    let mut rows = Rows::new();
    for row in index.iter(vec![0]..vec![u8::MAX]) {
        let (name, value) = row.unwrap();
        let value = match name[0] {
            b'C' => {
                let counts: CountRow = decode(&value).unwrap();
                let (removals, marks) = (0, 0);
                encode(&CountRow {
                    removals,
                    marks,
                    ..counts
                })
            }
            // What a dead record pointed to once is not known to an index made anew.
            b'g' if decode::<u64>(&value).unwrap() == 0 => continue,
            _ => value.to_vec(),
        };
        rows.insert((name.escape_ascii().to_string(), value));
    }
    rows
}

/// An index made anew must be the one that was lost.
pub(super) fn assert_same_rows(found: &Rows, expected: &Rows) {
    let missing = expected.iter().filter(|row| !found.contains(*row));
    // A key may find an inbox again from which a later one, of which nothing is left, had taken it: its time is over.
    let is_new = |row: &&(String, Vec<u8>)| !expected.contains(*row) && !row.0.starts_with('i');
    let surplus = found.iter().filter(is_new);
    let (missing, surplus): (Vec<_>, Vec<_>) = (missing.collect(), surplus.collect());
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "missing {missing:?}, surplus {surplus:?}"
    );
}

/// The lengths of all segment files.
pub(super) fn segment_lengths(config: &EmbeddedConfig) -> Vec<u64> {
    let dir = segments_dir(&config.path);
    let numbers = segment_numbers(&dir).unwrap();
    let length = |number| fs::metadata(segment_path(&dir, number)).unwrap().len();
    numbers.into_iter().map(length).collect()
}

fn copy_dir(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(path.file_name().unwrap());
        // Half of a file that is being replaced.
        if path.extension().is_some_and(|extension| extension == "new") {
            continue;
        }
        if path.is_dir() {
            copy_dir(&path, &copy)?;
        } else {
            fs::copy(&path, &copy)?;
        }
    }
    Ok(())
}

/// The names of all files.
fn files(dir: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            names.append(&mut files(&path)?);
        }
        names.insert(path);
    }
    Ok(names)
}

/// The files as they were at one moment: the index changes its own in the background, under new names.
fn copy_of_a_moment(from: &Path, to: &Path) {
    for _ in 0..1_000 {
        let is_whole = files(from).is_ok_and(|before| {
            let copied = copy_dir(from, to);
            copied.is_ok() && files(from).is_ok_and(|after| after == before)
        });
        if is_whole {
            return;
        }
        fs::remove_dir_all(to).unwrap();
    }
    panic!("the files never rest");
}

/// What a kill would leave: the files as the kernel has them. The index is believed, as after a kill, or not, as after
/// a power cut.
pub(super) fn crashed(config: &EmbeddedConfig, name: &str, is_believed: bool) -> EmbeddedConfig {
    let copy = EmbeddedConfig {
        path: config.path.with_file_name(name),
        ..config.clone()
    };
    copy_of_a_moment(&config.path, &copy.path);
    let is_index = |path: &PathBuf| path.is_dir() && path.extension().is_some();
    let mut entries = fs::read_dir(&copy.path).unwrap().map(|entry| entry.unwrap().path());
    let index = entries.find(is_index).unwrap();
    if is_believed {
        marker::opened(&copy.path, &index).unwrap();
    }
    copy
}

async fn play_and_crash(steps: &[Step], percent: u64, point: CrashPoint) {
    let dir = tempfile::tempdir().unwrap();
    let config = compacting(dir.path(), percent);
    let store = Embedded::open(&config).unwrap();
    let mut model = Model::default();
    let (before, after) = steps.split_at(steps.len() / 2);
    for step in before {
        model.step(&store, step).await;
    }
    faults::set(&config.path, Fault::Compaction(point), usize::MAX);
    for step in after {
        model.step(&store, step).await;
    }
    settled(&store).await;
    for is_believed in [true, false] {
        let copy = crashed(&config, &format!("believed-{is_believed}"), is_believed);
        let crashed = Embedded::open(&copy).unwrap();
        assert_eq!(crashed.recovery().rebuilt, !is_believed);
        model.check(&crashed).await;
        settled(&crashed).await;
        model.check(&crashed).await;
        let expected = rows(&crashed);
        drop(crashed);
        fs::remove_file(copy.path.join("index.marker")).unwrap();
        let rebuilt = Embedded::open(&copy).unwrap();
        model.check(&rebuilt).await;
        assert_same_rows(&rows(&rebuilt), &expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_crash_at_any_point_changes_nothing(
        steps in proptest::collection::vec(churn(), 20..150),
        percent in 50..=100_u64,
        point in proptest::sample::select(vec![
            CrashPoint::Moved,
            CrashPoint::Requeued,
            CrashPoint::Emptied,
            CrashPoint::Checkpointed,
            CrashPoint::Deleted,
        ]),
    ) {
        runtime().block_on(play_and_crash(&steps, percent, point));
    }
}

/// A store in whose log nothing dead is left alone.
pub(super) fn tight(dir: &Path) -> EmbeddedConfig {
    compacting(dir, 100)
}

/// A store with tiny segments, compacted where less of a hundred is live.
pub(super) fn compacting(dir: &Path, percent: u64) -> EmbeddedConfig {
    EmbeddedConfig {
        segment_bytes: 3 * 1024,
        compact_below: Some(percent),
        ..config(dir)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_compacts_all_the_time_conforms() {
    let dirs = std::sync::Mutex::new(Vec::new());
    crate::conformance::run(async || {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(&tight(dir.path())).unwrap();
        dirs.lock().unwrap().push(dir);
        Arc::new(store) as Arc<dyn Store>
    })
    .await;
}

/// An eighth of the sizes that are measured at full size: 80 in a hundred small, 18 of them medium, 2 large.
fn refill(inboxes: &[Inbox], round: usize) -> Vec<NewEmail> {
    let size = |number: usize| match (number * 37) % 100 {
        0..80 => 250,
        80..98 => 9_400,
        _ => 125_000,
    };
    let new = |number: usize| {
        let text = format!("{round}/{number} ");
        email(
            &inboxes[number % inboxes.len()],
            &text.repeat(size(number) / text.len()),
        )
    };
    (0..400).map(new).collect()
}

#[tokio::test]
async fn the_log_takes_little_more_than_twice_what_is_live() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.segment_bytes = 256 * 1024;
    let mut store = Embedded::open(&config).unwrap();
    let lasting = create(&store, "lasting").await;
    for round in 0..10 {
        let mut inboxes = vec![lasting.clone()];
        for number in 0..3 {
            inboxes.push(create(&store, &format!("inbox{round}.{number}")).await);
        }
        for (number, new) in refill(&inboxes, round).into_iter().enumerate() {
            let (inbox, id) = (new.inbox, new.id);
            store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
            // Half of it goes as it comes; of the inbox that lasts, nearly all.
            if (number / 4) % 2 == 0 || (number % 4 == 0 && number % 40 != 4) {
                assert_eq!(
                    store.delete_email(inbox, id, RemovalReason::Manual, START).await,
                    Ok(true)
                );
            }
        }
        settled(&store).await;
        let live = store.usage().await.unwrap().live_bytes;
        let taken: u64 = segment_lengths(&config).iter().sum();
        assert!(
            taken <= 2 * live + 2 * config.segment_bytes,
            "round {round}: {taken} bytes for {live} live"
        );
        assert_eq!(store.shared.segments.ledger.totals().0, taken);
        let keys: Vec<_> = inboxes[1..].iter().map(|inbox| inbox.key).collect();
        store.retire(&keys, RemovalReason::Manual, START).await.unwrap();
        while store.reap(1_000, START).await.unwrap().more {}
        let (kept, before) = (ids(&store, &lasting, START).await, rows_when_settled(&store).await);
        drop(store);
        fs::remove_file(config.path.join("index.marker")).unwrap();
        store = Embedded::open(&config).unwrap();
        assert_same_rows(&rows(&store), &before);
        assert_eq!(ids(&store, &lasting, START).await, kept);
    }
}

async fn rows_when_settled(store: &Embedded) -> Rows {
    settled(store).await;
    rows(store)
}

#[tokio::test]
async fn nothing_is_left_of_what_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let config = tight(dir.path());
    let store = Embedded::open(&config).unwrap();
    for number in 0..40 {
        let inbox = create(&store, &number.to_string()).await;
        for name in ["deleted", "kept"] {
            let id = deposit(&store, &inbox, name).await;
            store.mark_read(inbox.key, id, START).await.unwrap();
            if name == "deleted" {
                let deleted = store.delete_email(inbox.key, id, RemovalReason::Manual, START).await;
                assert_eq!(deleted, Ok(true));
            }
        }
        store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
        while store.reap(1, START).await.unwrap().more {}
    }
    settled(&store).await;
    let (count, left) = (segment_lengths(&config).len(), rows(&store).len());
    // The last segment, and the one before until the log goes on.
    assert!(count <= 3, "{count} segments");
    assert!(left < 60, "{left} rows");
    assert_eq!(store.last_sequence().await, Ok(80));
}

#[tokio::test]
async fn an_inbox_of_an_unfinished_segment_stays_gone() {
    let dir = tempfile::tempdir().unwrap();
    let config = tight(dir.path());
    let store = Embedded::open(&config).unwrap();
    let gone = create(&store, "gone").await;
    // Its record is moved, but the segment that it was moved out of stays.
    faults::set(&config.path, Fault::Compaction(CrashPoint::Moved), 1);
    let segments = segments_dir(&config.path);
    while segment_numbers(&segments).unwrap().len() < 3 {
        passing(&store, &gone).await;
        settled(&store).await;
    }
    store.retire(&[gone.key], RemovalReason::Manual, START).await.unwrap();
    while store.reap(100, START).await.unwrap().more {}
    let other = create(&store, "other").await;
    for _ in 0..100 {
        passing(&store, &other).await;
    }
    settled(&store).await;
    let numbers = segment_numbers(&segments).unwrap();
    assert!(numbers[0] == 1 && numbers[1] > 5, "only the first is left: {numbers:?}");
    drop(store);
    fs::remove_file(config.path.join("index.marker")).unwrap();
    let store = Embedded::open(&config).unwrap();
    assert!(!is_shown(&store, &gone, START).await);
    assert_eq!(store.usage().await.unwrap().inboxes, 1);
    settled(&store).await;
    // The new start takes up what was not finished, and then nothing tells of the inbox any more.
    assert!(!segment_numbers(&segments).unwrap().contains(&1));
    let tells = |name: &String| name.starts_with(['y', 'z']);
    assert!(!rows(&store).iter().any(|(name, _)| tells(name)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_find_what_moves() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Embedded::open(&tight(dir.path())).unwrap());
    let key = DecapsulationKey::generate().encapsulation_key().clone();
    let sealed = Inbox {
        hash: InboxHash::of_key(&key),
        mode: InboxMode::Encrypted { key },
        ..plain_inbox("sealed", 3_600_000)
    };
    store.create_inbox(request(&sealed), START).await.unwrap();
    let mut kept = Vec::new();
    for number in 0..20 {
        kept.push((deposit(&*store, &sealed, &number.to_string()).await, number));
        passing(&store, &sealed).await;
    }
    let mut readers = tokio::task::JoinSet::new();
    let is_done = Arc::new(AtomicBool::new(false));
    for _ in 0..2 {
        let (store, sealed, kept, is_done) = (Arc::clone(&store), sealed.clone(), kept.clone(), Arc::clone(&is_done));
        readers.spawn(async move {
            let mut reads = 0;
            while !is_done.load(Ordering::Relaxed) {
                for (id, number) in &kept {
                    let found = store
                        .email(sealed.key, *id, &[Part::Raw], START)
                        .await
                        .unwrap()
                        .unwrap();
                    assert_eq!(text(&found, Part::Raw), Some(format!("raw of {number}")));
                    reads += 1;
                }
                let page = store.list(sealed.key, everything(&[Part::Raw]), START).await.unwrap();
                let whole = page.emails.iter().filter(|email| email.part(Part::Raw).is_some());
                assert_eq!(whole.count(), page.emails.len());
                let inboxes = store.inboxes(None, 10, START).await.unwrap().inboxes;
                assert!(inboxes.iter().any(|inbox| inbox.mode.is_encrypted()));
            }
            reads
        });
    }
    // What comes and goes is written between what stays, which therefore moves again and again.
    for round in 0..300 {
        passing(&store, &sealed).await;
        let part = Part::SIGNATURES[round % Part::SIGNATURES.len()];
        let (id, _) = kept[round % kept.len()];
        store
            .attach(sealed.key, id, part, Bytes::from_static(b"signature"), START)
            .await
            .unwrap();
    }
    is_done.store(true, Ordering::Relaxed);
    assert!(readers.join_all().await.into_iter().all(|reads| reads > 0));
    let first = segment_numbers(&segments_dir(&dir.path().join("store"))).unwrap()[0];
    assert!(first > 1, "nothing was compacted");
}

/// An email that comes and goes.
pub(super) async fn passing(store: &Embedded, inbox: &Inbox) {
    let id = deposit(store, inbox, &"x".repeat(400)).await;
    let deleted = store.delete_email(inbox.key, id, RemovalReason::Manual, START).await;
    assert_eq!(deleted, Ok(true));
}

#[tokio::test]
async fn a_segment_with_damage_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = tight(dir.path());
    config.compact_below = None;
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "damaged").await;
    let padding = "x".repeat(300);
    let mut stored = Vec::new();
    for number in 0..60 {
        stored.push(deposit(&store, &inbox, &format!("<{number}>{padding}")).await);
    }
    store.close().await;
    drop(store);
    let log = segment_path(&segments_dir(&config.path), 2);
    let mut content = fs::read(&log).unwrap();
    let is_raw = |bytes: &[u8]| bytes.starts_with(b"raw of <");
    let at = content.windows(8).position(is_raw).unwrap();
    let name: Vec<u8> = content[at + 8..]
        .iter()
        .copied()
        .take_while(u8::is_ascii_digit)
        .collect();
    let damaged: usize = String::from_utf8(name).unwrap().parse().unwrap();
    content[at + 20] ^= 1;
    fs::write(&log, &content).unwrap();
    config.compact_below = Some(100);
    let store = Embedded::open(&config).unwrap();
    for (number, id) in stored.iter().enumerate() {
        if number != damaged && number % 3 != 0 {
            let deleted = store.delete_email(inbox.key, *id, RemovalReason::Manual, START).await;
            assert_eq!(deleted, Ok(true));
        }
    }
    settled(&store).await;
    assert!(log.exists(), "what is damaged stays where it is");
    let numbers = segment_numbers(&segments_dir(&config.path)).unwrap();
    assert!(!numbers.contains(&1) && !numbers.contains(&3), "{numbers:?}");
    for (number, id) in stored.iter().enumerate() {
        let found = store.email(inbox.key, *id, &[Part::Raw], START).await;
        match found {
            Err(error) => assert_eq!((number, error), (damaged, ReadError::Damaged)),
            Ok(found) => assert_eq!(found.is_some(), number % 3 == 0, "{number}"),
        }
    }
}

#[tokio::test]
async fn a_move_that_fails_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let config = tight(dir.path());
    for fault in [Fault::Sync, Fault::Write, Fault::Index] {
        let store = Embedded::open(&config).unwrap();
        let inbox = create(&store, &format!("{fault:?}").to_lowercase()).await;
        let mut kept = Vec::new();
        for number in 0..40 {
            let id = deposit(&store, &inbox, &format!("{number}{}", "x".repeat(300))).await;
            if number == 20 {
                faults::set(&config.path, fault, 1);
            }
            // It may be this call that fails.
            while store
                .delete_email(inbox.key, id, RemovalReason::Manual, START)
                .await
                .is_err()
            {
                available_again(&store).await;
            }
            available_again(&store).await;
            kept.push(loop {
                let new = email(&inbox, "kept");
                let id = new.id;
                if store.accept(vec![new], &Retention::UNLIMITED, START).await.is_ok() {
                    break id;
                }
                available_again(&store).await;
            });
        }
        kept.reverse();
        settled(&store).await;
        assert_eq!(ids(&store, &inbox, START).await, kept);
        let before = rows(&store);
        drop(store);
        fs::remove_file(config.path.join("index.marker")).unwrap();
        assert_same_rows(&rows(&Embedded::open(&config).unwrap()), &before);
    }
}
