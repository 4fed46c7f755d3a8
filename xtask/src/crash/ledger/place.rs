//! A place: an address, and the inboxes that live there one after the other.

use super::{Change, FLOODED, Pages, Violation};

/// An address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Place {
    /// How many inboxes were asked for here.
    pub(crate) lives: u64,
    /// The one that is there, or may be.
    pub(crate) life: Option<Life>,
}

/// An inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Life {
    /// Which of the place's lives it is, from 1.
    pub(crate) number: u64,
    /// The number of the client that it is sealed for, if it is encrypted.
    pub(crate) client: Option<u64>,
    /// Its `expiresAt` in milliseconds since the epoch; unknown while its creation is not answered.
    pub(crate) expires_ms: Option<u64>,
    /// Done is gone: there is no life any more.
    pub(crate) deletion: Change,
    /// Messages begun for it.
    pub(crate) sent: usize,
}

impl Life {
    /// Whether it was acknowledged, has not expired, and nobody has asked to delete it.
    pub(super) fn is_surely_open(&self, now_ms: u64) -> bool {
        self.deletion == Change::Never && self.expires_ms.is_some_and(|end| now_ms < end)
    }
}

impl Place {
    /// Whether its inbox has expired.
    pub(crate) fn has_expired(&self, now_ms: u64) -> bool {
        let end = self.life.as_ref().and_then(|life| life.expires_ms);
        end.is_some_and(|end| end <= now_ms)
    }
}

impl Pages {
    /// An inbox is about to be created at a place that has none.
    pub(crate) fn creating(&mut self, place: usize, client: Option<u64>) {
        let place = &mut self.places[place];
        place.lives += 1;
        place.life = Some(Life {
            number: place.lives,
            client,
            expires_ms: None,
            deletion: Change::Never,
            sent: 0,
        });
    }

    /// The creation was answered 201.
    pub(crate) fn created(&mut self, place: usize, expires_ms: u64) {
        self.tally.creations += 1;
        if let Some(life) = &mut self.places[place].life {
            life.expires_ms = Some(expires_ms);
        }
    }

    /// The creation was refused: whatever was there before is back, or never went.
    pub(crate) fn not_created(&mut self, place: usize, answer: &str) {
        self.places[place].life = None;
        let text = format!("creating at place {place}, which is free, is answered {answer}");
        self.violations.push(Violation::Refused(text));
    }

    /// The inbox is about to be deleted.
    pub(crate) fn deleting(&mut self, place: usize) {
        if let Some(life) = &mut self.places[place].life {
            life.deletion = Change::Asked;
        }
    }

    /// The deletion was acknowledged.
    pub(crate) fn deleted(&mut self, place: usize) {
        self.tally.inbox_deletions += 1;
        self.end(place);
    }

    /// All inboxes are about to be deleted; when each would expire, or `None` where it is not certain which are there.
    pub(crate) fn clearing(&mut self, now_ms: u64) -> Option<Vec<u64>> {
        let lives: Vec<&mut Life> = self.places.iter_mut().filter_map(|place| place.life.as_mut()).collect();
        let mut ends = Some(Vec::new());
        for life in lives {
            match life.expires_ms.filter(|_| life.deletion == Change::Never) {
                Some(end) if end <= now_ms => {}
                Some(end) => ends.iter_mut().for_each(|ends| ends.push(end)),
                None => ends = None,
            }
            life.deletion = Change::Asked;
        }
        ends
    }

    /// The deletion of all was acknowledged: so many were there, of which some may have expired meanwhile.
    pub(crate) fn cleared(&mut self, deleted: Option<u64>, ends: Option<&[u64]>, now_ms: u64) {
        self.tally.clearings += 1;
        for place in 0..self.places.len() {
            if self.places[place].life.is_some() {
                self.deleted(place);
            }
        }
        let Some(ends) = ends else { return };
        let remaining = ends.iter().filter(|end| now_ms < **end).count();
        let is_right = deleted.is_some_and(|deleted| (remaining as u64..=ends.len() as u64).contains(&deleted));
        if !is_right {
            let text = format!("of {} inboxes {deleted:?} are said to be deleted", ends.len());
            self.violations.push(Violation::Changed(text));
        }
    }

    /// The inbox has expired by everybody's clock.
    pub(crate) fn expired(&mut self, place: usize) {
        self.tally.expiries += 1;
        self.end(place);
    }

    /// The inbox is gone with its mail.
    pub(super) fn end(&mut self, place: usize) {
        let Some(life) = self.places[place].life.take() else {
            return;
        };
        let is_its = |last: u64, of: usize| of == place && last <= life.number;
        let ids = self.mails.iter().filter(|(_, mail)| is_its(mail.last, mail.place));
        let ids = ids.map(|(id, _)| id.clone()).collect();
        self.bury(ids);
        if place == FLOODED {
            self.flood.clear();
        }
    }
}
