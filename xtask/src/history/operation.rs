//! Operations on one inbox address, as clients saw them.

use std::collections::BTreeMap;

/// A message, by a number of its own: also one whose email has no known id.
pub(crate) type Letter = u32;

/// The life of an inbox, by a number of its own.
pub(crate) type Life = u32;

/// What a list showed: the messages, and whether each is read.
pub(crate) type Shown = BTreeMap<Letter, bool>;

/// One operation: when it was invoked, how it ended for its client, and what it did or saw.
///
/// Moments are nanoseconds since the epoch, by the clock that inboxes expire by; it must not be set meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) invoked: u64,
    pub(crate) end: End,
    pub(crate) action: Action,
}

/// How an operation ended for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer came.
    Answered(u64),
    /// The connection broke, because the server is gone: the operation took effect before, or never will (durable
    /// linearisability, Izraelevitz, Mendes and Scott 2016).
    Broken(u64),
}

impl End {
    /// No effect comes later.
    pub(crate) fn moment(self) -> u64 {
        match self {
            Self::Answered(moment) | Self::Broken(moment) => moment,
        }
    }

    /// Whether the operation must have had its effect.
    pub(crate) fn is_answered(self) -> bool {
        matches!(self, Self::Answered(_))
    }
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
