//! Whether a history is linearisable: whether each operation can be placed at one moment between its invocation and
//! its answer so that, one after the other, they explain all answers.
//!
//! The search is that of Wing and Gong (1993) with the memory of Lowe (2017): a set of placed operations that was
//! reached with the same state before is not gone into again.
//! Linearisability is local (Herlihy and Wing 1990), so each address is searched alone.

mod state;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

use super::operation::{Action, Letter, Operation};
pub(crate) use state::State;

/// Sets of placed operations that one search goes into, at most: a history that needs more proves nothing.
const VISITS_MAX: usize = 300_000;

/// What the ids of letters are, as far as somebody was told.
pub(crate) type Ids = BTreeMap<Letter, String>;

/// Why a history is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// No order explains the answers: the longest prefix that one explains, and what cannot follow.
    Unexplained { placed: usize, stuck: Vec<Operation> },
    /// The search was given up.
    TooLong,
}

/// Accepts the operations on one address, in any order, if they are linearisable from an address without an inbox.
///
/// # Errors
/// [`Rejection`].
pub(crate) fn check(mut operations: Vec<Operation>, ids: &Ids) -> Result<(), Rejection> {
    // What was not answered may stay open for good, and must not be in the way of the others.
    operations.sort_by_key(|operation| (operation.answered.is_none(), operation.invoked));
    let answered = operations.partition_point(|operation| operation.answered.is_some());
    Search {
        operations: &operations,
        ids,
        seen: HashSet::new(),
        placed: Placed::of(answered),
        state: State::default(),
        best: 0,
        stuck: Vec::new(),
    }
    .run()
}

/// Which operations are placed: of those with an answer all before the first that is not, and a few behind it; of those
/// without one a few.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Placed {
    /// All before it are placed.
    first_open: usize,
    /// Those behind it that are, in order.
    beyond: Vec<usize>,
    /// Those without an answer that are, in order.
    lost: Vec<usize>,
    /// How many have an answer; the others come behind them.
    answered: usize,
}

impl Placed {
    fn of(answered: usize) -> Self {
        Self {
            first_open: 0,
            beyond: Vec::new(),
            lost: Vec::new(),
            answered,
        }
    }

    fn has(&self, index: usize) -> bool {
        index < self.first_open || self.beyond.binary_search(&index).is_ok() || self.lost.binary_search(&index).is_ok()
    }

    fn with(&self, index: usize) -> Self {
        let mut next = self.clone();
        let few = if index < self.answered {
            &mut next.beyond
        } else {
            &mut next.lost
        };
        if let Err(at) = few.binary_search(&index) {
            few.insert(at, index);
        }
        while next.beyond.first() == Some(&next.first_open) {
            next.beyond.remove(0);
            next.first_open += 1;
        }
        next
    }

    fn count(&self) -> usize {
        self.first_open + self.beyond.len() + self.lost.len()
    }

    /// Those with an answer that are not placed, by invocation.
    fn open(&self) -> impl Iterator<Item = usize> {
        (self.first_open..self.answered).filter(|index| !self.has(*index))
    }
}

struct Search<'a> {
    /// Those with an answer, then the others, each by invocation.
    operations: &'a [Operation],
    ids: &'a Ids,
    seen: HashSet<(Placed, State)>,
    placed: Placed,
    state: State,
    /// The most operations that were placed, and what could not be placed then.
    best: usize,
    stuck: Vec<Operation>,
}

impl Search<'_> {
    fn run(mut self) -> Result<(), Rejection> {
        let mut branches = Vec::new();
        loop {
            self.place_observations();
            let candidates = self.candidates();
            if self.is_explained() {
                return Ok(());
            }
            self.remember(&candidates);
            if self.seen.insert((self.placed.clone(), self.state.clone())) {
                if self.seen.len() > VISITS_MAX {
                    return Err(Rejection::TooLong);
                }
                // The last is tried first: of what was answered, that which was invoked first.
                let (answered, lost): (Vec<_>, Vec<_>) = candidates
                    .into_iter()
                    .partition(|index| self.operations[*index].answered.is_some());
                for index in lost.into_iter().chain(answered.into_iter().rev()) {
                    if let Some(state) = self.state.after(&self.operations[index].action, self.ids) {
                        branches.push((self.placed.with(index), state));
                    }
                }
            }
            let Some((placed, state)) = branches.pop() else {
                return Err(Rejection::Unexplained {
                    placed: self.best,
                    stuck: self.stuck,
                });
            };
            (self.placed, self.state) = (placed, state);
        }
    }

    /// Places what changes nothing and fits now: later it could only fit less, and it stands in nobody's way.
    fn place_observations(&mut self) {
        loop {
            let fits = |index: &usize| {
                let action = &self.operations[*index].action;
                action.is_observation() && self.state.after(action, self.ids).is_some()
            };
            let Some(index) = self.candidates().into_iter().find(fits) else {
                return;
            };
            self.placed = self.placed.with(index);
        }
    }

    /// Open operations that were invoked before any open one was answered.
    fn candidates(&self) -> Vec<usize> {
        let mut candidates = Vec::new();
        let mut first_answer = u64::MAX;
        for index in self.placed.open() {
            let operation = &self.operations[index];
            if operation.invoked > first_answer {
                break;
            }
            first_answer = first_answer.min(operation.answered.unwrap_or(u64::MAX));
            candidates.push(index);
        }
        candidates.extend((self.placed.answered..self.operations.len()).filter(|index| !self.placed.has(*index)));
        candidates.retain(|index| self.operations[*index].invoked <= first_answer);
        candidates
    }

    /// Whether all that was answered is placed.
    fn is_explained(&self) -> bool {
        self.placed
            .open()
            .all(|index| self.operations[index].answered.is_none())
    }

    fn remember(&mut self, candidates: &[usize]) {
        if self.placed.count() >= self.best {
            self.best = self.placed.count();
            self.stuck = candidates.iter().map(|index| self.operations[*index].clone()).collect();
        }
    }
}

impl Action {
    /// Whether it leaves the inbox as it is.
    fn is_observation(&self) -> bool {
        matches!(
            self,
            Self::Taken | Self::List(_) | Self::Sync(_) | Self::NoInbox | Self::NoEmail(_)
        )
    }
}
