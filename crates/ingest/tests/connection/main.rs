//! One connection, mostly on paused time: deadlines, encryption, the rate, stopping, closing.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

mod analysing;
mod announcing;
mod authenticating;
mod buffers;
mod chaos;
mod crowd;
mod deadlines;
mod encryption;
mod fixture;
mod implicit_tls;
mod listening;
mod pipe;
mod proxied;
mod rate;
mod starttls;
mod stopping;
