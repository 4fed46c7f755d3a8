//! The use cases over the embedded store, on a clock of the test.

mod creating;
mod expiring;
mod fixture;
mod sealing;
mod watching;
