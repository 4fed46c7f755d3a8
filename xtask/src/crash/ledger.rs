//! What clients asked for and what they were told: the log that is kept outside the server.
//!
//! Places are addresses; one client at a time creates and deletes the inboxes at a place, and everybody sends there.
//! So an email belongs to one of few lives of its place, and which one shows after a restart at the latest.

mod mail;
mod place;
mod settle;
mod tally;
#[cfg(test)]
mod tests;
mod violation;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::probe::dice::Dice;

pub(crate) use mail::{Change, Mail, Source, Wish};
pub(crate) use place::{Life, Place};
pub(crate) use settle::{Found, FoundEmail, FoundInbox};
pub(crate) use tally::Tally;
pub(crate) use violation::Violation;

/// A SHA-256.
pub(crate) type Digest = [u8; 32];

/// The place whose inbox always gets more than it may hold, from one sender.
pub(crate) const FLOODED: usize = 0;

/// A recipient of a message: the place, and which of its lives was the last when the message was begun.
pub(crate) type Recipient = (usize, u64);

/// An email that somebody wants something of: its id, its place, and the client that it is sealed for.
pub(crate) type Wished = (String, usize, Option<u64>);

/// What a webhook of every event is told of an email: the type of the event, and the id.
pub(crate) type Told = (&'static str, String);

/// The ledger, shared by all clients.
#[derive(Debug)]
pub(crate) struct Ledger {
    pages: Mutex<Pages>,
}

/// What is in it; a clone is the state of one moment.
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    /// By number.
    pub(crate) places: Vec<Place>,
    /// Emails that a 250 has named, or that were seen after a restart, by id.
    pub(crate) mails: BTreeMap<String, Mail>,
    /// Ids whose removal was acknowledged, or that were seen to be gone: they must not come back.
    pub(crate) gone: HashSet<String>,
    /// Messages that nobody answered yet, by their content.
    pub(crate) letters: HashMap<Digest, Vec<Recipient>>,
    /// Ids that the flooded place took, in the order of their answers, which is that of their arrival.
    pub(crate) flood: Vec<String>,
    /// Events of acknowledged changes: each reaches a webhook at least once.
    pub(crate) events: Vec<Told>,
    /// What must not be.
    pub(crate) violations: Vec<Violation>,
    pub(crate) tally: Tally,
    /// Emails that an inbox holds before the oldest goes.
    inbox_max: usize,
}

impl Ledger {
    /// An empty one; inboxes hold so many emails, and only the flooded one is sent more.
    pub(crate) fn new(places: usize, inbox_max: usize) -> Self {
        Self::of(Pages {
            places: vec![Place::default(); places],
            mails: BTreeMap::new(),
            gone: HashSet::new(),
            letters: HashMap::new(),
            flood: Vec::new(),
            events: Vec::new(),
            violations: Vec::new(),
            tally: Tally::default(),
            inbox_max,
        })
    }

    /// One that goes on from a moment.
    pub(crate) fn of(pages: Pages) -> Self {
        Self {
            pages: Mutex::new(pages),
        }
    }

    /// The pages; nobody else begins or notes anything meanwhile.
    pub(crate) fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    /// A message is about to be sent.
    pub(crate) fn sending(&mut self, message: Digest, recipients: &[Recipient]) {
        for (place, _) in recipients {
            if let Some(life) = &mut self.places[*place].life {
                life.sent += 1;
            }
        }
        self.letters.insert(message, recipients.to_vec());
    }

