//! The lanes for work that costs processor time, parsing, sealing and signing: it leaves the async threads, and large
//! messages never stall small ones.

use std::num::NonZero;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// Messages above this size share one place.
const LARGE_BYTES: usize = 64 * 1024;

/// A permit a core for small messages, one in all for large ones.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
}

impl Lanes {
    /// As many places as the machine has cores.
    pub(crate) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            small: Arc::new(Semaphore::new(cores)),
            large: Arc::new(Semaphore::new(1)),
        }
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
