//! What is there after a restart, held against what clients were told; afterwards nothing is open any more.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{Change, Digest, FLOODED, Mail, Pages, Recipient, Source, Violation};

/// What the server shows, read while nobody changes anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// When reading began and ended, in milliseconds since the epoch: inboxes may expire in between.
    pub(crate) begun_ms: u64,
    pub(crate) ended_ms: u64,
    /// By place.
    pub(crate) inboxes: Vec<Option<FoundInbox>>,
}

/// An inbox that is there.
#[derive(Debug, Clone, Default)]
pub(crate) struct FoundInbox {
    pub(crate) expires_ms: u64,
    pub(crate) is_encrypted: bool,
    /// By id.
    pub(crate) emails: BTreeMap<String, FoundEmail>,
}

/// An email in a list.
#[derive(Debug, Clone)]
pub(crate) struct FoundEmail {
    pub(crate) is_read: bool,
    /// Of the fields that never change.
    pub(crate) record: Digest,
    /// Read of emails that nobody knows, that were never compared, and of some others.
    pub(crate) source: Option<Source>,
}

impl Pages {
    /// Compares, notes what must not be, and takes what is there as what holds from now on.
    pub(crate) fn settle(&mut self, found: &Found) {
        for (place, inbox) in found.inboxes.iter().enumerate() {
            let violation = self.settle_life(place, inbox.as_ref(), found);
            self.violations.extend(violation);
        }
        self.adopt(found);
        let kept = self.kept_of_flood();
        let mut buried = Vec::new();
        self.tally.evictions += kept.values().filter(|is_kept| !**is_kept).count() as u64;
        for (id, mail) in &mut self.mails {
            let life = self.places[mail.place].life.as_ref().map(|life| life.number);
            let inbox = found.inboxes[mail.place].as_ref();
            let email = inbox.and_then(|inbox| inbox.emails.get(id));
            let fate = Fate::of(mail, life, kept.get(id.as_str()).copied());
            match (fate, email) {
                (Fate::Present, None) => {
                    self.violations.push(Violation::Lost(format!("{id}: {mail:?}")));
                    buried.push(id.clone());
                }
                (Fate::Gone, Some(_)) => {
                    let text = format!("{id} of a life that has ended: {mail:?}");
                    self.violations.push(Violation::Returned(text));
                }
                (_, None) => buried.push(id.clone()),
                (Fate::Present | Fate::Open, Some(email)) => {
                    (mail.first, mail.last) = (life.unwrap_or(mail.last), life.unwrap_or(mail.last));
                    self.violations.extend(settle_mail(id, mail, email));
                }
            }
        }
        self.bury(buried);
        self.flood.retain(|id| self.mails.contains_key(id));
        self.letters.clear();
    }

    /// An inbox that was acknowledged is there until its deletion is asked for or it expires.
    fn settle_life(&mut self, place: usize, inbox: Option<&FoundInbox>, found: &Found) -> Option<Violation> {
        let Some(life) = &mut self.places[place].life else {
            return inbox.map(|_| Violation::Returned(format!("the inbox at place {place}")));
        };
        let Some(inbox) = inbox else {
            let has_expired = life.expires_ms.is_some_and(|end| end <= found.ended_ms);
            let is_certain = life.expires_ms.is_some() && life.deletion == Change::Never;
            let text = format!("the inbox at place {place}: {life:?}");
            if has_expired {
                self.expired(place);
            } else {
                self.end(place);
            }
            return (is_certain && !has_expired).then_some(Violation::Lost(text));
        };
        life.deletion = Change::Never;
        let expires_ms = *life.expires_ms.get_or_insert(inbox.expires_ms);
        if expires_ms != inbox.expires_ms || life.client.is_some() != inbox.is_encrypted {
            let text = format!("place {place} has another inbox: {life:?}, {}", inbox.expires_ms);
            return Some(Violation::Changed(text));
        }
        let text = format!("the inbox at place {place}, which has expired");
        (expires_ms <= found.begun_ms).then_some(Violation::Returned(text))
    }

