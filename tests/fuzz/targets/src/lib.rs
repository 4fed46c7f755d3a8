//! What is fuzzed, and what must hold of any bytes whatever.
//!
//! A target is a function of an input: it gives the bytes to a parser that the network reaches, and asserts what that
//! parser promises, mostly by comparing with a reference written for clarity alone.
//! It is pure and deterministic, so that an input that fails once fails everywhere; the keys of [`payload`] are the one
//! exception, and what it asserts holds for any keys.
//!
//! Three drivers run the same functions:
//!
//! | Driver | Inputs | When |
//! |---|---|---|
//! | `tests/fuzz/fuzz_targets` | what libFuzzer makes of the corpus and the seeds | `cargo xtask fuzz`, with a nightly compiler |
//! | `tests/inputs/replay.rs` | corpus, regressions, and seeds made of the dialogues, messages and vectors of `tests` | `cargo test` |
//! | `tests/inputs/properties.rs` | what proptest makes of the seeds, the dictionaries and noise | `cargo test` |
//!
//! What is in `tests/fuzz/corpus` adds to the seeds what a fuzzer found and nothing else reaches; every input that ever failed
//! stays in `tests/fuzz/regressions`.
//!
//! The first bytes of most inputs are a head of fixed length that chooses settings, answers and cuts; a head of zeros is
//! the plain case. Where an input is too short for its head, zeros stand in.
//!
//! Modules, in reading order: [`TARGETS`] and `head`; [`session`] and [`data`] with `wire`, `driver`, `replies`,
//! `onlooker` and `framing`; [`message`], [`body`] and [`header`] with `promise`; [`address`]; [`payload`]; [`filter`] and
//! [`template`] with `event`.

pub mod address;
pub mod body;
pub mod data;
mod driver;
mod event;
pub mod filter;
mod framing;
mod head;
pub mod header;
pub mod message;
mod onlooker;
pub mod payload;
mod promise;
mod replies;
pub mod session;
pub mod template;
mod wire;

/// One fuzz target.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of its driver, its corpus and its regressions.
    pub name: &'static str,
    /// Bytes of the head of an input.
    pub head: usize,
    /// Runs an input; panics if a promise is broken.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 9] = [
    Target {
        name: "session",
        head: session::HEAD,
        run: session::run,
    },
    Target {
        name: "data",
        head: data::HEAD,
        run: data::run,
    },
    Target {
        name: "message",
        head: 0,
        run: message::run,
    },
    Target {
        name: "body",
        head: body::HEAD,
        run: body::run,
    },
    Target {
        name: "header",
        head: header::HEAD,
        run: header::run,
    },
    Target {
        name: "address",
        head: 0,
        run: address::run,
    },
    Target {
        name: "payload",
        head: 0,
        run: payload::run,
    },
    Target {
        name: "filter",
        head: filter::HEAD,
        run: filter::run,
    },
    Target {
        name: "template",
        head: template::HEAD,
        run: template::run,
    },
];
