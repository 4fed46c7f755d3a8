//! Operations on one inbox address, as clients saw them.

use std::collections::BTreeMap;

/// A message, by a number of its own: also one whose email has no known id.
pub(crate) type Letter = u32;

/// The life of an inbox, by a number of its own.
pub(crate) type Life = u32;

/// What a list showed: the messages, and whether each is read.
pub(crate) type Shown = BTreeMap<Letter, bool>;

/// One operation: when it was invoked, when it was answered, and what it did or saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Nanoseconds since the epoch, by the clock that inboxes expire by; it must not be set meanwhile.
    pub(crate) invoked: u64,
    /// `None` if no answer came: it took effect at any time after the invocation, or never.
    pub(crate) answered: Option<u64>,
    pub(crate) action: Action,
}

/// What an operation did or saw, by its answer; without one, what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// An inbox was created, whose life has this number.
    Create(Life),
    /// Creation was refused, because the address is taken.
    Taken,
    /// The inbox was deleted, if there was one.
    Remove,
    /// That life ends by itself, unless it has ended before; the interval is that of its last moment.
    Expire(Life),
    /// A message was stored.
    Deliver(Letter),
    /// An email was marked as read.
    Mark(Letter),
    /// An email was deleted.
    Delete(Letter),
    /// The emails were listed.
    List(Shown),
    /// The emails were counted; their hash fits just this set, where the ids of all are known.
    Sync(Summary),
    /// There is no inbox.
    NoInbox,
    /// There is no such email.
    NoEmail(Letter),
}

/// What `sync` showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) count: usize,
    pub(crate) hash: String,
}
