//! Expiry: the task that ends inboxes when their time has come and removes their mail.
//!
//! Nothing waits for it: an expired inbox is invisible from its very moment on. The task frees what it held.

use std::time::Duration;

use restante_model::Timestamp;
use restante_storage::{ReadError, Unavailable};

use crate::Inboxes;

/// Inboxes retired, and emails removed, in one step.
const RETIRE_CHUNK: usize = 500;
const REAP_CHUNK: usize = 256;
/// The task looks at least this often, in case the machine's clock jumps.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
/// How long it waits when the store is unavailable.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Inboxes {
    /// Retires and reaps as inboxes expire or are removed; never returns. Cancel safe.
    pub async fn run_expiry(&self) {
        loop {
            let pause = match self.sweep().await {
                Ok(Some(next)) => self.now().until(next).min(LONGEST_SLEEP),
                Ok(None) => LONGEST_SLEEP,
                Err(Unavailable) => RETRY_AFTER,
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.shared.expiry_changed.notified() => {}
            }
        }
    }

    /// Ends every inbox whose time has come, removes the mail of ended ones, and says when the next one expires.
    ///
    /// # Errors
    /// [`Unavailable`] when the store is; what was done stays done.
    pub async fn sweep(&self) -> Result<Option<Timestamp>, Unavailable> {
        while self.store().retire_expired(RETIRE_CHUNK, self.now()).await? == RETIRE_CHUNK {}
        while self.store().reap(REAP_CHUNK, self.now()).await?.more {}
        self.store().next_expiry().await.map_err(|error| match error {
            ReadError::Unavailable(unavailable) => unavailable,
            ReadError::Damaged => Unavailable,
        })
    }
}
