//! One copy: each fault, their order, and what dice can and cannot bring about.

use std::collections::BTreeSet;

use proptest::prelude::*;
use restante_model::chaos::{Blackhole, ConnectionDrop, TrackBy};

use super::*;
use crate::chaos::dice::Dice;

const LATENCY: Latency = Latency {
    enabled: true,
    min_delay_ms: 500,
    max_delay_ms: 10_000,
    jitter: true,
    probability: 1.0,
};
const DROP: ConnectionDrop = ConnectionDrop {
    enabled: true,
    probability: 1.0,
    graceful: true,
};
const GREYLIST: Greylist = Greylist {
    enabled: true,
    retry_window_ms: 300_000,
    max_attempts: 2,
    track_by: TrackBy::IpSender,
};
const BLACKHOLE: Blackhole = Blackhole {
    enabled: true,
    trigger_webhooks: false,
};

fn error(rate: f64, types: &[ErrorKind]) -> RandomError {
    RandomError {
        enabled: true,
        error_rate: rate,
        error_types: types.to_vec(),
    }
}

fn throw(number: u64) -> Throw {
    Dice::of(Some(1)).throw(|| number)
}

/// The verdict on the first attempt.
fn first(chaos: &ChaosConfig, number: u64) -> Verdict {
    decide(chaos, &throw(number), |_| 1)
}

/// Everything at once.
fn all() -> ChaosConfig {
    ChaosConfig {
        enabled: true,
        expires_at: None,
        latency: Some(LATENCY),
        connection_drop: Some(DROP),
        random_error: Some(error(1.0, &[ErrorKind::Permanent])),
        greylist: Some(GREYLIST),
        blackhole: Some(BLACKHOLE),
    }
}

#[test]
fn the_first_fault_that_strikes_is_the_outcome_and_a_delay_goes_with_any() {
    let mut chaos = all();
    let mut met = Vec::new();
    let without: [fn(&mut ChaosConfig); 5] = [
        |_| (),
        |chaos| chaos.connection_drop = None,
        |chaos| chaos.greylist = None,
        |chaos| chaos.random_error = None,
        |chaos| chaos.blackhole = None,
    ];
    for take in without {
        take(&mut chaos);
        let verdict = first(&chaos, 1);
        assert!(verdict.delay.is_some());
        met.push(verdict.struck);
    }
    let order = [
        Fault::ConnectionDrop,
        Fault::Greylist,
        Fault::RandomError,
        Fault::Blackhole,
    ];
    let order: Vec<_> = order.map(Some).into_iter().chain([None]).collect();
    assert_eq!(met, order);
    chaos.latency = None;
    assert_eq!(first(&chaos, 1), Verdict::NONE);
}

#[test]
fn what_is_not_enabled_does_nothing() {
    let mut chaos = all();
    chaos.latency = Some(Latency {
        enabled: false,
        ..LATENCY
    });
    chaos.connection_drop = Some(ConnectionDrop { enabled: false, ..DROP });
    chaos.random_error.as_mut().unwrap().enabled = false;
    chaos.greylist = Some(Greylist {
        enabled: false,
        ..GREYLIST
    });
    chaos.blackhole = Some(Blackhole {
        enabled: false,
        ..BLACKHOLE
    });
    let verdict = decide(&chaos, &throw(1), |_| panic!("no attempt is counted"));
    assert_eq!(verdict, Verdict::NONE);
}

#[test]
fn an_attempt_counts_only_where_a_greylist_decides() {
    let verdict = decide(&all(), &throw(1), |_| panic!("the connection was dropped before"));
    assert_eq!(verdict.outcome, Outcome::HungUp(Hangup::Fin));
}

#[test]
fn a_connection_ends_as_was_asked() {
    for (graceful, how) in [(true, Hangup::Fin), (false, Hangup::Reset)] {
        let chaos = ChaosConfig {
            connection_drop: Some(ConnectionDrop { graceful, ..DROP }),
            ..ChaosConfig::default()
        };
        assert_eq!(first(&chaos, 1).outcome, Outcome::HungUp(how));
    }
}

