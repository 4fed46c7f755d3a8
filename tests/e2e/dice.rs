//! Randomness that can be repeated: the seed is printed when a test fails.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// `SplitMix64` (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice of a new seed, which is printed.
    pub(crate) fn thrown() -> Self {
        Self::of(RandomState::new().build_hasher().finish())
    }

    /// Dice of a seed, which is printed.
    pub(crate) fn of(seed: u64) -> Self {
        println!("seed {seed}");
        Self(seed)
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, or 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).expect("64 bits hold a length");
        usize::try_from(self.number() % bound).expect("it is below a length")
    }

    /// A byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }
}
