//! The backend as a whole: content, reopening, the end of the log, and trouble.

mod clock;
mod compaction;
mod concurrent;
mod damage;
mod end_of_log;
pub(super) mod faults;
mod index_damage;
mod model;
mod obstacles;
mod opening;
mod player;
mod queue;
mod retention;
mod tools;
mod trouble;
mod verify;
mod webhooks;

use std::path::Path;

use restante_model::InboxMode;

use super::*;

pub(super) fn stamp() -> Stamp {
    Stamp {
        profile: "service".to_owned(),
        signing_key: "one".to_owned(),
        event_key: "two".to_owned(),
        seal_mac_key: "three".to_owned(),
    }
}

pub(super) fn config(dir: &Path) -> EmbeddedConfig {
    EmbeddedConfig::new(dir.join("store"), stamp())
}

pub(super) fn now() -> Timestamp {
    Timestamp::from_unix_ms(1_000_000)
}

pub(super) fn new_inbox(name: &str) -> NewInbox {
    let address = InboxAddress::parse(&format!("{name}@restante.test")).unwrap();
    NewInbox {
        inbox: Inbox {
            key: InboxKey::new(now()),
            hash: InboxHash::of_address(&address),
            address,
            mode: InboxMode::Plain,
            email_auth: false,
            spam_analysis: false,
            persistent: false,
            chaos: None,
            created_at: now(),
            expires_at: Timestamp::from_unix_ms(2_000_000),
        },
        idempotency: None,
    }
}

pub(super) fn email(inbox: InboxKey, raw: &str) -> NewEmail {
    NewEmail {
        inbox,
        id: EmailId::new(now()),
        received_at: now(),
        parts: vec![
            (Part::Metadata, Bytes::from(format!("metadata of {raw}"))),
            (Part::Raw, Bytes::from(raw.to_owned())),
        ],
        event: None,
    }
}

#[tokio::test]
async fn what_was_stored_is_there_after_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let store = Embedded::open(&config(dir.path())).unwrap();
    let made = Recovery {
        created: true,
        ..Recovery::default()
    };
    assert_eq!(store.recovery(), made, "nothing was there to be made anew");
    let new = new_inbox("a");
    let (inbox, address) = (new.inbox.key, new.inbox.address.clone());
    assert!(matches!(store.create_inbox(new, now()).await, Ok(Created::New)));
    let sent = email(inbox, "hello");
    let id = sent.id;
    let arrivals = store.accept(vec![sent], &Retention::UNLIMITED, now()).await.unwrap();
    assert_eq!(arrivals[0].sequence, 1);
    assert_eq!(store_content(&store, inbox, &address, id).await, "hello");
    store.close().await;
    let mut store = reopened(store, dir.path());
    for _ in 0..3 {
        assert!(!store.recovery().rebuilt);
        assert_eq!(store_content(&store, inbox, &address, id).await, "hello");
        store = reopened(store, dir.path());
    }
}

fn reopened(store: Embedded, dir: &Path) -> Embedded {
    drop(store);
    Embedded::open(&config(dir)).unwrap()
}

async fn store_content(store: &Embedded, inbox: InboxKey, address: &InboxAddress, id: EmailId) -> String {
    assert_eq!(store.inbox(address, now()).await.unwrap().unwrap().key, inbox);
    let email = store.email(inbox, id, &[Part::Raw], now()).await.unwrap().unwrap();
    String::from_utf8(email.part(Part::Raw).unwrap().to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_backend_conforms() {
    let dirs = std::sync::Mutex::new(Vec::new());
    crate::conformance::run(async || {
        let dir = tempfile::tempdir().unwrap();
        let store = Embedded::open(&config(dir.path())).unwrap();
        dirs.lock().unwrap().push(dir);
        Arc::new(store) as Arc<dyn Store>
    })
    .await;
}

#[tokio::test]
async fn the_embedded_backend_conforms_without_room() {
    let dirs = std::sync::Mutex::new(Vec::new());
    crate::conformance::room::run(async || {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(dir.path());
        config.min_free_bytes = u64::MAX;
        let store = Embedded::open(&config).unwrap();
        dirs.lock().unwrap().push(dir);
        Arc::new(store) as Arc<dyn Store>
    })
    .await;
}
