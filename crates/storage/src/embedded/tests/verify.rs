//! Verification finds whatever is wrong, changes nothing, and no wrong byte anywhere becomes a wrong mail.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::conformance::queue::delivery;
use crate::conformance::thrown_away::thrown_away;
use crate::conformance::traits::chaos;
use crate::conformance::webhooks::subscribe;
use crate::conformance::{START, create, email, plain_inbox, request};
use crate::embedded::index::Index;
use crate::embedded::log::{segment_numbers, segment_path};
use crate::embedded::marker;
use crate::embedded::rows::key;
use crate::embedded::shared::segments_dir;
use crate::embedded::view::View;
use crate::{Retention, WebhookScope, WebhookStore};
use restante_model::WebhookId;

/// What was stored: the raw message of each email by its inbox.
type Mails = BTreeMap<(InboxKey, EmailId), String>;

/// A store of several segments with mail, changes of it and of its inboxes, and events, closed.
async fn filled(config: &EmbeddedConfig) -> Mails {
    let store = Embedded::open(config).unwrap();
    let mut mails = Mails::new();
    let listener = subscribe(&store, WebhookScope::Global).await;
    for name in ["one", "two"] {
        let mut inbox = plain_inbox(name, 3_600_000);
        inbox.spam_analysis = true;
        inbox.chaos = Some(chaos(7));
        store.create_inbox(request(&inbox), START).await.unwrap();
        throw_away(&store, &inbox, listener).await;
        for n in 0..12 {
            let given = (n % 4 > 0).then(|| chaos(n.try_into().unwrap()));
            assert!(store.set_chaos(inbox.key, given, START).await.unwrap());
            let raw = format!("{name} {n} {}", "text ".repeat(50 * n));
            let mut new = email(&inbox, "");
            new.parts = vec![
                (Part::Metadata, Bytes::from_static(b"metadata")),
                (Part::Raw, Bytes::from(raw.clone())),
            ];
            new.event = Some(Bytes::from_static(b"event of mail"));
            let id = new.id;
            store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
            mails.insert((inbox.key, id), raw);
            if n % 3 == 0 {
                assert!(store.mark_read(inbox.key, id, START).await.unwrap());
                let signature = Bytes::from_static(b"signature");
                let signed = store.attach(inbox.key, id, Part::RawSignature, signature, START).await;
                assert!(signed.unwrap());
            }
            if n % 5 == 4 {
                let deleted = store.delete_email(inbox.key, id, RemovalReason::Manual, START).await;
                assert!(deleted.unwrap());
                mails.remove(&(inbox.key, id));
            }
        }
    }
    store.close().await;
    mails
}

/// Tells of mail that was thrown away: once it is queued, and once it waits.
async fn throw_away(store: &Embedded, inbox: &Inbox, listener: WebhookId) {
    let thrown = thrown_away(inbox, &"much mail ".repeat(30));
    store.tell(vec![thrown], START).await.unwrap();
    let event = store.events(10_000).await.unwrap().pop().unwrap();
    let queued = delivery(listener, &event);
    store.dispatch(event.sequence, vec![queued], START).await.unwrap();
    let thrown = thrown_away(inbox, "mail that waits");
    store.tell(vec![thrown], START).await.unwrap();
}

fn small_segments(dir: &Path) -> EmbeddedConfig {
    EmbeddedConfig {
        segment_bytes: 8 * 1024,
        ..config(dir)
    }
}

/// What a verification tells, and its summary.
fn verified(config: &EmbeddedConfig) -> (Vec<Finding>, Verified) {
    let scratch = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    let held = HeldStore::hold(&config.path).unwrap();
    let summary = held
        .verify(scratch.path(), |_| (), |finding| told.push(finding.clone()))
        .unwrap();
    assert_eq!(
        fs::read_dir(scratch.path()).unwrap().count(),
        0,
        "nothing is left behind"
    );
    let wrong = told.iter().filter(|finding| finding.problem.is_wrong()).count();
    assert_eq!(wrong as u64, summary.findings);
    (told, summary)
}

/// Every file of a directory and below.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[tokio::test]
async fn a_whole_store_is_found_whole_and_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    let mails = filled(&config).await;
    let before = files(&config.path);
    let (told, summary) = verified(&config);
    assert_eq!(told, []);
    assert_eq!((summary.inboxes, summary.emails), (2, mails.len() as u64));
    assert_eq!(summary.bytes, segment_lengths(&config).iter().sum::<u64>());
    assert!(summary.segments > 3, "{summary:?}");
    assert!(files(&config.path) == before, "a verification writes nothing");
}

