//! What is done to the mail of an inbox: set, replaced and taken away while it lives.
//!
//! What is set for it stands in [`Inbox::chaos`]; the SMTP side does it.

use std::sync::Arc;

use restante_model::{ChaosConfig, Inbox};

use crate::{Inboxes, ReadError};

impl Inboxes {
    /// Replaces what is done to the mail of an inbox, from the next mail on.
    ///
    /// # Errors
    /// [`ReadError::NoInbox`], [`ReadError::Unavailable`].
    pub async fn set_chaos(&self, inbox: &Inbox, chaos: ChaosConfig) -> Result<(), ReadError> {
        self.store_chaos(inbox, Some(Arc::new(chaos))).await
    }

    /// Nothing is done to the mail of an inbox any more.
    ///
    /// # Errors
    /// [`ReadError::NoInbox`], [`ReadError::Unavailable`].
    pub async fn clear_chaos(&self, inbox: &Inbox) -> Result<(), ReadError> {
        self.store_chaos(inbox, None).await
    }

    async fn store_chaos(&self, inbox: &Inbox, chaos: Option<Arc<ChaosConfig>>) -> Result<(), ReadError> {
        let lives = self.store().set_chaos(inbox.key, chaos, self.now()).await?;
        if lives { Ok(()) } else { Err(ReadError::NoInbox) }
    }
}
