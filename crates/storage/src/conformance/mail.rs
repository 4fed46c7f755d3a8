//! What is stored of mail, and what is read back.

use std::sync::Arc;

use bytes::Bytes;
use restante_model::{EmailId, RemovalReason};

use super::{START, after_ms, create, deposit, email, everything, ids, text};
use crate::{AcceptError, ListPage, Part, Retention, Store};

/// Runs every rule of this group.
pub async fn run(open: &impl AsyncFn() -> Arc<dyn Store>) {
    parts_come_back_as_they_were(&*open().await).await;
    an_email_tells_the_size_of_all_its_parts(&*open().await).await;
    a_transaction_is_all_or_nothing(&*open().await).await;
    a_repeated_accept_is_harmless(&*open().await).await;
    mail_of_another_inbox_is_not_shown(&*open().await).await;
    pages_are_newest_first(&*open().await).await;
    pages_are_bounded_in_bytes(&*open().await).await;
    reading_does_not_mark(&*open().await).await;
    the_first_signature_stays(&*open().await).await;
    a_delete_is_true_exactly_once(open().await).await;
    usage_follows(&*open().await).await;
    a_closed_store_is_unavailable(&*open().await).await;
}

async fn parts_come_back_as_they_were(store: &dyn Store) {
    let inbox = create(store, "parts").await;
    let mut new = email(&inbox, "parts");
    let large: Bytes = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    new.parts = vec![
        (Part::Metadata, Bytes::from_static(b"{}")),
        (Part::Facts, Bytes::new()),
        (Part::Parsed, large.clone()),
        (Part::Raw, Bytes::from_static(b"\0\r\n.\r\n\xff")),
    ];
    new.event = Some(Bytes::from_static(b"sealed event"));
    let id = new.id;
    store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    let wanted = [Part::Raw, Part::Parsed, Part::Facts, Part::Metadata, Part::RawSignature];
    let found = store.email(inbox.key, id, &wanted, START).await.unwrap().unwrap();
    assert_eq!((found.id, found.received_at, found.is_read), (id, after_ms(7), false));
    assert_eq!(found.parts.len(), 4);
    assert_eq!(found.part(Part::Metadata).unwrap(), "{}");
    assert_eq!(found.part(Part::Facts).unwrap(), "");
    assert_eq!(found.part(Part::Parsed), Some(&large));
    assert_eq!(found.part(Part::Raw).unwrap().as_ref(), b"\0\r\n.\r\n\xff");
    let metadata_only = store
        .email(inbox.key, id, &[Part::Metadata], START)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(metadata_only.parts.len(), 1);
}

async fn an_email_tells_the_size_of_all_its_parts(store: &dyn Store) {
    let inbox = create(store, "sizes").await;
    let mut new = email(&inbox, "sizes");
    new.parts = vec![
        (Part::Metadata, Bytes::from_static(&[1; 10])),
        (Part::Parsed, Bytes::from_static(&[2; 200])),
        (Part::Raw, Bytes::from_static(&[3; 3_000])),
    ];
    // What is queued for webhooks is no part of the email.
    new.event = Some(Bytes::from_static(&[4; 10_000]));
    let id = new.id;
    store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    for wanted in [[].as_slice(), &[Part::Metadata], &[Part::Raw, Part::RawSignature]] {
        let found = store.email(inbox.key, id, wanted, START).await.unwrap().unwrap();
        assert_eq!(found.bytes, 3_210, "{wanted:?}");
    }
    for part in [Part::SIGNATURES, Part::SIGNATURES].concat() {
        let signature = Bytes::from_static(&[5; 3_309]);
        assert!(store.attach(inbox.key, id, part, signature, START).await.unwrap());
    }
    store.mark_read(inbox.key, id, START).await.unwrap();
    let found = store.email(inbox.key, id, &[], START).await.unwrap().unwrap();
    assert_eq!(found.bytes, 3_210 + 3 * 3_309);
    let page = store.list(inbox.key, everything(&[]), START).await.unwrap();
    assert_eq!(page.emails[0].bytes, found.bytes);
}

async fn a_transaction_is_all_or_nothing(store: &dyn Store) {
    let (first, gone, last) = (
        create(store, "first").await,
        create(store, "gone").await,
        create(store, "last").await,
    );
    store.retire(&[gone.key], RemovalReason::Manual, START).await.unwrap();
    let emails = [&first, &gone, &last].map(|inbox| email(inbox, "to all"));
    assert_eq!(
        store.accept(emails.to_vec(), &Retention::UNLIMITED, START).await,
        Err(AcceptError::Gone)
    );
    assert_eq!(ids(store, &first, START).await, []);
    let emails = [&last, &first].map(|inbox| email(inbox, "to two"));
    let arrivals = store
        .accept(emails.to_vec(), &Retention::UNLIMITED, START)
        .await
        .unwrap();
    let told: Vec<_> = arrivals.iter().map(|arrival| (arrival.inbox, arrival.email)).collect();
    assert_eq!(told, emails.map(|email| (email.inbox, email.id)));
    assert_eq!(arrivals[1].sequence, arrivals[0].sequence + 1);
    assert_eq!(ids(store, &first, START).await.len(), 1);
    assert_eq!(ids(store, &last, START).await.len(), 1);
}

