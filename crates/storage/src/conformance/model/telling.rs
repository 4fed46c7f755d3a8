//! Who hears of arrivals, and what they are to be told.

use restante_model::{EmailId, InboxKey};

use super::{Model, pick};
use crate::conformance::thrown_away::thrown_away;
use crate::conformance::traits::chaos;
use crate::conformance::webhooks::{MANY, webhook};
use crate::{Happening, Store, WebhookScope};

/// An event that is not dispatched.
pub(super) type Told = (InboxKey, EmailId, Happening);

impl Model {
    /// A webhook of all inboxes comes, or goes.
    pub(super) async fn listen(&mut self, store: &dyn Store) {
        if let Some(id) = self.listener.take() {
            assert_eq!(store.remove_webhook(id, self.now).await, Ok(true));
            while store.reap_webhooks(10, self.now).await.expect("the store writes").more {}
            return;
        }
        let mut new = webhook(WebhookScope::Global);
        new.topics.removals = false;
        self.listener = Some(new.id);
        store
            .create_webhook(new, MANY, self.now)
            .await
            .expect("there is no other");
    }

    /// What is to be told of an arrival, if anybody hears of it.
    pub(super) fn raise(&mut self, inbox: InboxKey, email: EmailId, happening: Happening) {
        if self.listener.is_some() {
            self.told.push((inbox, email, happening));
        }
    }

    /// All that was raised is dispatched, to nobody.
    pub(super) async fn dispatch(&mut self, store: &dyn Store) {
        store
            .dispatch(u64::MAX, Vec::new(), self.now)
            .await
            .expect("the store writes");
        self.told.clear();
    }

    pub(super) async fn tell(&mut self, store: &dyn Store, inboxes: &[usize], again: bool) {
        let lives = inboxes.iter().filter_map(|number| pick(&self.inboxes, *number));
        let mut arrivals: Vec<_> = lives.map(|life| thrown_away(&life.inbox, "mail")).collect();
        if again {
            arrivals.extend(self.thrown.clone());
        }
        self.thrown = arrivals.last().cloned();
        store.tell(arrivals.clone(), self.now).await.expect("the store writes");
        for arrival in arrivals {
            let told = (arrival.inbox, arrival.id, Happening::ThrownAway);
            let mut lives = self.inboxes.iter();
            let is_live = lives.any(|life| life.inbox.key == arrival.inbox && life.is_live(self.now));
            if is_live && !self.told.contains(&told) {
                self.raise(told.0, told.1, told.2);
            }
        }
    }

    pub(super) async fn set_chaos(&mut self, store: &dyn Store, number: usize, to: u64) {
        let now = self.now;
        let Some(life) = super::pick_mut(&mut self.inboxes, number) else {
            return;
        };
        let given = (!to.is_multiple_of(5)).then(|| chaos(to));
        let set = store.set_chaos(life.inbox.key, given.clone(), now).await;
        assert_eq!(set, Ok(life.is_live(now)));
        if life.is_live(now) {
            life.inbox.chaos = given;
        }
    }

    pub(super) async fn check_events(&self, store: &dyn Store) {
        let events = store.events(10_000).await.expect("the store reads");
        let found: Vec<Told> = events
            .iter()
            .map(|event| (event.inbox, event.email, event.happening.clone()))
            .collect();
        assert_eq!(found, self.told);
        for event in events {
            let data = store.event_data(event.sequence).await.expect("the store reads");
            assert!(data.is_some_and(|data| data.starts_with(b"event of")));
        }
    }
}
