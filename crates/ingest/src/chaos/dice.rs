//! Dice that can be thrown again.

use restante_envelope::digest::{random_bytes, sha256};

/// A source of throws, one for each message to an inbox.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dice {
    seed: Option<u64>,
}

/// What a number is thrown for; each has its own, so that no fault changes another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// Whether the reply comes late.
    Latency,
    /// How late.
    Delay,
    /// Whether the connection is dropped.
    ConnectionDrop,
    /// Whether the message is refused.
    RandomError,
    /// With which kind of reply.
    ErrorKind,
    /// With which of that kind.
    ErrorReply,
}

/// The dice of one message to one inbox: any number of numbers, each the same whenever it is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Throw([u8; 16]);

impl Dice {
    /// Dice of a seed, or of chance.
    pub(super) fn of(seed: Option<u64>) -> Self {
        Self { seed }
    }

    /// The dice of a message. With a seed they depend on it and on the message's number at its inbox and on nothing
    /// else: addresses are random, and other inboxes get mail at the same time.
    pub(super) fn throw(self, number: impl FnOnce() -> u64) -> Throw {
        let Some(seed) = self.seed else {
            return Throw(random_bytes());
        };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&seed.to_be_bytes());
        bytes[8..].copy_from_slice(&number().to_be_bytes());
        Throw(bytes)
    }
}

impl Throw {
    /// Whether something strikes that does so with this probability.
    pub(super) fn strikes(&self, what: For, probability: f64) -> bool {
        // 53 bits: as many as a number between 0 and 1 has.
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let thrown = (self.number(what) >> 11) as f64 / (1_u64 << 53) as f64;
        thrown < probability
    }

    /// One of so many, each as likely as the others.
    pub(super) fn one_of(&self, what: For, count: usize) -> usize {
        usize::try_from(self.below(what, count as u64)).expect("it is below a length")
    }

    /// A number from `min` to `max`, each as likely as the others.
    pub(super) fn between(&self, what: For, min: u64, max: u64) -> u64 {
        min.saturating_add(self.below(what, max.saturating_sub(min).saturating_add(1)))
    }

    /// A number below the bound; 0 if that is 0.
    fn below(&self, what: For, bound: u64) -> u64 {
        let scaled = (u128::from(self.number(what)) * u128::from(bound)) >> 64;
        u64::try_from(scaled).expect("a product's upper half has 64 bits")
    }

    fn number(&self, what: For) -> u64 {
        let label: &[u8] = match what {
            For::Latency => b"latency",
            For::Delay => b"delay",
            For::ConnectionDrop => b"drop",
            For::RandomError => b"error",
            For::ErrorKind => b"kind",
            For::ErrorReply => b"reply",
        };
        let digest = sha256(&[&self.0, label].concat());
        let (first, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
        u64::from_be_bytes(*first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [For; 6] = [
        For::Latency,
        For::Delay,
        For::ConnectionDrop,
        For::RandomError,
        For::ErrorKind,
        For::ErrorReply,
    ];

    fn throw(seed: u64, number: u64) -> Throw {
        Dice::of(Some(seed)).throw(|| number)
    }

    fn numbers(throw: &Throw) -> Vec<u64> {
        ALL.iter().map(|what| throw.number(*what)).collect()
    }

    #[test]
    fn a_seed_and_a_number_give_the_same_dice_and_others_give_others() {
        assert_eq!(numbers(&throw(7, 1)), numbers(&throw(7, 1)));
        let mut seen: Vec<u64> = [(7, 1), (7, 2), (8, 1), (1, 7), (0, 0)]
            .iter()
            .flat_map(|(seed, number)| numbers(&throw(*seed, *number)))
            .collect();
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }

    /// What a seed means is a promise to suites that note it: these numbers never change.
    #[test]
    fn a_seed_means_the_same_in_every_version() {
        // The first 8 bytes of SHA-256 over the seed, the number and the label, made with other software.
        let expected = [
            0x977b_d6fd_79e8_cdb6,
            0x8ee8_4cf6_ead0_9b3e,
            0x3a82_4059_9fc1_6974,
            0xff38_61bb_e43a_168c,
            0x16d5_9baa_3c44_fa24,
            0xd51d_f4b5_bce9_a65f,
        ];
        assert_eq!(numbers(&throw(42, 1)), expected);
    }

    #[test]
    fn chance_counts_nothing_and_does_not_repeat() {
        let chance = || Dice::of(None).throw(|| panic!("nothing is counted"));
        assert_ne!(numbers(&chance()), numbers(&chance()));
    }

    #[test]
    fn each_probability_strikes_as_often_as_it_says() {
        for (probability, most_often) in [(0.1, 1_000.0_f64), (0.5, 5_000.0), (0.9, 9_000.0)] {
            let struck = (0..10_000).filter(|n| throw(1, *n).strikes(For::Latency, probability));
            let struck = f64::from(u32::try_from(struck.count()).unwrap());
            // Five standard deviations of the widest are 250.
            assert!((struck - most_often).abs() < 250.0, "{struck} at {probability}");
        }
    }

    proptest! {
        #[test]
        fn never_is_never_and_always_is_always(seed: u64, number: u64) {
            for what in ALL {
                prop_assert!(!throw(seed, number).strikes(what, 0.0));
                prop_assert!(throw(seed, number).strikes(what, 1.0));
            }
        }

        #[test]
        fn numbers_stay_within_their_bounds(seed: u64, number: u64, min in 0..70_000_u64, more in 0..70_000_u64) {
            let between = throw(seed, number).between(For::Delay, min, min + more);
            prop_assert!((min..=min + more).contains(&between));
            let count = usize::try_from(more).unwrap() + 1;
            prop_assert!(throw(seed, number).one_of(For::ErrorReply, count) < count);
        }
    }

    #[test]
    fn every_number_between_the_bounds_comes() {
        let mut seen: Vec<u64> = (0..200).map(|n| throw(3, n).between(For::Delay, 5, 9)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [5, 6, 7, 8, 9]);
        assert_eq!(throw(3, 1).between(For::Delay, u64::MAX, u64::MAX), u64::MAX);
    }
}
