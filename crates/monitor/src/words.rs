//! What the console says. Only addresses of inboxes, those of clients, numbers and words of ours are in it, so no
//! control character can be.

use std::fmt::Write as _;
use std::sync::Arc;

use restante_model::{AuthResults, Inbox, InboxAddress, RemovalReason, SpamAnalysis};

use crate::counts::best;
use crate::{Fault, Happening, LineKind, Refusal};

/// Inboxes of a message that are named; of the others it is said how many they are.
const NAMED: usize = 5;

/// The line of a happening, if it has one.
pub(crate) fn of(happening: &Happening<'_>) -> Option<(LineKind, String)> {
    Some(match *happening {
        Happening::ConnectionOpened { peer } => (LineKind::Info, format!("Connection from {peer}")),
        // The line of the beginning is enough.
        Happening::ConnectionClosed => return None,
        Happening::ConnectionRefused { peer } => {
            let text = format!("Connection from {peer} refused: too many connections");
            (LineKind::Warning, text)
        }
        Happening::MailStored {
            recipients,
            inboxes,
            bytes,
            peer,
            ..
        } => {
            let to = named(inboxes, recipients);
            (
                LineKind::Success,
                format!("Mail of {bytes} bytes from {peer} stored for {to}"),
            )
        }
        Happening::TestEmailStored { inbox, bytes } => {
            let text = format!("Test email of {bytes} bytes stored for {inbox}");
            (LineKind::Success, text)
        }
        Happening::MailRefused { cause, peer } => {
            let text = format!("Mail from {peer} refused: {}", why(cause));
            (severity(cause), text)
        }
        Happening::InboxCreated(address) => (LineKind::Success, format!("Inbox {address} created")),
        Happening::InboxesEnded { count, reason, address } => (LineKind::Info, ended(count, reason, address)?),
        Happening::Authenticated { results, inbox } => (LineKind::Info, checked(results, inbox)?),
        Happening::SpamAnalysed(analysis) => analysed(analysis)?,
        Happening::FaultMet { fault, inbox } => {
            let text = format!("Chaos for {inbox}: {}", met(fault));
            (LineKind::Warning, text)
        }
    })
}

fn named(inboxes: &[Arc<Inbox>], recipients: usize) -> String {
    let shown = inboxes.iter().take(NAMED);
    let names: Vec<_> = shown.map(|inbox| inbox.address.to_string()).collect();
    let mut text = names.join(", ");
    let more = recipients.saturating_sub(names.len());
    let _ = match (more, names.is_empty()) {
        (0, _) => Ok(()),
        (_, true) => write!(text, "{recipients} {}", inboxes_of(recipients)),
        (_, false) => write!(text, " and {more} more"),
    };
    text
}

fn inboxes_of(count: usize) -> &'static str {
    if count == 1 { "inbox" } else { "inboxes" }
}

fn why(cause: Refusal) -> &'static str {
    match cause {
        Refusal::NoInbox => "no inbox has the address",
        Refusal::Domain => "the domain is not served",
        Refusal::Recipients => "too many recipients",
        Refusal::Rate => "too much mail from this address",
        Refusal::Size => "too large",
        Refusal::NoRoom => "there is no room",
        Refusal::Storage => "the storage is unavailable",
        Refusal::Chaos => "the inbox asks for it",
    }
}

/// Trouble of the server is an error, what a client did wrong a warning.
fn severity(cause: Refusal) -> LineKind {
    match cause {
        Refusal::NoRoom | Refusal::Storage => LineKind::Error,
        Refusal::NoInbox | Refusal::Domain | Refusal::Recipients | Refusal::Rate | Refusal::Size | Refusal::Chaos => {
            LineKind::Warning
        }
    }
}

fn ended(count: usize, reason: RemovalReason, address: Option<&InboxAddress>) -> Option<String> {
    let how = match reason {
        RemovalReason::Manual => "deleted",
        RemovalReason::Ttl => "expired",
        RemovalReason::Eviction => "evicted",
    };
    match (count, address) {
        (0, _) => None,
        (_, Some(address)) => Some(format!("Inbox {address} {how}")),
        (_, None) => Some(format!("{count} {} {how}", inboxes_of(count))),
    }
}

