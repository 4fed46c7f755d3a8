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

    /// Forgets this inbox, unless another one has taken its place.
    pub(crate) fn forget_this(&self, known: &Arc<KnownInbox>) {
        self.inboxes().retain(|_, other| !Arc::ptr_eq(other, known));
    }

    pub(crate) fn forget_all(&self) {
        self.inboxes().clear();
    }

    fn inboxes(&self) -> MutexGuard<'_, BTreeMap<String, Arc<KnownInbox>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use restante_model::InboxHash;

    use super::*;

    fn facts(address: &str) -> InboxFacts {
        InboxFacts {
            address: address.to_owned(),
            hash: InboxHash::from_bytes([7; 32]),
            expires_at: None,
            terms: None,
        }
    }

    #[test]
    fn addresses_are_known_in_every_spelling() {
        let registry = Registry::default();
        let known = registry.add(facts("Alice@A.test"), InboxKeys::Plain);
        for spelling in ["alice@a.test", " ALICE@a.test\n"] {
            assert!(
                Arc::ptr_eq(&registry.by_address(spelling).unwrap(), &known),
                "{spelling:?}"
            );
        }
        registry.forget("aLICE@a.test ");
        assert!(registry.all().is_empty());
    }

    #[test]
    fn one_that_was_replaced_does_not_take_its_successor_along() {
        let registry = Registry::default();
        let former = registry.add(facts("a@a.test"), InboxKeys::Plain);
        let successor = registry.add(facts("a@a.test"), InboxKeys::Plain);
        registry.forget_this(&former);
        assert!(Arc::ptr_eq(&registry.by_address("a@a.test").unwrap(), &successor));
        registry.forget_this(&successor);
        assert!(registry.by_address("a@a.test").is_none());
    }
}
