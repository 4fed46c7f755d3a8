//! Changing what is done to the mail of an inbox.
//!
//! A record of its own, as a read mark of an email: the record of the inbox need not be written again, for which the
//! client's key would have to be read from its segment and moved with every change.
//! It is absolute: it says what holds from here on, also that nothing does. So the last one decides, an earlier one
//! that compaction has not met yet means nothing, and one whose inbox a replay has not met is said again by the
//! record of the inbox, which says all when compaction writes it again.

use bytes::Bytes;
use restante_model::{InboxKey, Timestamp};

use super::{Decision, Operation, Room};
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::record::{Head, Record};
use crate::embedded::view::View;

/// [`crate::Store::set_chaos`].
pub(in super::super) struct SetChaos {
    pub(in super::super) inbox: InboxKey,
    /// As [`crate::chaos_json`] has it.
    pub(in super::super) chaos: Option<Bytes>,
    pub(in super::super) now: Timestamp,
}

impl Operation for SetChaos {
    type Answer = bool;

    fn decide(self, view: &View<'_>, _room: Room) -> Result<Decision<bool>, IndexError> {
        let Some(row) = view.inbox(self.inbox)?.filter(|row| !row.is_expired(self.now)) else {
            return Ok(Decision::nothing(false));
        };
        if row.chaos == self.chaos {
            return Ok(Decision::nothing(true));
        }
        let head = Head::ChaosSet {
            inbox: *self.inbox.as_bytes(),
            chaos: self.chaos,
            at: self.now.unix_ms(),
        };
        Ok(Decision::write(vec![Record::bare(head)], true))
    }
}
