//! What the HTTP client resolves names with: the addresses that it connects to are the ones that were checked.

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::Guard;

/// Asks the guard's look-up and hands out its answer only if every address in it is allowed.
#[derive(Debug, Clone)]
pub(crate) struct GuardedResolver(Guard);

impl GuardedResolver {
    pub(crate) fn new(guard: Guard) -> Self {
        Self(guard)
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let addresses = guard.lookup().addresses(name.as_str()).await?;
            guard.check_addresses(&addresses)?;
            let with_port = |address: IpAddr| SocketAddr::new(address, 0);
            Ok::<Addrs, _>(Box::new(addresses.into_iter().map(with_port)))
        })
    }
}
