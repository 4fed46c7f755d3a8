//! What goes out comes back, and what is not whole does not.

mod earlier;

use bytes::Bytes;
use proptest::prelude::*;
use restante_envelope::DecapsulationKey;
use restante_model::{EventType, Inbox, InboxMode, RemovalReason, WebhookId};

use super::format::{Begin, EmailEntry, Entry, InboxEntry, Reader, Writer};
use super::*;
use crate::conformance::events::tell;
use crate::conformance::queue::{log, queue};
use crate::conformance::traits::chaos;
use crate::conformance::webhooks::{of, subscribe};
use crate::conformance::{START, after_ms, create, email, everything, plain_inbox, request};
use crate::queue_item::{DeliveryItem, DeliveryItemState, EventItem, EventItemKind, WebhookItem};
use crate::{
    Activity, Claim, DeliveriesAfter, Embedded, EmbeddedConfig, Happening, LastAttempt, Part, QueueItem, Retention,
    Stamp, Store, StoredEmail, Switch, Topics, WebhookScope, WebhookStore,
};

fn stamp() -> Stamp {
    let text = str::to_owned;
    Stamp {
        profile: text("service"),
        signing_key: text("one"),
        event_key: text("two"),
        seal_mac_key: text("three"),
    }
}

fn open(dir: &tempfile::TempDir) -> Embedded {
    Embedded::open(&EmbeddedConfig::new(dir.path().join("store"), stamp())).unwrap()
}

fn exporting() -> Exporting {
    Exporting {
        stamp: stamp(),
        now: after_ms(1),
        damaged: Damaged::Stops,
    }
}

async fn exported(store: &dyn Store) -> (Vec<u8>, Totals) {
    let mut stream = Vec::new();
    let (totals, left_out) = export(store, &mut stream, &exporting(), |_| ()).await.unwrap();
    assert_eq!(left_out, LeftOut::default());
    (stream, totals)
}

async fn imported(store: &dyn Store, stream: &[u8]) -> Result<Totals, ImportError> {
    Import::begin(stream)?.fill(store, |_| ()).await
}

/// All that a store shows of an inbox, in an order that does not depend on ids.
async fn shown(store: &dyn Store, inbox: &Inbox) -> String {
    let found = store.inbox(&inbox.address, START).await.unwrap().unwrap();
    let arrivals = store.arrivals(found.key, 0, 1000, START).await.unwrap();
    let order: Vec<_> = arrivals.iter().map(|arrival| arrival.email).collect();
    let parts = [
        Part::Metadata,
        Part::Facts,
        Part::Raw,
        Part::Parsed,
        Part::ParsedSignature,
        Part::RawSignature,
        Part::MetadataSignature,
    ];
    let emails: Vec<StoredEmail> = store.list(found.key, everything(&parts), START).await.unwrap().emails;
    format!("{found:?} {order:?} {emails:?}")
}

/// A plain inbox with emails whose ids are not in the order of their arrival, one read; an encrypted one with
/// signatures; an empty one; one that has expired.
async fn filled(store: &dyn Store) -> Vec<Inbox> {
    let plain = create(store, "plain").await;
    let mut emails: Vec<_> = (0..300).map(|n| email(&plain, &format!("{n}"))).collect();
    emails.reverse();
    for email in emails {
        store.accept(vec![email], &Retention::UNLIMITED, START).await.unwrap();
    }
    let some = store.arrivals(plain.key, 7, 1, START).await.unwrap()[0].email;
    assert!(store.mark_read(plain.key, some, START).await.unwrap());
    let mut sealed = plain_inbox("sealed", 3_600_000);
    sealed.spam_analysis = true;
    let key = DecapsulationKey::generate().encapsulation_key().clone();
    sealed.mode = InboxMode::Encrypted { key };
    store.create_inbox(request(&sealed), START).await.unwrap();
    let mut new = email(&sealed, "s");
    new.parts.push((Part::Parsed, Bytes::from(vec![7; 100_000])));
    let id = new.id;
    store.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    for part in Part::SIGNATURES {
        let signature = Bytes::from(format!("{part:?}"));
        assert!(store.attach(sealed.key, id, part, signature, START).await.unwrap());
    }
    let mut empty = plain_inbox("empty", 0);
    empty.expires_at = Inbox::NEVER;
    empty.persistent = true;
    empty.chaos = Some(chaos(6));
    store.create_inbox(request(&empty), START).await.unwrap();
    assert!(store.set_chaos(plain.key, Some(chaos(5)), START).await.unwrap());
    let short = plain_inbox("short", 1);
    store.create_inbox(request(&short), START).await.unwrap();
    vec![plain, sealed, empty]
}

