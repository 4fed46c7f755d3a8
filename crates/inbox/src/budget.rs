//! Memory for messages in flight: counted before the bytes are kept. Nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that all messages share.
#[derive(Debug, Clone)]
pub struct Budget {
    free: Arc<AtomicUsize>,
    all: usize,
}

/// Bytes that one message holds; dropping it gives them back.
#[derive(Debug)]
pub struct Reservation {
    free: Arc<AtomicUsize>,
    bytes: usize,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            free: Arc::new(AtomicUsize::new(bytes)),
            all: bytes,
        }
    }

    /// The bytes of the whole budget.
    pub(crate) fn all(&self) -> usize {
        self.all
    }

    /// A reservation of nothing, to grow.
    pub fn empty_reservation(&self) -> Reservation {
        Reservation {
            free: Arc::clone(&self.free),
            bytes: 0,
        }
    }
}

impl Reservation {
    /// Takes so many bytes more, or none.
    pub fn grow(&mut self, bytes: usize) -> bool {
        let taken = self
            .free
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |free| free.checked_sub(bytes))
            .is_ok();
        if taken {
            self.bytes += bytes;
        }
        taken
    }

    /// The bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives back what exceeds `bytes`.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.free.fetch_add(surplus, Ordering::AcqRel);
        self.bytes -= surplus;
    }

    /// Hands all of it over.
    #[must_use]
    pub fn take(&mut self) -> Self {
        Self {
            free: Arc::clone(&self.free),
            bytes: std::mem::take(&mut self.bytes),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_grows_within_the_budget_and_gives_all_back() {
        let budget = Budget::new(100);
        let mut first = budget.empty_reservation();
        assert!(first.grow(60));
        let mut second = budget.empty_reservation();
        assert!(!second.grow(41));
        assert!(second.grow(40));
        first.shrink_to(50);
        assert!(second.grow(10));
        let moved = first.take();
        drop(first);
        assert!(!second.grow(1));
        drop(moved);
        assert!(second.grow(50));
        drop(second);
        assert_eq!(budget.free.load(Ordering::Acquire), 100);
    }
}
