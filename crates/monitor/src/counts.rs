//! The numbers: all since the start, none behind a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use restante_model::auth::{DkimResult, SpfVerdict, Verdict};
use restante_model::{AuthResults, RemovalReason, SpamAnalysis};

use crate::{Fault, Happening, Refusal};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// What it is now.
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, more: impl TryInto<u64>) {
        self.0.fetch_add(more.try_into().unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// All numbers.
///
/// They are read one by one: while something happens, two of them may be a moment apart.
#[derive(Debug, Default)]
pub struct Counts {
    /// Of mail clients.
    pub connections: Connections,
    /// Of inboxes.
    pub inboxes: Inboxes,
    /// Of mail that was stored.
    pub emails: Emails,
    /// Of email authentication.
    pub checks: Checks,
    /// Of the spam filter.
    pub spam: Spam,
    refusals: [Counter; Refusal::ALL.len()],
    faults: [Counter; Fault::ALL.len()],
}

/// What became of connections.
#[derive(Debug, Default)]
pub struct Connections {
    /// Taken.
    pub opened: Counter,
    /// Of these, over.
    pub closed: Counter,
    /// Turned away; not among the opened.
    pub refused: Counter,
}

/// What became of inboxes.
#[derive(Debug, Default)]
pub struct Inboxes {
    /// Created.
    pub created: Counter,
    /// Ended, whatever for.
    pub deleted: Counter,
    /// Of these, because their time was over.
    pub expired: Counter,
}

/// What was stored.
#[derive(Debug, Default)]
pub struct Emails {
    /// Messages.
    pub received: Counter,
    /// Copies of them, one for each inbox.
    pub recipients: Counter,
    /// Bytes of the messages, once each.
    pub bytes: Counter,
    /// Test emails; not among the messages.
    pub made_up: Counter,
    /// Microseconds from the end of data until they were durable, of all messages together.
    pub micros: Counter,
}

/// What checks found; each copy of a message counts once for each check.
#[derive(Debug, Default)]
pub struct Checks {
    /// Sender Policy Framework.
    pub spf: Verdicts,
    /// The best of a message's signatures.
    pub dkim: Verdicts,
    /// DMARC.
    pub dmarc: Verdicts,
    /// Reverse DNS.
    pub reverse_dns: Verdicts,
}

/// How one check came out.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// `pass`.
    pub pass: Counter,
    /// `fail`.
    pub fail: Counter,
    /// Any other outcome of a check that was made.
    pub other: Counter,
    /// No check was made.
    pub skipped: Counter,
}

/// What the spam filter said.
#[derive(Debug, Default)]
pub struct Spam {
    /// It answered.
    pub analyzed: Counter,
    /// Of these, mail that it takes for spam.
    pub positive: Counter,
    /// It was not asked.
    pub skipped: Counter,
    /// It did not answer.
    pub errors: Counter,
    /// Milliseconds of all analyses, those that failed among them.
    pub millis: Counter,
}

impl Connections {
    /// Those that are open now.
    pub fn active(&self) -> u64 {
        // In this order: whatever was closed was opened before.
        let closed = self.closed.value();
        self.opened.value().saturating_sub(closed)
    }
}

impl Emails {
    /// Milliseconds that a message took on average; 0 before the first.
    pub fn average_millis(&self) -> f64 {
        let (count, micros) = (self.received.value(), self.micros.value());
        if count == 0 {
            return 0.0;
        }
        // Longer than an hour on average is shown as that: no message is on its way for so long.
        let micros = u32::try_from(micros / count).unwrap_or(u32::MAX);
        f64::from(micros) / 1000.0
    }
}

impl Counts {
    /// How often mail was refused for this.
    pub fn refused(&self, cause: Refusal) -> u64 {
        self.refusals[cause as usize].value()
    }

    /// How often mail met this.
    pub fn met(&self, fault: Fault) -> u64 {
        self.faults[fault as usize].value()
    }

    pub(crate) fn count(&self, happening: &Happening<'_>) {
        match *happening {
            Happening::ConnectionOpened { .. } => self.connections.opened.add(1_u64),
            Happening::ConnectionClosed => self.connections.closed.add(1_u64),
            Happening::ConnectionRefused { .. } => self.connections.refused.add(1_u64),
            Happening::MailStored {
                recipients,
                bytes,
                took,
                ..
            } => self.emails.stored(recipients, bytes, took),
            Happening::MailRefused { cause, .. } => self.refusals[cause as usize].add(1_u64),
            Happening::InboxCreated(_) => self.inboxes.created.add(1_u64),
            Happening::InboxesEnded { count, reason, .. } => self.inboxes.ended(count, reason),
            Happening::Authenticated { results, .. } => self.checks.made(results),
            Happening::SpamAnalysed(analysis) => self.spam.analysed(analysis),
            Happening::TestEmailStored { .. } => self.emails.made_up.add(1_u64),
            Happening::FaultMet { fault, .. } => self.faults[fault as usize].add(1_u64),
        }
    }
}

impl Inboxes {
    fn ended(&self, count: usize, reason: RemovalReason) {
        self.deleted.add(count);
        if reason == RemovalReason::Ttl {
            self.expired.add(count);
        }
    }
}

impl Emails {
    fn stored(&self, recipients: usize, bytes: usize, took: Duration) {
        self.recipients.add(recipients);
        self.bytes.add(bytes);
        self.micros.add(took.as_micros());
        self.received.add(1_u64);
    }
}

impl Checks {
    fn made(&self, results: &AuthResults) {
        self.spf.spf(results.spf.result);
        self.dkim.add(best(&results.dkim));
        self.dmarc.add(results.dmarc.result);
        self.reverse_dns.add(results.reverse_dns.result);
    }
}

impl Verdicts {
    fn add(&self, verdict: Verdict) {
        let counter = match verdict {
            Verdict::Pass => &self.pass,
            Verdict::Fail => &self.fail,
            Verdict::None => &self.other,
            Verdict::Skipped => &self.skipped,
        };
        counter.add(1_u64);
    }

    fn spf(&self, verdict: SpfVerdict) {
        let counter = match verdict {
            SpfVerdict::Pass => &self.pass,
            SpfVerdict::Fail => &self.fail,
            SpfVerdict::Softfail
            | SpfVerdict::Neutral
            | SpfVerdict::None
            | SpfVerdict::Temperror
            | SpfVerdict::Permerror => &self.other,
            SpfVerdict::Skipped => &self.skipped,
        };
        counter.add(1_u64);
    }
}

/// One verdict of several signatures: one that passes is enough.
pub(crate) fn best(signatures: &[DkimResult]) -> Verdict {
    let order = [Verdict::Pass, Verdict::Fail, Verdict::None];
    let mut found = order
        .into_iter()
        .filter(|verdict| signatures.iter().any(|signature| signature.result == *verdict));
    found.next().unwrap_or(Verdict::Skipped)
}

impl Spam {
    fn analysed(&self, analysis: &SpamAnalysis) {
        match analysis {
            SpamAnalysis::Skipped { .. } => self.skipped.add(1_u64),
            SpamAnalysis::Analyzed(score) => {
                self.analyzed.add(1_u64);
                self.positive.add(u64::from(score.is_spam));
                self.millis.add(score.processing_time_ms);
            }
            SpamAnalysis::Error { processing_time_ms, .. } => {
                self.errors.add(1_u64);
                self.millis.add(*processing_time_ms);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use restante_model::InboxAddress;
    use restante_model::spam::SpamScore;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Every number that is not zero, by the debug text of its place.
    fn moved(counts: &Counts) -> Vec<(String, u64)> {
        let checks = |name: &str, verdicts: &Verdicts| {
            [
                (format!("{name} pass"), verdicts.pass.value()),
                (format!("{name} fail"), verdicts.fail.value()),
                (format!("{name} other"), verdicts.other.value()),
                (format!("{name} skipped"), verdicts.skipped.value()),
            ]
        };
        let plain = [
            ("opened", &counts.connections.opened),
            ("closed", &counts.connections.closed),
            ("refused", &counts.connections.refused),
            ("created", &counts.inboxes.created),
            ("deleted", &counts.inboxes.deleted),
            ("expired", &counts.inboxes.expired),
            ("received", &counts.emails.received),
            ("recipients", &counts.emails.recipients),
            ("bytes", &counts.emails.bytes),
            ("micros", &counts.emails.micros),
            ("analyzed", &counts.spam.analyzed),
            ("spam", &counts.spam.positive),
            ("spam skipped", &counts.spam.skipped),
            ("spam errors", &counts.spam.errors),
            ("spam millis", &counts.spam.millis),
        ];
        let mut all: Vec<_> = plain.map(|(name, counter)| (name.to_owned(), counter.value())).into();
        all.extend(checks("spf", &counts.checks.spf));
        all.extend(checks("dkim", &counts.checks.dkim));
        all.extend(checks("dmarc", &counts.checks.dmarc));
        all.extend(checks("dns", &counts.checks.reverse_dns));
        all.extend(Refusal::ALL.map(|cause| (format!("{cause:?}"), counts.refused(cause))));
        all.extend(Fault::ALL.map(|fault| (format!("{fault:?}"), counts.met(fault))));
        all.retain(|(_, value)| *value > 0);
        all
    }

    #[track_caller]
    fn assert_moves(happenings: &[Happening<'_>], expected: &[(&str, u64)]) {
        let counts = Counts::default();
        for happening in happenings {
            counts.count(happening);
        }
        let expected: Vec<_> = expected.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        assert_eq!(moved(&counts), expected, "{happenings:?}");
    }

    #[test]
    fn connections_and_inboxes_move_their_numbers_and_no_other() {
        let address = InboxAddress::parse("bob@restante.test").unwrap();
        let ended = |count, reason| Happening::InboxesEnded {
            count,
            reason,
            address: None,
        };
        assert_moves(&[Happening::ConnectionOpened { peer: PEER }; 2], &[("opened", 2)]);
        assert_moves(&[Happening::ConnectionClosed], &[("closed", 1)]);
        assert_moves(&[Happening::ConnectionRefused { peer: PEER }], &[("refused", 1)]);
        assert_moves(&[Happening::InboxCreated(&address)], &[("created", 1)]);
        assert_moves(&[ended(3, RemovalReason::Manual)], &[("deleted", 3)]);
        assert_moves(&[ended(2, RemovalReason::Ttl)], &[("deleted", 2), ("expired", 2)]);
    }

    #[test]
    fn each_cause_and_each_fault_has_a_number_of_its_own() {
        let address = InboxAddress::parse("bob@restante.test").unwrap();
        for cause in Refusal::ALL {
            let refused = Happening::MailRefused { cause, peer: PEER };
            assert_moves(&[refused; 2], &[(&format!("{cause:?}"), 2)]);
        }
        for fault in Fault::ALL {
            let met = Happening::FaultMet { fault, inbox: &address };
            assert_moves(&[met], &[(&format!("{fault:?}"), 1)]);
        }
    }

    #[test]
    fn stored_mail_counts_once_and_for_each_inbox() {
        let stored = Happening::MailStored {
            recipients: 3,
            inboxes: &[],
            bytes: 100,
            peer: PEER,
            took: Duration::from_micros(1_500),
        };
        let expected = [("received", 2), ("recipients", 6), ("bytes", 200), ("micros", 3_000)];
        assert_moves(&[stored; 2], &expected);
    }

    #[test]
    fn the_average_is_of_stored_mail() {
        let emails = Emails::default();
        assert!(emails.average_millis().abs() < f64::EPSILON);
        emails.stored(1, 1, Duration::from_micros(500));
        emails.stored(1, 1, Duration::from_millis(2));
        assert!((emails.average_millis() - 1.25).abs() < 1e-9);
        emails.stored(1, 1, Duration::from_micros(623));
        assert_eq!(
            emails.average_millis().to_string(),
            "1.041",
            "no noise of a binary fraction"
        );
    }

    #[test]
    fn who_has_left_is_not_active() {
        let connections = Connections::default();
        connections.opened.add(3_u64);
        connections.closed.add(1_u64);
        assert_eq!(connections.active(), 2);
    }

    #[test]
    fn skipped_checks_are_no_passed_ones() {
        let inbox = &InboxAddress::parse("bob@restante.test").unwrap();
        let skipped = [
            ("spf skipped", 1),
            ("dkim skipped", 1),
            ("dmarc skipped", 1),
            ("dns skipped", 1),
        ];
        let results = &AuthResults::skipped();
        assert_moves(&[Happening::Authenticated { results, inbox }], &skipped);
        for (verdict, word) in [
            (Verdict::Pass, "pass"),
            (Verdict::Fail, "fail"),
            (Verdict::None, "other"),
        ] {
            let mut results = AuthResults::skipped();
            results.dkim[0].result = verdict;
            results.dmarc.result = verdict;
            results.reverse_dns.result = verdict;
            let [dkim, dmarc, dns] = ["dkim", "dmarc", "dns"].map(|check| format!("{check} {word}"));
            let expected = [("spf skipped", 1), (&dkim, 1), (&dmarc, 1), (&dns, 1)];
            let results = &results;
            assert_moves(&[Happening::Authenticated { results, inbox }], &expected);
        }
    }

    #[test]
    fn spf_has_more_words_than_numbers() {
        for (verdict, expected) in [
            (SpfVerdict::Pass, [1, 0, 0, 0]),
            (SpfVerdict::Fail, [0, 1, 0, 0]),
            (SpfVerdict::Softfail, [0, 0, 1, 0]),
            (SpfVerdict::Neutral, [0, 0, 1, 0]),
            (SpfVerdict::None, [0, 0, 1, 0]),
            (SpfVerdict::Temperror, [0, 0, 1, 0]),
            (SpfVerdict::Permerror, [0, 0, 1, 0]),
            (SpfVerdict::Skipped, [0, 0, 0, 1]),
        ] {
            let verdicts = Verdicts::default();
            verdicts.spf(verdict);
            let Verdicts {
                pass,
                fail,
                other,
                skipped,
            } = verdicts;
            assert_eq!(
                [pass, fail, other, skipped].map(|counter| counter.value()),
                expected,
                "{verdict:?}"
            );
        }
    }

    #[test]
    fn of_several_signatures_the_best_counts() {
        let signature = |result| DkimResult {
            result,
            ..AuthResults::skipped().dkim.remove(0)
        };
        for (verdicts, expected) in [
            (&[Verdict::Fail, Verdict::Pass, Verdict::None][..], Verdict::Pass),
            (&[Verdict::None, Verdict::Fail], Verdict::Fail),
            (&[Verdict::None], Verdict::None),
            (&[Verdict::Skipped], Verdict::Skipped),
        ] {
            let signatures: Vec<_> = verdicts.iter().map(|verdict| signature(*verdict)).collect();
            assert_eq!(best(&signatures), expected, "{verdicts:?}");
        }
    }

    #[test]
    fn the_spam_filter_answers_or_not() {
        let score = |is_spam| {
            SpamAnalysis::Analyzed(SpamScore {
                score: 1.0,
                required_score: 15.0,
                action: String::new(),
                is_spam,
                symbols: Vec::new(),
                processing_time_ms: 7,
            })
        };
        let error = SpamAnalysis::Error {
            info: String::new(),
            processing_time_ms: 9,
        };
        for (analysis, expected) in [
            (score(false), &[("analyzed", 1), ("spam millis", 7)][..]),
            (score(true), &[("analyzed", 1), ("spam", 1), ("spam millis", 7)]),
            (error, &[("spam errors", 1), ("spam millis", 9)]),
            (SpamAnalysis::default(), &[("spam skipped", 1)]),
        ] {
            assert_moves(&[Happening::SpamAnalysed(&analysis)], expected);
        }
    }

    #[test]
    fn no_number_is_lost_between_threads() {
        let counts = Arc::new(Counts::default());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| counts.count(&Happening::ConnectionClosed)));
            }
        });
        assert_eq!(counts.connections.closed.value(), 4_000);
    }
}