#[tokio::test]
async fn what_a_store_shows_another_one_shows_after_the_move() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, to) = (open(&from), open(&to));
    let inboxes = filled(&from).await;
    let (stream, totals) = exported(&from).await;
    assert_eq!(
        (totals.inboxes, totals.emails),
        (3, 301),
        "what has expired stays behind"
    );
    assert_eq!(imported(&to, &stream).await.unwrap(), totals);
    for inbox in &inboxes {
        assert_eq!(shown(&to, inbox).await, shown(&from, inbox).await);
    }
    assert_eq!(exported(&to).await.0, stream, "and its export is the same");
    assert!(matches!(imported(&to, &stream).await, Err(ImportError::NotEmpty)));
    let third = tempfile::tempdir().unwrap();
    let to = open(&third);
    subscribe(&to, WebhookScope::Global).await;
    assert!(
        matches!(imported(&to, &stream).await, Err(ImportError::NotEmpty)),
        "a webhook would hear of the mail that moves"
    );
}

#[tokio::test]
async fn webhooks_move_with_what_they_are_still_to_be_told() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, to) = (open(&from), open(&to));
    let inbox = create(&from, "bob").await;
    let items = queue_items().map(|item| match item {
        QueueItem::Webhook(webhook) => QueueItem::Webhook(WebhookItem {
            inbox: Some(*inbox.key.as_bytes()),
            switch: Switch::Enabled,
            orphaned_at: None,
            ..webhook
        }),
        item => item,
    });
    from.restore_queue(items.to_vec()).await.unwrap();
    let (webhook, event) = (WebhookId::from_bytes([4; 16]), Bytes::from_static(b"event"));
    let mut new = email(&inbox, "told");
    new.event = Some(event.clone());
    from.accept(vec![new], &Retention::UNLIMITED, START).await.unwrap();
    let (stream, totals) = exported(&from).await;
    assert_eq!((totals.webhooks, totals.events, totals.deliveries), (1, 4, 1));
    assert_eq!(imported(&to, &stream).await.unwrap(), totals);
    assert_eq!(exported(&to).await.0, stream);
    for store in [&from, &to] {
        assert_eq!(store.webhook(webhook, START).await.unwrap().unwrap().revision, 2);
        let config = Bytes::from_static(b"config");
        assert_eq!(store.webhook_config(webhook).await, Ok(Some((2, config))));
        // The mail that was stored again raised nothing.
        let pending = store.events(10).await.unwrap();
        let sequences: Vec<_> = pending.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, [9, 10, 11]);
        assert_eq!(pending[1].happening, Happening::ThrownAway);
        let gone = Bytes::from_static(b"gone");
        for (sequence, data) in [(10, &gone), (11, &event)] {
            assert_eq!(store.event_data(sequence).await, Ok(Some(data.clone())));
        }
        let claim = Claim {
            max: 10,
            max_per_webhook: 10,
            lease: std::time::Duration::from_mins(1),
        };
        // What was due before a start is spread over a while.
        store.claim_deliveries(&claim, START).await.unwrap();
        let claimed = store
            .claim_deliveries(&claim, after_ms(60_000))
            .await
            .unwrap()
            .deliveries;
        let told: Vec<_> = claimed
            .iter()
            .map(|told| (told.lease.event, told.attempts, told.is_single))
            .collect();
        assert_eq!(told, [(8, 2, true)]);
        let page = DeliveriesAfter {
            before: None,
            limit: 10,
        };
        let report = store.deliveries(webhook, page).await.unwrap().deliveries[0]
            .report
            .clone();
        assert_eq!(report, Some(Bytes::from_static(b"report")));
    }
}