async fn a_repeated_accept_is_harmless(store: &dyn Store) {
    let inbox = create(store, "again").await;
    let new = email(&inbox, "the first");
    let mut other = email(&inbox, "the second");
    let first = store
        .accept(vec![new.clone()], &Retention::UNLIMITED, START)
        .await
        .unwrap();
    other.id = new.id;
    // Also twice within one call.
    let again = store
        .accept(vec![other.clone(), other.clone()], &Retention::UNLIMITED, START)
        .await
        .unwrap();
    assert_eq!(again, [first[0], first[0]]);
    let found = store
        .email(inbox.key, new.id, &[Part::Raw], START)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(text(&found, Part::Raw).as_deref(), Some("raw of the first"));
    let next = email(&inbox, "next");
    let arrivals = store
        .accept(vec![next.clone(), next], &Retention::UNLIMITED, START)
        .await
        .unwrap();
    assert_eq!(arrivals[0], arrivals[1]);
    assert_eq!(store.sync(inbox.key, START).await.unwrap().unwrap().email_count, 2);
    // Deleted mail does not come back.
    assert!(
        store
            .delete_email(inbox.key, new.id, RemovalReason::Manual, START)
            .await
            .unwrap()
    );
    assert_eq!(
        store
            .accept(vec![new.clone()], &Retention::UNLIMITED, START)
            .await
            .unwrap(),
        first
    );
    assert!(store.email(inbox.key, new.id, &[], START).await.unwrap().is_none());
}

async fn mail_of_another_inbox_is_not_shown(store: &dyn Store) {
    let (mine, yours) = (create(store, "mine").await, create(store, "yours").await);
    let id = deposit(store, &mine, "private").await;
    assert!(store.email(yours.key, id, &[], START).await.unwrap().is_none());
    assert_eq!(store.sequence_of(yours.key, id).await.unwrap(), None);
    assert!(!store.mark_read(yours.key, id, START).await.unwrap());
    assert!(
        !store
            .delete_email(yours.key, id, RemovalReason::Manual, START)
            .await
            .unwrap()
    );
    assert_eq!(ids(store, &yours, START).await, []);
    assert_eq!(ids(store, &mine, START).await, [id]);
}

async fn pages_are_newest_first(store: &dyn Store) {
    let inbox = create(store, "pages").await;
    let mut expected = Vec::new();
    for number in 0..7 {
        expected.push(deposit(store, &inbox, &number.to_string()).await);
    }
    expected.reverse();
    let mut seen: Vec<EmailId> = Vec::new();
    loop {
        let page = ListPage {
            before: seen.last().copied(),
            max_rows: 3,
            ..everything(&[Part::Metadata])
        };
        let page = store.list(inbox.key, page, START).await.unwrap();
        for email in &page.emails {
            let number = 6 - seen.len();
            assert_eq!(text(email, Part::Metadata), Some(format!("metadata of {number}")));
            seen.push(email.id);
        }
        assert_eq!(page.more, seen.len() < 7);
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, expected);
}

async fn pages_are_bounded_in_bytes(store: &dyn Store) {
    let inbox = create(store, "bytes").await;
    for _ in 0..5 {
        let mut new = email(&inbox, "ten bytes");
        new.parts = vec![(Part::Raw, Bytes::from_static(b"0123456789"))];
        store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    }
    for (max_bytes, rows) in [(0, 1), (9, 1), (10, 1), (19, 1), (20, 2), (49, 4), (50, 5)] {
        let page = ListPage {
            max_bytes,
            ..everything(&[Part::Raw])
        };
        let page = store.list(inbox.key, page, START).await.unwrap();
        assert_eq!((page.emails.len(), page.more), (rows, rows < 5), "{max_bytes} bytes");
    }
    let page = ListPage {
        max_bytes: 0,
        ..everything(&[])
    };
    assert_eq!(store.list(inbox.key, page, START).await.unwrap().emails.len(), 5);
}

async fn reading_does_not_mark(store: &dyn Store) {
    let inbox = create(store, "unread").await;
    let id = deposit(store, &inbox, "mail").await;
    for _ in 0..2 {
        let found = store.email(inbox.key, id, &[Part::Raw], START).await.unwrap().unwrap();
        assert!(!found.is_read);
    }
    for _ in 0..2 {
        assert!(store.mark_read(inbox.key, id, START).await.unwrap());
        assert!(store.email(inbox.key, id, &[], START).await.unwrap().unwrap().is_read);
    }
    let page = store.list(inbox.key, everything(&[]), START).await.unwrap();
    assert!(page.emails[0].is_read);
    assert!(!store.mark_read(inbox.key, EmailId::new(START), START).await.unwrap());
}

