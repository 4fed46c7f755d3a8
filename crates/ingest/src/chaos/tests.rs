//! Judging: what is remembered between the messages of an inbox, and what is not shared with another.

use std::sync::Arc;

use restante_model::chaos::{ErrorKind, Greylist, RandomError, TrackBy};
use restante_model::{InboxAddress, InboxHash, InboxMode};

use super::verdict::Outcome;
use super::*;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

/// An inbox with a life of its own.
fn inbox(address: &str) -> Inbox {
    let address = InboxAddress::parse(address).unwrap();
    Inbox {
        key: InboxKey::new(at(0)),
        hash: InboxHash::of_address(&address),
        address,
        mode: InboxMode::Plain,
        email_auth: false,
        spam_analysis: false,
        persistent: true,
        created_at: at(0),
        expires_at: Inbox::NEVER,
        chaos: None,
    }
}

fn sender() -> Sender {
    Sender {
        ip: "192.0.2.1".parse().unwrap(),
        reverse_path: "a@sender.test".into(),
    }
}

fn half_refused() -> ChaosConfig {
    ChaosConfig {
        enabled: true,
        random_error: Some(RandomError {
            enabled: true,
            error_rate: 0.5,
            error_types: vec![ErrorKind::Temporary, ErrorKind::Permanent],
        }),
        ..ChaosConfig::default()
    }
}

fn greylisting(retry_window_ms: u64) -> ChaosConfig {
    ChaosConfig {
        enabled: true,
        greylist: Some(Greylist {
            enabled: true,
            retry_window_ms,
            max_attempts: 2,
            track_by: TrackBy::Ip,
        }),
        ..ChaosConfig::default()
    }
}

/// What becomes of the next messages to an inbox.
fn next(chaos: &Chaos, inbox: &Inbox, count: usize) -> Vec<Verdict> {
    let judge = |_| chaos.judge(inbox, &half_refused(), &sender(), at(0));
    (0..count).map(judge).collect()
}

fn chaos(seed: Option<u64>) -> Chaos {
    Chaos::new(ChaosRules { seed })
}

#[test]
fn with_a_seed_every_inbox_meets_the_same_whatever_its_address_and_whatever_others_meet() {
    let (one, other) = (inbox("one@restante.test"), inbox("other@restante.test"));
    let alone = next(&chaos(Some(7)), &one, 40);
    let shared = chaos(Some(7));
    let mut mixed = (Vec::new(), Vec::new());
    for _ in 0..40 {
        mixed.0.extend(next(&shared, &one, 1));
        mixed.1.extend(next(&shared, &other, 1));
    }
    assert_eq!(mixed, (alone.clone(), alone.clone()));
    assert_ne!(next(&chaos(Some(8)), &one, 40), alone);
    let refused = alone.iter().filter(|verdict| verdict.struck.is_some()).count();
    assert!((5..35).contains(&refused), "{refused} of 40");
}

#[test]
fn without_a_seed_two_inboxes_do_not_meet_the_same() {
    let (chaos, one, other) = (chaos(None), inbox("one@restante.test"), inbox("other@restante.test"));
    assert_ne!(next(&chaos, &one, 100), next(&chaos, &other, 100));
    assert_eq!(
        chaos.past.lock().unwrap().messages.len(),
        0,
        "nothing is counted for chance"
    );
}

#[test]
fn a_window_begins_with_its_first_attempt_and_then_anew() {
    let (chaos, inbox, config) = (chaos(None), inbox("one@restante.test"), greylisting(1000));
    let passes = |ms| chaos.judge(&inbox, &config, &sender(), at(ms)).outcome == Outcome::Stored;
    let outcomes = [0, 999, 999, 1000, 1500, 1999, 2000].map(passes);
    assert_eq!(outcomes, [false, true, true, false, true, true, false]);
}

#[test]
fn attempts_end_with_the_life_of_their_inbox() {
    let (chaos, config) = (chaos(None), greylisting(1000));
    let (before, after) = (inbox("one@restante.test"), inbox("one@restante.test"));
    let passes = |inbox: &Inbox| chaos.judge(inbox, &config, &sender(), at(0)).outcome == Outcome::Stored;
    assert_eq!(
        [&before, &before, &after, &after].map(passes),
        [false, true, false, true]
    );
}

#[test]
fn no_two_are_the_same_attempt() {
    let (chaos, inbox, config) = (Arc::new(chaos(Some(1))), inbox("one@restante.test"), greylisting(1000));
    let refused: usize = std::thread::scope(|scope| {
        let attempt = || chaos.judge(&inbox, &config, &sender(), at(0)).outcome != Outcome::Stored;
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(move || (0..50).filter(|_| attempt()).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(refused, 1);
}