#[tokio::test]
async fn a_store_that_was_not_closed_is_whole_too() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    filled(&config).await;
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "three").await;
    for n in 0..5 {
        let mut new = email(&inbox, &n.to_string());
        new.event = Some(Bytes::from_static(b"event of mail"));
        store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    }
    let short = plain_inbox("short", 1);
    store.create_inbox(request(&short), START).await.unwrap();
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    drop(store);
    let before = files(&config.path);
    let (told, summary) = verified(&config);
    assert_eq!(told, []);
    assert_eq!(summary.inboxes, 3);
    assert!(files(&config.path) == before, "what a start would do is left to it");
}

#[tokio::test]
async fn an_unfinished_write_is_told_and_left() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    filled(&config).await;
    let last = last_segment(&config);
    let mut bytes = fs::read(&last).unwrap();
    bytes.extend(b"rstR and no more");
    fs::write(&last, &bytes).unwrap();
    let (told, summary) = verified(&config);
    assert_eq!(
        told.iter().map(|told| told.problem.clone()).collect::<Vec<_>>(),
        [Problem::Unfinished { bytes: 16 }]
    );
    assert_eq!(summary.findings, 0);
    assert_eq!(fs::read(&last).unwrap(), bytes);
}

/// The lengths of all segment files.
fn segment_lengths(config: &EmbeddedConfig) -> Vec<u64> {
    let dir = segments_dir(&config.path);
    let numbers = segment_numbers(&dir).unwrap();
    let length = |number| fs::metadata(segment_path(&dir, number)).unwrap().len();
    numbers.into_iter().map(length).collect()
}

fn last_segment(config: &EmbeddedConfig) -> PathBuf {
    let last = u32::try_from(segment_lengths(config).len()).unwrap();
    segment_path(&segments_dir(&config.path), last)
}

#[tokio::test]
async fn a_damaged_message_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    let mails = filled(&config).await;
    let ((_, id), _) = mails.iter().find(|(_, raw)| raw.starts_with("two 7 ")).unwrap();
    let (path, mut bytes) = files(&segments_dir(&config.path))
        .into_iter()
        .find(|(_, bytes)| bytes.windows(6).any(|window| window == b"two 7 "))
        .unwrap();
    let at = bytes.windows(6).position(|window| window == b"two 7 ").unwrap();
    bytes[at + 2] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (told, summary) = verified(&config);
    let line = told.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let segment: u32 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let expected = format!(
        "segment {segment} offset {at} inbox two@restante.test email {id} the raw message does not match its checksum"
    );
    assert_eq!((line, summary.findings), (expected, 1));
}

#[tokio::test]
async fn a_lost_segment_is_named_with_the_mail_that_was_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    let mails = filled(&config).await;
    fs::remove_file(segment_path(&segments_dir(&config.path), 2)).unwrap();
    let (told, _) = verified(&config);
    let lost: Vec<_> = told
        .iter()
        .filter(|told| told.problem == Problem::RowWithoutRecord("email"))
        .collect();
    assert!(!lost.is_empty());
    for finding in lost {
        assert_eq!(finding.segment, Some(2));
        let email = finding.email.unwrap();
        assert!(mails.keys().any(|(_, known)| *known == email));
        assert!(finding.inbox.as_ref().unwrap().ends_with("@restante.test"));
    }
}

