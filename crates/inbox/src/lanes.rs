//! The lanes for work that costs processor time, parsing, sealing and signing: it leaves the async threads, and large
//! messages never stall small ones.

use std::num::NonZero;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn_blocking};

/// Messages above this size share one place.
const LARGE_BYTES: usize = 64 * 1024;

/// A permit a core for small messages, one in all for large ones.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    sealed: Arc<Semaphore>,
}

/// Who holds it is the only one whose large message is sealed or waits, sealed, to be stored.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Lanes {
    /// As many places as the machine has cores.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            small: Arc::new(Semaphore::new(cores)),
            large: Arc::new(Semaphore::new(1)),
            sealed: Arc::new(Semaphore::new(1)),
        }
    }

    /// Waits for the turn of a message of `bytes` bytes to be sealed; a small one needs none.
    ///
    /// Sealed copies are several times as large as their message. Without turns, those that come together would be
    /// refused for want of memory, after all of their bytes have been sent.
    pub(crate) async fn turn(&self, bytes: usize) -> Option<Turn> {
        if bytes <= LARGE_BYTES {
            return None;
        }
        let permit = Arc::clone(&self.sealed).acquire_owned().await;
        Some(Turn {
            _permit: permit.expect("a lane is never closed"),
        })
    }

    /// Runs the work for a message of `bytes` bytes when its lane has room.
    ///
    /// # Errors
    /// When the work panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let lane = if bytes > LARGE_BYTES { &self.large } else { &self.small };
        let permit = Arc::clone(lane).acquire_owned().await.expect("a lane is never closed");
        spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
    }
}
