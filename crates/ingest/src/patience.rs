//! How long a connection waits within a transaction.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// What ends a wait early.
#[derive(Debug)]
pub(crate) struct Patience<'a> {
    /// The server stops.
    pub(crate) stop: &'a CancellationToken,
    /// The session has lasted as long as one may.
    pub(crate) session_ends: Instant,
}

/// Why a wait ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Impatience {
    Stopped,
    SessionOver,
}

impl Patience<'_> {
    /// Waits for so long.
    ///
    /// # Errors
    /// What ended it before.
    pub(crate) async fn wait(&self, delay: Duration) -> Result<(), Impatience> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(Impatience::Stopped),
            () = sleep(delay) => Ok(()),
            () = sleep_until(self.session_ends) => Err(Impatience::SessionOver),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_comes_first_ends_a_wait() {
        let second = Duration::from_secs(1);
        let began = Instant::now();
        for (stops, session, delay, expected, after) in [
            (9, 9, 5, Ok(()), 5),
            (9, 3, 5, Err(Impatience::SessionOver), 3),
            (2, 3, 5, Err(Impatience::Stopped), 2),
            (0, 0, 5, Err(Impatience::Stopped), 0),
            (9, 5, 5, Ok(()), 5),
        ] {
            let (stop, began) = (CancellationToken::new(), Instant::now().max(began));
            let patience = Patience {
                stop: &stop,
                session_ends: began + second * session,
            };
            let stopping = async {
                sleep(second * stops).await;
                stop.cancel();
            };
            let waiting = async { (patience.wait(second * delay).await, began.elapsed()) };
            let ((), waited) = tokio::join!(stopping, waiting);
            assert_eq!(waited, (expected, second * after), "{stops} {session} {delay}");
        }
    }
}
