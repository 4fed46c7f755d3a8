//! What goes when a limit is exceeded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use restante_model::{EmailId, Inbox, RemovalReason, Timestamp};

use super::order::status_of;
use super::{START, after_ms, create, deposit, early_id, email, ids, plain_inbox, request};
use crate::{AcceptError, Arrival, Evicted, NewEmail, Part, Retention, Store};

/// Nothing was to be evicted.
const NOTHING: Evicted = Evicted { emails: 0, more: false };

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    the_newest_stay_in_a_full_inbox(&*open().await).await;
    a_call_alone_can_fill_an_inbox(&*open().await).await;
    first_committed_is_first_to_go(&*open().await).await;
    a_repetition_removes_nothing(&*open().await).await;
    the_oldest_of_all_inboxes_goes_for_bytes(&*open().await).await;
    mail_that_fits_alone_stays_alone(&*open().await).await;
    only_live_inboxes_count(&*open().await).await;
    the_newest_email_is_told(&*open().await).await;
    age_is_exact(&*open().await).await;
    evicting_goes_in_chunks(&*open().await).await;
    a_lowered_limit_holds_for_every_inbox(&*open().await).await;
    eviction_passes_deleted_mail(&*open().await).await;
    signatures_take_room(&*open().await).await;
}

fn at_most(max_emails: u64) -> Retention {
    Retention {
        max_emails,
        ..Retention::UNLIMITED
    }
}

fn within(max_bytes: u64) -> Retention {
    Retention {
        max_bytes,
        ..Retention::UNLIMITED
    }
}

/// An email that arrived at a time, as large as all of these.
fn arrived(inbox: &Inbox, ms: u64) -> NewEmail {
    NewEmail {
        received_at: after_ms(ms),
        ..email(inbox, "one of many")
    }
}

async fn accept(store: &dyn Store, new: NewEmail, retention: &Retention) -> EmailId {
    let id = new.id;
    let arrivals = store.accept(vec![new], retention, START).await.unwrap();
    assert_eq!(arrivals[0].email, id);
    id
}

async fn mail_bytes(store: &dyn Store) -> u64 {
    store.usage().await.unwrap().mail_bytes
}

/// Whether nothing tells of an email any more.
async fn is_gone(store: &dyn Store, inbox: &Inbox, id: EmailId) -> bool {
    let arrivals = store.arrivals(inbox.key, 0, 1000, START).await.unwrap();
    let is_told = arrivals.iter().any(|arrival| arrival.email == id);
    let is_listed = ids(store, inbox, START).await.contains(&id);
    let is_read = store.email(inbox.key, id, &[Part::Raw], START).await.unwrap().is_some();
    assert!(
        is_told == is_listed && is_listed == is_read,
        "{is_told} {is_listed} {is_read}"
    );
    !is_read
}

/// The emails of an inbox are these, in commit order, whichever way it is asked.
async fn assert_holds(store: &dyn Store, inbox: &Inbox, expected: &[EmailId]) {
    let arrivals = store.arrivals(inbox.key, 0, 1000, START).await.unwrap();
    let told: Vec<_> = arrivals.iter().map(|arrival| arrival.email).collect();
    assert_eq!(told, expected);
    let mut sorted = expected.to_vec();
    sorted.sort_unstable();
    let status = store.sync(inbox.key, START).await.unwrap();
    assert_eq!(status, Some(status_of(&sorted)));
    sorted.reverse();
    assert_eq!(ids(store, inbox, START).await, sorted);
}