    /// Takes in the emails that nobody was told of: each message is at all of its recipients or at none.
    fn adopt(&mut self, found: &Found) {
        let mut arrived: HashMap<Digest, Vec<usize>> = HashMap::new();
        for (place, id, email) in strangers(found, &self.mails) {
            let message = email.source.as_ref().and_then(|source| source.message);
            let letter = message.filter(|message| self.letters.contains_key(message));
            let (Some(message), Some(life)) = (letter, &self.places[place].life) else {
                self.violations.push(if self.gone.contains(id) {
                    Violation::Returned(format!("{id} at place {place}"))
                } else {
                    Violation::Changed(format!("{id} at place {place} is no message that was sent there"))
                });
                continue;
            };
            arrived.entry(message).or_default().push(place);
            let mail = Mail::new(place, life.number, life.number, message);
            self.mails.insert(id.clone(), mail);
            if place == FLOODED {
                self.flood.push(id.clone());
            }
        }
        for (message, places) in arrived {
            let torn = self.torn(&self.letters[&message], &places);
            self.violations.extend(torn);
        }
    }

    /// Recipients whose inbox may have ended meanwhile are left out of the comparison.
    fn torn(&self, letter: &[Recipient], places: &[usize]) -> Option<Violation> {
        let at: BTreeSet<usize> = places.iter().copied().collect();
        let is_same_life = |to: &&Recipient| self.places[to.0].life.as_ref().is_some_and(|life| life.number == to.1);
        let missing: Vec<_> = letter
            .iter()
            .filter(is_same_life)
            .filter(|to| !at.contains(&to.0))
            .collect();
        let is_foreign = places.iter().any(|place| letter.iter().all(|to| to.0 != *place));
        let is_whole = missing.is_empty() && !is_foreign && at.len() == places.len();
        (!is_whole).then(|| Violation::Torn(format!("a message to {letter:?} is at places {places:?}")))
    }

    /// Whether an email of the flooded inbox must be there: the newest are.
    fn kept_of_flood(&self) -> HashMap<String, bool> {
        let evicted = self.flood.len().saturating_sub(self.inbox_max);
        let numbered = self.flood.iter().enumerate();
        numbered.map(|(number, id)| (id.clone(), number >= evicted)).collect()
    }
}

/// What is known about an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It must be there.
    Present,
    /// It must not be there.
    Gone,
    /// It is there or not, and stays so.
    Open,
}

impl Fate {
    /// By the life that is at its place now, and whether its inbox keeps it, which no limit but the flooded one's asks.
    fn of(mail: &Mail, life: Option<u64>, kept: Option<bool>) -> Self {
        match life {
            Some(life) if mail.first == life => {
                let may_go = mail.deletion == Change::Asked || kept == Some(false);
                if may_go { Self::Open } else { Self::Present }
            }
            Some(life) if mail.first < life && life <= mail.last => Self::Open,
            _ => Self::Gone,
        }
    }
}

/// Emails that are in a list and not in the ledger, in the order of their ids.
fn strangers<'a>(
    found: &'a Found,
    known: &BTreeMap<String, Mail>,
) -> impl Iterator<Item = (usize, &'a String, &'a FoundEmail)> + use<'a> {
    let known: HashSet<(usize, String)> = known.iter().map(|(id, mail)| (mail.place, id.clone())).collect();
    let inboxes = found.inboxes.iter().enumerate();
    inboxes
        .filter_map(|(place, inbox)| Some((place, inbox.as_ref()?)))
        .flat_map(|(place, inbox)| inbox.emails.iter().map(move |(id, email)| (place, id, email)))
        .filter(move |(place, id, _)| !known.contains(&(*place, (*id).clone())))
}

/// An email that is there: its mark, its record and its source.
fn settle_mail(id: &str, mail: &mut Mail, email: &FoundEmail) -> Vec<Violation> {
    let mut violations = Vec::new();
    mail.deletion = Change::Never;
    match (mail.mark, email.is_read) {
        (Change::Never, true) => violations.push(Violation::Changed(format!("{id} is read, and nobody marked it"))),
        (Change::Done, false) => violations.push(Violation::Lost(format!("the read mark of {id}"))),
        _ => mail.mark = if email.is_read { Change::Done } else { Change::Never },
    }
    violations.extend(mail.compare_record(id, email.record));
    let source = email.source.as_ref();
    violations.extend(source.and_then(|source| mail.compare(id, source)));
    violations
}
