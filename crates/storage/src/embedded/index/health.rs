//! Whether the files of the index are damaged, as whoever reads or writes them finds out.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::IndexError;

/// Called once, when damage is found.
type Alarm = Box<dyn Fn() + Send + Sync>;

/// What was found out about the files of an index.
#[derive(Default)]
pub(super) struct Health {
    is_damaged: AtomicBool,
    alarm: OnceLock<Alarm>,
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("is_damaged", &self.is_damaged)
            .finish_non_exhaustive()
    }
}

impl Health {
    /// Takes note of damage; what is only a shortage of the process is none.
    pub(super) fn check<T>(&self, outcome: Result<T, IndexError>) -> Result<T, IndexError> {
        outcome.inspect_err(|error| {
            if error.is_damage() && !self.is_damaged.swap(true, Ordering::AcqRel) {
                tracing::error!(%error, "the index is damaged; the store is unavailable until it is made anew from the log");
                self.ring();
            }
        })
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    /// Has something done as soon as damage is found, or now if it was.
    pub(super) fn on_damage(&self, alarm: Alarm) {
        let is_first = self.alarm.set(alarm).is_ok();
        if is_first && self.is_damaged() {
            self.ring();
        }
    }

    fn ring(&self) {
        if let Some(alarm) = self.alarm.get() {
            alarm();
        }
    }
}
