//! Whole-program tests live in main.rs.
