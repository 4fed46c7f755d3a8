//! Inputs that proptest makes: noise, pieces of the dictionaries, and seeds with edits.

use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};
use restante_fuzz_targets::{TARGETS, Target};

use crate::dictionary::pieces;
use crate::seeds::seeds;

/// Runs a target over made inputs.
fn check(name: &str, cases: u32) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let outcome = TestRunner::new(config).run(&input(target), |input| {
        (target.run)(&input);
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, input)) => panic!("{name}: {reason}\ninput: {}", input.escape_ascii()),
        Err(abort) => panic!("{name}: {abort}"),
    }
}

fn input(target: &Target) -> impl Strategy<Value = Vec<u8>> + use<> {
    let noise = prop::collection::vec(any::<u8>(), 0..600);
    prop_oneof![1 => noise, 4 => pieced(target), 3 => edited(target)]
}

/// A head, and pieces of the dictionary, some again and again, with a little noise between them.
fn pieced(target: &Target) -> impl Strategy<Value = Vec<u8>> + use<> {
    let byte = prop_oneof![Just(0), any::<u8>()];
    let head = prop::collection::vec(byte, target.head);
    let piece = prop_oneof![
        8 => prop::sample::select(pieces(target)),
        1 => prop::collection::vec(any::<u8>(), 0..8),
        1 => (prop::sample::select(pieces(target)), 2..100_usize).prop_map(|(piece, count)| piece.repeat(count)),
    ];
    let rest = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
    (head, rest).prop_map(|(head, rest)| [head, rest].concat())
}

/// A seed with some of its bytes gone and others in their place.
fn edited(target: &Target) -> impl Strategy<Value = Vec<u8>> + use<> {
    let seed = prop::sample::select(seeds(target).into_values().collect::<Vec<_>>());
    let inserted = prop_oneof![
        prop::sample::select(pieces(target)),
        prop::collection::vec(any::<u8>(), 0..8),
    ];
    let edit = (any::<prop::sample::Index>(), 0_usize..40, inserted);
    (seed, prop::collection::vec(edit, 1..6)).prop_map(|(mut seed, edits)| {
        for (place, removed, inserted) in edits {
            let start = place.index(seed.len() + 1);
            let end = (start + removed).min(seed.len());
            seed.splice(start..end, inserted);
        }
        seed
    })
}

#[test]
fn session() {
    check("session", 2_000);
}

#[test]
fn data() {
    check("data", 1_000);
}

#[test]
fn message() {
    check("message", 1_000);
}

#[test]
fn body() {
    check("body", 1_000);
}

#[test]
fn header() {
    check("header", 1_000);
}

#[test]
fn address() {
    check("address", 1_000);
}

#[test]
fn payload() {
    check("payload", 200);
}

#[test]
fn filter() {
    check("filter", 1_000);
}

#[test]
fn template() {
    check("template", 1_000);
}