/// Exported between the removal of a webhook and that of what it leaves.
#[tokio::test]
async fn no_event_moves_for_good_without_what_it_is_kept_for() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, to) = (open(&from), open(&to));
    let inbox = create(&from, "bob").await;
    let (gone, stays) = (
        subscribe(&from, WebhookScope::Global).await,
        subscribe(&from, of(&inbox)).await,
    );
    queue(&from, &inbox, 150, &[gone]).await;
    let kept = queue(&from, &inbox, 1, &[gone, stays]).await;
    queue(&from, &inbox, 150, &[gone]).await;
    let pending = tell(&from, &inbox, "told later").await;
    assert!(from.remove_webhook(gone, START).await.unwrap());
    let (stream, totals) = exported(&from).await;
    assert_eq!((totals.webhooks, totals.events), (1, 302));
    assert_eq!(imported(&to, &stream).await.unwrap(), totals);
    let mut left = Vec::new();
    for sequence in 0..1000 {
        left.extend(to.event(sequence).await.unwrap());
    }
    assert_eq!(left.len(), 2, "what a webhook waits for, and what is not dispatched");
    assert_eq!((left[0].sequence, left[1].email), (kept[0].sequence, pending));
    assert_eq!(log(&to, stays).await.len(), 1);
}

#[tokio::test]
async fn a_damaged_webhook_ends_an_export_or_is_left_out_with_its_deliveries() {
    let (dir, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, to) = (open(&dir), open(&to));
    store.restore_queue(queue_items().to_vec()).await.unwrap();
    let segment = dir.path().join("store/segments/00000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(6).position(|window| window == b"config").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let error = export(&store, Vec::new(), &exporting(), |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "a webhook, or what it is to be told, is damaged");
    let damaged = Damaged::LeftOut;
    let exporting = Exporting { damaged, ..exporting() };
    let mut stream = Vec::new();
    let (totals, left_out) = export(&store, &mut stream, &exporting, |_| ()).await.unwrap();
    assert_eq!(left_out, LeftOut { emails: 0, queued: 1 });
    assert_eq!((totals.webhooks, totals.deliveries), (0, 1));
    imported(&to, &stream).await.unwrap();
    assert_eq!(exported(&to).await.1.deliveries, 0, "nobody is left to tell");
}

#[tokio::test]
async fn a_damaged_email_ends_an_export_or_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir);
    let inbox = create(&store, "bob").await;
    let ids = [b"first-of-bob", b"other-of-bob"].map(|raw| {
        let mut new = email(&inbox, "");
        new.parts = vec![(Part::Raw, Bytes::from_static(raw))];
        new
    });
    let damaged = ids[0].id;
    store.accept(ids.to_vec(), &Retention::UNLIMITED, START).await.unwrap();
    let segment = dir.path().join("store/segments/00000001.log");
    let mut bytes = std::fs::read(&segment).unwrap();
    let at = bytes.windows(12).position(|window| window == b"first-of-bob").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).unwrap();

    let error = export(&store, Vec::new(), &exporting(), |_| ()).await.unwrap_err();
    let expected = format!("the email {damaged} of bob@restante.test is damaged");
    assert_eq!(error.to_string(), expected);
    let damaged = Damaged::LeftOut;
    let exporting = Exporting { damaged, ..exporting() };
    let (totals, left_out) = export(&store, Vec::new(), &exporting, |_| ()).await.unwrap();
    let one = LeftOut { emails: 1, queued: 0 };
    assert_eq!((totals.emails, left_out), (1, one));
}

/// A stream of a few entries.
fn small_stream() -> Vec<u8> {
    let email = EmailEntry {
        id: [1; 16],
        received_at: 1,
        is_read: true,
        parts: vec![(Part::Raw, Bytes::from_static(b"hello"))],
    };
    let (first, second) = (email.clone(), EmailEntry { id: [2; 16], ..email });
    let begin = Entry::Begin(Begin::new(&stamp(), 1));
    written(&[
        begin,
        Entry::Email(first),
        Entry::Email(second),
        Entry::End(Totals::default()),
    ])
}

