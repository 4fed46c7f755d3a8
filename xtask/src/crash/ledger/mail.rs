//! An email as clients know it.

use super::{Digest, Violation};

/// Whether a change has been asked for and answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nobody asked.
    Never,
    /// Asked, and not answered: it may have happened.
    Asked,
    /// Answered with success.
    Done,
}

/// What a client asks of an email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// DELETE.
    Delete,
    /// PATCH of `read`.
    Mark,
    /// GET of `raw`.
    Read,
}

/// An email that a 250 has named, or that was seen after a restart.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    pub(crate) place: usize,
    /// The first and the last life of the place that it can belong to.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// What was sent.
    message: Digest,
    /// Done is gone: there is no email any more.
    pub(crate) deletion: Change,
    pub(crate) mark: Change,
    /// The fields of its record that never change, once they were seen; sealed ones are random.
    pub(super) record: Option<Digest>,
    /// The answer of `raw`, once it was seen.
    answer: Option<Digest>,
}

/// The source of an email as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// The answer, byte for byte: in an encrypted inbox a sealed payload.
    pub(crate) answer: Digest,
    /// The message in it, opened and without the trace field; `None` if it does not open.
    pub(crate) message: Option<Digest>,
}

impl Mail {
    pub(crate) fn new(place: usize, first: u64, last: u64, message: Digest) -> Self {
        Self {
            place,
            first,
            last,
            message,
            deletion: Change::Never,
            mark: Change::Never,
            record: None,
            answer: None,
        }
    }

    /// Whether its source was compared before.
    pub(crate) fn is_compared(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether a wish makes sense.
    pub(super) fn takes(&self, wish: Wish) -> bool {
        self.deletion == Change::Never && (wish != Wish::Mark || self.mark == Change::Never)
    }

    /// Notes that a wish is about to be sent.
    pub(super) fn ask(&mut self, wish: Wish) {
        match wish {
            Wish::Delete => self.deletion = Change::Asked,
            Wish::Mark => self.mark = Change::Asked,
            Wish::Read => {}
        }
    }

    /// Compares what was read with what was sent and with what was read before.
    pub(super) fn compare(&mut self, id: &str, source: &Source) -> Option<Violation> {
        if source.message != Some(self.message) {
            return Some(Violation::Changed(format!("{id} is not what was sent")));
        }
        let first = *self.answer.get_or_insert(source.answer);
        (first != source.answer).then(|| Violation::Changed(format!("the source of {id} is sealed anew")))
    }

    /// Compares the fields of the record with those of an earlier list.
    pub(super) fn compare_record(&mut self, id: &str, record: Digest) -> Option<Violation> {
        let first = *self.record.get_or_insert(record);
        (first != record).then(|| Violation::Changed(format!("the record of {id} has changed")))
    }
}
