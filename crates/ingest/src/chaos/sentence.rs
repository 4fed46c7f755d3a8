//! What becomes of a message for several inboxes.
//!
//! SMTP has one reply to the end of data (RFC 5321 section 4.2.5): only what is answered 250 can differ by inbox.

use std::time::Duration;

use restante_smtp::Reply;

use super::verdict::{Hangup, Outcome, Verdict};

/// An outcome that holds for all recipients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sentence {
    Refused(Reply),
    HungUp(Hangup),
}

/// How strict a sentence is, the strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Temporary,
    /// 421, which ends the session.
    Dismissal,
    Permanent,
    Fin,
    Reset,
}

impl Sentence {
    /// What the outcome of one copy means for all, unless it is that copy's own matter.
    fn of(outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Stored | Outcome::ThrownAway(_) => None,
            Outcome::Refused(reply) => Some(Self::Refused(reply.clone())),
            Outcome::HungUp(how) => Some(Self::HungUp(*how)),
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::Refused(reply) => match reply.code() {
                421 => Severity::Dismissal,
                500.. => Severity::Permanent,
                _ => Severity::Temporary,
            },
            Self::HungUp(Hangup::Fin) => Severity::Fin,
            Self::HungUp(Hangup::Reset) => Severity::Reset,
        }
    }
}

/// The strictest sentence, of equal ones the first. Without one, each copy has its own outcome.
pub(super) fn strictest(verdicts: &[Verdict]) -> Option<Sentence> {
    let sentences = verdicts.iter().filter_map(|verdict| Sentence::of(&verdict.outcome));
    sentences.reduce(|strictest, next| {
        if next.severity() > strictest.severity() {
            next
        } else {
            strictest
        }
    })
}

/// How late the message is: as late as its latest copy.
pub(super) fn delay(verdicts: &[Verdict]) -> Option<Duration> {
    verdicts.iter().filter_map(|verdict| verdict.delay).max()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chaos::verdict::Hearing;
    use crate::reply;

    /// One of each, by strictness.
    fn outcomes() -> Vec<Outcome> {
        vec![
            Outcome::Stored,
            Outcome::ThrownAway(Hearing::Nobody),
            Outcome::Refused(reply::GREYLISTED),
            Outcome::Refused(reply::TEMPORARY_FAULTS[3].clone()),
            Outcome::Refused(reply::TEMPORARY_FAULTS[0].clone()),
            Outcome::Refused(reply::PERMANENT_FAULTS[1].clone()),
            Outcome::Refused(reply::PERMANENT_FAULTS[0].clone()),
            Outcome::HungUp(Hangup::Fin),
            Outcome::HungUp(Hangup::Reset),
        ]
    }

    fn verdict(outcome: usize, delay: Option<u64>) -> Verdict {
        Verdict {
            delay: delay.map(Duration::from_millis),
            struck: None,
            outcome: outcomes()[outcome].clone(),
        }
    }

    fn of(outcomes: &[usize]) -> Option<Sentence> {
        let verdicts: Vec<_> = outcomes.iter().map(|outcome| verdict(*outcome, None)).collect();
        strictest(&verdicts)
    }

    #[test]
    fn the_strictest_holds_for_all() {
        for (verdicts, holds) in [
            (&[][..], None),
            (&[0][..], None),
            (&[0, 1, 0], None),
            (&[1, 2, 0], Some(2)),
            (&[2, 3], Some(2)),
            (&[3, 2], Some(3)),
            (&[2, 4, 3], Some(4)),
            (&[4, 5, 2], Some(5)),
            (&[6, 5], Some(6)),
            (&[5, 7, 4], Some(7)),
            (&[7, 8, 7], Some(8)),
            (&[8, 6, 1, 0], Some(8)),
        ] {
            let expected = holds.and_then(|holds: usize| Sentence::of(&outcomes()[holds]));
            assert_eq!(of(verdicts), expected, "{verdicts:?}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_stricter_and_nothing_is_later(copies in prop::collection::vec((0..9_usize, any::<Option<u64>>()), 0..8)) {
            let verdicts: Vec<_> = copies.iter().map(|(outcome, delay)| verdict(*outcome, *delay)).collect();
            let severities = verdicts.iter().filter_map(|verdict| Sentence::of(&verdict.outcome));
            let severest = severities.map(|sentence| sentence.severity()).max();
            prop_assert_eq!(strictest(&verdicts).map(|sentence| sentence.severity()), severest);
            let latest = copies.iter().filter_map(|(_, delay)| *delay).max();
            prop_assert_eq!(delay(&verdicts), latest.map(Duration::from_millis));
        }
    }
}