/// A change of the index of a store with an inbox and its emails.
type Tamper = fn(&mut View<'_>, InboxKey, EmailId);

#[tokio::test]
async fn an_index_that_differs_from_the_log_is_found() {
    let tampers: [(Tamper, Problem); 6] = [
        (
            |view, inbox, email| view.delete(key::mail(inbox, email)),
            Problem::RowMissing("email"),
        ),
        (
            |view, inbox, _| view.put_raw(key::mail(inbox, EmailId::new(START)), b"any"),
            Problem::RowWithoutRecord("email"),
        ),
        (
            |view, inbox, email| {
                let mut mail = view.mail(inbox, email).unwrap().unwrap();
                mail.place.offset += 1;
                view.put(key::mail(inbox, email), &mail);
            },
            Problem::RowDiffers("email"),
        ),
        (
            |view, inbox, _| view.delete(key::sequence(inbox, 1)),
            Problem::RowMissing("place of an email in the order of arrival"),
        ),
        (
            |view, _, _| {
                let live = view.live_bytes(1).unwrap().unwrap();
                view.put(key::segment(1), &(live + 1));
            },
            Problem::RowDiffers("live bytes of a segment"),
        ),
        (|view, _, _| view.meta.emails += 1, Problem::RowDiffers("totals")),
    ];
    for (tamper, problem) in tampers {
        let dir = tempfile::tempdir().unwrap();
        let config = small_segments(dir.path());
        let mails = filled(&config).await;
        let ((inbox, email), _) = mails.first_key_value().unwrap();
        let index_dir = marker::trusted(&config.path).unwrap().unwrap();
        let index = Index::open(&index_dir).unwrap();
        let mut view = View::new(&index).unwrap();
        tamper(&mut view, *inbox, *email);
        view.write().unwrap();
        index.flush().unwrap();
        drop(index);
        let (told, summary) = verified(&config);
        assert_eq!(told.first().map(|told| told.problem.clone()), Some(problem));
        assert_eq!((told.len(), summary.findings), (1, 1), "{told:?}");
    }
}

#[tokio::test]
async fn an_index_beyond_the_end_of_the_log_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    filled(&config).await;
    let last = last_segment(&config);
    let bytes = fs::read(&last).unwrap();
    fs::write(&last, &bytes[..bytes.len() - 1]).unwrap();
    let (told, _) = verified(&config);
    assert_eq!(told[0].problem, Problem::IndexAhead);
}

#[tokio::test]
async fn a_rebuilt_index_is_believed_and_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    let mails = filled(&config).await;
    let held = HeldStore::hold(&config.path).unwrap();
    let before = held.statistics().unwrap();
    let mut heard = Vec::new();
    let after = held
        .rebuild(|progress| heard.push((progress.done, progress.total)))
        .unwrap();
    let segments = after.segments;
    assert_eq!(heard, (0..segments).map(|done| (done, segments)).collect::<Vec<_>>());
    assert_eq!(
        Statistics {
            index_bytes: 0,
            ..after.clone()
        },
        Statistics {
            index_bytes: 0,
            ..before
        }
    );
    assert_eq!((after.inboxes, after.emails), (2, mails.len() as u64));
    assert!(after.index_bytes > 0 && after.oldest_email <= after.newest_email && after.oldest_email.is_some());
    drop(held);
    assert_eq!(verified(&config).0, []);
    assert!(!Embedded::open(&config).unwrap().recovery().rebuilt);
}

#[tokio::test]
async fn tools_take_a_store_that_is_there_and_free_only() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let line = || HeldStore::hold(&config.path).unwrap_err().to_string();
    assert!(line().starts_with("there is no store in "), "{}", line());
    assert!(!config.path.exists(), "tools make no store");
    let store = Embedded::open(&config).unwrap();
    assert!(line().ends_with("is in use by another instance"), "{}", line());
    store.close().await;
    drop(store);
    let held = HeldStore::hold(&config.path).unwrap();
    assert_eq!(held.stamp(), &stamp());
    assert!(matches!(Embedded::open(&config), Err(OpenError::Locked { .. })));
    assert!(matches!(
        remove(&config.path),
        Err(ToolError::Open(OpenError::Locked { .. }))
    ));
    drop(held);
    remove(&config.path).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    assert!(matches!(remove(&config.path), Err(ToolError::NoStore { .. })));
}

#[tokio::test]
async fn a_new_store_takes_the_place_of_an_empty_one_when_it_is_finished() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    drop(Embedded::open(&config).unwrap());
    for is_finished in [false, true] {
        let new = NewStore::begin(&config.path).unwrap().unwrap();
        let store = new.open(stamp()).unwrap();
        create(&store, "bob").await;
        store.close().await;
        drop(store);
        if is_finished { new.finish() } else { new.abandon() }.unwrap();
        let store = Embedded::open(&config).unwrap();
        assert_eq!(store.usage().await.unwrap().inboxes, u64::from(is_finished));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    assert!(
        NewStore::begin(&config.path).unwrap().is_none(),
        "it is not empty any more"
    );
}

