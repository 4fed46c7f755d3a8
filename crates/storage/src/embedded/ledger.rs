//! How much of each segment is live, in memory: which one compaction takes next.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(test)]
use super::frame::FILE_HEADER;
use super::index::{Index, Rows};
use super::log::{segment_numbers, segment_path};
use super::replay::ReplayError;

/// The segments with their sizes. The last one is the one that grows; the others are sealed.
#[derive(Debug)]
pub(super) struct Ledger {
    bound: Bound,
    state: Mutex<State>,
}

/// What the log may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// Twice its live bytes, and so many more.
    Double { slack: u64 },
    /// No segment with less of a hundred live, for tests.
    #[cfg(test)]
    Share(u64),
}

#[derive(Debug, Default)]
struct State {
    segments: BTreeMap<u32, Account>,
    len: u64,
    live: u64,
    is_compacting: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// Bytes of the file.
    len: u64,
    /// Bytes of the records that the index points to.
    live: u64,
    /// Those of them that are of webhooks, events and deliveries.
    queued: u64,
    aside: Option<Aside>,
}

/// What is live in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) segment: u32,
    /// Bytes of the records that the index points to.
    pub(super) bytes: u64,
    /// Those of them that are of webhooks, events and deliveries.
    pub(super) queued: u64,
}

/// Why a segment is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aside {
    /// It could not be emptied or deleted, which may pass.
    ForNow,
    /// Something live in it is damaged: until nothing is live any more.
    Damaged,
    /// The index needs it for what none of its records explains: until the next start.
    Needed,
}

/// The segment that is to be compacted next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Victim {
    pub(super) segment: u32,
    /// Bytes that must be copied before it can be deleted.
    pub(super) cost: u64,
    /// Whether the log is so far beyond its bound that compaction must not pause.
    pub(super) is_urgent: bool,
}

impl Ledger {
    /// No segments yet.
    pub(super) fn new(bound: Bound) -> Self {
        Self {
            bound,
            state: Mutex::default(),
        }
    }

    /// Takes the segments from the directory and what is live in them from the index. None may be deleted meanwhile.
    pub(super) fn load(&self, dir: &Path, index: &Index) -> Result<(), ReplayError> {
        let mut loaded = State::default();
        for segment in segment_numbers(dir)? {
            let account = Account {
                len: fs::metadata(segment_path(dir, segment))?.len(),
                live: index.live_bytes(segment)?.unwrap_or_default(),
                queued: index.queued_in(segment)?.bytes,
                aside: None,
            };
            loaded.put(segment, account);
        }
        *self.lock() = loaded;
        Ok(())
    }

    /// Takes what a commit changed: the end of the log, and what is live in these segments.
    ///
    /// Says whether compaction should have a look.
    pub(super) fn commit(&self, (last, len): (u32, u64), changes: &[Live]) -> bool {
        let mut state = self.lock();
        let old = state.segments.get(&last).copied();
        state.put(
            last,
            Account {
                len,
                ..old.unwrap_or_default()
            },
        );
        let is_emptied = state.change(changes);
        is_emptied || old.is_none() || state.exceeds(self.bound)
    }

    /// Takes what is live in these segments.
    pub(super) fn change(&self, changes: &[Live]) {
        self.lock().change(changes);
    }

    /// The sealed segment that is deleted at the least cost for its size: one that needs next to nothing, or else one
    /// that is mostly dead while the log is larger than it may be.
    ///
    /// It costs what is live in it, and what is queued in all segments before it (ADR 0017). While the log is not too
    /// large, and while other segments give back more than they cost, a long queue is not copied.
    ///
    /// Copies need room before the file gives any back: twice what they take must be free, as mail arrives meanwhile.
    /// A segment without anything live needs none, and is how room comes back.
    pub(super) fn next_victim(&self, free_bytes: u64) -> Option<Victim> {
        let mut state = self.lock();
        let victim = state.victim(self.bound, |candidate| {
            candidate.account.may_go() && (candidate.cost == 0 || 2 * candidate.cost < free_bytes)
        });
        state.is_compacting = victim.is_some();
        victim
    }