    /// A message was answered 250 with these ids, in the order of its recipients.
    pub(crate) fn stored(&mut self, message: Digest, ids: Vec<String>) {
        let recipients = self.letters.remove(&message).unwrap_or_default();
        if ids.len() != recipients.len() {
            let text = format!("{} ids for {} recipients: {ids:?}", ids.len(), recipients.len());
            self.violations.push(Violation::Torn(text));
        }
        self.tally.transactions += 1;
        for (id, (place, first)) in ids.into_iter().zip(recipients) {
            self.tally.mails += 1;
            if place == FLOODED {
                self.flood.push(id.clone());
            }
            self.events.push(("email.received", id.clone()));
            self.events.push(("email.stored", id.clone()));
            let last = self.places[place].lives;
            self.mails.insert(id, Mail::new(place, first, last, message));
        }
    }

    /// A message was refused, so nothing of it is stored.
    pub(crate) fn refused(&mut self, message: &Digest, answer: &str, now_ms: u64) {
        let recipients = self.letters.remove(message).unwrap_or_default();
        let is_excused = recipients.iter().any(|to| !self.is_surely_open(*to, now_ms));
        if !is_excused {
            let text = format!("a message to open inboxes is answered {answer}");
            self.violations.push(Violation::Refused(text));
        }
    }

    /// Whether the inbox that was open when a message was begun is still, and nobody has asked to delete it.
    pub(crate) fn is_surely_open(&self, (place, number): Recipient, now_ms: u64) -> bool {
        let life = self.places[place].life.as_ref();
        life.is_some_and(|life| life.number == number && life.is_surely_open(now_ms))
    }

    /// An email whose fate is certain, for a client that wants something of it; the wish is noted.
    pub(crate) fn wish(&mut self, dice: &mut Dice, wish: Wish, now_ms: u64) -> Option<Wished> {
        let is_fit = |mail: &Mail| mail.place != FLOODED && mail.takes(wish) && mail.first == mail.last;
        let places = &self.places;
        let is_open = |mail: &Mail| {
            let life = places[mail.place].life.as_ref();
            life.is_some_and(|life| life.number == mail.first && life.is_surely_open(now_ms))
        };
        // From a random place in the order of ids on, so that old and new ones are met.
        let skipped = dice.below(self.mails.len().max(1));
        let mut mails = self.mails.iter_mut();
        let (id, mail) = mails
            .nth(skipped)
            .into_iter()
            .chain(mails)
            .find(|(_, mail)| is_fit(mail) && is_open(mail))?;
        mail.ask(wish);
        let life = places[mail.place].life.as_ref();
        Some((id.clone(), mail.place, life.and_then(|life| life.client)))
    }

    /// A wish was answered with success.
    pub(crate) fn granted(&mut self, id: &str, wish: Wish) {
        match wish {
            Wish::Delete => {
                self.mails.remove(id);
                self.gone.insert(id.to_owned());
                self.events.push(("email.deleted", id.to_owned()));
                self.tally.deletions += 1;
            }
            Wish::Mark => {
                if let Some(mail) = self.mails.get_mut(id) {
                    mail.mark = Change::Done;
                }
                self.tally.marks += 1;
            }
            Wish::Read => self.tally.reads += 1,
        }
    }

    /// A wish was answered 404.
    pub(crate) fn not_found(&mut self, id: &str, wish: Wish, now_ms: u64) {
        let Some(mail) = self.mails.get(id) else { return };
        // Deleting is what this client asked for itself, and nobody else does for the same email.
        let is_deleted = wish != Wish::Delete && mail.deletion != Change::Never;
        if !is_deleted && self.is_surely_open((mail.place, mail.first), now_ms) {
            let text = format!("{id} was acknowledged, and {wish:?} is answered 404: {mail:?}");
            self.violations.push(Violation::Lost(text));
        }
    }

    /// The source of an email was read: it is what was sent, and always the same answer.
    pub(crate) fn read(&mut self, id: &str, source: &Source) {
        if let Some(mail) = self.mails.get_mut(id) {
            self.violations.extend(mail.compare(id, source));
        }
    }

    /// An email is gone for good.
    fn bury(&mut self, ids: Vec<String>) {
        for id in ids {
            self.mails.remove(&id);
            self.gone.insert(id);
        }
    }
}
