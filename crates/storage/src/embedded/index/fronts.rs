//! Where the rows of a range begin, for ranges that are emptied from their front.
//!
//! What is removed from a tree of this kind leaves a mark until files are merged. Expiries, retired inboxes and the mail
//! of one that is reaped are looked for from the front and removed there, so every look would go through all marks again.

use std::collections::VecDeque;

/// Ranges that are remembered.
const RANGES: usize = 32;

/// The beginnings of the ranges that were looked at last, the latest at the end.
#[derive(Debug, Default)]
pub(super) struct Fronts(VecDeque<Front>);

/// No row is at `start` or behind it, but before `first`.
#[derive(Debug)]
struct Front {
    start: Vec<u8>,
    first: Vec<u8>,
}

impl Fronts {
    /// From where on a range that begins at `start` must be looked at.
    pub(super) fn first(&self, start: &[u8]) -> Option<&[u8]> {
        let front = self.0.iter().rev().find(|front| front.start == start)?;
        Some(&front.first)
    }

    /// Remembers that no row is at `start` or behind it, but before `first`.
    pub(super) fn remember(&mut self, start: Vec<u8>, first: Vec<u8>) {
        if first <= start {
            return;
        }
        self.0.retain(|front| front.start != start);
        if self.0.len() >= RANGES {
            self.0.pop_front();
        }
        self.0.push_back(Front { start, first });
    }

    /// To be called before there is a row at `key`.
    pub(super) fn put(&mut self, key: &[u8]) {
        for front in &mut self.0 {
            if front.start.as_slice() <= key && key < front.first.as_slice() {
                front.first = key.to_vec();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Looking from the remembered front finds what looking from the start finds.
        #[test]
        fn no_row_is_before_its_front(
            acts in proptest::collection::vec((any::<bool>(), 0..40_u8, 0..42_u8), 1..200),
        ) {
            let (mut rows, mut fronts) = (BTreeSet::new(), Fronts::default());
            for (is_change, key, other) in acts {
                if is_change && key < other {
                    fronts.put(&[key]);
                    rows.insert(vec![key]);
                } else if is_change {
                    rows.remove(&vec![key]);
                } else {
                    let (start, end) = (vec![key], vec![other]);
                    let expected = rows.range(start.clone()..end.clone().max(start.clone()));
                    let expected: Vec<_> = expected.cloned().collect();
                    let from = fronts.first(&start).map_or(start.clone(), <[u8]>::to_vec);
                    let found: Vec<_> = rows.range(from.clone()..end.clone().max(from)).cloned().collect();
                    prop_assert_eq!(&found, &expected);
                    fronts.remember(start, found.first().cloned().unwrap_or(end));
                }
            }
        }
    }
}