#[test]
fn the_attempt_with_the_number_and_those_after_it_pass() {
    for (max_attempts, passes) in [
        (1, [true, true, true]),
        (2, [false, true, true]),
        (3, [false, false, true]),
    ] {
        let chaos = ChaosConfig {
            greylist: Some(Greylist {
                max_attempts,
                ..GREYLIST
            }),
            ..ChaosConfig::default()
        };
        let passed = [1, 2, 3].map(|attempt| decide(&chaos, &throw(1), |_| attempt) == Verdict::NONE);
        assert_eq!(passed, passes, "{max_attempts}");
        let refused = decide(&chaos, &throw(1), |_| 0).outcome;
        assert_eq!(refused, Outcome::Refused(reply::GREYLISTED));
    }
}

#[test]
fn what_is_thrown_away_is_heard_of_where_that_was_asked() {
    for (trigger_webhooks, heard_by) in [(false, Hearing::Nobody), (true, Hearing::Webhooks)] {
        let chaos = ChaosConfig {
            blackhole: Some(Blackhole {
                trigger_webhooks,
                ..BLACKHOLE
            }),
            ..ChaosConfig::default()
        };
        assert_eq!(first(&chaos, 1).outcome, Outcome::ThrownAway(heard_by));
    }
}

#[test]
fn every_reply_of_the_kinds_comes_and_no_other() {
    let codes = |types: &[ErrorKind]| -> BTreeSet<u16> {
        let chaos = ChaosConfig {
            random_error: Some(error(1.0, types)),
            ..ChaosConfig::default()
        };
        let outcomes = (0..300).map(|number| first(&chaos, number).outcome);
        outcomes
            .map(|outcome| match outcome {
                Outcome::Refused(reply) => reply.code(),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    let (temporary, permanent) = ([421, 450, 451, 452], [550, 551, 552, 553, 554]);
    assert_eq!(codes(&[ErrorKind::Temporary]), BTreeSet::from(temporary));
    assert_eq!(codes(&[ErrorKind::Permanent]), BTreeSet::from(permanent));
    let both = codes(&[ErrorKind::Temporary, ErrorKind::Permanent]);
    assert_eq!(both, temporary.into_iter().chain(permanent).collect());
}

#[test]
fn replies_are_those_of_the_table_and_say_what_they_are() {
    let all = reply::TEMPORARY_FAULTS.iter().chain(&reply::PERMANENT_FAULTS);
    let lines: Vec<_> = all
        .chain([&reply::GREYLISTED])
        .map(|reply| String::from_utf8(reply.to_bytes().to_vec()).unwrap())
        .collect();
    let codes = [
        "421 4.7.0",
        "450 4.2.1",
        "451 4.3.0",
        "452 4.3.1",
        "550 5.1.1",
        "551 5.1.6",
        "552 5.3.4",
        "553 5.1.3",
        "554 5.0.0",
        "451 4.7.1",
    ];
    assert_eq!(lines.len(), codes.len());
    for (line, code) in lines.iter().zip(codes) {
        assert!(line.starts_with(&format!("{code} Simulated fault: ")), "{line}");
        assert_eq!(line.matches(&code[..3]).count(), 1, "{line}");
        assert_eq!(line.matches(&code[4..]).count(), 1, "{line}");
    }
}

#[test]
fn delays_differ_only_with_jitter_and_with_room_for_it() {
    for (min_delay_ms, max_delay_ms, jitter, exactly) in [
        (500, 10_000, false, Some(10_000)),
        (10_000, 500, false, Some(10_000)),
        (10_000, 500, true, Some(10_000)),
        (700, 700, true, Some(700)),
        (500, 10_000, true, None),
    ] {
        let chaos = ChaosConfig {
            latency: Some(Latency {
                min_delay_ms,
                max_delay_ms,
                jitter,
                ..LATENCY
            }),
            ..ChaosConfig::default()
        };
        let delays: BTreeSet<_> = (0..100).map(|number| first(&chaos, number).delay.unwrap()).collect();
        match exactly {
            Some(ms) => assert_eq!(delays, BTreeSet::from([Duration::from_millis(ms)])),
            None => assert!(delays.len() > 90, "{} delays", delays.len()),
        }
    }
}

/// Any config at all, normalised or not.
fn chaos() -> impl Strategy<Value = ChaosConfig> {
    let latency = (any::<bool>(), 0..70_000_u64, 0..70_000_u64, any::<bool>(), 0.0..=1.0).prop_map(
        |(enabled, min_delay_ms, max_delay_ms, jitter, probability)| Latency {
            enabled,
            min_delay_ms,
            max_delay_ms,
            jitter,
            probability,
        },
    );
    let drop = (any::<bool>(), 0.0..=1.0, any::<bool>()).prop_map(|(enabled, probability, graceful)| ConnectionDrop {
        enabled,
        probability,
        graceful,
    });
    let kinds = prop::collection::vec(
        prop_oneof![Just(ErrorKind::Temporary), Just(ErrorKind::Permanent)],
        0..3,
    );
    let error = (any::<bool>(), 0.0..=1.0, kinds).prop_map(|(enabled, error_rate, error_types)| RandomError {
        enabled,
        error_rate,
        error_types,
    });
    let greylist = (any::<bool>(), 0..5_u32).prop_map(|(enabled, max_attempts)| Greylist {
        enabled,
        max_attempts,
        ..GREYLIST
    });
    let blackhole = any::<(bool, bool)>().prop_map(|(enabled, trigger_webhooks)| Blackhole {
        enabled,
        trigger_webhooks,
    });
    let option = prop::option::of::<BoxedStrategy<Latency>>;
    (
        option(latency.boxed()),
        prop::option::of(drop),
        prop::option::of(error),
        prop::option::of(greylist),
        prop::option::of(blackhole),
    )
        .prop_map(
            |(latency, connection_drop, random_error, greylist, blackhole)| ChaosConfig {
                enabled: true,
                expires_at: None,
                latency,
                connection_drop,
                random_error,
                greylist,
                blackhole,
            },
        )
}

proptest! {
    #[test]
    fn a_verdict_is_one_of_what_was_asked_for(chaos in chaos(), number: u64, attempt in 1..6_u64) {
        let verdict = decide(&chaos, &throw(number), |_| attempt);
        prop_assert_eq!(&verdict, &decide(&chaos, &throw(number), |_| attempt), "the same dice say the same");
        prop_assert_eq!(verdict.struck.is_none(), verdict.outcome == Outcome::Stored);
        let asked = match verdict.struck {
            Some(Fault::ConnectionDrop) => chaos.connection_drop.is_some_and(|drop| drop.enabled),
            Some(Fault::RandomError) => chaos.random_error.as_ref().is_some_and(|error| error.enabled),
            Some(Fault::Greylist) => chaos.greylist.is_some_and(|greylist| greylist.enabled),
            Some(Fault::Blackhole) => chaos.blackhole.is_some_and(|blackhole| blackhole.enabled),
            Some(Fault::Latency) => false,
            None => !chaos.blackhole.is_some_and(|blackhole| blackhole.enabled),
        };
        prop_assert!(asked, "{:?} of {:?}", verdict, chaos);
        if let Some(delay) = verdict.delay {
            let latency = chaos.latency.filter(|latency| latency.enabled).expect("a delay was asked for");
            let (min, max) = (latency.min_delay_ms, latency.max_delay_ms);
            let bounds = Duration::from_millis(min)..=Duration::from_millis(max.max(min));
            prop_assert!(bounds.contains(&delay));
        }
    }
}
