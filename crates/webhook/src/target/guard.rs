//! The guard: which targets are allowed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use url::Host;

use super::TargetUrl;
use super::ranges::not_public;
use crate::resolver::Lookup;

/// How long a name may take to resolve while a request waits (docs/spec/decisions.md, section 7).
const PATIENCE: Duration = Duration::from_secs(1);

/// Keeps webhooks out of networks that are not public, unless it is told not to.
///
/// [`Guard::check`] answers a request; what counts is the check of each connection, which
/// `GuardedResolver` makes with the same guard.
#[derive(Debug, Clone)]
pub struct Guard {
    allow_private: bool,
    lookup: Arc<dyn Lookup>,
}

/// A target is not allowed; it reads on after the name of what leads there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "leads to an address that is not public ({what}), which is forbidden unless SVC_WEBHOOK_ALLOW_PRIVATE_TARGETS=true"
)]
pub struct Forbidden {
    /// What the address is for; the address itself would tell what a private name stands for.
    what: &'static str,
}

impl Guard {
    /// A guard that asks `lookup`, and lets everything pass if `allow_private`.
    pub fn new(allow_private: bool, lookup: Arc<dyn Lookup>) -> Self {
        Self { allow_private, lookup }
    }

    /// Checks a URL as well as can be done now: an address, or a name if it resolves within a second.
    pub async fn check(&self, url: &TargetUrl) -> Result<(), Forbidden> {
        self.check_literal(url)?;
        let Host::Domain(name) = url.host() else { return Ok(()) };
        if self.allow_private {
            return Ok(());
        }
        // A name that does not resolve now may do so when there is something to tell.
        match tokio::time::timeout(PATIENCE, self.lookup.addresses(name)).await {
            Ok(Ok(addresses)) => self.check_addresses(&addresses),
            Ok(Err(_)) | Err(_) => Ok(()),
        }
    }

    /// Checks what can be told without a look-up: an address in the URL, and the names of this machine (RFC 6761).
    pub(crate) fn check_literal(&self, url: &TargetUrl) -> Result<(), Forbidden> {
        match url.host() {
            Host::Ipv4(address) => self.check_addresses(&[address.into()]),
            Host::Ipv6(address) => self.check_addresses(&[address.into()]),
            Host::Domain(name) if is_localhost(name) && !self.allow_private => Err(Forbidden { what: "loopback" }),
            Host::Domain(_) => Ok(()),
        }
    }

    /// Checks all addresses of a name: one that is forbidden forbids the name.
    pub(crate) fn check_addresses(&self, addresses: &[IpAddr]) -> Result<(), Forbidden> {
        if self.allow_private {
            return Ok(());
        }
        let forbidden = addresses.iter().find_map(|&address| not_public(address));
        forbidden.map_or(Ok(()), |what| Err(Forbidden { what }))
    }

    /// Where it looks names up.
    pub(crate) fn lookup(&self) -> &dyn Lookup {
        &*self.lookup
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}
