//! Rows as they are with changes on top: what is read while the index does not have the changes yet.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Fuse;
use std::ops::Range;

use super::index::{IndexError, Row, Slice};

/// Rows to write, or to delete where there is no value, in the order of their keys.
pub(super) type Changes = BTreeMap<Vec<u8>, Option<Slice>>;

/// Stored and changed rows in the order of their keys, from either end; the changed ones win.
pub(super) struct Merge<S> {
    changes: VecDeque<(Vec<u8>, Option<Slice>)>,
    /// Its end is its end, whatever its iterator does behind it.
    stored: Fuse<S>,
    /// The stored row that is next in turn at each end, once it was looked at.
    front: Option<Row>,
    back: Option<Row>,
}

impl<S: Iterator> Merge<S> {
    /// `stored` gives the stored rows of the same range of keys.
    pub(super) fn new(changes: &Changes, keys: Range<Vec<u8>>, stored: S) -> Self {
        let changes = changes.range(keys).map(|(key, value)| (key.clone(), value.clone()));
        Self {
            changes: changes.collect(),
            stored: stored.fuse(),
            front: None,
            back: None,
        }
    }
}

impl<S: DoubleEndedIterator<Item = Result<Row, IndexError>>> Iterator for Merge<S> {
    type Item = Result<Row, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.front.is_none() {
                self.front = match self.stored.next() {
                    Some(Ok(row)) => Some(row),
                    Some(Err(error)) => return Some(Err(error)),
                    None => self.back.take(),
                };
            }
            let stored = self.front.as_ref().map(|(key, _)| key.as_ref());
            match (stored, self.changes.front().map(|(key, _)| key.as_slice())) {
                (None, None) => return None,
                (Some(stored), changed) if changed.is_none_or(|changed| stored < changed) => {
                    return self.front.take().map(Ok);
                }
                (stored, changed) => {
                    if stored == changed {
                        self.front = None;
                    }
                    if let Some((key, Some(value))) = self.changes.pop_front() {
                        return Some(Ok((key.into(), value)));
                    }
                }
            }
        }
    }
}

impl<S: DoubleEndedIterator<Item = Result<Row, IndexError>>> DoubleEndedIterator for Merge<S> {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if self.back.is_none() {
                self.back = match self.stored.next_back() {
                    Some(Ok(row)) => Some(row),
                    Some(Err(error)) => return Some(Err(error)),
                    None => self.front.take(),
                };
            }
            let stored = self.back.as_ref().map(|(key, _)| key.as_ref());
            match (stored, self.changes.back().map(|(key, _)| key.as_slice())) {
                (None, None) => return None,
                (Some(stored), changed) if changed.is_none_or(|changed| stored > changed) => {
                    return self.back.take().map(Ok);
                }
                (stored, changed) => {
                    if stored == changed {
                        self.back = None;
                    }
                    if let Some((key, Some(value))) = self.changes.pop_back() {
                        return Some(Ok((key.into(), value)));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An iterator may go on after its end.
    #[test]
    fn a_change_that_is_stored_meanwhile_is_told_once() {
        let row = || (Slice::from(b"k"), Slice::from(b"v"));
        let changes = BTreeMap::from([(b"k".to_vec(), Some(Slice::from(b"v")))]);
        let after_its_end = || [None, Some(Ok(row()))].into_iter();
        for is_front in [true, false] {
            let mut merge = Merge::new(&changes, b"a".to_vec()..b"z".to_vec(), Unfused(after_its_end()));
            let mut next = || if is_front { merge.next() } else { merge.next_back() };
            assert_eq!(next().map(Result::unwrap), Some(row()));
            assert!(next().is_none());
        }
    }

    /// An iterator that may go on after its end.
    struct Unfused<I>(I);

    impl<I: Iterator<Item = Option<Result<Row, IndexError>>>> Iterator for Unfused<I> {
        type Item = Result<Row, IndexError>;

        fn next(&mut self) -> Option<Self::Item> {
            self.0.next().flatten()
        }
    }

    impl<I: Iterator<Item = Option<Result<Row, IndexError>>>> DoubleEndedIterator for Unfused<I> {
        fn next_back(&mut self) -> Option<Self::Item> {
            self.next()
        }
    }

    proptest! {
        /// Any mixture of steps from both ends gives the rows of a map that was changed.
        #[test]
        fn both_ends_meet_in_the_changed_rows(
            stored in proptest::collection::btree_map(0..30_u8, any::<u8>(), 0..20),
            changes in proptest::collection::btree_map(0..30_u8, proptest::option::of(any::<u8>()), 0..20),
            (from, to) in (0..30_u8, 0..31_u8),
            ends in proptest::collection::vec(any::<bool>(), 40),
        ) {
            let (from, to) = (from.min(to), from.max(to));
            let mut expected = stored.clone();
            for (name, value) in &changes {
                match value {
                    Some(value) => expected.insert(*name, *value),
                    None => expected.remove(name),
                };
            }
            let mut expected: VecDeque<_> = expected.range(from..to).map(|(name, value)| (*name, *value)).collect();
            let row = |(name, value): (&u8, &u8)| Ok((Slice::from(&[*name]), Slice::from(&[*value])));
            let rows: Vec<_> = stored.range(from..to).map(row).collect();
            let changes = changes.iter().map(|(name, value)| (vec![*name], value.map(|value| Slice::from(&[value]))));
            let mut merge = Merge::new(&changes.collect(), vec![from]..vec![to], rows.into_iter());
            for is_front in ends {
                let (found, wanted) = if is_front {
                    (merge.next(), expected.pop_front())
                } else {
                    (merge.next_back(), expected.pop_back())
                };
                prop_assert_eq!(found.map(|row| row.map(|(name, value)| (name[0], value[0])).unwrap()), wanted);
            }
        }
    }
}
