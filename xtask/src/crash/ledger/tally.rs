//! How much was acknowledged.

use std::fmt;

/// Acknowledged things by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Emails that a 250 named.
    pub(crate) mails: u64,
    /// Transactions that brought them, of one recipient or several.
    pub(crate) transactions: u64,
    /// Emails deleted.
    pub(crate) deletions: u64,
    /// Emails marked as read.
    pub(crate) marks: u64,
    /// Sources read and compared while the load went on.
    pub(crate) reads: u64,
    /// Inboxes created.
    pub(crate) creations: u64,
    /// Inboxes deleted, one by one or all at once.
    pub(crate) inbox_deletions: u64,
    /// Deletions of all inboxes at once.
    pub(crate) clearings: u64,
    /// Inboxes that expired.
    pub(crate) expiries: u64,
    /// Emails that were seen to have gone from the inbox that is flooded.
    pub(crate) evictions: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} mails, {} deleted, {} marked, {} inboxes, {} of them deleted, {} expired",
            self.mails, self.deletions, self.marks, self.creations, self.inbox_deletions, self.expiries
        )
    }
}
