//! When a failed delivery is tried again.

use std::time::Duration;

use restante_model::Timestamp;

/// How long after the first, second and further failures the next attempt is due.
///
/// Source: docs/spec/interface.md, "Delivery"; without jitter, and the last delay repeats (decisions, section 7).
const DELAYS: [Duration; 4] = [
    Duration::from_secs(30),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(4),
];

/// How often a delivery is tried, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    max_attempts: u32,
}

impl Schedule {
    /// A schedule of this many attempts, the first among them.
    pub fn new(max_attempts: u32) -> Self {
        Self { max_attempts }
    }

    /// When the next attempt is due after so many, the last of which failed then; none if there is no next one.
    pub fn retry_at(self, attempts_made: u32, failed_at: Timestamp) -> Option<Timestamp> {
        if attempts_made >= self.max_attempts {
            return None;
        }
        let failures = usize::try_from(attempts_made).unwrap_or(usize::MAX).max(1);
        let delay = DELAYS[failures.min(DELAYS.len()) - 1];
        Some(failed_at.after(delay))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays in seconds before the attempts that follow the first.
    fn delays(max_attempts: u32) -> Vec<u64> {
        let schedule = Schedule::new(max_attempts);
        let failed_at = Timestamp::from_unix_ms(1_700_000_000_123);
        (1..)
            .map_while(|made| schedule.retry_at(made, failed_at))
            .map(|at| failed_at.until(at).as_secs())
            .collect()
    }

    #[test]
    fn the_delays_are_those_of_the_interface() {
        assert_eq!(delays(5), [30, 300, 1_800, 14_400]);
    }

    #[test]
    fn fewer_attempts_use_the_first_delays_and_more_repeat_the_last() {
        assert_eq!(delays(1), [0; 0]);
        assert_eq!(delays(3), [30, 300]);
        assert_eq!(delays(8), [30, 300, 1_800, 14_400, 14_400, 14_400, 14_400]);
    }

    #[test]
    fn a_retry_is_due_to_the_millisecond() {
        let failed_at = Timestamp::from_unix_ms(1_700_000_000_999);
        let due = Schedule::new(5).retry_at(1, failed_at).unwrap();
        assert_eq!(due.unix_ms(), 1_700_000_030_999);
    }

    #[test]
    fn more_attempts_than_there_should_be_are_not_followed_by_another() {
        assert_eq!(Schedule::new(2).retry_at(u32::MAX, Timestamp::from_unix_ms(0)), None);
    }
}
