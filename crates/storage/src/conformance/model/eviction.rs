//! Limits, and what goes beyond them.

use std::collections::BTreeSet;
use std::time::Duration;

use restante_model::{InboxKey, Timestamp};

use super::{Life, Model};
use crate::{NewEmail, Retention, Store, Usage};

/// Bytes that a record takes beside its parts, at most.
const OVERHEAD: u64 = 1024;
/// Percent are of this much at least: a limit in an empty store would refuse everything.
const LEAST: u64 = 4 * 1024;

impl Life {
    /// The email that was committed first: when it arrived, and its sequence.
    fn first(&self) -> Option<(Timestamp, u64)> {
        let first = self.emails.values().min_by_key(|mail| mail.sequence)?;
        Some((first.received_at, first.sequence))
    }

    /// When the email arrived that was committed last.
    fn last(&self) -> Option<Timestamp> {
        let last = self.emails.values().max_by_key(|mail| mail.sequence)?;
        Some(last.received_at)
    }

    fn evict_through(&mut self, through: u64) {
        self.is_evicting = true;
        self.emails.retain(|_, mail| mail.sequence > through);
        self.deleted.retain(|_, sequence| *sequence > through);
    }

    fn limit_count(&mut self, max_emails: u64) {
        while self.emails.len() as u64 > max_emails
            && let Some((_, sequence)) = self.first()
        {
            self.evict_through(sequence);
        }
    }
}

impl Model {
    pub(super) async fn limit(
        &mut self,
        store: &dyn Store,
        emails: Option<u64>,
        percent: Option<u64>,
        age_ms: Option<u64>,
    ) {
        let held = usage_of(store).await.mail_bytes;
        self.retention = Retention {
            max_bytes: percent.map_or(u64::MAX, |percent| held.max(LEAST) * percent / 100),
            max_emails: emails.unwrap_or(u64::MAX),
            max_age: age_ms.map(Duration::from_millis),
        };
    }

    pub(super) async fn evict(&mut self, store: &dyn Store, limit: usize) {
        loop {
            let evicted = store.evict(&self.retention, limit, self.now).await;
            let evicted = evicted.expect("the store writes");
            assert!(evicted.emails <= limit);
            if !evicted.more {
                break;
            }
        }
        if let Some(age) = self.retention.max_age {
            while let Some((received_at, _)) = self.oldest(u64::MAX)
                && received_at.after(age) <= self.now
            {
                self.evict_oldest(u64::MAX);
            }
        }
        // What takes how much room is the store's own affair: it says how many had to go.
        let (usage, max) = (usage_of(store).await, self.retention.max_emails);
        while self.count(|life| (life.emails.len() as u64).min(max)) > usage.emails {
            self.evict_oldest(u64::MAX);
        }
        assert!(usage.mail_bytes <= self.retention.max_bytes);
        for life in self.inboxes.iter_mut().filter(|life| !life.is_retired) {
            life.limit_count(max);
        }
    }

    /// Evicts as the store did when it accepted emails, the first of which has the sequence `first`.
    pub(super) async fn evict_for(&mut self, store: &dyn Store, first: u64) {
        let max = self.retention.max_emails;
        let is_new = |life: &&mut Life| life.emails.values().any(|mail| mail.sequence >= first);
        for life in self.inboxes.iter_mut().filter(is_new) {
            life.limit_count(max);
        }
        let usage = usage_of(store).await;
        while self.count(|life| life.emails.len() as u64) > usage.emails {
            self.evict_oldest(first);
        }
        assert!(usage.mail_bytes <= self.retention.max_bytes);
    }

    /// A refusal must be right: together these are too large, or nearly so.
    pub(super) fn check_too_large(&self, emails: &[NewEmail]) {
        let parts = emails.iter().flat_map(|new| &new.parts);
        let content: u64 = parts.map(|(_, bytes)| bytes.len() as u64).sum();
        assert!(content + OVERHEAD * emails.len() as u64 > self.retention.max_bytes);
    }

    /// What is told of evicted mail and of the oldest.
    pub(super) async fn check_eviction(&self, store: &dyn Store) {
        let oldest = self.oldest(u64::MAX).map(|(received_at, _)| received_at);
        assert_eq!(store.oldest_email().await, Ok(oldest));
        let lives = self.inboxes.iter().filter(|life| !life.is_retired);
        assert_eq!(store.newest_email().await, Ok(lives.filter_map(Life::last).max()));
        let known: BTreeSet<_> = self.inboxes.iter().flat_map(|life| life.emails.keys()).collect();
        for new in self.sent.iter().filter(|new| !known.contains(&new.id)) {
            let mut lives = self.inboxes.iter().filter(|life| life.inbox.key == new.inbox);
            let Some(life) = lives.next().filter(|life| life.is_live(self.now)) else {
                continue;
            };
            let deleted = life.deleted.get(&new.id).copied();
            let expected = deleted.or(life.is_evicting.then_some(0));
            assert_eq!(store.sequence_of(new.inbox, new.id).await, Ok(expected));
        }
    }

    fn count(&self, emails: impl Fn(&Life) -> u64) -> u64 {
        let lives = self.inboxes.iter().filter(|life| !life.is_retired);
        lives.map(emails).sum()
    }

    /// The inbox whose first email is the oldest, but for emails from a sequence on.
    fn oldest(&self, before: u64) -> Option<(Timestamp, InboxKey)> {
        let lives = self.inboxes.iter().filter(|life| !life.is_retired);
        let first = |life: &Life| {
            let (received_at, sequence) = life.first()?;
            (sequence < before).then_some((received_at, life.inbox.key))
        };
        lives.filter_map(first).min()
    }

    fn evict_oldest(&mut self, before: u64) {
        let (_, key) = self.oldest(before).expect("the store evicts only what there is");
        let mut lives = self.inboxes.iter_mut().filter(|life| life.inbox.key == key);
        let life = lives.next().expect("it was found just now");
        let (_, sequence) = life.first().expect("it was found just now");
        life.evict_through(sequence);
    }
}

async fn usage_of(store: &dyn Store) -> Usage {
    store.usage().await.expect("the store reads")
}
