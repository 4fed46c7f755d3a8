//! Damage in the middle of a log of one segment, as all stores below 64 MiB are: the rest stays readable.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use super::*;
use crate::conformance::{START, create, deposit, ids};
use crate::embedded::frame::FILE_HEADER;
use crate::embedded::log::segment_path;
use crate::embedded::record::Head;
use crate::embedded::rows::Place;
use crate::embedded::scan::{Bodies, Scanner, Step};
use crate::embedded::shared::segments_dir;

/// A store of one segment with three mails in an inbox, of which the middle one is damaged.
struct Filled {
    _dir: tempfile::TempDir,
    config: EmbeddedConfig,
    inbox: Inbox,
    ids: [EmailId; 3],
    /// The record of the middle one.
    place: Place,
    log: PathBuf,
    content: Vec<u8>,
    /// What the manifest said before anyone noted where the log ends.
    unnoted: Vec<u8>,
    /// What it says after the close.
    noted: Vec<u8>,
}

/// What a start finds beside the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    /// An index that is believed.
    Index,
    /// No index, after a clean close.
    NoIndex,
    /// No index, and nothing says how far the log was synced.
    Nothing,
}

const BESIDE: [Beside; 3] = [Beside::Index, Beside::NoIndex, Beside::Nothing];

impl Filled {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = config(dir.path());
        let store = Embedded::open(&config).unwrap();
        let segments = segments_dir(&config.path);
        let unnoted = fs::read(segments.join("manifest")).unwrap();
        let inbox = create(&store, "damaged").await;
        let mut ids = Vec::new();
        for name in ["before", "damaged", "after"] {
            ids.push(deposit(&store, &inbox, name).await);
        }
        store.close().await;
        let log = segment_path(&segments, 1);
        Self {
            place: mails(&config)[1],
            content: fs::read(&log).unwrap(),
            noted: fs::read(segments.join("manifest")).unwrap(),
            unnoted,
            ids: ids.try_into().unwrap(),
            inbox,
            config,
            log,
            _dir: dir,
        }
    }

    fn head(&self) -> Range<usize> {
        let start = usize::try_from(self.place.offset).unwrap();
        start..start + self.place.body as usize
    }

    fn body(&self) -> Range<usize> {
        let end = usize::try_from(self.place.offset + self.place.len).unwrap();
        self.head().end..end
    }

    /// Opens the store with one bit of the log changed.
    fn open(&self, at: usize, beside: Beside) -> Result<Embedded, OpenError> {
        let mut log = self.content.clone();
        log[at] ^= 4;
        self.open_log(&log, beside)
    }

    fn open_log(&self, log: &[u8], beside: Beside) -> Result<Embedded, OpenError> {
        fs::write(&self.log, log).unwrap();
        let manifest = if beside == Beside::Nothing {
            &self.unnoted
        } else {
            &self.noted
        };
        fs::write(self.log.with_file_name("manifest"), manifest).unwrap();
        if beside != Beside::Index {
            fs::remove_file(self.config.path.join("index.marker")).unwrap();
        }
        Embedded::open(&self.config)
    }

    async fn read(&self, store: &Embedded, id: EmailId) -> Result<Option<String>, ReadError> {
        let parts = [Part::Metadata, Part::Raw];
        let email = store.email(self.inbox.key, id, &parts, START).await?;
        Ok(email.map(|email| String::from_utf8(email.part(Part::Raw).unwrap().to_vec()).unwrap()))
    }

    /// The first and the last mail are as they were.
    async fn assert_rest(&self, store: &Embedded, why: &str) {
        for (id, name) in [(self.ids[0], "raw of before"), (self.ids[2], "raw of after")] {
            assert_eq!(self.read(store, id).await.unwrap().as_deref(), Some(name), "{why}");
        }
    }
}

fn accept_damage(config: &EmbeddedConfig) -> Result<Vec<Accepted>, ToolError> {
    HeldStore::hold(&config.path)?.accept_damage()
}

/// Where the mails of the first segment lie.
fn mails(config: &EmbeddedConfig) -> Vec<Place> {
    let mut scanner = Scanner::open(&segments_dir(&config.path), 1, 0, Bodies::Skipped)
        .unwrap()
        .unwrap();
    let mut mails = Vec::new();
    while let Step::Call(records) = scanner.next_call().unwrap() {
        let is_mail = |(head, _): &&(Head, Place)| matches!(head, Head::MailStored(_));
        mails.extend(records.iter().filter(is_mail).map(|(_, place)| *place));
    }
    mails
}

#[tokio::test]
async fn a_damaged_body_is_told_when_its_mail_is_read_and_stops_no_start() {
    let filled = Filled::new().await;
    for beside in BESIDE {
        for at in filled.body().step_by(3) {
            let why = format!("{beside:?} {at}");
            let store = filled.open(at, beside).unwrap();
            assert_eq!(store.recovery().rebuilt, beside != Beside::Index, "{why}");
            assert_eq!(store.recovery().torn_bytes, 0, "{why}");
            let listed: Vec<_> = filled.ids.iter().rev().copied().collect();
            assert_eq!(ids(&store, &filled.inbox, START).await, listed, "{why}");
            assert_eq!(
                filled.read(&store, filled.ids[1]).await,
                Err(ReadError::Damaged),
                "{why}"
            );
            filled.assert_rest(&store, &why).await;
            store.close().await;
        }
    }
}