/// Nothing to tell of mail that was not checked at all.
fn checked(results: &AuthResults, inbox: &InboxAddress) -> Option<String> {
    if *results == AuthResults::skipped() {
        return None;
    }
    let (spf, dkim) = (results.spf.result.as_str(), best(&results.dkim).as_str());
    let (dmarc, dns) = (results.dmarc.result.as_str(), results.reverse_dns.result.as_str());
    Some(format!(
        "Checks for {inbox}: SPF {spf}, DKIM {dkim}, DMARC {dmarc}, reverse DNS {dns}"
    ))
}

/// The score only: what the filter calls its findings may quote the mail.
fn analysed(analysis: &SpamAnalysis) -> Option<(LineKind, String)> {
    match analysis {
        SpamAnalysis::Skipped { .. } => None,
        SpamAnalysis::Analyzed(score) => {
            let (kind, verdict) = if score.is_spam {
                (LineKind::Warning, "spam")
            } else {
                (LineKind::Info, "no spam")
            };
            let (points, required) = (score.score, score.required_score);
            Some((kind, format!("Spam filter: {verdict}, {points:.1} of {required:.1}")))
        }
        SpamAnalysis::Error { processing_time_ms, .. } => Some((
            LineKind::Error,
            format!("Spam filter: no analysis after {processing_time_ms} ms"),
        )),
    }
}

