//! Look-ups of rspamd's name by the system, a few at once.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;

/// Each holds a thread of the runtime for as long as the system takes, which goes on after whoever asked has given up:
/// mail must not wait for threads because of a DNS server that is silent.
const AT_ONCE: usize = 16;

/// The system's resolver.
pub(crate) struct FewAtOnce {
    permits: Arc<Semaphore>,
}

impl FewAtOnce {
    pub(crate) fn new() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Resolve for FewAtOnce {
    fn resolve(&self, name: Name) -> Resolving {
        let permits = Arc::clone(&self.permits);
        Box::pin(async move {
            let permit = permits.acquire_owned().await?;
            let asking = tokio::task::spawn_blocking(move || {
                let found = (name.as_str(), 0)
                    .to_socket_addrs()
                    .map(Iterator::collect::<Vec<SocketAddr>>);
                drop(permit);
                found
            });
            Ok(Box::new(asking.await??.into_iter()) as Addrs)
        })
    }
}
