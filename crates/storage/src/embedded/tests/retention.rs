//! Eviction and the files: what is evicted leaves nothing behind, in whatever order its records are replayed.

use std::fs;

use proptest::prelude::*;

use super::compaction::{assert_same_rows, rows, settled};
use super::*;
use crate::Retention;
use crate::conformance::{START, create, email, everything, ids};
use crate::embedded::apply::apply;
use crate::embedded::index::Index;
use crate::embedded::record::{Head, Record};
use crate::embedded::rows::{CountRow, Place, decode, key};
use crate::embedded::shared::segments_dir;
use crate::embedded::view::View;

fn at_most(max_emails: u64) -> Retention {
    Retention {
        max_emails,
        ..Retention::UNLIMITED
    }
}

fn log_bytes(config: &EmbeddedConfig) -> u64 {
    let files = fs::read_dir(segments_dir(&config.path)).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// An inbox that gets fifty times what it may hold, and from which some is deleted, read and signed as it goes.
#[tokio::test]
async fn a_full_inbox_takes_no_more_with_time() {
    const HELD: u64 = 20;
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.segment_bytes = 64 * 1024;
    let store = Embedded::open(&config).unwrap();
    let inbox = create(&store, "full").await;
    let mut counts = Vec::new();
    for number in 0..50 * HELD {
        let new = email(&inbox, &"x".repeat(1_000));
        let id = new.id;
        store.accept(vec![new], &at_most(HELD), START).await.unwrap();
        match number % 8 {
            0 => assert_eq!(
                store.delete_email(inbox.key, id, RemovalReason::Manual, START).await,
                Ok(true)
            ),
            1 => assert_eq!(store.mark_read(inbox.key, id, START).await, Ok(true)),
            2 => {
                let signature = Bytes::from_static(b"signature");
                let attached = store.attach(inbox.key, id, Part::RawSignature, signature, START).await;
                assert_eq!(attached, Ok(true));
            }
            _ => {}
        }
        if number % HELD == HELD - 1 {
            counts.push(rows(&store).iter().filter(|(name, _)| !name.starts_with('g')).count());
        }
    }
    settled(&store).await;
    let usage = store.usage().await.unwrap();
    assert_eq!(usage.emails, HELD);
    // Two rows for each email, two for each of the few that are remembered as deleted, and signatures.
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    assert!(
        *most <= 3 * usize::try_from(HELD).unwrap() && most - least <= 10,
        "{counts:?}"
    );
    let taken = log_bytes(&config);
    let bound = 2 * usage.live_bytes + 2 * config.segment_bytes;
    assert!(taken <= bound, "{taken} bytes for {} live", usage.live_bytes);

    let (kept, before) = (ids(&store, &inbox, START).await, rows(&store));
    drop(store);
    fs::remove_file(config.path.join("index.marker")).unwrap();
    let store = Embedded::open(&config).unwrap();
    assert!(store.recovery().rebuilt);
    assert_eq!(ids(&store, &inbox, START).await, kept);
    assert_same_rows(&rows(&store), &before);
}

/// What is left when so many emails go, a chunk at a time, while others are accepted and listed.
async fn remove_beside(store: &Embedded, other: &Inbox, chunks: usize, is_evicting: bool) -> usize {
    let mut removed = 0;
    for _ in 0..chunks {
        let removal = async {
            if is_evicting {
                let evicted = store.evict(&at_most(50_000), usize::MAX, START).await.unwrap();
                (evicted.emails, evicted.more)
            } else {
                let reaped = store.reap(usize::MAX, START).await.unwrap();
                (reaped.emails, reaped.more)
            }
        };
        let (new, limits) = (email(other, "beside"), at_most(10));
        // Both are asked behind the removal, and neither waits for more than a chunk of it.
        let ((emails, more), accepted, listed) = tokio::join!(
            removal,
            store.accept(vec![new], &limits, START),
            store.list(other.key, everything(&[]), START)
        );
        assert!(accepted.is_ok() && listed.is_ok());
        assert!(emails <= 256, "{emails} in one step");
        removed += emails;
        if !more {
            return removed;
        }
    }
    panic!("{chunks} chunks were not enough");
}

#[tokio::test]
async fn removing_a_hundred_thousand_emails_holds_nobody_up() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(&config(dir.path())).unwrap();
    let (large, other) = (create(&store, "large").await, create(&store, "other").await);
    for _ in 0..50 {
        let emails: Vec<_> = (0..2_000).map(|_| email(&large, "one of many")).collect();
        store.accept(emails, &Retention::UNLIMITED, START).await.unwrap();
    }
    assert_eq!(remove_beside(&store, &other, 200, true).await, 50_000);
    store.retire(&[large.key], RemovalReason::Manual, START).await.unwrap();
    assert_eq!(remove_beside(&store, &other, 200, false).await, 50_000);
    assert_eq!(store.usage().await.unwrap().emails, 10);
}

