//! One wait: the subscription until enough is found or the time is over, then a last look.

use std::time::Duration;

use restante_model::EmailId;

use super::tally::Tally;
use crate::watch::Existing;
use crate::{EmailMatcher, EmailSummary, Error, Inbox};

/// How long the last look may take.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// Between two attempts to fetch an email, at least.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// A wait under way.
#[derive(Debug)]
pub(super) struct Search {
    inbox: Inbox,
    tally: Tally,
}

impl Search {
    pub(super) fn new(inbox: Inbox, matcher: EmailMatcher, wanted: usize) -> Self {
        Self {
            inbox,
            tally: Tally::new(matcher, wanted),
        }
    }

    /// Looks until enough is found, for so long at most.
    pub(super) async fn run(mut self, limit: Duration) -> Result<Tally, Error> {
        if self.tally.is_full() {
            return Ok(self.tally);
        }
        if let Ok(watched) = tokio::time::timeout(limit, self.watch()).await {
            watched?;
        } else if let Ok(looked) = tokio::time::timeout(LAST_LOOK, self.look()).await {
            looked?;
        }
        Ok(self.tally)
    }

    /// Takes in what the subscription brings, until enough is found.
    async fn watch(&mut self) -> Result<(), Error> {
        let mut watch = self.inbox.watch(Existing::Deliver).await?;
        let mut trouble = None;
        while !self.tally.is_full() {
            match watch.next().await {
                Some(Ok(arrival)) => self.consider(&arrival.email).await?,
                Some(Err(error)) if may_pass(&error) => trouble = Some(error),
                Some(Err(error)) => return Err(error),
                None => return Err(trouble.unwrap_or(Error::Closed)),
            }
        }
        Ok(())
    }

    /// Takes in what the inbox holds now: a polling client may not have asked since an email came, and an inbox that
    /// is gone is no matter of time.
    async fn look(&mut self) -> Result<(), Error> {
        for email in self.inbox.each_summary().await?.into_iter().rev() {
            self.consider(&email.map_err(|unreadable| unreadable.error)?).await?;
        }
        Ok(())
    }

    /// Counts an email, whole if it may be one of those that are waited for.
    async fn consider(&mut self, email: &EmailSummary) -> Result<(), Error> {
        if self.tally.needs(email) {
            self.fetch(email.id).await?;
        }
        Ok(())
    }

    /// Fetches an email; trouble that may pass is waited out, since the subscription names no email twice.
    async fn fetch(&mut self, id: EmailId) -> Result<(), Error> {
        loop {
            match self.inbox.email(id).await {
                Ok(email) => {
                    self.tally.add(email);
                    return Ok(());
                }
                // Somebody deleted it meanwhile.
                Err(Error::EmailNotFound(_)) => return Ok(()),
                Err(error) if may_pass(&error) => {}
                Err(error) => return Err(error),
            }
            let client = self.inbox.client();
            client
                .http()
                .pause(client.settings().retry.delay.max(SHORTEST_PAUSE))
                .await?;
        }
    }
}

fn may_pass(error: &Error) -> bool {
    error.is_transient() || matches!(error, Error::Stream(_))
}
