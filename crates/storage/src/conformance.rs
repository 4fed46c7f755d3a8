//! What every backend must do, as tests over any [`Store`].
//!
//! [`run`] asks for a fresh, empty store for each rule; [`model`] compares a store with an obvious one in memory.
//! The modules are one group of rules each: [`inboxes`] (names and their lives), [`traits`] (what else
//! they are), [`mail`] (what is stored),
//! [`order`] (sequences and hashes), [`removal`] (retiring and reaping), [`retention`] (evicting), [`webhooks`] (who is
//! told), [`events`] (of what), [`thrown_away`] (of mail that is not stored), [`queue`] (dispatching and claiming), [`settling`] (what came of it), [`redelivery`]
//! (once more), [`orphans`] (webhooks that end). [`room`] is for stores without any: [`room::run`] asks for those.
//!
//! A rule that a backend breaks panics, as a test does.

pub mod events;
pub mod inboxes;
pub mod mail;
pub mod model;
pub mod order;
pub mod orphans;
pub mod queue;
pub mod redelivery;
pub mod removal;
pub mod retention;
pub mod room;
pub mod settling;
pub mod thrown_away;
pub mod traits;
pub mod webhooks;

use std::sync::Arc;

use bytes::Bytes;
use restante_model::{EmailId, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, Timestamp};

use crate::{Created, Idempotency, ListPage, NewEmail, NewInbox, Part, Retention, Store, StoredEmail};

/// When the tests take place.
pub const START: Timestamp = Timestamp::from_unix_ms(1_769_341_276_000);

/// Runs every rule, each on a store that `open` makes.
pub async fn run(open: impl AsyncFn() -> Arc<dyn Store>) {
    inboxes::run(&open).await;
    traits::run(&open).await;
    mail::run(&open).await;
    order::run(&open).await;
    removal::run(&open).await;
    retention::run(&open).await;
    webhooks::run(&open).await;
    events::run(&open).await;
    thrown_away::run(&open).await;
    queue::run(&open).await;
    settling::run(&open).await;
    redelivery::run(&open).await;
    orphans::run(&open).await;
}

/// A moment after [`START`].
pub const fn after_ms(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(START.unix_ms() + ms)
}

/// A plain inbox that lives for `ttl_ms` from [`START`] on.
pub fn plain_inbox(local: &str, ttl_ms: u64) -> Inbox {
    let address = InboxAddress::parse(&format!("{local}@restante.test")).expect("tests use valid local parts");
    Inbox {
        key: InboxKey::new(START),
        hash: InboxHash::of_address(&address),
        address,
        mode: InboxMode::Plain,
        email_auth: true,
        spam_analysis: false,
        persistent: false,
        chaos: None,
        created_at: START,
        expires_at: after_ms(ttl_ms),
    }
}

/// The request for an inbox, without an idempotency key.
pub fn request(inbox: &Inbox) -> NewInbox {
    NewInbox {
        inbox: inbox.clone(),
        idempotency: None,
    }
}

/// The request for an inbox, with an idempotency key and a body.
pub fn repeatable(inbox: &Inbox, key: u8, body: u8) -> NewInbox {
    NewInbox {
        inbox: inbox.clone(),
        idempotency: Some(Idempotency {
            key: [key; 32],
            body: [body; 32],
        }),
    }
}

/// Creates a plain inbox that lives for an hour.
pub async fn create(store: &dyn Store, local: &str) -> Inbox {
    let inbox = plain_inbox(local, 3_600_000);
    let created = store.create_inbox(request(&inbox), START).await;
    assert!(matches!(created, Ok(Created::New)), "{created:?}");
    inbox
}

/// An email whose parts name it.
pub fn email(inbox: &Inbox, name: &str) -> NewEmail {
    NewEmail {
        inbox: inbox.key,
        id: EmailId::new(START),
        received_at: after_ms(7),
        parts: vec![
            (Part::Metadata, Bytes::from(format!("metadata of {name}"))),
            (Part::Raw, Bytes::from(format!("raw of {name}"))),
        ],
        event: None,
    }
}

/// A new id that is below those of all emails that arrive now, as if another node with a slow clock had made it.
pub fn early_id() -> EmailId {
    let mut bytes = *EmailId::new(START).as_bytes();
    bytes[0] = 0;
    EmailId::from_bytes(bytes)
}

/// Stores one email and gives its id.
pub async fn deposit(store: &dyn Store, inbox: &Inbox, name: &str) -> EmailId {
    let new = email(inbox, name);
    let id = new.id;
    let arrivals = store
        .accept(vec![new], &Retention::UNLIMITED, START)
        .await
        .expect("a live inbox takes mail");
    assert_eq!(arrivals.len(), 1);
    assert_eq!((arrivals[0].inbox, arrivals[0].email), (inbox.key, id));
    id
}

/// A page that holds everything.
pub fn everything(parts: &[Part]) -> ListPage {
    ListPage {
        before: None,
        max_rows: 10_000,
        max_bytes: usize::MAX,
        parts: parts.to_vec(),
    }
}

/// All ids of an inbox, newest first.
pub async fn ids(store: &dyn Store, inbox: &Inbox, now: Timestamp) -> Vec<EmailId> {
    let page = store
        .list(inbox.key, everything(&[]), now)
        .await
        .expect("the store reads");
    assert!(!page.more);
    page.emails.iter().map(|email| email.id).collect()
}

/// The text of a part.
pub fn text(email: &StoredEmail, part: Part) -> Option<String> {
    email
        .part(part)
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Whether the store shows an inbox at its address and by its hash; both must say the same.
pub async fn is_shown(store: &dyn Store, inbox: &Inbox, now: Timestamp) -> bool {
    let by_address = store.inbox(&inbox.address, now).await.expect("the store reads");
    let by_hash = store.inbox_by_hash(&inbox.hash, now).await.expect("the store reads");
    let is_this = |found: &Option<Arc<Inbox>>| found.as_ref().is_some_and(|found| found.key == inbox.key);
    assert_eq!(is_this(&by_address), is_this(&by_hash));
    is_this(&by_address)
}