async fn the_newest_stay_in_a_full_inbox(store: &dyn Store) {
    let (full, other) = (create(store, "full").await, create(store, "other").await);
    let kept = deposit(store, &other, "kept").await;
    let mut sent = Vec::new();
    for number in 0..3 {
        sent.push(accept(store, arrived(&full, number), &at_most(3)).await);
        assert_holds(store, &full, &sent).await;
    }
    for number in 3..6 {
        sent.push(accept(store, arrived(&full, number), &at_most(3)).await);
        assert_holds(store, &full, &sent[sent.len() - 3..]).await;
    }
    let gone = sent[2];
    assert!(is_gone(store, &full, gone).await);
    assert!(!store.mark_read(full.key, gone, START).await.unwrap());
    let deleted = store.delete_email(full.key, gone, RemovalReason::Manual, START).await;
    assert_eq!(deleted, Ok(false));
    assert_holds(store, &other, &[kept]).await;
    let usage = store.usage().await.unwrap();
    assert_eq!((usage.emails, usage.evicted), (4, 3));
    assert_eq!(store.newest_email().await.unwrap(), Some(after_ms(7)));
    assert_eq!(store.last_sequence().await.unwrap(), 7);
    assert_eq!(store.evict(&at_most(3), 100, START).await.unwrap(), NOTHING);
}

async fn a_call_alone_can_fill_an_inbox(store: &dyn Store) {
    let (full, other) = (create(store, "full").await, create(store, "other").await);
    deposit(store, &full, "old").await;
    let emails: Vec<_> = (0..600).map(|number| arrived(&full, number)).collect();
    let beside = arrived(&other, 0);
    let beside_id = beside.id;
    let sent: Vec<_> = emails.iter().map(|new| new.id).collect();
    let all = [emails, vec![beside]].concat();
    let arrivals = store.accept(all, &at_most(3), START).await.unwrap();
    let told: Vec<_> = arrivals.iter().map(|arrival| arrival.sequence).collect();
    assert_eq!(told, (2..=602).collect::<Vec<_>>(), "all were accepted");
    assert_holds(store, &full, &sent[597..]).await;
    assert_eq!(
        store.usage().await.unwrap().evicted,
        598,
        "what goes as it comes was evicted too"
    );
    assert_holds(store, &other, &[beside_id]).await;
}

/// Neither the ids nor the clock decide within an inbox.
async fn first_committed_is_first_to_go(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let first = accept(store, arrived(&inbox, 1_000), &at_most(2)).await;
    let mut early = arrived(&inbox, 0);
    early.id = early_id();
    let early = accept(store, early, &at_most(2)).await;
    assert_holds(store, &inbox, &[first, early]).await;
    assert_eq!(store.oldest_email().await.unwrap(), Some(after_ms(1_000)));
    let last = accept(store, arrived(&inbox, 2_000), &at_most(2)).await;
    assert_holds(store, &inbox, &[early, last]).await;
    assert_eq!(store.oldest_email().await.unwrap(), Some(after_ms(0)));
}

async fn a_repetition_removes_nothing(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let new = [arrived(&inbox, 0), arrived(&inbox, 1)];
    let arrivals = store.accept(new.to_vec(), &at_most(2), START).await.unwrap();
    let full = Retention {
        max_bytes: mail_bytes(store).await,
        ..at_most(2)
    };
    for _ in 0..2 {
        let again = store.accept(new.to_vec(), &full, START).await.unwrap();
        assert_eq!(again, arrivals);
        assert_holds(store, &inbox, &new.clone().map(|new| new.id)).await;
    }
}

async fn the_oldest_of_all_inboxes_goes_for_bytes(store: &dyn Store) {
    let inboxes = [
        create(store, "one").await,
        create(store, "two").await,
        create(store, "three").await,
    ];
    let mut sent = Vec::new();
    // Committed in another order than they arrived, but for those of one inbox.
    for (inbox, ms) in [(0, 40), (1, 20), (2, 30), (1, 50), (2, 60), (0, 70)] {
        sent.push((
            inbox,
            ms,
            accept(store, arrived(&inboxes[inbox], ms), &Retention::UNLIMITED).await,
        ));
    }
    let six = mail_bytes(store).await;
    let one = six / 6;
    assert_eq!(six, 6 * one, "equal emails take equal room");
    sent.sort_by_key(|(_, ms, _)| *ms);
    let next = accept(store, arrived(&inboxes[0], 80), &within(7 * one)).await;
    assert_eq!(
        store.usage().await.unwrap().emails,
        7,
        "exactly as much as there may be"
    );
    sent.push((0, 80, next));
    for (gone, ms) in [(0, 90), (1, 100)] {
        let id = accept(store, arrived(&inboxes[1], ms), &within(7 * one)).await;
        sent.push((1, ms, id));
        for (number, (inbox, _, id)) in sent.iter().enumerate() {
            assert_eq!(is_gone(store, &inboxes[*inbox], *id).await, number <= gone, "{number}");
        }
        assert_eq!(mail_bytes(store).await, 7 * one);
        assert_eq!(store.oldest_email().await.unwrap(), Some(after_ms(sent[gone + 1].1)));
    }
    // A byte less, and one more goes.
    let evicted = store.evict(&within(7 * one - 1), 100, START).await.unwrap();
    assert_eq!(evicted, Evicted { emails: 1, more: false });
    assert!(is_gone(store, &inboxes[sent[2].0], sent[2].2).await);
    assert_eq!(store.evict(&within(6 * one), 100, START).await.unwrap(), NOTHING);
}

