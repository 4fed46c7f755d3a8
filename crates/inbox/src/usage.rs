//! What is stored, and how much more can be.

use std::time::Duration;

use crate::{Inboxes, ReadError};

/// What is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StorageUsage {
    /// Bytes that the emails of all inboxes take.
    pub used_bytes: u64,
    /// Bytes that mail may still take before some is evicted or refused.
    pub available_bytes: u64,
    /// Bytes that mail may take in all, if that is limited.
    pub max_bytes: Option<u64>,
    /// Bytes that everything takes that is kept, mail or not.
    pub live_bytes: u64,
    /// How many emails there are.
    pub emails: u64,
    /// Emails that went for other mail, or for their age, since the start.
    pub evicted: u64,
    /// Time since the oldest email arrived.
    pub oldest_age: Option<Duration>,
    /// Time since the newest email arrived.
    pub newest_age: Option<Duration>,
}

impl Inboxes {
    /// How many inboxes there are; one that has expired counts until the expiry task has seen to it.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn count(&self) -> Result<u64, ReadError> {
        Ok(self.store().usage().await?.inboxes)
    }

    /// What is stored now. It waits in line with what is being written.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn storage_usage(&self) -> Result<StorageUsage, ReadError> {
        let room = self.store().room().await?;
        let usage = self.store().usage().await?;
        let oldest = self.store().oldest_email().await?;
        let newest = self.store().newest_email().await?;
        let now = self.now();
        let max_bytes = Some(self.policy().retention.max_bytes).filter(|max| *max != u64::MAX);
        let below_limit = max_bytes.map_or(u64::MAX, |max| max.saturating_sub(usage.mail_bytes));
        Ok(StorageUsage {
            used_bytes: usage.mail_bytes,
            available_bytes: room.min(below_limit),
            max_bytes,
            live_bytes: usage.live_bytes,
            emails: usage.emails,
            evicted: usage.evicted,
            oldest_age: oldest.map(|at| at.until(now)),
            newest_age: newest.map(|at| at.until(now)),
        })
    }
}
