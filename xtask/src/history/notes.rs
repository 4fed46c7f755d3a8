//! What all clients have noted, by inbox.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::checker::Ids;
use super::operation::{Action, Letter, Life, Operation};
use crate::probe::dice::Dice;

/// Before and behind the moment in which an inbox expires: `expiresAt` has whole milliseconds.
const EXPIRY_SLACK: Duration = Duration::from_millis(2);

/// The notes of one history.
pub(super) struct Notes {
    numbers: AtomicU32,
    inboxes: Vec<Mutex<Page>>,
}

/// What was noted of one inbox.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub(super) operations: Vec<Operation>,
    pub(super) ids: Ids,
}

impl Notes {
    pub(super) fn new(inboxes: usize) -> Self {
        Self {
            numbers: AtomicU32::new(1),
            inboxes: (0..inboxes).map(|_| Mutex::default()).collect(),
        }
    }

    /// A number that nothing else has.
    pub(super) fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// An operation with the moments of its invocation and its answer, since the epoch.
    pub(super) fn add(&self, inbox: usize, invoked: Duration, answered: Option<Duration>, action: Action) {
        let operation = Operation {
            invoked: nanoseconds(invoked),
            answered: answered.map(nanoseconds),
            action,
        };
        self.with(inbox, |page| page.operations.push(operation));
    }

    /// A life that was created ends at this moment, in milliseconds since the epoch.
    pub(super) fn will_expire(&self, inbox: usize, life: Life, expires_ms: u64) {
        let moment = Duration::from_millis(expires_ms);
        let (from, to) = (moment.saturating_sub(EXPIRY_SLACK), moment + EXPIRY_SLACK);
        self.add(inbox, from, Some(to), Action::Expire(life));
    }

    /// The email of a letter has this id.
    pub(super) fn named(&self, inbox: usize, letter: Letter, id: &str) {
        self.with(inbox, |page| page.ids.insert(letter, id.to_owned()));
    }

    /// One of the letters that were named last.
    pub(super) fn seen(&self, inbox: usize, dice: &mut Dice) -> Option<(Letter, String)> {
        self.with(inbox, |page| {
            let newest = page.ids.iter().rev().take(SEEN).count();
            let (letter, id) = page.ids.iter().rev().nth(dice.below(newest.max(1)))?;
            Some((*letter, id.clone()))
        })
    }

    /// All pages.
    pub(super) fn pages(&self) -> Vec<Page> {
        (0..self.inboxes.len())
            .map(|inbox| self.with(inbox, |page| page.clone()))
            .collect()
    }

    fn with<T>(&self, inbox: usize, work: impl FnOnce(&mut Page) -> T) -> T {
        work(&mut self.inboxes[inbox].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Until the year 2554.
fn nanoseconds(since_epoch: Duration) -> u64 {
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}

/// How far back clients look for an email to mark or delete.
const SEEN: usize = 12;

/// How often each action was answered, by its name.
pub(super) fn counts(pages: &[Page]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for operation in pages.iter().flat_map(|page| &page.operations) {
        let name = match operation.action {
            _ if operation.answered.is_none() => "unanswered",
            Action::Create(_) => "creations",
            Action::Deliver(_) => "deliveries",
            Action::Mark(_) => "read marks",
            Action::Delete(_) => "deletions",
            Action::Remove => "inbox deletions",
            Action::Expire(_) => continue,
            Action::List(_) => "lists",
            Action::Sync(_) => "syncs",
            Action::Taken | Action::NoInbox | Action::NoEmail(_) => "refusals",
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}
