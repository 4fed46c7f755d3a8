//! The server as a process: how it starts, what it says, what it keeps, how it stops.

#![expect(clippy::unwrap_used, reason = "a helper that panics fails its test")]

#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod daemon;
mod encryption;
mod faults;
#[path = "../e2e/harness/http.rs"]
#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod http;
mod memory;
#[path = "../e2e/peer.rs"]
#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod peer;
mod refused;
mod restart;
mod rolling_restart;
mod secrecy;
mod start;
mod stop;
mod store_tools;
mod sync_order;
#[path = "../e2e/harness/tls.rs"]
#[allow(dead_code, reason = "shared with other tests, which use other parts")]
mod tls;
mod told;
mod trace;
mod trouble;
mod trouble_disk;
mod trouble_full;
mod trouble_start;
mod webhook;
