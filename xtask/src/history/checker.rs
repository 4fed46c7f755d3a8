//! Whether a history is linearisable: whether each operation can be placed at one moment between its invocation and
//! its end so that, one after the other, they explain all answers.
//!
//! The search goes through the history as time does (Lowe 2017, "just-in-time linearization").
//! It keeps every configuration that explains all answers so far: the state, and which of the operations under way are
//! placed. An operation is placed when its own end or that of another one asks for it, so what lies behind is forgotten,
//! and the work of one answer depends on the operations beside it, not on the length of the history.
//!
//! Linearisability is local (Herlihy and Wing 1990), so each address is searched alone.
//! Its emails are not: one list shows them all at one moment.

mod search;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::operation::{Letter, Operation};
use search::Search;
pub(crate) use state::State;

/// Configurations that one search goes into, at most: a history that needs more is not decided.
const VISITS_MAX: usize = 1_000_000;

/// What the ids of letters are, as far as somebody was told.
pub(crate) type Ids = BTreeMap<Letter, String>;

/// Why a history is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// No order explains the answers up to this one.
    Unexplained {
        answer: Box<Operation>,
        /// Operations that are under way at that moment.
        beside: Vec<Operation>,
        /// States that the answers before allow.
        states: Vec<State>,
    },
    /// The search was given up among the operations between these moments.
    Undecided { from: u64, to: u64 },
}

/// Accepts the operations on one address, in any order, if they are linearisable from an address without an inbox.
///
/// # Errors
/// [`Rejection`].
pub(crate) fn check(operations: &[Operation], ids: &Ids) -> Result<(), Rejection> {
    Search::of(operations, ids, VISITS_MAX).run()
}
