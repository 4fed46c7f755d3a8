//! From the name of a target to its addresses.

mod dns;
mod guarded;
mod system;

use std::fmt;
use std::net::IpAddr;

use async_trait::async_trait;

pub use dns::DnsLookup;
pub(crate) use guarded::GuardedResolver;
pub use system::SystemLookup;

/// Looks names up.
#[async_trait]
pub trait Lookup: Send + Sync + fmt::Debug {
    /// All addresses of a name, one at least.
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Unresolved>;
}

/// A name has no address, or nobody said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The name does not exist, or has no address.
    #[error("the name of the target has no address")]
    NoAddress,
    /// The answer did not come.
    #[error("timeout: the name of the target was not resolved in time")]
    Timeout,
    /// The look-up failed.
    #[error("the name of the target could not be looked up")]
    Failed,
}

/// What a look-up answers: an empty answer is none.
fn found(addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Unresolved> {
    if addresses.is_empty() {
        return Err(Unresolved::NoAddress);
    }
    Ok(addresses)
}