#[tokio::test]
async fn a_damaged_last_body_that_is_known_to_be_synced_is_kept() {
    let filled = Filled::new().await;
    let store = filled.open(filled.content.len() - 1, Beside::NoIndex).unwrap();
    assert_eq!(store.recovery().torn_bytes, 0);
    assert_eq!(filled.read(&store, filled.ids[2]).await, Err(ReadError::Damaged));
    assert_eq!(
        filled.read(&store, filled.ids[1]).await.unwrap().as_deref(),
        Some("raw of damaged")
    );
    // As a group that was never synced may look.
    store.close().await;
    let store = filled.open(filled.content.len() - 1, Beside::Nothing).unwrap();
    assert!(store.recovery().torn_bytes > 0);
    assert_eq!(filled.read(&store, filled.ids[2]).await, Ok(None));
}

#[tokio::test]
async fn a_damaged_head_stops_a_start_without_an_index_until_that_is_accepted() {
    let filled = Filled::new().await;
    // A byte of every field of the frame is among them.
    for at in filled.head().step_by(3) {
        let store = filled.open(at, Beside::Index).unwrap();
        filled.assert_rest(&store, "the index knows where they lie").await;
        store.close().await;
        drop(store);
        for beside in [Beside::NoIndex, Beside::Nothing] {
            let refused = filled.open(at, beside);
            let Err(OpenError::Damaged { segment: 1, offset, .. }) = refused else {
                panic!("{at}: {refused:?}");
            };
            assert_eq!(offset, filled.place.offset);
            let accepted = accept_damage(&filled.config).unwrap();
            let (segment, bytes) = (1, filled.place.len);
            assert_eq!(accepted, [Accepted { segment, offset, bytes }], "{beside:?} {at}");
            // Once is for good: the next start without an index passes it by as well.
            for _ in 0..2 {
                let store = Embedded::open(&filled.config).unwrap();
                assert_eq!(ids(&store, &filled.inbox, START).await, [filled.ids[2], filled.ids[0]]);
                filled.assert_rest(&store, "passed by").await;
                store.close().await;
                drop(store);
                fs::remove_file(filled.config.path.join("index.marker")).unwrap();
            }
            // The bytes are left as they are, and damage elsewhere is not accepted with it.
            let mut log = filled.content.clone();
            log[at] ^= 4;
            assert_eq!(fs::read(&filled.log).unwrap(), log);
            log[FILE_HEADER] ^= 1;
            fs::write(&filled.log, log).unwrap();
            let elsewhere = FILE_HEADER as u64;
            let refused = Embedded::open(&filled.config);
            assert!(
                matches!(refused, Err(OpenError::Damaged { segment: 1, offset, .. }) if offset == elsewhere),
                "{refused:?}"
            );
            // The marker is there again, for the next round.
            let store = filled.open_log_anew();
            store.close().await;
        }
    }
}

#[tokio::test]
async fn a_log_that_lost_its_end_goes_on_once_that_is_accepted() {
    let filled = Filled::new().await;
    let last = mails(&filled.config)[2];
    for cut in [last.offset, last.offset + 1, last.offset + last.len - 1] {
        let refused = filled.open_log(&filled.content[..usize::try_from(cut).unwrap()], Beside::NoIndex);
        assert!(matches!(refused, Err(OpenError::Damaged { .. })), "{refused:?}");
        let accepted = accept_damage(&filled.config).unwrap();
        let bytes = cut - last.offset;
        let (segment, offset) = (1, last.offset);
        assert_eq!(accepted, [Accepted { segment, offset, bytes }]);
        let store = Embedded::open(&filled.config).unwrap();
        let next = deposit(&store, &filled.inbox, "next").await;
        drop(store);
        fs::remove_file(filled.config.path.join("index.marker")).unwrap();
        let store = Embedded::open(&filled.config).unwrap();
        let expected = [next, filled.ids[1], filled.ids[0]];
        assert_eq!(ids(&store, &filled.inbox, START).await, expected, "{cut}");
    }
}

#[tokio::test]
async fn a_last_segment_without_its_header_is_refused_whatever_is_accepted() {
    let filled = Filled::new().await;
    for at in [0, FILE_HEADER - 1] {
        let refused = filled.open(at, Beside::NoIndex);
        assert!(
            matches!(refused, Err(OpenError::Damaged { offset: 0, .. })),
            "{refused:?}"
        );
        let accepted = accept_damage(&filled.config);
        assert!(
            matches!(accepted, Err(ToolError::Headless { segment: 1, .. })),
            "{accepted:?}"
        );
        filled.open_log_anew().close().await;
    }
}

impl Filled {
    /// Opens the store with the log as it was.
    fn open_log_anew(&self) -> Embedded {
        fs::write(&self.log, &self.content).unwrap();
        fs::write(self.log.with_file_name("manifest"), &self.noted).unwrap();
        Embedded::open(&self.config).unwrap()
    }
}
