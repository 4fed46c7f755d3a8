//! Look-ups by the system's resolver.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::{Lookup, Unresolved, found};

/// Look-ups at the same time: each holds a thread of the runtime for as long as the system takes, which goes on after
/// whoever asked has given up.
const AT_ONCE: usize = 64;

/// The system's resolver, with all that it knows: DNS, the host file, names of the local network.
#[derive(Debug, Clone)]
pub struct SystemLookup {
    permits: Arc<Semaphore>,
}

impl SystemLookup {
    /// The system's resolver.
    pub fn new() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Default for SystemLookup {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Lookup for SystemLookup {
    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| Unresolved::Failed)?;
        let name = name.to_owned();
        let asking = tokio::task::spawn_blocking(move || {
            let answer = ask(&name);
            drop(permit);
            answer
        });
        // The system's error does not tell a name that does not exist from a server that does not answer.
        let addresses = asking.await.map_err(|_| Unresolved::Failed)?;
        found(addresses.map_err(|_| Unresolved::Failed)?)
    }
}

fn ask(name: &str) -> io::Result<Vec<IpAddr>> {
    let addresses = (name, 0).to_socket_addrs()?;
    Ok(addresses.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn localhost_is_this_machine() {
        let addresses = SystemLookup::new().addresses("localhost").await.unwrap();
        assert!(addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }

    #[tokio::test]
    async fn what_is_no_name_is_not_found() {
        assert_eq!(SystemLookup::new().addresses("no name").await, Err(Unresolved::Failed));
    }
}