    /// Whether there is work that must wait: for room, or until what was left alone for now is tried again.
    pub(super) fn is_waiting(&self) -> bool {
        let is_for_now =
            |candidate: &Candidate| candidate.account.may_go() || candidate.account.aside == Some(Aside::ForNow);
        self.lock().victim(self.bound, is_for_now).is_some()
    }

    /// Compaction waits for better times.
    pub(super) fn rest(&self) {
        self.lock().is_compacting = false;
    }

    /// Whether nothing is left to compact.
    #[cfg(test)]
    pub(super) fn is_settled(&self) -> bool {
        !self.lock().is_compacting && !self.is_waiting()
    }

    /// Where the log ends: its last segment, and the length of that.
    pub(super) fn end(&self) -> Option<(u32, u64)> {
        let state = self.lock();
        state
            .segments
            .last_key_value()
            .map(|(last, account)| (*last, account.len))
    }

    /// Bytes of all files, and those of them that are live.
    #[cfg(test)]
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.lock();
        (state.len, state.live)
    }

    /// A segment cannot be compacted.
    pub(super) fn set_aside(&self, segment: u32, aside: Aside) {
        if let Some(account) = self.lock().segments.get_mut(&segment) {
            account.aside = Some(aside);
        }
    }

    /// What was left alone for now may be tried again.
    pub(super) fn take_back(&self) {
        for account in self.lock().segments.values_mut() {
            account.aside = account.aside.filter(|aside| *aside != Aside::ForNow);
        }
    }

    /// A segment is deleted.
    pub(super) fn remove(&self, segment: u32) {
        let mut state = self.lock();
        if let Some(old) = state.segments.remove(&segment) {
            state.len -= old.len;
            state.live -= old.live;
        }
    }

    pub(super) fn contains(&self, segment: u32) -> bool {
        self.lock().segments.contains_key(&segment)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, segment: u32, account: Account) {
        let old = self.segments.insert(segment, account).unwrap_or_default();
        self.len = self.len + account.len - old.len;
        self.live = self.live + account.live - old.live;
    }

    /// Says whether a sealed segment has nothing live any more. One that is gone stays gone.
    fn change(&mut self, changes: &[Live]) -> bool {
        let last = self.segments.last_key_value().map(|(last, _)| *last);
        let mut is_emptied = false;
        for change in changes {
            let Live { segment, bytes, queued } = *change;
            if let Some(account) = self.segments.get(&segment).copied() {
                let live = bytes;
                let new = Account {
                    live,
                    queued,
                    ..account
                };
                self.put(segment, new);
                is_emptied |= live == 0 && Some(segment) != last;
            }
        }
        is_emptied
    }

    fn exceeds(&self, bound: Bound) -> bool {
        match bound {
            Bound::Double { slack } => self.len > 2 * self.live + slack,
            #[cfg(test)]
            Bound::Share(_) => true,
        }
    }

    fn victim(&self, bound: Bound, may_go: impl Fn(&Candidate) -> bool) -> Option<Victim> {
        let sealed: Vec<_> = self.sealed().filter(may_go).collect();
        let is_too_large = self.exceeds(bound);
        let giving_back = || sealed.iter().filter(|candidate| candidate.gives_back(bound));
        let empty = || giving_back().filter(|candidate| candidate.account.live == 0);
        let dead = || sealed.iter().filter(|candidate| candidate.account.exceeds(bound));
        let cost = |candidate: &&Candidate| candidate.account.share(candidate.cost);
        let mut due = empty().min_by_key(cost);
        if is_too_large {
            due = due.or_else(|| giving_back().min_by_key(cost));
            due = due.or_else(|| dead().min_by_key(|dead| dead.account.share(dead.account.live)));
        }
        due.map(|candidate| Victim {
            segment: candidate.segment,
            cost: candidate.cost,
            is_urgent: self.exceeds(bound.twice()),
        })
    }

    /// All segments but the one that grows.
    fn sealed(&self) -> impl Iterator<Item = Candidate> {
        let last = self.segments.last_key_value().map_or(0, |(last, _)| *last);
        let mut queued_before = 0;
        self.segments.range(..last).map(move |(segment, account)| {
            let candidate = Candidate {
                segment: *segment,
                account: *account,
                cost: account.live + queued_before,
            };
            queued_before += account.queued;
            candidate
        })
    }
}

