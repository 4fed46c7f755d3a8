//! Randomness with a seed: a failure can be had again.

/// A generator of numbers (xorshift64*, Vigna 2016).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The same numbers for the same seed.
    pub(crate) fn seeded(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            dice.next();
        }
        dice
    }

    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 33) as usize % bound
    }

    /// One of these.
    pub(crate) fn one_of<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }

    /// Any byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    /// Dice of somebody else's, whom these decide too.
    pub(crate) fn split(&mut self) -> Self {
        Self::seeded(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
