//! Removing: one email, one inbox, all inboxes. The reason is an argument of the store's removals.

use restante_model::{EmailId, Inbox, InboxAddress, RemovalReason};
use restante_monitor::Happening;

use crate::{Inboxes, ReadError};

/// Inboxes that one step retires when all are removed.
const RETIRE_CHUNK: usize = 500;

impl Inboxes {
    /// Marks an email as read.
    ///
    /// # Errors
    /// [`ReadError::NoEmail`], [`ReadError::Unavailable`].
    pub async fn mark_read(&self, inbox: &Inbox, id: EmailId) -> Result<(), ReadError> {
        let known = self.store().mark_read(inbox.key, id, self.now()).await?;
        if known { Ok(()) } else { Err(ReadError::NoEmail) }
    }

    /// Deletes an email.
    ///
    /// # Errors
    /// [`ReadError::NoEmail`], [`ReadError::Unavailable`].
    pub async fn delete_email(&self, inbox: &Inbox, id: EmailId) -> Result<(), ReadError> {
        let deleted = self
            .store()
            .delete_email(inbox.key, id, RemovalReason::Manual, self.now())
            .await?;
        self.shared.parsed.remove(&id);
        self.shared.bus.announce_work();
        if deleted { Ok(()) } else { Err(ReadError::NoEmail) }
    }

    /// Ends an inbox; without effect if none is at the address.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn delete(&self, address: &str) -> Result<(), ReadError> {
        let Ok(address) = InboxAddress::parse_exact(address) else {
            return Ok(());
        };
        let now = self.now();
        if let Some(inbox) = self.store().inbox(&address, now).await? {
            let retired = self.store().retire(&[inbox.key], RemovalReason::Manual, now).await?;
            self.note_end(retired, RemovalReason::Manual, Some(&address));
            self.retired_some();
        }
        Ok(())
    }

    /// Ends all inboxes that exist now, and says how many.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`], [`ReadError::Damaged`]; some may be gone then.
    pub async fn delete_all(&self) -> Result<usize, ReadError> {
        let mut deleted = 0;
        let mut after = None;
        loop {
            let now = self.now();
            let page = self.store().inboxes(after, RETIRE_CHUNK, now).await?;
            let keys: Vec<_> = page.inboxes.iter().map(|inbox| inbox.key).collect();
            let retired = self.store().retire(&keys, RemovalReason::Manual, now).await?;
            self.note_end(retired, RemovalReason::Manual, None);
            deleted += retired;
            after = page.inboxes.last().map(|inbox| inbox.hash);
            if !page.more || after.is_none() {
                self.retired_some();
                return Ok(deleted);
            }
        }
    }

    /// Says that inboxes ended; `address` if it was one that somebody named.
    pub(crate) fn note_end(&self, count: usize, reason: RemovalReason, address: Option<&InboxAddress>) {
        if count > 0 {
            let ended = Happening::InboxesEnded { count, reason, address };
            self.shared.monitor.note(ended);
        }
    }

    /// The expiry task removes their mail, which raises events; their webhooks may end already.
    fn retired_some(&self) {
        self.shared.expiry_changed.notify_one();
        self.shared.bus.announce_work();
    }
}
