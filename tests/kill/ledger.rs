//! What clients were told, and what they were not told yet.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use restante_envelope::digest;

use crate::dice::Dice;

/// The SHA-256 of a message.
pub(crate) type Digest = [u8; 32];

/// Whether a change has been asked for and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nobody asked.
    Never,
    /// Asked, and the answer never came: it may have happened.
    Asked,
    /// Answered with success.
    Done,
}

/// An email that a 250 has named, or that was seen after a restart: it must stay.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    /// The inbox, if it is known.
    pub(crate) address: Option<&'static str>,
    /// What it holds.
    pub(crate) digest: Digest,
    /// Whether it is deleted.
    pub(crate) deletion: Change,
    /// Whether it is marked read.
    pub(crate) mark: Change,
    /// Its content has been compared after a restart.
    pub(crate) is_compared: bool,
}

/// What one client asks of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// DELETE.
    Delete,
    /// PATCH of `read`.
    Mark,
}

/// Everything that is known from outside.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pages: Mutex<Pages>,
}

/// The content of the ledger.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// By email id.
    pub(crate) mails: BTreeMap<String, Mail>,
    /// Messages on their way, with their recipients: they may have arrived at all or at none of them.
    pub(crate) unanswered: HashMap<Digest, Vec<&'static str>>,
}

impl Mail {
    /// An email of which nothing is known but its content.
    pub(crate) fn new(address: Option<&'static str>, digest: Digest) -> Self {
        Self {
            address,
            digest,
            deletion: Change::Never,
            mark: Change::Never,
            is_compared: false,
        }
    }

    /// The change that a wish makes.
    fn change(&mut self, wish: Wish) -> &mut Change {
        match wish {
            Wish::Delete => &mut self.deletion,
            Wish::Mark => &mut self.mark,
        }
    }
}

impl Ledger {
    /// Reads and changes the content.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Pages) -> T) -> T {
        act(&mut self.pages.lock().unwrap())
    }

    /// A message is about to be sent.
    pub(crate) fn sending(&self, message: &[u8], recipients: &[&'static str]) {
        self.with(|pages| pages.unanswered.insert(digest::sha256(message), recipients.to_vec()));
    }

    /// A message was answered with these ids.
    pub(crate) fn stored(&self, message: &[u8], ids: Vec<String>) {
        let digest = digest::sha256(message);
        self.with(|pages| {
            let recipients = pages.unanswered.remove(&digest).unwrap();
            assert_eq!(ids.len(), recipients.len(), "an id for each recipient");
            let address = (recipients.len() == 1).then(|| recipients[0]);
            pages
                .mails
                .extend(ids.into_iter().map(|id| (id, Mail::new(address, digest))));
        });
    }

    /// Chooses an email that is there for certain, and notes that the wish is on its way.
    pub(crate) fn wish(&self, dice: &mut Dice, wish: Wish) -> Option<(String, &'static str)> {
        self.with(|pages| {
            let mut candidates: Vec<_> = pages
                .mails
                .iter_mut()
                .filter(|(_, mail)| mail.deletion == Change::Never && mail.mark != Change::Asked)
                .filter_map(|(id, mail)| Some((id, mail.address?, mail)))
                .collect();
            let chosen = dice.below(candidates.len());
            let (id, address, mail) = candidates.get_mut(chosen)?;
            *mail.change(wish) = Change::Asked;
            Some(((*id).clone(), *address))
        })
    }

    /// A wish was answered with success.
    pub(crate) fn granted(&self, id: &str, wish: Wish) {
        self.with(|pages| *pages.mails.get_mut(id).unwrap().change(wish) = Change::Done);
    }

    /// How many emails are known.
    pub(crate) fn acknowledged(&self) -> usize {
        self.with(|pages| pages.mails.len())
    }
}
