//! What all clients have noted, by inbox.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::checker::Ids;
use super::operation::{Action, End, Letter, Life, Operation};
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
    /// What the last list showed.
    shown: Vec<Letter>,
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

    /// An operation that was answered, with the moments since the epoch.
    pub(super) fn answered(&self, inbox: usize, invoked: Duration, answered: Duration, action: Action) {
        self.add(inbox, invoked, End::Answered(nanoseconds(answered)), action);
    }

    /// One whose connection broke.
    pub(super) fn broken(&self, inbox: usize, invoked: Duration, broken: Duration, action: Action) {
        self.add(inbox, invoked, End::Broken(nanoseconds(broken)), action);
    }

    /// A life, if it was created, ends between these moments.
    pub(super) fn will_expire(&self, inbox: usize, life: Life, from: Duration, to: Duration) {
        let (from, to) = (from.saturating_sub(EXPIRY_SLACK), to + EXPIRY_SLACK);
        self.answered(inbox, from, to, Action::Expire(life));
    }

    fn add(&self, inbox: usize, invoked: Duration, end: End, action: Action) {
        let invoked = nanoseconds(invoked);
        let operation = Operation { invoked, end, action };
        self.with(inbox, |page| {
            if let Action::List(shown) = &operation.action {
                page.shown = shown.keys().copied().collect();
            }
            page.operations.push(operation);
        });
    }

    /// The email of a letter has this id.
    pub(super) fn named(&self, inbox: usize, letter: Letter, id: &str) {
        self.with(inbox, |page| page.ids.insert(letter, id.to_owned()));
    }

    /// One of the letters of the last list, if it was long.
    pub(super) fn crowded(&self, inbox: usize, dice: &mut Dice) -> Option<(Letter, String)> {
        self.with(inbox, |page| {
            let is_crowded = page.shown.len() >= CROWD;
            let letter = is_crowded.then(|| page.shown[dice.below(page.shown.len())])?;
            Some((letter, page.ids.get(&letter)?.clone()))
        })
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
/// From so many emails on clients delete instead of sending, so that lists stay short.
const CROWD: usize = 40;

/// How often each action was answered, by its name.
pub(super) fn counts(pages: &[Page]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for operation in pages.iter().flat_map(|page| &page.operations) {
        let name = match operation.action {
            _ if !operation.end.is_answered() => "unanswered",
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

/// Inboxes that nobody tried to delete, and whose time was over before somebody asked for something again.
pub(super) fn expiries(pages: &[Page]) -> usize {
    pages.iter().map(Page::expiries).sum()
}

impl Page {
    fn expiries(&self) -> usize {
        let is_asked = |operation: &&Operation| !matches!(operation.action, Action::Expire(_));
        let invoked = self.operations.iter().filter(is_asked).map(|asked| asked.invoked);
        let last = invoked.max().unwrap_or(0);
        let lives = self.operations.iter().filter_map(|created| match created.action {
            Action::Create(life) if created.end.is_answered() => Some((created.invoked, self.expiry_of(life)?)),
            _ => None,
        });
        lives
            .filter(|(from, to)| *to < last && !self.has_removal(*from, *to))
            .count()
    }

    /// The last moment in which a life can end by itself.
    fn expiry_of(&self, life: Life) -> Option<u64> {
        let expiry = self.operations.iter().find(|it| it.action == Action::Expire(life))?;
        Some(expiry.end.moment())
    }

    fn has_removal(&self, from: u64, to: u64) -> bool {
        let mut removals = self.operations.iter().filter(|it| it.action == Action::Remove);
        removals.any(|removal| removal.end.moment() >= from && removal.invoked <= to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_counts_if_nothing_else_ended_the_inbox_and_the_history_went_on() {
        let at = Duration::from_secs;
        let expiries = |removed: Option<u64>, last: u64| {
            let notes = Notes::new(1);
            notes.answered(0, at(1), at(2), Action::Create(7));
            notes.will_expire(0, 7, at(62), at(62));
            if let Some(removed) = removed {
                notes.broken(0, at(removed), at(removed + 1), Action::Remove);
            }
            notes.answered(0, at(last), at(last + 1), Action::NoInbox);
            super::expiries(&notes.pages())
        };
        assert_eq!(expiries(None, 70), 1);
        assert_eq!(expiries(None, 61), 0);
        assert_eq!(expiries(Some(30), 70), 0);
        assert_eq!(expiries(Some(65), 70), 1);
    }
}
