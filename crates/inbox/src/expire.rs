//! Expiry and eviction: the task that ends inboxes when their time has come, and removes mail that is not to stay.
//!
//! Nothing waits for it: an expired inbox is invisible from its very moment on, and mail makes room for itself as it is
//! stored. The task frees what expired inboxes held, evicts what has reached its age, at that moment, and what a lower
//! limit or a large mail leaves over.
//! It goes in small steps, between which all other calls go on.

use std::time::Duration;

use restante_model::Timestamp;
use restante_storage::{ReadError, Unavailable};

use crate::Inboxes;

/// Inboxes retired, and emails removed, in one step.
const RETIRE_CHUNK: usize = 500;
const REAP_CHUNK: usize = 256;
const EVICT_CHUNK: usize = 256;
/// The task looks at least this often, in case the machine's clock jumps.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
/// How long it waits when the store is unavailable.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Inboxes {
    /// Retires, reaps and evicts as inboxes expire or are removed and mail grows old or too much; never returns.
    /// Cancel safe.
    pub async fn run_expiry(&self) {
        loop {
            let pause = match self.sweep().await {
                Ok(Some(next)) => self.now().until(next).min(self.longest_sleep()),
                Ok(None) => self.longest_sleep(),
                Err(Unavailable) => RETRY_AFTER,
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.shared.expiry_changed.notified() => {}
            }
        }
    }

    /// Mail that arrives meanwhile does not reach its age before the task looks again.
    fn longest_sleep(&self) -> Duration {
        let max_age = self.policy().retention.max_age;
        max_age.map_or(LONGEST_SLEEP, |age| age.min(LONGEST_SLEEP))
    }

    /// Ends every inbox whose time has come, removes the mail of ended ones and what is beyond a limit, and says when
    /// the next inbox expires or the next email has reached its age.
    ///
    /// # Errors
    /// [`Unavailable`] when the store is; what was done stays done.
    pub async fn sweep(&self) -> Result<Option<Timestamp>, Unavailable> {
        let (store, retention) = (self.store(), &self.policy().retention);
        // In turn, so that none of them waits for the backlog of another.
        loop {
            let retired = store.retire_expired(RETIRE_CHUNK, self.now()).await?;
            let reaped = store.reap(REAP_CHUNK, self.now()).await?;
            let evicted = store.evict(retention, EVICT_CHUNK, self.now()).await?;
            if retired + reaped.emails + evicted.emails > 0 {
                // At every step: who sends to webhooks goes on while this goes on.
                self.shared.bus.announce_work();
            }
            if retired < RETIRE_CHUNK && !reaped.more && !evicted.more {
                break;
            }
        }
        let expiry = store.next_expiry().await.map_err(unavailable)?;
        let age = match retention.max_age {
            Some(age) => {
                let oldest = store.oldest_email().await.map_err(unavailable)?;
                oldest.map(|received_at| received_at.after(age))
            }
            None => None,
        };
        Ok(expiry.into_iter().chain(age).min())
    }

    /// Wakes the task if an accepted mail left more than may be stored: large mail in the place of much small mail.
    ///
    /// Says whether so much is stored that other mail may have gone for it: one that was smaller than most of the store.
    pub(crate) async fn evict_if_over(&self) -> bool {
        let max_bytes = self.policy().retention.max_bytes;
        let usage = self.store().usage().await;
        let mail_bytes = usage.map_or(0, |usage| usage.mail_bytes);
        if mail_bytes > max_bytes {
            self.shared.expiry_changed.notify_one();
        }
        mail_bytes > max_bytes / 4
    }
}

fn unavailable(error: ReadError) -> Unavailable {
    match error {
        ReadError::Unavailable(unavailable) => unavailable,
        ReadError::Damaged => Unavailable,
    }
}
