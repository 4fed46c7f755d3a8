//! The index as it will be once the group under way is committed.

use std::ops::Range;

use super::due::{DueChange, due_of};
use super::index::{Index, IndexError, Row, Rows, Slice};
use super::ledger::Live;
use super::merge::{Changes, Merge};
use super::rows::{Meta, decode, encode, key, queue_key};
use serde::Serialize;

/// Rows after which a group goes to the index, to bound the memory that it takes.
pub(super) const BATCH_ROWS: usize = 512;

/// The changes of a group on top of the index: each call of the group is decided on what those before it did.
#[derive(Debug)]
pub(super) struct View<'a> {
    index: &'a Index,
    pending: Changes,
    spills: Spills,
    /// Records of the queue in segments before this one are not believed (ADR 0017).
    pub(super) floor: u32,
    /// Totals and position, written with the group.
    pub(super) meta: Meta,
    /// Emails that were evicted through this view.
    pub(super) evicted: u64,
}

/// Whether the changes of one call may reach the index in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spills {
    /// They may: the record is durable, and is applied again if that ends early.
    Yes,
    /// They may not: the record is not in the log yet.
    No,
}

impl<'a> View<'a> {
    /// The index as it is.
    pub(super) fn new(index: &'a Index) -> Result<Self, IndexError> {
        Ok(Self {
            index,
            pending: Changes::new(),
            spills: Spills::No,
            floor: 0,
            meta: index.meta()?,
            evicted: 0,
        })
    }

    /// The index as it is, to apply what is in a log already that is whole from a segment on.
    pub(super) fn of_log(index: &'a Index, floor: u32) -> Result<Self, IndexError> {
        let view = Self::new(index)?;
        Ok(Self {
            spills: Spills::Yes,
            floor,
            ..view
        })
    }

    /// Hands the changes so far to the index if they are many and may be seen in parts.
    pub(super) fn spill(&mut self) -> Result<(), IndexError> {
        let is_due = self.spills == Spills::Yes && self.len() >= BATCH_ROWS;
        if is_due { self.write() } else { Ok(()) }
    }

    /// The segments whose live bytes change with the group, and what they are then.
    pub(super) fn live_changes(&self) -> Result<Vec<Live>, IndexError> {
        let keys = key::SEGMENTS.to_vec()..key::end_of(key::SEGMENTS);
        let changed = self.pending.range(keys).map(|(name, value)| {
            let segment = key::segment_of(name).ok_or(IndexError::Missing)?;
            // Whatever changes what is queued there changes what is live.
            let queued = self.queued_in(segment)?.bytes;
            let bytes = value.as_ref().map_or(Ok(0), |value| decode(value))?;
            Ok(Live { segment, bytes, queued })
        });
        changed.collect()
    }

    /// The webhooks that are due at another time with the group.
    pub(super) fn due_changes(&self) -> Result<Vec<DueChange>, IndexError> {
        let changed = self.pending.range(key::all(queue_key::DUE)).map(|(name, value)| {
            let (at, webhook) = due_of(name)?;
            let is_due = value.is_some();
            Ok(DueChange { at, webhook, is_due })
        });
        changed.collect()
    }

    /// As [`Rows::range`], of rows that are removed from the front of a range: the next look begins where this did.
    pub(super) fn front(&self, keys: Range<Vec<u8>>, limit: usize) -> Result<Vec<Row>, IndexError> {
        let stored = self.index.scan(keys.clone());
        Merge::new(&self.pending, keys, stored).take(limit).collect()
    }

    /// The last row of a range.
    pub(super) fn last(&self, keys: Range<Vec<u8>>) -> Result<Option<Row>, IndexError> {
        let stored = self.index.iter(keys.clone());
        Merge::new(&self.pending, keys, stored).next_back().transpose()
    }

    /// How many rows wait for the index.
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(super) fn put<T: Serialize>(&mut self, key: Vec<u8>, row: &T) {
        self.pending.insert(key, Some(encode(row).into()));
    }

    /// Writes a value that is not a postcard row: an id, or nothing.
    pub(super) fn put_raw(&mut self, key: Vec<u8>, value: &[u8]) {
        self.pending.insert(key, Some(value.into()));
    }

    pub(super) fn delete(&mut self, key: Vec<u8>) {
        self.pending.insert(key, None);
    }

    /// Hands all changes to the index in one atomic step and starts anew.
    pub(super) fn write(&mut self) -> Result<(), IndexError> {
        let mut changes = std::mem::take(&mut self.pending);
        changes.insert(key::META.to_vec(), Some(encode(&self.meta).into()));
        self.index.apply(changes)
    }
}

impl Rows for View<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, IndexError> {
        match self.pending.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.index.get(key),
        }
    }

    fn range(&self, keys: Range<Vec<u8>>, limit: usize) -> Result<Vec<Row>, IndexError> {
        let stored = self.index.iter(keys.clone());
        Merge::new(&self.pending, keys, stored).take(limit).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn a_view_is_the_index_with_the_changes_on_top(
            stored in proptest::collection::btree_map(0..30_u8, any::<u8>(), 0..20),
            changes in proptest::collection::vec((0..30_u8, proptest::option::of(any::<u8>())), 0..20),
            (from, to) in (0..30_u8, 0..31_u8),
            limit in 0..40_usize,
        ) {
            let dir = tempfile::tempdir().unwrap();
            let index = Index::open(dir.path()).unwrap();
            let mut before = View::new(&index).unwrap();
            for (name, value) in &stored {
                before.put_raw(vec![*name], &[*value]);
            }
            before.write().unwrap();
            let mut expected = stored;
            let mut view = View::new(&index).unwrap();
            for (name, value) in changes {
                if let Some(value) = value {
                    view.put_raw(vec![name], &[value]);
                    expected.insert(name, value);
                } else {
                    view.delete(vec![name]);
                    expected.remove(&name);
                }
            }
            let (from, to) = (from.min(to), from.max(to));
            let all: Vec<_> = expected.range(from..to).map(|(name, value)| (*name, *value)).collect();
            let expected: Vec<_> = all.iter().copied().take(limit).collect();
            let check = |rows: Vec<Row>| {
                let rows: Vec<_> = rows.iter().map(|(name, value)| (name[0], value[0])).collect();
                prop_assert_eq!(&rows, &expected);
                Ok(())
            };
            check(view.range(vec![from]..vec![to], limit).unwrap())?;
            check(view.front(vec![from]..vec![to], limit).unwrap())?;
            check(view.range(vec![from]..vec![to], limit).unwrap())?;
            let last = view.last(vec![from]..vec![to]).unwrap().map(|(name, value)| (name[0], value[0]));
            prop_assert_eq!(last, all.last().copied());
            view.write().unwrap();
            check(index.range(vec![from]..vec![to], limit).unwrap())?;
        }
    }
}
