//! Whole-program tests.
fn main() {}
