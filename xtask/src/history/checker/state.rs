//! The state of an address: no inbox, or one life of it with emails, each read or not.

use super::Ids;
use crate::history::operation::{Action, Letter, Life, Shown, Summary};
use crate::trial::emails_hash::emails_hash;

/// An address at one moment; at first there is no inbox.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    inbox: Option<Shown>,
    life: Life,
}

impl State {
    /// The state after an action, or `None` where the action cannot be.
    pub(crate) fn after(&self, action: &Action, ids: &Ids) -> Option<Self> {
        match (action, &self.inbox) {
            (Action::Create(life), None) => Some(Self {
                inbox: Some(Shown::new()),
                life: *life,
            }),
            (Action::Remove, _) => Some(Self::default()),
            (Action::Expire(life), _) if *life == self.life => Some(Self::default()),
            // No such email is also true where there is no inbox.
            (Action::Expire(_), _) | (Action::NoInbox | Action::NoEmail(_), None) | (Action::Taken, Some(_)) => {
                Some(self.clone())
            }
            (Action::List(shown), Some(inbox)) => (shown == inbox).then(|| self.clone()),
            (Action::Sync(summary), Some(inbox)) => fits(summary, inbox, ids).then(|| self.clone()),
            (Action::NoEmail(letter), Some(inbox)) => (!inbox.contains_key(letter)).then(|| self.clone()),
            (Action::Deliver(letter), Some(inbox)) => {
                let mut inbox = inbox.clone();
                inbox.insert(*letter, false).is_none().then(|| self.with(inbox))
            }
            (Action::Mark(letter), Some(inbox)) => {
                let mut inbox = inbox.clone();
                *inbox.get_mut(letter)? = true;
                Some(self.with(inbox))
            }
            (Action::Delete(letter), Some(inbox)) => {
                let mut inbox = inbox.clone();
                inbox.remove(letter).map(|_| self.with(inbox))
            }
            _ => None,
        }
    }

    fn with(&self, inbox: Shown) -> Self {
        Self {
            inbox: Some(inbox),
            life: self.life,
        }
    }
}

/// The hash is that of the ids, where all are known; else only the count can be compared.
fn fits(summary: &Summary, inbox: &Shown, ids: &Ids) -> bool {
    let known: Option<Vec<&str>> = inbox
        .keys()
        .map(|letter: &Letter| ids.get(letter).map(String::as_str))
        .collect();
    let is_hash = known.is_none_or(|mut known| {
        known.sort_unstable();
        emails_hash(known.into_iter()) == summary.hash
    });
    summary.count == inbox.len() && is_hash
}
