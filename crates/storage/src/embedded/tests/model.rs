//! Random operations, with reopening among them, against an obvious store in memory.

use proptest::prelude::*;

use super::compaction::{assert_same_rows, compacting, rows, settled};
use super::*;
use crate::conformance::model::{Model, Step};

/// A step of the model, or something that must change nothing.
#[derive(Debug, Clone)]
enum Act {
    Step(Step),
    /// Dropped, as by a kill.
    Reopen,
    Close,
    /// Reopened without its index.
    Rebuild,
}

/// Steps with mail of a size; the higher the weight, the more is deleted.
pub(super) fn step(padding: impl Strategy<Value = usize> + Clone, deletes: u32) -> impl Strategy<Value = Step> {
    let number = 0..1000_usize;
    prop_oneof![
        2 => prop_oneof![0..5_u64, 50_000..200_000_u64].prop_map(Step::Advance),
        3 => (0..4_u8, 60_000..400_000_u64, proptest::option::of((0..3_u8, 0..2_u8)))
            .prop_map(|(name, ttl_ms, idempotency)| Step::Create { name, ttl_ms, idempotency }),
        6 => proptest::collection::vec((number.clone(), padding), 1..4).prop_map(Step::Accept),
        1 => number.clone().prop_map(Step::AcceptAgain),
        1 => number.clone().prop_map(Step::MarkRead),
        1 => (number.clone(), number.clone()).prop_map(|(number, part)| Step::Attach(number, part)),
        deletes => number.clone().prop_map(Step::Delete),
        1 => number.prop_map(Step::Retire),
        3 => prop_oneof![1 => (0..3_usize).prop_map(Step::RetireExpired), 2 => (0..5_usize).prop_map(Step::Reap)],
        7 => prop_oneof![3 => retention(), 4 => telling()],
    ]
}

/// What is done to mail, and who hears of it.
fn telling() -> impl Strategy<Value = Step> {
    let number = 0..1000_usize;
    let tell = (proptest::collection::vec(number.clone(), 0..4), any::<bool>());
    prop_oneof![
        4 => (number, 0..40_u64).prop_map(|(number, to)| Step::SetChaos(number, to)),
        4 => tell.prop_map(|(inboxes, again)| Step::Tell(inboxes, again)),
        2 => Just(Step::Listen),
        1 => Just(Step::Dispatch),
    ]
}

/// Limits that come and go, and what goes for them.
fn retention() -> impl Strategy<Value = Step> {
    let limits = (
        proptest::option::of(1..8_u64),
        proptest::option::of(30..200_u64),
        proptest::option::of(1_000..200_000_u64),
    );
    prop_oneof![
        limits.prop_map(|(emails, percent, age_ms)| Step::Limit {
            emails,
            percent,
            age_ms
        }),
        (1..10_usize).prop_map(Step::Evict),
    ]
}

/// Steps that leave much to compact in tiny segments: little mail, which is soon deleted.
pub(super) fn churn() -> impl Strategy<Value = Step> {
    step(0..800_usize, 8)
}

fn large_and_small() -> impl Strategy<Value = Step> {
    step(prop_oneof![0..50_usize, 10_000..40_000_usize].boxed(), 2)
}

fn act(step: impl Strategy<Value = Step>) -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => step.prop_map(Act::Step),
        1 => Just(Act::Reopen),
        1 => Just(Act::Close),
        1 => Just(Act::Rebuild),
    ]
}

async fn play(acts: &[Act], config: &EmbeddedConfig) {
    let mut store = Embedded::open(config).unwrap();
    let mut model = Model::default();
    for act in acts {
        match act {
            Act::Step(step) => model.step(&store, step).await,
            Act::Close => store.close().await,
            Act::Reopen | Act::Rebuild => {}
        }
        if !matches!(act, Act::Step(_)) {
            let is_rebuilt = matches!(act, Act::Rebuild);
            let before = if is_rebuilt {
                settled(&store).await;
                Some(rows(&store))
            } else {
                None
            };
            drop(store);
            if is_rebuilt {
                std::fs::remove_file(config.path.join("index.marker")).unwrap();
            }
            store = Embedded::open(config).unwrap();
            assert_eq!(store.recovery().rebuilt, is_rebuilt);
            if let Some(before) = before {
                assert_same_rows(&rows(&store), &before);
            }
        }
        model.check(&store).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Small segments, so that calls roll them and exceed them.
    #[test]
    fn the_store_does_what_the_model_does(acts in proptest::collection::vec(act(large_and_small()), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(dir.path());
        config.segment_bytes = 32 * 1024;
        runtime().block_on(play(&acts, &config));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn compaction_changes_nothing(acts in proptest::collection::vec(act(churn()), 1..150), percent in 50..=100_u64) {
        let dir = tempfile::tempdir().unwrap();
        runtime().block_on(play(&acts, &compacting(dir.path(), percent)));
    }
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}
