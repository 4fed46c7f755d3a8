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
    permit: OwnedSemaphorePermit,
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
        let permit = self.take(self.units(bytes))?;
        Ok(Held { permit })
    }

    /// Makes what an answer holds at least so much.
    ///
    /// # Errors
    /// [`ApiError::Busy`] if there is not enough now; what it held it still holds.
    pub fn grow(&self, held: &mut Held, bytes: usize) -> Result<(), ApiError> {
        let has = u32::try_from(held.permit.num_permits()).unwrap_or(u32::MAX);
        let missing = self.units(bytes).saturating_sub(has);
        held.permit.merge(self.take(missing)?);
        Ok(())
    }

    fn units(&self, bytes: usize) -> u32 {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES));
        units.unwrap_or(u32::MAX).min(self.all)
    }

    fn take(&self, units: u32) -> Result<OwnedSemaphorePermit, ApiError> {
        let permit = Arc::clone(&self.units).try_acquire_many_owned(units);
        permit.map_err(|_| ApiError::Busy)
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

    #[test]
    fn what_is_held_grows_but_never_shrinks() {
        let budget = Budget::new(10 * UNIT_BYTES);
        let mut held = budget.hold(0).unwrap();
        assert_eq!(budget.grow(&mut held, 6 * UNIT_BYTES), Ok(()));
        assert_eq!(budget.grow(&mut held, 1), Ok(()));
        assert!(budget.hold(5 * UNIT_BYTES).is_err());
        let other = budget.hold(4 * UNIT_BYTES).unwrap();
        assert_eq!(budget.grow(&mut held, 7 * UNIT_BYTES), Err(ApiError::Busy));
        drop(other);
        assert_eq!(budget.grow(&mut held, 1000 * UNIT_BYTES), Ok(()));
        drop(held);
        assert!(budget.hold(10 * UNIT_BYTES).is_ok());
    }
}