fn written(entries: &[Entry]) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut writer = Writer::new(&mut stream).unwrap();
    for entry in entries {
        writer.put(entry).unwrap();
    }
    writer.finish().unwrap();
    stream
}

/// The entries up to the end, which must be there.
fn read(stream: &[u8]) -> Result<Vec<Entry>, StreamError> {
    let mut reader = Reader::new(stream)?;
    let mut entries = Vec::new();
    while !matches!(entries.last(), Some(Entry::End(_))) {
        entries.push(reader.next()?);
    }
    Ok(entries)
}

/// One of each kind.
fn queue_items() -> [QueueItem; 6] {
    let event = |sequence, what| {
        QueueItem::Event(EventItem {
            sequence,
            inbox: [1; 16],
            email: [3; 16],
            at: 128,
            what,
        })
    };
    let removed = EventItemKind::Removed {
        reason: RemovalReason::Eviction,
        inbox_address: "a@b".to_owned(),
        inbox_hash: [2; 32],
    };
    [
        QueueItem::Dispatched { through: 8, last: 10 },
        QueueItem::Webhook(WebhookItem {
            webhook: [4; 16],
            inbox: Some([1; 16]),
            sequence: 7,
            revision: 2,
            created_at: 300,
            updated_at: Some(301),
            topics: Topics {
                arrivals: true,
                removals: false,
            },
            switch: Switch::DisabledByFailures,
            activity: Activity {
                successful: 1,
                failed: 2,
                failures_in_a_row: 3,
                last: Some(LastAttempt {
                    started_at: 300,
                    succeeded: true,
                }),
            },
            orphaned_at: Some(302),
            config: Bytes::from_static(b"config"),
        }),
        event(8, EventItemKind::Arrived(Bytes::from_static(b"data"))),
        event(9, removed),
        event(10, EventItemKind::ThrownAway(Bytes::from_static(b"gone"))),
        QueueItem::Delivery(DeliveryItem {
            webhook: [4; 16],
            event: 8,
            event_type: EventType::EmailStored,
            event_id: [5; 16],
            created_at: 300,
            attempts: 2,
            is_single: true,
            state: DeliveryItemState::Queued(330),
            report: Some(Bytes::from_static(b"report")),
        }),
    ]
}

/// The stream as version 3 has it: this test fails when it changes without a new version.
#[test]
fn the_stream_is_pinned() {
    let inbox = InboxEntry {
        key: [1; 16],
        address: "a@b".to_owned(),
        hash: [2; 32],
        client_key: Some(Bytes::from_static(b"key")),
        email_auth: true,
        created_at: 1,
        expires_at: 300,
        spam_analysis: true,
        persistent: false,
        chaos: Some(Bytes::from_static(b"{}")),
    };
    let email = EmailEntry {
        id: [3; 16],
        received_at: 128,
        is_read: true,
        parts: vec![(Part::Raw, Bytes::from_static(b"hi"))],
    };
    let totals = Totals {
        inboxes: 1,
        emails: 1,
        bytes: 2,
        webhooks: 3,
        events: 4,
        deliveries: 300,
    };
    let begin = Begin::new(&stamp(), 300);
    let mut written_entries = vec![Entry::Begin(begin), Entry::Inbox(inbox), Entry::Email(email)];
    written_entries.extend(queue_items().map(Entry::Queue));
    written_entries.push(Entry::End(totals));
    let stream = written(&written_entries);
    let entries = [
        "190000007adec456eda43ced00ac020773657276696365036f6e650374776f057468726565",
        "440000006a4506f4d0055d00010101010101010101010101010101010103614062020202020202020202020202020202020202020202020202020202020202020201036b65790101ac02010001027b7d",
        "19000000e540ffba613beea802030303030303030303030303030303038001010102026869",
        "04000000c8832983dee025ab0400080a",
        "3e000000827227688e8f6adf04010404040404040404040404040404040401010101010101010101010101010101010702ac0201ad0201000201020301ac020101ae0206636f6e666967",
        "2b00000040994594a10e72b604020801010101010101010101010101010101030303030303030303030303030303038001000464617461",
        "4b000000b3bcfdd8730bc857040209010101010101010101010101010101010303030303030303030303030303030380010102036140620202020202020202020202020202020202020202020202020202020202020202",
        "2b000000df077e78e8d5831004020a010101010101010101010101010101010303030303030303030303030303030380010204676f6e65",
        "33000000dee7479f54e34858040304040404040404040404040404040404080105050505050505050505050505050505ac02020100ca0201067265706f7274",
        "0800000011d4c823e25ca451030101020304ac02",
    ];
    let expected = format!("727374455850525403000000{}", entries.concat());
    let bytes = |at: usize| u8::from_str_radix(&expected[at..at + 2], 16).unwrap();
    assert_eq!(stream, (0..expected.len()).step_by(2).map(bytes).collect::<Vec<_>>());
}