fn met(fault: Fault) -> &'static str {
    match fault {
        Fault::Latency => "the reply comes late",
        Fault::ConnectionDrop => "the connection is dropped",
        Fault::RandomError => "the mail is refused at random",
        Fault::Greylist => "the mail is greylisted",
        Fault::Blackhole => "the mail is thrown away",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use restante_model::spam::{SpamScore, SpamSymbol};
    use restante_model::{InboxHash, InboxKey, InboxMode, Timestamp};

    use super::*;
    use restante_model::auth::{SpfVerdict, Verdict};

    fn address(text: &str) -> InboxAddress {
        InboxAddress::parse(text).unwrap()
    }

    fn inboxes(count: usize) -> Vec<Arc<Inbox>> {
        let inbox = |number| {
            let address = address(&format!("i{number}@x.test"));
            Arc::new(Inbox {
                key: InboxKey::new(Timestamp::from_unix_ms(0)),
                hash: InboxHash::of_address(&address),
                address,
                mode: InboxMode::Plain,
                email_auth: true,
                spam_analysis: false,
                persistent: false,
                created_at: Timestamp::from_unix_ms(0),
                expires_at: Inbox::NEVER,
                chaos: None,
            })
        };
        (0..count).map(inbox).collect()
    }

    fn checked() -> AuthResults {
        let mut results = AuthResults::skipped();
        results.spf.result = SpfVerdict::Softfail;
        results.dkim[0].result = Verdict::Pass;
        results.dmarc.result = Verdict::Fail;
        results.reverse_dns.result = Verdict::None;
        results
    }

    fn score(is_spam: bool) -> SpamAnalysis {
        SpamAnalysis::Analyzed(SpamScore {
            score: 15.25,
            required_score: 15.0,
            action: "SECRET".to_owned(),
            is_spam,
            symbols: vec![SpamSymbol {
                name: "SECRET".to_owned(),
                score: 1.0,
                description: Some("SECRET".to_owned()),
                options: Some(vec!["SECRET".to_owned()]),
            }],
            processing_time_ms: 3,
        })
    }

    #[track_caller]
    fn assert_told(happening: Happening<'_>, expected: Option<(LineKind, &str)>) {
        let told = of(&happening);
        assert_eq!(told.as_ref().map(|(kind, text)| (*kind, text.as_str())), expected);
        assert!(told.is_none_or(|(_, text)| !text.chars().any(char::is_control)));
    }

    #[test]
    fn mail_is_told_with_its_size_its_client_and_its_inboxes() {
        let inboxes = inboxes(7);
        for (recipients, named, expected) in [
            (1, 1, "i0@x.test"),
            (2, 2, "i0@x.test, i1@x.test"),
            (5, 5, "i0@x.test, i1@x.test, i2@x.test, i3@x.test, i4@x.test"),
            (7, 7, "i0@x.test, i1@x.test, i2@x.test, i3@x.test, i4@x.test and 2 more"),
            (1, 0, "1 inbox"),
            (9, 0, "9 inboxes"),
        ] {
            let stored = Happening::MailStored {
                recipients,
                inboxes: &inboxes[..named],
                bytes: 42,
                peer: "2001:db8::1".parse().unwrap(),
                took: Duration::from_millis(1),
            };
            let text = format!("Mail of 42 bytes from 2001:db8::1 stored for {expected}");
            assert_told(stored, Some((LineKind::Success, &text)));
        }
    }

    #[test]
    fn a_test_email_is_told_with_its_size_and_its_inbox() {
        let inbox = &InboxAddress::parse("bob@x.test").unwrap();
        let text = "Test email of 42 bytes stored for bob@x.test";
        let stored = Happening::TestEmailStored { inbox, bytes: 42 };
        assert_told(stored, Some((LineKind::Success, text)));
    }

    #[test]
    fn connections_are_told_when_they_begin_or_are_refused() {
        let peer = "192.0.2.1".parse().unwrap();
        let begun = Some((LineKind::Info, "Connection from 192.0.2.1"));
        assert_told(Happening::ConnectionOpened { peer }, begun);
        assert_told(Happening::ConnectionClosed, None);
        let refused = "Connection from 192.0.2.1 refused: too many connections";
        assert_told(
            Happening::ConnectionRefused { peer },
            Some((LineKind::Warning, refused)),
        );
    }

    #[test]
    fn each_refusal_says_why_and_whose_fault_it_is() {
        use LineKind::{Error, Warning};
        for (cause, kind, why) in [
            (Refusal::NoInbox, Warning, "no inbox has the address"),
            (Refusal::Domain, Warning, "the domain is not served"),
            (Refusal::Recipients, Warning, "too many recipients"),
            (Refusal::Rate, Warning, "too much mail from this address"),
            (Refusal::Size, Warning, "too large"),
            (Refusal::NoRoom, Error, "there is no room"),
            (Refusal::Storage, Error, "the storage is unavailable"),
            (Refusal::Chaos, Warning, "the inbox asks for it"),
        ] {
            let peer = "192.0.2.1".parse().unwrap();
            let text = format!("Mail from 192.0.2.1 refused: {why}");
            assert_told(Happening::MailRefused { cause, peer }, Some((kind, &text)));
        }
    }

    #[test]
    fn inboxes_are_told_as_they_come_and_go() {
        let bob = address("bob@x.test");
        let created = Some((LineKind::Success, "Inbox bob@x.test created"));
        assert_told(Happening::InboxCreated(&bob), created);
        for (count, reason, address, expected) in [
            (1, RemovalReason::Manual, Some(&bob), Some("Inbox bob@x.test deleted")),
            (1, RemovalReason::Ttl, None, Some("1 inbox expired")),
            (12, RemovalReason::Manual, None, Some("12 inboxes deleted")),
            (0, RemovalReason::Ttl, None, None),
        ] {
            let ended = Happening::InboxesEnded { count, reason, address };
            assert_told(ended, expected.map(|text| (LineKind::Info, text)));
        }
    }

    #[test]
    fn checks_are_told_by_their_verdicts_unless_none_was_made() {
        let inbox = &address("bob@x.test");
        let results = &checked();
        let text = "Checks for bob@x.test: SPF softfail, DKIM pass, DMARC fail, reverse DNS none";
        assert_told(
            Happening::Authenticated { results, inbox },
            Some((LineKind::Info, text)),
        );
        let results = &AuthResults::skipped();
        assert_told(Happening::Authenticated { results, inbox }, None);
    }

    #[test]
    fn nothing_that_the_spam_filter_found_is_quoted() {
        let error = SpamAnalysis::Error {
            info: "SECRET".to_owned(),
            processing_time_ms: 5_000,
        };
        for (analysis, kind, text) in [
            (score(true), LineKind::Warning, "Spam filter: spam, 15.2 of 15.0"),
            (score(false), LineKind::Info, "Spam filter: no spam, 15.2 of 15.0"),
            (error, LineKind::Error, "Spam filter: no analysis after 5000 ms"),
        ] {
            assert_told(Happening::SpamAnalysed(&analysis), Some((kind, text)));
        }
        assert_told(Happening::SpamAnalysed(&SpamAnalysis::default()), None);
    }

    #[test]
    fn each_fault_is_told_with_its_inbox() {
        let inbox = &address("bob@x.test");
        for (fault, what) in [
            (Fault::Latency, "the reply comes late"),
            (Fault::ConnectionDrop, "the connection is dropped"),
            (Fault::RandomError, "the mail is refused at random"),
            (Fault::Greylist, "the mail is greylisted"),
            (Fault::Blackhole, "the mail is thrown away"),
        ] {
            let text = format!("Chaos for bob@x.test: {what}");
            assert_told(Happening::FaultMet { fault, inbox }, Some((LineKind::Warning, &text)));
        }
    }
}