async fn the_first_signature_stays(store: &dyn Store) {
    let inbox = create(store, "signed").await;
    let id = deposit(store, &inbox, "mail").await;
    let attach =
        |part, bytes: &'static str| store.attach(inbox.key, id, part, Bytes::from_static(bytes.as_bytes()), START);
    assert!(attach(Part::RawSignature, "first").await.unwrap());
    assert!(attach(Part::RawSignature, "second").await.unwrap());
    assert!(attach(Part::ParsedSignature, "other").await.unwrap());
    assert!(attach(Part::MetadataSignature, "third").await.unwrap());
    let wanted = [
        Part::ParsedSignature,
        Part::RawSignature,
        Part::MetadataSignature,
        Part::Raw,
    ];
    let found = store.email(inbox.key, id, &wanted, START).await.unwrap().unwrap();
    assert_eq!(text(&found, Part::RawSignature).as_deref(), Some("first"));
    assert_eq!(text(&found, Part::ParsedSignature).as_deref(), Some("other"));
    assert_eq!(text(&found, Part::MetadataSignature).as_deref(), Some("third"));
    assert_eq!(text(&found, Part::Raw).as_deref(), Some("raw of mail"));
    let page = store
        .list(inbox.key, everything(&[Part::RawSignature]), START)
        .await
        .unwrap();
    assert_eq!(text(&page.emails[0], Part::RawSignature).as_deref(), Some("first"));
    assert!(
        store
            .delete_email(inbox.key, id, RemovalReason::Manual, START)
            .await
            .unwrap()
    );
    assert!(!attach(Part::RawSignature, "late").await.unwrap());
}

async fn a_delete_is_true_exactly_once(store: Arc<dyn Store>) {
    let inbox = create(&*store, "once").await;
    let id = deposit(&*store, &inbox, "mail").await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (store, key) = (Arc::clone(&store), inbox.key);
        racers.spawn(async move { store.delete_email(key, id, RemovalReason::Manual, START).await });
    }
    let mut deleted = 0;
    while let Some(answer) = racers.join_next().await {
        deleted += usize::from(answer.unwrap().unwrap());
    }
    assert_eq!(deleted, 1);
    assert!(store.email(inbox.key, id, &[], START).await.unwrap().is_none());
    assert!(!store.mark_read(inbox.key, id, START).await.unwrap());
}

async fn usage_follows(store: &dyn Store) {
    assert_eq!(store.usage().await.unwrap(), crate::Usage::default());
    let inbox = create(store, "counted").await;
    let empty = store.usage().await.unwrap();
    assert_eq!((empty.inboxes, empty.emails), (1, 0));
    let id = deposit(store, &inbox, "one").await;
    deposit(store, &inbox, "two").await;
    let filled = store.usage().await.unwrap();
    assert_eq!((filled.inboxes, filled.emails), (1, 2));
    let content = ["metadata of one", "raw of one", "metadata of two", "raw of two"]
        .concat()
        .len() as u64;
    assert!(filled.live_bytes >= empty.live_bytes + content);
    let signature = Bytes::from_static(&[0; 3309]);
    store
        .attach(inbox.key, id, Part::RawSignature, signature, START)
        .await
        .unwrap();
    assert!(store.usage().await.unwrap().live_bytes >= filled.live_bytes + 3309);
    store
        .delete_email(inbox.key, id, RemovalReason::Manual, START)
        .await
        .unwrap();
    let halved = store.usage().await.unwrap();
    assert_eq!(halved.emails, 1);
    assert!(halved.live_bytes < filled.live_bytes);
    store.retire(&[inbox.key], RemovalReason::Manual, START).await.unwrap();
    assert_eq!(store.usage().await.unwrap(), crate::Usage::default());
}

async fn a_closed_store_is_unavailable(store: &dyn Store) {
    let inbox = create(store, "closed").await;
    let id = deposit(store, &inbox, "mail").await;
    assert!(store.is_available() && store.takes_mail().await);
    store.close().await;
    assert!(!store.is_available() && !store.takes_mail().await);
    assert!(store.inbox(&inbox.address, START).await.is_err());
    assert!(store.email(inbox.key, id, &[], START).await.is_err());
    assert!(store.mark_read(inbox.key, id, START).await.is_err());
    assert!(
        store
            .accept(vec![email(&inbox, "late")], &Retention::UNLIMITED, START)
            .await
            .is_err()
    );
    store.close().await;
}