#[tokio::test]
async fn a_half_copied_store_is_refused() {
    for lacking in ["stamp", "segments"] {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path());
        drop(Embedded::open(&config).unwrap());
        let part = config.path.join(lacking);
        if part.is_dir() {
            fs::remove_dir_all(part)
        } else {
            fs::remove_file(part)
        }
        .unwrap();
        let expected = format!("is incomplete: it has no {lacking}; was it copied to its end?");
        let refusals = [
            Embedded::open(&config).unwrap_err().to_string(),
            HeldStore::hold(&config.path).unwrap_err().to_string(),
        ];
        assert!(refusals.iter().all(|line| line.ends_with(&expected)), "{refusals:?}");
    }
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let copy = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_dir(&path, &copy);
        } else {
            fs::copy(&path, &copy).unwrap();
        }
    }
}

/// What became of the mails when a store was opened and read.
#[derive(Debug, PartialEq, Eq)]
enum Read {
    Refused,
    /// So many cannot be read or are not there.
    Opened {
        lost: usize,
    },
}

fn read_all(config: &EmbeddedConfig, mails: &Mails) -> Read {
    let store = match Embedded::open(config) {
        Ok(store) => store,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return Read::Refused;
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut lost = 0;
    for ((inbox, id), raw) in mails {
        match runtime.block_on(store.email(*inbox, *id, &[Part::Metadata, Part::Raw], START)) {
            Ok(Some(email)) => {
                assert_eq!(email.part(Part::Raw).unwrap(), raw.as_bytes(), "a wrong mail");
                assert_eq!(email.part(Part::Metadata).unwrap(), "metadata");
            }
            Ok(None) | Err(_) => lost += 1,
        }
    }
    lost += runtime.block_on(lost_beside_mail(&store));
    Read::Opened { lost }
}

/// What cannot be read of inboxes and events, or is not there.
async fn lost_beside_mail(store: &Embedded) -> usize {
    let mut lost = 0;
    for name in ["one", "two"] {
        match store.inbox(&plain_inbox(name, 0).address, START).await {
            Ok(Some(inbox)) => assert_eq!((inbox.spam_analysis, &inbox.chaos), (true, &Some(chaos(11)))),
            Ok(None) | Err(_) => lost += 1,
        }
    }
    for sequence in 0..100 {
        match store.event_data(sequence).await {
            Ok(Some(data)) => assert!(data.starts_with(b"event of m"), "a wrong event"),
            // Of a removal, or of what is not kept.
            Ok(None) => {}
            Err(_) => lost += 1,
        }
    }
    lost
}

/// Verifies a copy in which one byte is wrong, then opens it.
fn with_wrong_byte(original: &Path, mails: &Mails, file: usize, at: prop::sample::Index, bit: u8) {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    copy_dir(original, &config.path);
    // The copy is believed as the original is.
    for entry in fs::read_dir(&config.path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap().to_str().unwrap().starts_with("index.") {
            marker::closed(&config.path, &path).unwrap();
        }
    }
    let files: Vec<_> = files(&config.path)
        .into_iter()
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    let (path, bytes) = &files[file % files.len()];
    let mut bytes = bytes.clone();
    let at = at.index(bytes.len());
    bytes[at] ^= 1 << bit;
    fs::write(path, bytes).unwrap();
    let name = path.strip_prefix(&config.path).unwrap().to_str().unwrap().to_owned();

    let scratch = tempfile::tempdir().unwrap();
    let told = HeldStore::hold(&config.path).and_then(|held| {
        let mut told = 0;
        held.verify(scratch.path(), |_| (), |_| told += 1)?;
        Ok(told)
    });
    let is_told = !matches!(told, Ok(0));
    let read = read_all(&config, mails);
    // Every byte of the log counts. In the index those do that a row, or the way to it, depends on: verification reads
    // all rows. The stamp is compared with that of the start.
    if name.starts_with("segments") {
        assert!(is_told, "{name} {at}");
    }
    match read {
        Read::Refused => assert!(is_told || name == "stamp", "{name} {at}"),
        Read::Opened { lost } => assert!(lost == 0 || is_told, "{name} {at}: {lost} lost"),
    }
}

#[test]
fn no_wrong_byte_becomes_a_wrong_mail() {
    let dir = tempfile::tempdir().unwrap();
    let config = small_segments(dir.path());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mails = runtime.block_on(filled(&config));
    let wrong_byte = (0..1000_usize, any::<prop::sample::Index>(), 0..8_u8);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 96,
        ..ProptestConfig::default()
    });
    runner
        .run(&wrong_byte, |(file, at, bit)| {
            with_wrong_byte(&config.path, &mails, file, at, bit);
            Ok(())
        })
        .unwrap();
}
