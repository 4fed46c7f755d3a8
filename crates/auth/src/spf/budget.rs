//! How much one evaluation may ask (RFC 7208 section 4.6.4): a record must not make this server flood others.

use super::error::SpfError;
use super::target::Target;

/// Terms that ask the DNS.
pub(super) const MOST_LOOKUPS: u8 = 10;
/// Lookups that find nothing.
pub(super) const MOST_VOIDS: u8 = 2;
/// Names of mail servers of one `mx`, and names of the client, that are asked for their addresses.
pub(super) const MOST_NAMES: usize = 10;

/// What is left, over a record and all that it includes or redirects to.
#[derive(Debug)]
pub(super) struct Budget {
    lookups: u8,
    voids: u8,
}

impl Budget {
    /// All of it.
    pub(super) fn full() -> Self {
        Self {
            lookups: MOST_LOOKUPS,
            voids: MOST_VOIDS,
        }
    }

    /// Spends a term that asks; `domain` is whose record has it.
    ///
    /// # Errors
    /// [`SpfError::Lookups`].
    pub(super) fn spend_lookup(&mut self, domain: &Target) -> Result<(), SpfError> {
        let left = self.lookups.checked_sub(1);
        self.lookups = left.ok_or_else(|| SpfError::Lookups(domain.shown()))?;
        Ok(())
    }

    /// Spends a lookup that found nothing.
    ///
    /// # Errors
    /// [`SpfError::Voids`].
    pub(super) fn spend_void(&mut self, domain: &Target) -> Result<(), SpfError> {
        let left = self.voids.checked_sub(1);
        self.voids = left.ok_or_else(|| SpfError::Voids(domain.shown()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_is_allowed_and_the_next_is_not() {
        let domain = Target::parse("example.test").expect("a name");
        let mut budget = Budget::full();
        for _ in 0..MOST_LOOKUPS {
            assert_eq!(budget.spend_lookup(&domain), Ok(()));
        }
        assert_eq!(
            budget.spend_lookup(&domain),
            Err(SpfError::Lookups("example.test".to_owned()))
        );
        for _ in 0..MOST_VOIDS {
            assert_eq!(budget.spend_void(&domain), Ok(()));
        }
        assert_eq!(
            budget.spend_void(&domain),
            Err(SpfError::Voids("example.test".to_owned()))
        );
    }
}
