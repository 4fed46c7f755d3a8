//! An index whose files turn out to be damaged while it is in use: it is made anew from the log.

use std::fs;
use std::path::PathBuf;

use super::trouble::available_again;
use super::*;
use crate::conformance::{START, create, deposit, ids};

/// The largest file of the index.
fn table(config: &EmbeddedConfig) -> PathBuf {
    let indexes = fs::read_dir(&config.path).unwrap().map(|entry| entry.unwrap().path());
    let is_index = |path: &PathBuf| path.is_dir() && path.to_str().unwrap().contains("/index.");
    let tables = indexes.filter(is_index).flat_map(|index| {
        let tables = fs::read_dir(index.join("tables")).unwrap();
        tables.map(|table| table.unwrap().path()).collect::<Vec<_>>()
    });
    tables.max_by_key(|table| fs::metadata(table).unwrap().len()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_index_is_made_anew_whoever_meets_the_damage() {
    let dir = tempfile::tempdir().unwrap();
    let config = config(dir.path());
    let mut store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "indexed").await;
    let mut mails = Vec::new();
    for number in 0..150 {
        mails.insert(0, deposit(&store, &inbox, &format!("mail {number}")).await);
    }
    let (mut met_at_start, mut met_by_readers, mut met_by_writers) = (0, 0, 0);
    for round in 0..24_usize {
        store.close().await;
        drop(store);
        let table = table(&config);
        let mut bytes = fs::read(&table).unwrap();
        let at = bytes.len() * round / 24 + 7;
        bytes[at] ^= 8;
        fs::write(&table, bytes).unwrap();
        store = Embedded::open(&config).unwrap();
        met_at_start += usize::from(store.recovery().rebuilt);
        let changes = store.shared.index_changes();
        if round % 2 == 0 {
            let _ = store.sync(inbox.key, START).await;
            let page = crate::conformance::everything(&[]);
            let listed = store.list(inbox.key, page, START).await;
            assert!(
                matches!(listed, Ok(_) | Err(ReadError::Unavailable(_))),
                "{at}: {listed:?}"
            );
            available_again(&store).await;
            met_by_readers += usize::from(store.shared.index_changes() > changes);
        } else {
            for id in mails.iter().step_by(10) {
                let _ = store.mark_read(inbox.key, *id, START).await;
            }
            available_again(&store).await;
            met_by_writers += usize::from(store.shared.index_changes() > changes);
        }
        assert_eq!(ids(&store, &inbox, START).await, mails, "{at}");
        assert_eq!(store.mark_read(inbox.key, mails[0], START).await, Ok(true), "{at}");
    }
    assert!(
        met_by_readers > 0 && met_by_writers > 0,
        "{met_at_start} {met_by_readers} {met_by_writers}"
    );
}