/// A segment that may be compacted.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    segment: u32,
    account: Account,
    /// Bytes that must be copied before it can be deleted.
    cost: u64,
}

impl Candidate {
    /// Whether the copies take less than its deletion gives back.
    fn gives_back(&self, bound: Bound) -> bool {
        match bound {
            Bound::Double { .. } => 2 * self.cost < self.account.len || self.cost == 0,
            #[cfg(test)]
            Bound::Share(_) => self.account.exceeds(bound) || self.cost == 0,
        }
    }
}

impl Bound {
    fn twice(self) -> Self {
        match self {
            Self::Double { slack } => Self::Double { slack: 2 * slack },
            #[cfg(test)]
            Self::Share(_) => self,
        }
    }
}

impl Account {
    /// Whether compaction may have a look at it.
    fn may_go(&self) -> bool {
        match self.aside {
            None => true,
            Some(Aside::Damaged) => self.live == 0,
            Some(Aside::ForNow | Aside::Needed) => false,
        }
    }

    /// Whether copying what is live gives back more than it takes.
    fn exceeds(&self, bound: Bound) -> bool {
        match bound {
            Bound::Double { .. } => 2 * self.live < self.len,
            #[cfg(test)]
            Bound::Share(percent) => 100 * (self.live + FILE_HEADER as u64) < percent * self.len,
        }
    }

    /// So many bytes as a part of its million.
    fn share(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(1_000_000) / self.len.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1_000;

    /// Segments from 1 on, with so many bytes that are live and queued; the last one grows.
    fn ledger(segments: &[(u64, u64)]) -> Ledger {
        let ledger = Ledger::new(Bound::Double { slack: SEGMENT });
        let mut state = ledger.lock();
        for (segment, (live, queued)) in (1..).zip(segments) {
            let account = Account {
                len: SEGMENT,
                live: *live,
                queued: *queued,
                aside: None,
            };
            state.put(segment, account);
        }
        drop(state);
        ledger
    }

    #[test]
    fn a_long_queue_is_copied_only_when_the_log_is_too_large() {
        for (segments, victim) in [
            // Nothing is queued before it.
            (vec![(0, 0), (900, 900), (0, 0)], Some((1, 0))),
            // Little is.
            (vec![(400, 400), (0, 0), (900, 0)], Some((2, 400))),
            // More than it gives back, and the log is small.
            (vec![(900, 900), (0, 0), (900, 0)], None),
            // The log is too large: what gives back most for its cost goes first.
            (vec![(900, 900), (0, 0), (0, 0), (0, 0), (0, 0)], Some((2, 900))),
            (
                vec![(400, 0), (900, 900), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0)],
                Some((1, 400)),
            ),
            // Mail alone is judged by what is live.
            (vec![(900, 0), (0, 0), (900, 0)], Some((2, 0))),
            (vec![(400, 0), (900, 0), (900, 0)], None),
        ] {
            let found = ledger(&segments).next_victim(u64::MAX);
            assert_eq!(found.map(|found| (found.segment, found.cost)), victim, "{segments:?}");
        }
    }

    #[test]
    fn copies_of_a_queue_need_room_too() {
        let segments = [(400, 400), (0, 0), (900, 0)];
        for (free, victim) in [(801, Some(2)), (800, None)] {
            let found = ledger(&segments).next_victim(free);
            assert_eq!(found.map(|found| found.segment), victim);
        }
    }
}