async fn mail_that_fits_alone_stays_alone(store: &dyn Store) {
    let (one, two) = (create(store, "one").await, create(store, "two").await);
    let mut large = email(&one, "large");
    large.parts = vec![(Part::Raw, Bytes::from(vec![b'x'; 50_000]))];
    let id = accept(store, large.clone(), &Retention::UNLIMITED).await;
    let size = mail_bytes(store).await;
    assert!((50_000..51_000).contains(&size), "{size}");
    store
        .delete_email(one.key, id, RemovalReason::Manual, START)
        .await
        .unwrap();
    let small = [deposit(store, &one, "a").await, deposit(store, &two, "b").await];
    let before = store.usage().await.unwrap();

    let larger = NewEmail {
        id: EmailId::new(START),
        ..large.clone()
    };
    let refused = store.accept(vec![larger.clone()], &within(size - 1), START).await;
    assert_eq!(refused, Err(AcceptError::TooLarge));
    // Two that fit one by one do not fit together.
    let copy = NewEmail {
        inbox: two.key,
        ..larger.clone()
    };
    let refused = store
        .accept(vec![larger.clone(), copy], &within(2 * size - 1), START)
        .await;
    assert_eq!(refused, Err(AcceptError::TooLarge));
    assert_eq!(
        store.usage().await.unwrap(),
        before,
        "nothing went for what was refused"
    );
    assert_holds(store, &two, &small[1..]).await;

    let id = accept(store, larger, &within(size)).await;
    assert_holds(store, &one, &[id]).await;
    assert_holds(store, &two, &[]).await;
    assert_eq!(store.evict(&within(size), 100, START).await.unwrap(), NOTHING);
}

async fn only_live_inboxes_count(store: &dyn Store) {
    let (ended, live) = (create(store, "ended").await, create(store, "live").await);
    deposit(store, &ended, "old").await;
    store.retire(&[ended.key], RemovalReason::Manual, START).await.unwrap();
    assert_eq!(mail_bytes(store).await, 0);
    assert_eq!(store.oldest_email().await.unwrap(), None);
    let id = deposit(store, &live, "new").await;
    let limits = Retention {
        max_age: Some(Duration::from_secs(1)),
        ..within(mail_bytes(store).await)
    };
    assert_eq!(store.evict(&limits, 100, START).await.unwrap(), NOTHING);
    let late = after_ms(10_000);
    let evicted = store.evict(&limits, 100, late).await.unwrap();
    assert_eq!(evicted, Evicted { emails: 1, more: false });
    assert!(is_gone(store, &live, id).await);
    assert_eq!(
        store.reap(100, late).await.unwrap().emails,
        1,
        "reaping takes the other"
    );
}

