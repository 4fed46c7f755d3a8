//! What is refused where there is no room, and what is not: mail, and the events of mail that is not stored, come from
//! outside and must not take the last bytes.

use std::sync::Arc;

use restante_model::RemovalReason;

use super::events::{pending, told};
use super::thrown_away::thrown_away;
use super::webhooks::subscribe;
use super::{START, create, email, ids};
use crate::{AcceptError, Retention, Store, TellError, WebhookScope};

/// Runs every rule of this group; `open` makes stores that are below their floor of free space from the start.
pub async fn run(open: impl AsyncFn() -> Arc<dyn Store>) {
    mail_is_refused(&*open().await).await;
    events_of_mail_that_is_not_stored_are_refused(&*open().await).await;
}

async fn mail_is_refused(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    subscribe(store, WebhookScope::Global).await;
    let late = store.accept(vec![told(&inbox, "late")], &Retention::UNLIMITED, START);
    assert_eq!(late.await, Err(AcceptError::NoRoom));
    assert_eq!(ids(store, &inbox, START).await, []);
    assert_eq!(pending(store).await, []);
    assert!(store.is_available() && !store.takes_mail().await);
    let retired = store.retire(&[inbox.key], RemovalReason::Manual, START).await;
    assert_eq!(retired, Ok(1), "what goes needs no room");
    let late = store.accept(vec![email(&inbox, "late")], &Retention::UNLIMITED, START);
    assert_eq!(late.await, Err(AcceptError::Gone));
}

async fn events_of_mail_that_is_not_stored_are_refused(store: &dyn Store) {
    let inbox = create(store, "inbox").await;
    let mail = thrown_away(&inbox, "mail");
    assert_eq!(store.tell(vec![mail.clone()], START).await, Ok(()), "nobody wants it");
    subscribe(store, WebhookScope::Global).await;
    assert_eq!(store.tell(vec![mail.clone()], START).await, Err(TellError::NoRoom));
    assert_eq!(store.tell(Vec::new(), START).await, Ok(()));
    assert_eq!(pending(store).await, []);
    assert!(store.is_available(), "that is no trouble");
    store.close().await;
    let closed = store.tell(vec![mail], START).await;
    assert!(matches!(closed, Err(TellError::Unavailable(_))), "{closed:?}");
}
