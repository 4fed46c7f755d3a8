//! Telling webhooks of a message that is not stored.

use restante_storage::{TellError, ThrownAway};

use crate::prepare::{Prepared, Task};
use crate::{Announcement, Deposit, DepositError, Inboxes};

impl Inboxes {
    /// Tells the webhooks of the recipients of a message as if it had arrived, and keeps nothing of it: they hear
    /// `email.received`, nobody else hears anything.
    ///
    /// The announcement has an id for each recipient, heard of or not; the events are durable when this returns.
    ///
    /// # Errors
    /// Those of [`Inboxes::prepare`], when nobody was told; [`DepositError::NoRoom`] also when the disk has
    /// none, and [`DepositError::Unavailable`] when the store cannot tell: perhaps somebody was told then.
    pub async fn tell_of(&self, deposit: Deposit) -> Result<Announcement, DepositError> {
        let listeners = self.listeners(&deposit).await;
        let prepared = self.work_on(Task::of_events(deposit, listeners)).await?;
        let Prepared { emails, memory, .. } = prepared;
        let ids = emails.iter().map(|email| email.id).collect();
        let heard = emails.into_iter().filter_map(|email| {
            Some(ThrownAway {
                inbox: email.inbox,
                id: email.id,
                event: email.event.filter(|event| !event.is_empty())?,
            })
        });
        let heard: Vec<_> = heard.collect();
        if !heard.is_empty() {
            let told = self.store().tell(heard, self.now()).await;
            told.map_err(|error| match error {
                TellError::NoRoom => DepositError::NoRoom,
                TellError::Unavailable(_) => DepositError::Unavailable,
            })?;
        }
        drop(memory);
        Ok(Announcement::of_events(ids, self.shared.bus.clone()))
    }
}
