//! Raising the events of mail that is thrown away.

use std::collections::HashSet;

use restante_model::Timestamp;

use super::{Decision, Operation, Raising, Room, is_live};
use crate::embedded::index::{IndexError, Rows};
use crate::embedded::rows::queue_key;
use crate::embedded::view::View;
use crate::{TellError, ThrownAway, Topic};

/// [`crate::Store::tell`].
pub(in super::super) struct Tell {
    pub(in super::super) arrivals: Vec<ThrownAway>,
    pub(in super::super) now: Timestamp,
}

impl Operation for Tell {
    type Answer = Result<(), TellError>;

    fn bytes(&self) -> usize {
        self.arrivals.iter().map(|arrival| arrival.event.len()).sum()
    }

    fn decide(self, view: &View<'_>, room: Room) -> Result<Decision<Self::Answer>, IndexError> {
        let content = self.bytes() as u64;
        let mut raising = Raising::new(view);
        let (mut records, mut told) = (Vec::new(), HashSet::new());
        for ThrownAway { inbox, id, event } in self.arrivals {
            let is_known = view.get(&queue_key::thrown_away(inbox, id))?.is_some();
            if is_known || !is_live(view, inbox, self.now)? || !raising.wants(inbox, Topic::Arrivals)? {
                continue;
            }
            if told.insert((inbox, id)) {
                records.push(raising.thrown_away(inbox, id, event, self.now));
            }
        }
        // As mail, it comes from outside: it must not take the last room of the disk.
        if !records.is_empty() && room.0 <= content {
            return Ok(Decision::nothing(Err(TellError::NoRoom)));
        }
        Ok(Decision::write(records, Ok(())))
    }
}
