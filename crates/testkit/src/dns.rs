//! A DNS server for tests: zones from master files, over UDP and TCP on a port of the loopback interface.
//!
//! It answers like a resolver that knows nothing but its zones: a name elsewhere does not exist.
//! Trouble is data, too: the file `trouble.txt` beside the zones says which names are answered with an error, or not at all.

mod server;
mod trouble;
mod zones;

pub use server::DnsServer;
pub use trouble::Trouble;
