//! The memory for answers being made. Who finds none left is told to come back.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ApiError;

/// Bytes are counted in units of this size.
const UNIT_BYTES: usize = 1024;

/// Memory that all answers share.
#[derive(Debug, Clone)]
pub struct Budget {
    units: Arc<Semaphore>,
    all: u32,
}

/// Memory that one answer holds; dropping it gives it back.
#[derive(Debug)]
pub struct Held {
    _permit: OwnedSemaphorePermit,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let all = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX).max(1);
        Self {
            units: Arc::new(Semaphore::new(all as usize)),
            all,
        }
    }

    /// Takes memory for an answer; one that is larger than the whole budget takes all of it.
    ///
    /// # Errors
    /// [`ApiError::Busy`] if there is not enough now.
    pub fn hold(&self, bytes: usize) -> Result<Held, ApiError> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES))
            .unwrap_or(u32::MAX)
            .min(self.all);
        let permit = Arc::clone(&self.units)
            .try_acquire_many_owned(units)
            .map_err(|_| ApiError::Busy)?;
        Ok(Held { _permit: permit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_and_all_comes_back() {
        let budget = Budget::new(10 * UNIT_BYTES);
        let first = budget.hold(6 * UNIT_BYTES).unwrap();
        assert!(budget.hold(5 * UNIT_BYTES).is_err());
        drop(first);
        let whole = budget.hold(1000 * UNIT_BYTES).unwrap();
        assert!(budget.hold(1).is_err());
        drop(whole);
        assert!(budget.hold(1).is_ok());
    }
}
