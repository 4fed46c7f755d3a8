//! The inboxes that a client knows, with their keys.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::IfKnown;
use crate::inbox::{InboxFacts, InboxKeys, KnownInbox};

/// Known inboxes by their address in lowercase.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<BTreeMap<String, Arc<KnownInbox>>>);

impl Registry {
    /// Takes an inbox in, in place of one at the same address.
    pub(crate) fn add(&self, facts: InboxFacts, keys: InboxKeys) -> Arc<KnownInbox> {
        let known = Arc::new(KnownInbox { facts, keys });
        self.inboxes()
            .insert(known.facts.address.to_lowercase(), Arc::clone(&known));
        known
    }

    /// Takes in an imported inbox; the one that is in its way if it must not be replaced.
    pub(crate) fn import(&self, known: Arc<KnownInbox>, if_known: IfKnown) -> Result<(), Arc<KnownInbox>> {
        let mut inboxes = self.inboxes();
        let address = known.facts.address.to_lowercase();
        let is_same = |key: &str, other: &KnownInbox| key == address || other.facts.hash == known.facts.hash;
        if if_known == IfKnown::Refuse {
            let mut known = inboxes.iter();
            if let Some((_, other)) = known.find(|(key, other)| is_same(key, other)) {
                return Err(Arc::clone(other));
            }
        }
        inboxes.retain(|key, other| !is_same(key, other));
        inboxes.insert(address, known);
        Ok(())
    }

    pub(crate) fn by_address(&self, address: &str) -> Option<Arc<KnownInbox>> {
        self.inboxes().get(&address.trim().to_lowercase()).cloned()
    }

    /// All of them, in the order of their addresses.
    pub(crate) fn all(&self) -> Vec<Arc<KnownInbox>> {
        self.inboxes().values().cloned().collect()
    }

    pub(crate) fn forget(&self, address: &str) {
        self.inboxes().remove(&address.trim().to_lowercase());
    }

    pub(crate) fn forget_all(&self) {
        self.inboxes().clear();
    }

    fn inboxes(&self) -> MutexGuard<'_, BTreeMap<String, Arc<KnownInbox>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
