//! How often something came, of a bounded number of things, each for a limited time.

use std::collections::HashMap;
use std::hash::Hash;

use restante_model::Timestamp;

/// Counts by key. A count ends at its time and begins anew when its key comes again.
#[derive(Debug)]
pub(super) struct Counts<K> {
    max: usize,
    by_key: HashMap<K, Count>,
    /// How often anything came.
    came: u64,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    times: u64,
    until: Timestamp,
    /// The value of [`Counts::came`] when it came last.
    last: u64,
}

impl<K: Eq + Hash> Counts<K> {
    /// Counts of at most so many keys; beyond that, those that came longest ago begin anew.
    pub(super) fn of_at_most(max: usize) -> Self {
        Self {
            max,
            by_key: HashMap::new(),
            came: 0,
        }
    }

    /// How often the key has come, with this time: 1 is the first. `until` is the end of a count that begins.
    pub(super) fn next(&mut self, key: K, until: Timestamp, now: Timestamp) -> u64 {
        if self.by_key.len() >= self.max && !self.by_key.contains_key(&key) {
            self.forget(now);
        }
        self.came += 1;
        let new = Count {
            times: 0,
            until,
            last: 0,
        };
        let count = self.by_key.entry(key).or_insert(new);
        if count.until <= now {
            *count = new;
        }
        count.times += 1;
        count.last = self.came;
        count.times
    }

    /// Makes room: counts that are over go, and if that is not enough the half that came longest ago.
    fn forget(&mut self, now: Timestamp) {
        self.by_key.retain(|_, count| count.until > now);
        let keep = self.max / 2;
        if self.by_key.len() > keep {
            let mut lasts: Vec<_> = self.by_key.values().map(|count| count.last).collect();
            let forgotten = lasts.len() - keep;
            let (_, &mut last_forgotten, _) = lasts.select_nth_unstable(forgotten - 1);
            self.by_key.retain(|_, count| count.last > last_forgotten);
        }
    }
}

#[cfg(test)]
impl<K> Counts<K> {
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_unix_ms(ms)
    }

    #[test]
    fn a_count_goes_on_until_its_time_and_begins_anew_from_then_on() {
        let mut counts = Counts::of_at_most(10);
        assert_eq!(counts.next("a", at(100), at(0)), 1);
        assert_eq!(counts.next("b", at(100), at(0)), 1);
        assert_eq!(counts.next("a", at(150), at(50)), 2, "its end is that of its beginning");
        assert_eq!(counts.next("a", at(199), at(99)), 3);
        assert_eq!(counts.next("a", at(200), at(100)), 1);
        assert_eq!(counts.next("a", at(299), at(199)), 2);
        // A clock that is set back ends nothing.
        assert_eq!(counts.next("a", at(110), at(10)), 3);
    }

    #[test]
    fn what_is_over_goes_first_and_then_what_came_longest_ago() {
        let mut counts = Counts::of_at_most(4);
        for (key, until) in [("over", 10), ("old", 100), ("new", 100), ("newer", 100)] {
            counts.next(key, at(until), at(0));
        }
        assert_eq!(counts.next("old", at(100), at(20)), 2);
        assert_eq!(counts.next("one more", at(100), at(20)), 1);
        assert_eq!(counts.next("newer", at(100), at(20)), 2);
        assert_eq!(counts.next("old", at(100), at(20)), 3, "it came after others");
        assert_eq!(counts.next("new", at(100), at(20)), 1, "it was forgotten");
    }

    proptest! {
        #[test]
        fn memory_is_bounded(max in 1..20_usize, keys in prop::collection::vec((0..60_u8, 0..50_u64), 0..300)) {
            let mut counts = Counts::of_at_most(max);
            for (n, (key, lasts)) in keys.into_iter().enumerate() {
                let now = n as u64;
                prop_assert!(counts.next(key, at(now + lasts), at(now)) >= 1);
                prop_assert!(counts.len() <= max);
            }
        }
    }
}
