//! The search for an order.

use std::collections::{BTreeSet, HashSet};

use super::{Ids, Rejection, State};
use crate::history::operation::{Action, Operation};

/// States that a rejection shows, at most.
const STATES_SHOWN: usize = 3;

/// One way in which the answers so far can have come about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Configuration {
    /// Those of the operations under way that have had their effect.
    placed: BTreeSet<usize>,
    state: State,
}

/// A search on its way through a history.
pub(super) struct Search<'a> {
    operations: &'a [Operation],
    ids: &'a Ids,
    /// Operations that were invoked and have not ended.
    under_way: BTreeSet<usize>,
    configurations: HashSet<Configuration>,
    /// Configurations that may still be gone into.
    visits_left: usize,
}

/// What happens next to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    // Operations that touch are side by side, so what begins comes first.
    Begins,
    Ends,
}

impl<'a> Search<'a> {
    pub(super) fn of(operations: &'a [Operation], ids: &'a Ids, visits_max: usize) -> Self {
        Self {
            operations,
            ids,
            under_way: BTreeSet::new(),
            configurations: HashSet::from([Configuration::default()]),
            visits_left: visits_max,
        }
    }

    pub(super) fn run(mut self) -> Result<(), Rejection> {
        let mut steps = Vec::with_capacity(2 * self.operations.len());
        for (index, operation) in self.operations.iter().enumerate() {
            steps.push((operation.invoked, Step::Begins, index));
            steps.push((operation.end.moment(), Step::Ends, index));
        }
        steps.sort_unstable();
        for (moment, step, index) in steps {
            match step {
                Step::Begins => self.begin(index),
                Step::Ends => self.end(index, moment)?,
            }
        }
        Ok(())
    }

    fn begin(&mut self, index: usize) {
        self.under_way.insert(index);
        if self.operations[index].action.is_observation() {
            let configurations = std::mem::take(&mut self.configurations);
            self.configurations = configurations.into_iter().map(|it| self.observed(it)).collect();
        }
    }

    /// Keeps the configurations in which an operation that ends has had its effect, and makes them of the others.
    fn end(&mut self, index: usize, moment: u64) -> Result<(), Rejection> {
        let must_be_placed = self.operations[index].end.is_answered();
        let before: Vec<Configuration> = self.configurations.drain().collect();
        let mut open = before.clone();
        let mut seen = HashSet::new();
        while let Some(configuration) = open.pop() {
            if seen.contains(&configuration) {
                continue;
            }
            self.visits_left = self.visits_left.checked_sub(1).ok_or_else(|| self.undecided(moment))?;
            let is_placed = configuration.placed.contains(&index);
            if !is_placed {
                open.extend(self.successors(&configuration));
            }
            if is_placed || !must_be_placed {
                self.configurations.insert(configuration.without(index));
            }
            seen.insert(configuration);
        }
        if self.configurations.is_empty() {
            return Err(self.unexplained(index, before));
        }
        self.under_way.remove(&index);
        Ok(())
    }

    /// A configuration with one more operation placed, whichever can be.
    fn successors(&self, configuration: &Configuration) -> Vec<Configuration> {
        let open = self.under_way.difference(&configuration.placed);
        let placed = open.filter_map(|index| {
            let state = configuration.state.after(&self.operations[*index].action, self.ids)?;
            let mut placed = configuration.placed.clone();
            placed.insert(*index);
            Some(self.observed(Configuration { placed, state }))
        });
        placed.collect()
    }

    /// Places what changes nothing and fits now: later it could only fit less, and it stands in nobody's way.
    fn observed(&self, mut configuration: Configuration) -> Configuration {
        for index in &self.under_way {
            let action = &self.operations[*index].action;
            let is_open = action.is_observation() && !configuration.placed.contains(index);
            if is_open && configuration.state.after(action, self.ids).is_some() {
                configuration.placed.insert(*index);
            }
        }
        configuration
    }

    fn undecided(&self, to: u64) -> Rejection {
        let invoked = self.under_way.iter().map(|index| self.operations[*index].invoked);
        Rejection::Undecided {
            from: invoked.min().unwrap_or(to),
            to,
        }
    }

    fn unexplained(&self, index: usize, before: Vec<Configuration>) -> Rejection {
        let beside = self.under_way.iter().filter(|other| **other != index);
        let states = before.into_iter().map(|configuration| configuration.state);
        Rejection::Unexplained {
            answer: Box::new(self.operations[index].clone()),
            beside: beside.map(|index| self.operations[*index].clone()).collect(),
            states: states.take(STATES_SHOWN).collect(),
        }
    }
}

impl Configuration {
    fn without(&self, index: usize) -> Self {
        let mut rest = self.clone();
        rest.placed.remove(&index);
        rest
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
