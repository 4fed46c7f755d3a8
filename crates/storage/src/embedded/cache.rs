//! Live inboxes in memory: every RCPT asks for one.

use std::sync::{Arc, Mutex, PoisonError};

use quick_cache::sync::Cache;
use restante_model::{Inbox, InboxAddress, InboxHash};

/// Inboxes kept by address, and as many by hash.
const INBOXES: usize = 4096;

/// A bounded cache of inboxes that never shows one again after it was retired, nor as it was before a change.
#[derive(Debug)]
pub(super) struct InboxCache {
    by_address: Cache<String, Arc<Inbox>>,
    by_hash: Cache<InboxHash, Arc<Inbox>>,
    /// Even while nothing is being changed; what was read from the index under another value is not kept.
    epoch: Mutex<u64>,
}

/// When an inbox was looked up, to be shown again when it is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epoch(u64);

impl InboxCache {
    pub(super) fn new() -> Self {
        Self {
            by_address: Cache::new(INBOXES),
            by_hash: Cache::new(INBOXES),
            epoch: Mutex::new(0),
        }
    }

    pub(super) fn at_address(&self, address: &InboxAddress) -> Option<Arc<Inbox>> {
        self.by_address.get(address.as_str())
    }

    pub(super) fn at_hash(&self, hash: &InboxHash) -> Option<Arc<Inbox>> {
        self.by_hash.get(hash)
    }

    /// To be taken before the index is read.
    pub(super) fn epoch(&self) -> Epoch {
        Epoch(*self.epoch.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps an inbox that was read from the index, unless inboxes were changed since.
    pub(super) fn keep(&self, inbox: &Arc<Inbox>, read_in: Epoch) {
        let epoch = self.epoch.lock().unwrap_or_else(PoisonError::into_inner);
        if *epoch == read_in.0 && epoch.is_multiple_of(2) {
            self.by_address
                .insert(inbox.address.as_str().to_owned(), Arc::clone(inbox));
            self.by_hash.insert(inbox.hash, Arc::clone(inbox));
        }
    }

    /// Runs `apply`, which retires or changes the inboxes with these names in the index.
    ///
    /// They leave the cache before, and nothing enters it meanwhile: who has seen an inbox gone never sees it again,
    /// and who has seen a change never sees what was before.
    pub(super) fn change<T>(&self, names: &[(String, InboxHash)], apply: impl FnOnce() -> T) -> T {
        if names.is_empty() {
            return apply();
        }
        self.next_epoch();
        for (address, hash) in names {
            self.by_address.remove(address.as_str());
            self.by_hash.remove(hash);
        }
        let applied = apply();
        self.next_epoch();
        applied
    }

    /// Forgets everything, and what is being read now is not kept either.
    pub(super) fn forget_all(&self) {
        self.next_epoch();
        self.by_address.clear();
        self.by_hash.clear();
        self.next_epoch();
    }

    /// Forgets everything and keeps nothing from now on: the store is closed.
    pub(super) fn clear(&self) {
        self.next_epoch();
        self.by_address.clear();
        self.by_hash.clear();
    }

    fn next_epoch(&self) {
        *self.epoch.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }
}

#[cfg(test)]
mod tests {
    use restante_model::{InboxKey, InboxMode, Timestamp};

    use super::*;

    fn inbox() -> Arc<Inbox> {
        let address = InboxAddress::parse("a@restante.test").unwrap();
        Arc::new(Inbox {
            key: InboxKey::from_bytes([1; 16]),
            hash: InboxHash::of_address(&address),
            address,
            mode: InboxMode::Plain,
            email_auth: false,
            spam_analysis: false,
            persistent: false,
            chaos: None,
            created_at: Timestamp::from_unix_ms(0),
            expires_at: Timestamp::MAX,
        })
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept() {
        let (cache, inbox) = (InboxCache::new(), inbox());
        let before = cache.epoch();
        let names = [(inbox.address.as_str().to_owned(), inbox.hash)];
        cache.change(&names, || cache.keep(&inbox, cache.epoch()));
        cache.keep(&inbox, before);
        assert!(cache.at_address(&inbox.address).is_none());
        cache.keep(&inbox, cache.epoch());
        assert!(cache.at_address(&inbox.address).is_some() && cache.at_hash(&inbox.hash).is_some());
        let before = cache.epoch();
        cache.forget_all();
        cache.keep(&inbox, before);
        assert!(cache.at_address(&inbox.address).is_none() && cache.at_hash(&inbox.hash).is_none());
        cache.keep(&inbox, cache.epoch());
        assert!(cache.at_address(&inbox.address).is_some());
        cache.change(&names, || ());
        assert!(cache.at_address(&inbox.address).is_none() && cache.at_hash(&inbox.hash).is_none());
    }
}
