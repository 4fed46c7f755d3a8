//! The lanes for work that costs processor time: it leaves the async threads, and large messages never stall small ones.

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
    pub(crate) fn new(cores: usize) -> Self {
        Self {
            small: Arc::new(Semaphore::new(cores.max(1))),
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
