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
    aside: Option<Aside>,
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
    pub(super) live: u64,
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
    pub(super) fn commit(&self, (last, len): (u32, u64), changes: &[(u32, u64)]) -> bool {
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
    pub(super) fn change(&self, changes: &[(u32, u64)]) {
        self.lock().change(changes);
    }

    /// The sealed segment with the least live share: one without any, or else one that is mostly dead while the log
    /// is larger than it may be.
    ///
    /// Copies need room before the file gives any back: twice what they take must be free, as mail arrives meanwhile.
    /// A segment without anything live needs none, and is how room comes back.
    pub(super) fn next_victim(&self, free_bytes: u64) -> Option<Victim> {
        let mut state = self.lock();
        let victim = state.victim(self.bound, |account| {
            account.may_go() && (account.live == 0 || 2 * account.live < free_bytes)
        });
        state.is_compacting = victim.is_some();
        victim
    }

    /// Whether there is work that must wait: for room, or until what was left alone for now is tried again.
    pub(super) fn is_waiting(&self) -> bool {
        let is_for_now = |account: &Account| account.may_go() || account.aside == Some(Aside::ForNow);
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
    fn change(&mut self, changes: &[(u32, u64)]) -> bool {
        let last = self.segments.last_key_value().map(|(last, _)| *last);
        let mut is_emptied = false;
        for (segment, live) in changes {
            if let Some(account) = self.segments.get(segment).copied() {
                self.put(*segment, Account { live: *live, ..account });
                is_emptied |= *live == 0 && Some(*segment) != last;
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

    fn victim(&self, bound: Bound, may_go: impl Fn(&Account) -> bool) -> Option<Victim> {
        let (last, _) = self.segments.last_key_value()?;
        let sealed = self.segments.range(..last).filter(|(_, account)| may_go(account));
        let (segment, account) = sealed.min_by_key(|(_, account)| account.share())?;
        let is_due = account.live == 0 || (self.exceeds(bound) && account.exceeds(bound));
        is_due.then_some(Victim {
            segment: *segment,
            live: account.live,
            is_urgent: self.exceeds(bound.twice()),
        })
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

    /// Live bytes of a million.
    fn share(&self) -> u64 {
        self.live.saturating_mul(1_000_000) / self.len.max(1)
    }
}
