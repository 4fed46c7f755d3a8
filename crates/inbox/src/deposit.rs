//! Depositing a message: one email for each recipient inbox, all of them or none, and with each, in the same step, the
//! event that webhooks want to hear of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use restante_model::{AuthResults, EmailId, Inbox, SessionFacts, SpamAnalysis};
use restante_storage::{AcceptError, Arrival, Bus, NewEmail, Topic};

use crate::Inboxes;
use crate::prepare::{Listeners, Prepared, Task};

/// A message and whom it is for.
#[derive(Debug, Clone)]
pub struct Deposit {
    /// The message as received, dot-unstuffed.
    pub raw: Bytes,
    /// What the session knew; the forward-path is set for each recipient.
    pub facts: SessionFacts,
    /// Who gets it; an inbox that stands here twice gets it once.
    pub recipients: Vec<Recipient>,
}

/// One recipient of a message.
#[derive(Debug, Clone)]
pub struct Recipient {
    /// The inbox.
    pub inbox: Arc<Inbox>,
    /// The forward-path as the client spelled it.
    pub forward_path: String,
    /// The authentication results that this inbox sees.
    pub auth: AuthResults,
    /// The spam analysis that this inbox sees.
    pub spam: SpamAnalysis,
}

/// Why a message was not stored. Nothing of it is, unless the store cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DepositError {
    /// An inbox expired or was removed after its RCPT.
    #[error("a recipient is gone")]
    Gone,
    /// The disk is full, or the memory for sealed copies is taken: another time there may be room.
    #[error("there is no room")]
    NoRoom,
    /// All the memory for sealed copies would not do for so large a message to so many encrypted inboxes.
    #[error("the message is too large for so many encrypted inboxes")]
    TooLarge,
    /// Its copies alone are larger than all that may be stored.
    #[error("the message is larger than all that may be stored")]
    BeyondStorage,
    /// The store cannot tell.
    #[error("the storage is unavailable")]
    Unavailable,
}

/// Emails that are stored, or thrown away, but not yet told to anyone.
///
/// It tells the live streams, and whoever sends to webhooks, when it is dropped: after the 250 is on the wire, or when that
/// could not be written.
#[derive(Debug)]
pub struct Announcement {
    ids: Vec<EmailId>,
    arrivals: Vec<Arrival>,
    bus: Bus,
    may_have_raised: bool,
}

impl Announcement {
    /// Of emails of which webhooks hear, and that are not stored.
    pub(crate) fn of_events(ids: Vec<EmailId>, bus: Bus) -> Self {
        Self {
            ids,
            arrivals: Vec::new(),
            bus,
            may_have_raised: true,
        }
    }

    /// The ids of the emails, in the order of the recipients.
    pub fn ids(&self) -> impl Iterator<Item = EmailId> {
        self.ids.iter().copied()
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.bus.publish(&self.arrivals);
        if self.may_have_raised {
            self.bus.announce_work();
        }
    }
}

impl Inboxes {
    /// Parses the message and, for encrypted inboxes, seals it; makes the events that webhooks want: the part of a deposit
    /// that costs time.
    ///
    /// # Errors
    /// [`DepositError::NoRoom`] when there is no memory for that now, [`DepositError::TooLarge`] when there
    /// never is, [`DepositError::Unavailable`] when the work panics.
    pub async fn prepare(&self, deposit: Deposit) -> Result<Prepared, DepositError> {
        let listeners = self.listeners(&deposit).await;
        self.work_on(Task::new(deposit, listeners)).await
    }

    /// The same with an id for the email of the first recipient, which was told to others already.
    ///
    /// # Errors
    /// As [`Inboxes::prepare`].
    pub async fn prepare_as(&self, first: EmailId, deposit: Deposit) -> Result<Prepared, DepositError> {
        let listeners = self.listeners(&deposit).await;
        self.work_on(Task::new(deposit, listeners).beginning_with(first)).await
    }

    /// Stores prepared emails in one step; they are durable when this returns.
    ///
    /// # Errors
    /// [`DepositError::Gone`], [`DepositError::BeyondStorage`]: no email is stored; nor is any after those of
    /// [`Inboxes::prepare`], since an event may have to be made that nobody wanted then.
    /// [`DepositError::Unavailable`]: perhaps.
    pub async fn deposit(&self, prepared: Prepared) -> Result<Announcement, DepositError> {
        let Prepared { emails, task, memory } = prepared;
        let mut tells = task.tells();
        let mut accepted = self.accept(emails).await;
        if accepted == Err(AcceptError::EventWanted) {
            // A webhook was created since the look. With an event for every email there is nothing left to want.
            drop(memory);
            tells = true;
            let again = self.work_on(task.for_any_listener()).await?;
            let _memory = again.memory;
            accepted = self.accept(again.emails).await;
        }
        let arrivals = accepted.map_err(|error| match error {
            AcceptError::Gone => DepositError::Gone,
            AcceptError::TooLarge => DepositError::BeyondStorage,
            AcceptError::NoRoom => DepositError::NoRoom,
            AcceptError::EventWanted => DepositError::Unavailable,
            AcceptError::Unavailable(_) => {
                self.shared.is_unsure.store(true, Ordering::Release);
                DepositError::Unavailable
            }
        })?;
        Ok(self.announcement(arrivals, tells).await)
    }

    async fn accept(&self, emails: Vec<NewEmail>) -> Result<Vec<Arrival>, AcceptError> {
        let retention = &self.policy().retention;
        self.store().accept(emails, retention, self.now()).await
    }

    async fn announcement(&self, arrivals: Vec<Arrival>, tells: bool) -> Announcement {
        self.room_was_made().await;
        let bus = self.shared.bus.clone();
        let mut may_have_raised = tells;
        if let Some(first) = arrivals.first()
            && self.shared.is_unsure.swap(false, Ordering::AcqRel)
        {
            // What was stored before without an answer is in the store now, and nobody will announce it.
            bus.skip_to(first.sequence - 1);
            may_have_raised = true;
        }
        Announcement {
            ids: arrivals.iter().map(|arrival| arrival.email).collect(),
            arrivals,
            bus,
            may_have_raised,
        }
    }

    /// The inboxes of whose mail webhooks want to hear. What cannot be read now does not matter: the store looks again.
    pub(crate) async fn listeners(&self, deposit: &Deposit) -> Listeners {
        let mut listeners = HashSet::new();
        for to in &deposit.recipients {
            let inbox = to.inbox.key;
            if self.store().wants(inbox, Topic::Arrivals).await.unwrap_or(false) {
                listeners.insert(inbox);
            }
        }
        Listeners::Of(listeners)
    }
}