#[test]
fn a_stream_that_is_cut_short_anywhere_is_told() {
    let stream = small_stream();
    assert_eq!(read(&stream).unwrap().len(), 4);
    for end in 0..stream.len() {
        let error = read(&stream[..end]).unwrap_err();
        let is_told = match error {
            StreamError::NotAnExport => end < 12,
            StreamError::CutShort { offset } => offset == end as u64,
            _ => false,
        };
        assert!(is_told, "{end}: {error}");
    }
}

#[test]
fn a_stream_with_a_wrong_byte_anywhere_is_told() {
    let stream = small_stream();
    for at in 0..stream.len() {
        let mut spoiled = stream.clone();
        spoiled[at] ^= 0x10;
        let error = read(&spoiled).unwrap_err();
        let is_told = match error {
            StreamError::NotAnExport => at < 8,
            StreamError::Version { .. } => (8..12).contains(&at),
            StreamError::Damaged { offset } => at >= 12 && offset <= at as u64,
            _ => false,
        };
        assert!(is_told, "{at}: {error}");
    }
}

#[test]
fn entries_that_are_lost_or_exchanged_are_told() {
    let one = |entries: &[Entry]| written(entries).split_off(12);
    let entries = read(&small_stream()).unwrap();
    let whole = small_stream();
    let lengths = (1..=4).map(|count| one(&entries[..count]).len()).collect::<Vec<_>>();
    let part = |from: usize, to: usize| {
        let start = if from == 0 { 0 } else { 12 + lengths[from - 1] };
        &whole[start..12 + lengths[to - 1]]
    };
    for spoiled in [
        [part(0, 1), part(2, 4)].concat(),
        [part(0, 1), part(2, 3), part(1, 2), part(3, 4)].concat(),
        [part(0, 2), part(1, 2), part(2, 4)].concat(),
    ] {
        assert!(matches!(read(&spoiled), Err(StreamError::Damaged { .. })));
    }
}

#[tokio::test]
async fn what_cannot_be_is_not_imported() {
    let email = Entry::Email(EmailEntry {
        id: [1; 16],
        received_at: 1,
        is_read: false,
        parts: Vec::new(),
    });
    let email_again = email.clone();
    let begin = || Entry::Begin(Begin::new(&stamp(), 1));
    let one_email = Totals {
        emails: 1,
        ..Totals::default()
    };
    let end = |totals| Entry::End(totals);
    for (entries, what) in [
        (vec![end(Totals::default())], "no beginning"),
        (vec![begin(), begin()], "a second beginning"),
        (vec![begin(), email, end(one_email)], "an email without an inbox"),
        (vec![begin(), end(one_email)], "other totals than entries"),
        (
            vec![
                begin(),
                Entry::Queue(QueueItem::Dispatched { through: 1, last: 1 }),
                email_again,
            ],
            "mail behind webhooks",
        ),
        (
            vec![begin(), end(Totals::default()), end(Totals::default())],
            "more after the end",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let error = imported(&open(&dir), &written(&entries)).await.unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

proptest! {
    #[test]
    fn no_stream_makes_the_reader_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), is_ours: bool) {
        if is_ours {
            bytes.splice(..0, written(&[]));
        }
        let _ = read(&bytes);
    }
}