/// Whatever goes, and whatever the clock said: the last that was committed in its inbox counts.
async fn the_newest_email_is_told(store: &dyn Store) {
    let told = async || {
        store
            .newest_email()
            .await
            .unwrap()
            .map(|at| at.unix_ms() - START.unix_ms())
    };
    assert_eq!(told().await, None);
    let inboxes = [create(store, "one").await, create(store, "two").await];
    let mut sent = Vec::new();
    for (inbox, ms, newest) in [
        (0, 5_000, 5_000),
        (1, 9_999, 9_999),
        (0, 9_998, 9_999),
        (1, 20_000, 20_000),
        (1, 10, 9_998),
        (0, 60_000, 60_000),
    ] {
        sent.push(accept(store, arrived(&inboxes[inbox], ms), &Retention::UNLIMITED).await);
        assert_eq!(told().await, Some(newest));
    }
    for (inbox, email, newest) in [(0, 5, 9_998), (1, 4, 20_000), (1, 1, 20_000), (1, 3, 9_998)] {
        let deleted = store.delete_email(inboxes[inbox].key, sent[email], RemovalReason::Manual, START);
        assert_eq!(deleted.await, Ok(true));
        assert_eq!(told().await, Some(newest));
    }
    assert_eq!(store.evict(&at_most(1), 100, START).await.unwrap().emails, 1);
    assert_eq!(told().await, Some(9_998));
    let ends = [inboxes[0].key];
    store.retire(&ends, RemovalReason::Manual, START).await.unwrap();
    assert_eq!(told().await, None);
}

async fn age_is_exact(store: &dyn Store) {
    let limits = Retention {
        max_age: Some(Duration::from_mins(1)),
        ..Retention::UNLIMITED
    };
    assert_eq!(store.oldest_email().await.unwrap(), None);
    let inboxes = [create(store, "one").await, create(store, "two").await];
    let mut sent = Vec::new();
    for (inbox, ms) in [(0, 100), (1, 50), (0, 100), (1, 101)] {
        sent.push(accept(store, arrived(&inboxes[inbox], ms), &limits).await);
    }
    for (now, evicted, oldest) in [
        (60_049, 0, Some(50)),
        (60_050, 1, Some(100)),
        (60_099, 0, Some(100)),
        (60_100, 2, Some(101)),
        (60_101, 1, None),
    ] {
        let done = store.evict(&limits, 100, after_ms(now)).await.unwrap();
        assert_eq!((done.emails, done.more), (evicted, false), "at {now}");
        assert_eq!(store.oldest_email().await.unwrap(), oldest.map(after_ms));
        let newest = oldest.map(|_| after_ms(101));
        assert_eq!(store.newest_email().await.unwrap(), newest);
    }
    assert_eq!(store.usage().await.unwrap().evicted, 4);
    let next = deposit(store, &inboxes[0], "next").await;
    assert_holds(store, &inboxes[0], &[next]).await;
    assert_eq!(
        store.evict(&limits, 100, START).await.unwrap(),
        NOTHING,
        "a clock that was set back"
    );
}

/// Calls `evict` until it is done, and says how many emails went.
async fn evict_all(store: &dyn Store, retention: &Retention, limit: usize, now: Timestamp) -> usize {
    let mut emails = 0;
    for _ in 0..10_000 {
        let evicted = store.evict(retention, limit, now).await.unwrap();
        assert!(evicted.emails <= limit);
        emails += evicted.emails;
        if !evicted.more {
            return emails;
        }
    }
    panic!("evicting does not end");
}

async fn evicting_goes_in_chunks(store: &dyn Store) {
    let inboxes = [create(store, "one").await, create(store, "two").await];
    let mut sent = Vec::new();
    for number in 0..20 {
        let new = arrived(&inboxes[usize::from(number % 3 == 0)], number);
        sent.push(accept(store, new, &Retention::UNLIMITED).await);
    }
    let limits = Retention {
        max_age: Some(Duration::from_millis(10)),
        ..Retention::UNLIMITED
    };
    let now = after_ms(19);
    let first = store.evict(&limits, 3, now).await.unwrap();
    assert_eq!(first, Evicted { emails: 3, more: true });
    assert_eq!(store.usage().await.unwrap().emails, 17);
    assert_eq!(evict_all(store, &limits, 3, now).await, 7);
    assert_eq!(store.oldest_email().await.unwrap(), Some(after_ms(10)));
    assert_eq!(
        store.evict(&limits, 0, after_ms(20)).await.unwrap(),
        Evicted { emails: 0, more: true }
    );

    let large = create(store, "large").await;
    let emails: Vec<_> = (0..600).map(|number| arrived(&large, number)).collect();
    store.accept(emails, &Retention::UNLIMITED, START).await.unwrap();
    assert_eq!(evict_all(store, &at_most(50), usize::MAX, START).await, 550);
    assert_eq!(ids(store, &large, START).await.len(), 50);
    let half = mail_bytes(store).await / 2;
    evict_all(store, &within(half), usize::MAX, START).await;
    assert!((half * 9 / 10..=half).contains(&mail_bytes(store).await));
}

