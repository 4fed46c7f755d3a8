//! Whole-program tests are in `e2e/main.rs`: a package needs a library to hold them.
