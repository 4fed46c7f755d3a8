//! One inbox of the blocking client.

use std::fmt;

use restante_model::{EmailId, InboxHash, Timestamp};
use restante_wire::SyncResource;

use super::runtime::Runtime;
use super::{Client, Wait, Watch, Webhooks};
use crate::chaos::{Chaos, ChaosConfig};
use crate::{
    Email, EmailMatcher, EmailSummary, Error, Existing, ExportedInbox, UnreadableEmail, WaitForEmail, WaitForEmails,
    WaitForNone,
};

/// An inbox that a client knows, as [`crate::Inbox`]; clones are the same inbox.
#[derive(Clone)]
pub struct Inbox {
    runtime: Runtime,
    inbox: crate::Inbox,
}

impl Inbox {
    pub(super) fn new(runtime: Runtime, inbox: crate::Inbox) -> Self {
        Self { runtime, inbox }
    }

    pub(super) fn asynchronous(&self) -> &crate::Inbox {
        &self.inbox
    }

    /// The client that this inbox belongs to.
    pub fn client(&self) -> Client {
        Client::sharing(self.runtime.clone(), self.inbox.client().clone())
    }

    /// Where it takes mail.
    pub fn address(&self) -> &str {
        self.inbox.address()
    }

    /// Its name in streams and records.
    pub fn hash(&self) -> InboxHash {
        self.inbox.hash()
    }

    /// From then on it is gone; `None` for one that does not end by itself.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.inbox.expires_at()
    }

    /// Whether its mail is sealed.
    pub fn is_encrypted(&self) -> bool {
        self.inbox.is_encrypted()
    }

    /// As [`crate::Inbox::email_auth`].
    pub fn email_auth(&self) -> Option<bool> {
        self.inbox.email_auth()
    }

    /// As [`crate::Inbox::spam_analysis`].
    pub fn spam_analysis(&self) -> Option<bool> {
        self.inbox.spam_analysis()
    }

    /// As [`crate::Inbox::is_persistent`].
    pub fn is_persistent(&self) -> Option<bool> {
        self.inbox.is_persistent()
    }

    /// As [`crate::Inbox::wait_for`]: `inbox.wait_for(matcher).timeout(..).wait()?`.
    pub fn wait_for(&self, matcher: EmailMatcher) -> Wait<WaitForEmail> {
        Wait::new(self.runtime.clone(), self.inbox.wait_for(matcher))
    }

    /// As [`crate::Inbox::wait_for_many`].
    pub fn wait_for_many(&self, count: usize, matcher: EmailMatcher) -> Wait<WaitForEmails> {
        Wait::new(self.runtime.clone(), self.inbox.wait_for_many(count, matcher))
    }

    /// As [`crate::Inbox::wait_for_none`].
    pub fn wait_for_none(&self, matcher: EmailMatcher) -> Wait<WaitForNone> {
        Wait::new(self.runtime.clone(), self.inbox.wait_for_none(matcher))
    }

    /// As [`crate::Inbox::watch`].
    pub fn watch(&self, existing: Existing) -> Result<Watch, Error> {
        let watch = self.runtime.wait(self.inbox.watch(existing))?;
        Ok(Watch::new(self.runtime.clone(), watch))
    }

    /// As [`crate::Inbox::emails`].
    pub fn emails(&self) -> Result<Vec<Email>, Error> {
        self.runtime.wait(self.inbox.emails())
    }

    /// As [`crate::Inbox::summaries`].
    pub fn summaries(&self) -> Result<Vec<EmailSummary>, Error> {
        self.runtime.wait(self.inbox.summaries())
    }

    /// As [`crate::Inbox::each_email`].
    pub fn each_email(&self) -> Result<Vec<Result<Email, UnreadableEmail>>, Error> {
        self.runtime.wait(self.inbox.each_email())
    }

    /// As [`crate::Inbox::each_summary`].
    pub fn each_summary(&self) -> Result<Vec<Result<EmailSummary, UnreadableEmail>>, Error> {
        self.runtime.wait(self.inbox.each_summary())
    }

    /// As [`crate::Inbox::email`].
    pub fn email(&self, id: EmailId) -> Result<Email, Error> {
        self.runtime.wait(self.inbox.email(id))
    }

    /// As [`crate::Inbox::raw`].
    pub fn raw(&self, id: EmailId) -> Result<Vec<u8>, Error> {
        self.runtime.wait(self.inbox.raw(id))
    }

    /// As [`crate::Inbox::mark_read`].
    pub fn mark_read(&self, id: EmailId) -> Result<(), Error> {
        self.runtime.wait(self.inbox.mark_read(id))
    }

    /// As [`crate::Inbox::delete_email`].
    pub fn delete_email(&self, id: EmailId) -> Result<(), Error> {
        self.runtime.wait(self.inbox.delete_email(id))
    }

    /// As [`crate::Inbox::sync_status`].
    pub fn sync_status(&self) -> Result<SyncResource, Error> {
        self.runtime.wait(self.inbox.sync_status())
    }

    /// As [`crate::Inbox::export`].
    pub fn export(&self) -> ExportedInbox {
        self.inbox.export()
    }

    /// As [`crate::Inbox::chaos`].
    pub fn chaos(&self) -> Result<ChaosConfig, Error> {
        self.runtime.wait(self.inbox.chaos())
    }

    /// As [`crate::Inbox::set_chaos`].
    pub fn set_chaos(&self, wanted: &Chaos) -> Result<ChaosConfig, Error> {
        self.runtime.wait(self.inbox.set_chaos(wanted))
    }

    /// As [`crate::Inbox::clear_chaos`].
    pub fn clear_chaos(&self) -> Result<(), Error> {
        self.runtime.wait(self.inbox.clear_chaos())
    }

    /// The webhooks that hear of this inbox alone.
    pub fn webhooks(&self) -> Webhooks {
        Webhooks::new(self.runtime.clone(), self.inbox.webhooks())
    }

    /// As [`crate::Inbox::delete`].
    pub fn delete(&self) -> Result<(), Error> {
        self.runtime.wait(self.inbox.delete())
    }
}

/// As that of [`crate::Inbox`].
impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inbox.fmt(f)
    }
}