async fn a_lowered_limit_holds_for_every_inbox(store: &dyn Store) {
    let mut inboxes = Vec::new();
    for number in 0..12_usize {
        let inbox = create(store, &format!("inbox{number}")).await;
        let emails: Vec<_> = (0..number).map(|ms| arrived(&inbox, ms as u64)).collect();
        if !emails.is_empty() {
            store.accept(emails, &Retention::UNLIMITED, START).await.unwrap();
        }
        inboxes.push(inbox);
    }
    store
        .retire(&[inboxes[11].key], RemovalReason::Manual, START)
        .await
        .unwrap();
    for (limit, max, gone) in [(1, 8, 3), (4, 5, 12), (100, 5, 0), (100, 9, 0)] {
        assert_eq!(
            evict_all(store, &at_most(max), limit, START).await,
            gone,
            "at most {max}"
        );
    }
    for (number, inbox) in inboxes.iter().enumerate().take(11) {
        assert_eq!(ids(store, inbox, START).await.len(), number.min(5));
    }
    // Mail under another limit is found as well.
    let emails: Vec<_> = (0..4).map(|ms| arrived(&inboxes[3], ms)).collect();
    store.accept(emails, &at_most(7), START).await.unwrap();
    assert_eq!(evict_all(store, &at_most(9), 100, START).await, 0);
    assert_eq!(evict_all(store, &at_most(5), 100, START).await, 2);
}

async fn eviction_passes_deleted_mail(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let mut sent = Vec::new();
    for number in 0..4 {
        sent.push(deposit(store, &inbox, &number.to_string()).await);
    }
    for number in [0, 2] {
        let deleted = store
            .delete_email(inbox.key, sent[number], RemovalReason::Manual, START)
            .await;
        assert_eq!(deleted, Ok(true));
    }
    let sequence = async |id| store.sequence_of(inbox.key, id).await.unwrap();
    let unknown = EmailId::new(START);
    assert_eq!((sequence(sent[0]).await, sequence(unknown).await), (Some(1), None));
    sent.push(accept(store, arrived(&inbox, 0), &at_most(2)).await);
    assert_holds(store, &inbox, &sent[3..]).await;
    // What eviction has passed is not remembered one by one; what is behind it is.
    for (id, expected) in [(sent[0], 0), (sent[1], 0), (sent[2], 3), (sent[3], 4), (unknown, 0)] {
        assert_eq!(sequence(id).await, Some(expected));
    }
    sent.push(accept(store, arrived(&inbox, 0), &at_most(1)).await);
    assert_eq!(sequence(sent[2]).await, Some(0));
    assert_holds(store, &inbox, &sent[5..]).await;
    let mut again = arrived(&inbox, 0);
    again.id = sent[5];
    let repeated = store.accept(vec![again], &at_most(1), START).await.unwrap();
    let kept = Arrival {
        inbox: inbox.key,
        email: sent[5],
        sequence: 6,
    };
    assert_eq!(repeated, [kept]);
}

async fn signatures_take_room(store: &dyn Store) {
    let inbox = plain_inbox("inbox", 3_600_000);
    store.create_inbox(request(&inbox), START).await.unwrap();
    let sent = [deposit(store, &inbox, "a").await, deposit(store, &inbox, "b").await];
    let before = mail_bytes(store).await;
    let signature = Bytes::from(vec![1; 3309]);
    let attached = store
        .attach(inbox.key, sent[1], Part::RawSignature, signature, START)
        .await;
    assert_eq!(attached, Ok(true));
    assert!(mail_bytes(store).await >= before + 3309);
    assert_eq!(evict_all(store, &within(before), 100, START).await, 2);
    assert_eq!(mail_bytes(store).await, 0);
}
