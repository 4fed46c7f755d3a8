//! Expiry and eviction: the task that ends inboxes when their time has come, and removes mail that is not to stay.
//!
//! Nothing waits for it: an expired inbox is invisible from its very moment on, and mail makes room for itself as it is
//! stored. The task frees what expired inboxes held, evicts what has reached its age, at that moment, and what a lower
//! limit or a large mail leaves over.
//! It goes in small steps, between which all other calls go on.

use std::time::Duration;

use restante_model::{RemovalReason, Timestamp};
use restante_storage::{ReadError, Unavailable};

use crate::Inboxes;

/// Inboxes retired, and emails removed, in one step.
const RETIRE_CHUNK: usize = 500;
const REAP_CHUNK: usize = 256;
const EVICT_CHUNK: usize = 256;
/// The task looks at least this often, in case the machine's clock jumps.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
/// How long mail that went for other mail waits to be told of, together with what goes meanwhile.
const TELL_AFTER: Duration = Duration::from_millis(100);
/// How long it waits when the store is unavailable.
const RETRY_AFTER: Duration = Duration::from_secs(1);

impl Inboxes {
    /// Retires, reaps and evicts as inboxes expire or are removed and mail grows old or too much; never returns.
    /// Cancel safe.
    pub async fn run_expiry(&self) {
        tokio::join!(self.sweep_when_due(), self.tell_of_evictions());
    }

    async fn sweep_when_due(&self) {
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
            self.note_end(retired, RemovalReason::Ttl, None);
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

    /// Mail was stored, for which other mail may have gone in the same step.
    ///
    /// Wakes the task if more is left than may be stored: large mail in the place of much small mail.
    pub(crate) async fn room_was_made(&self) {
        let retention = &self.policy().retention;
        let usage = self.store().usage().await;
        if usage.is_ok_and(|usage| usage.mail_bytes > retention.max_bytes) {
            self.shared.expiry_changed.notify_one();
        }
        if retention.max_bytes != u64::MAX || retention.max_emails != u64::MAX {
            self.shared.may_have_evicted.notify_one();
        }
    }

    /// Tells who sends to webhooks, now and then, of mail that may have gone as other mail came: to look whether any did,
    /// and whether anybody wants to hear of it, would cost every mail more than this costs all of them.
    async fn tell_of_evictions(&self) {
        loop {
            self.shared.may_have_evicted.notified().await;
            tokio::time::sleep(TELL_AFTER).await;
            self.shared.bus.announce_work();
        }
    }
}

fn unavailable(error: ReadError) -> Unavailable {
    match error {
        ReadError::Unavailable(unavailable) => unavailable,
        ReadError::Damaged => Unavailable,
    }
}