/// The records of an inbox: five emails, of which one was deleted and three were evicted, one of them first.
fn history() -> Vec<Head> {
    let inbox = crate::conformance::plain_inbox("inbox", 60_000);
    let emails: Vec<_> = (0..5).map(|_| email(&inbox, "mail")).collect();
    let deleted = *emails[1].id.as_bytes();
    let key = *inbox.key.as_bytes();
    let evicted = |through| Head::MailEvicted {
        inbox: key,
        through,
        at: 0,
    };
    let mut heads = vec![Record::created(&crate::conformance::request(&inbox), None).head];
    heads.extend(
        (1..)
            .zip(emails)
            .map(|(sequence, new)| Record::accepted(new, sequence).head),
    );
    heads.push(Head::MailDeleted {
        inbox: key,
        email: deleted,
        sequence: 2,
        reason: RemovalReason::Manual,
        at: 0,
    });
    heads.extend([evicted(1), evicted(3)]);
    heads
}

/// The rows that these records leave, each at its own place, but for what only tells changes apart.
fn applied(index: &Index, heads: &[(u64, Head)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut view = View::new(index).unwrap();
    for (number, head) in heads {
        let place = Place {
            segment: 1,
            offset: 1000 * number,
            len: 100 + number,
            body: 10,
        };
        apply(&mut view, head, place).unwrap();
    }
    let rows = view.range(vec![0]..vec![u8::MAX], usize::MAX).unwrap();
    let rows = rows.into_iter().map(|(name, value)| {
        let is_counts = name.starts_with(key::COUNTS);
        let value = if is_counts {
            let counts: CountRow = decode(&value).unwrap();
            crate::embedded::rows::encode(&CountRow { removals: 0, ..counts })
        } else {
            value.to_vec()
        };
        (name.to_vec(), value)
    });
    rows.chain([(b"M".to_vec(), crate::embedded::rows::encode(&view.meta))])
        .collect()
}

/// An email that was deleted and evicted, and came and was deleted again: a replay meets that it was evicted last.
#[test]
fn an_email_that_came_again_after_its_eviction_is_evicted_again_and_forgotten() {
    let inbox = crate::conformance::plain_inbox("inbox", 60_000);
    let new = email(&inbox, "mail");
    let (key, id) = (*inbox.key.as_bytes(), *new.id.as_bytes());
    let stored = |sequence| Record::accepted(new.clone(), sequence).head;
    let deleted = |sequence| Head::MailDeleted {
        inbox: key,
        email: id,
        sequence,
        reason: RemovalReason::Manual,
        at: 0,
    };
    let evicted = |through| Head::MailEvicted {
        inbox: key,
        through,
        at: 0,
    };
    let created = || Record::created(&crate::conformance::request(&inbox), None).head;
    let names = |heads: &[Head]| {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::open(dir.path()).unwrap();
        let heads: Vec<_> = (0..).zip(heads.iter().cloned()).collect();
        let names = applied(&index, &heads).into_iter().map(|(name, _)| name);
        names.filter(|name| b"mqtuo".contains(&name[0])).collect::<Vec<_>>()
    };
    // What a record says of the first life may lie in any segment that is still there, and the eviction behind all.
    let lives = [
        ("all", vec![stored(5), deleted(5), stored(20), deleted(20)]),
        ("both deletions", vec![deleted(5), deleted(20)]),
        ("no first deletion", vec![stored(5), stored(20), deleted(20)]),
        ("no second deletion", vec![stored(5), deleted(5), stored(20)]),
        ("both arrivals", vec![stored(5), stored(20)]),
    ];
    for (case, life) in lives {
        for (through, left) in [(10, true), (25, false)] {
            let last = life.last().cloned().filter(|_| left);
            let mut history = vec![created()];
            history.extend(life.clone());
            history.push(evicted(through));
            let found = names(&history);
            let expected = last.map_or(Vec::new(), |last| names(&[created(), last]));
            assert_eq!(found, expected, "{case}, through {through}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn what_is_evicted_is_gone_in_whatever_order_its_records_come(
        shuffled in Just((0..9_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::open(dir.path()).unwrap();
        let heads: Vec<_> = (0..).zip(history()).collect();
        prop_assert_eq!(heads.len(), 9);
        let expected = applied(&index, &heads);
        let mails = expected.iter().filter(|(name, _)| name[0] == b'm').count();
        let deletions = expected.iter().filter(|(name, _)| b"tu".contains(&name[0])).count();
        prop_assert_eq!((mails, deletions), (2, 0));
        let heads: Vec<_> = shuffled.into_iter().map(|number| heads[number].clone()).collect();
        prop_assert_eq!(applied(&index, &heads), expected);
    }
}
