//! One wait: the subscription until enough is found or the time is over, then a last look.
//!
//! That something is not there is said only after a look at the inbox that began when the time was over and that came
//! to its end: who could not look does not know.

use std::future;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::fetches::{Fetched, Fetches};
use super::tally::Tally;
use crate::watch::{Arrival, Existing};
use crate::{EmailMatcher, EmailSummary, Error, Inbox};

/// Between two attempts to fetch an email, at least.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// And at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long the parts of a wait take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The last look, at most.
    pub(super) last_look: Duration,
    /// After it the next email is fetched, though the one before has not come.
    pub(super) head_start: Duration,
    /// How often it is asked whether the inbox is still there: the live stream does not tell.
    pub(super) presence: Duration,
}

impl Pace {
    /// The last look has time for all repetitions of a request, so that it tells why it failed.
    const USUAL: Self = Self {
        last_look: Duration::from_secs(10),
        head_start: Duration::from_secs(1),
        presence: Duration::from_secs(2),
    };
}

/// A wait under way.
#[derive(Debug)]
pub(super) struct Search {
    inbox: Inbox,
    pace: Pace,
    tally: Tally,
    fetches: Fetches,
    /// What the subscription said that did not end it.
    trouble: Option<Error>,
}

impl Search {
    pub(super) fn new(inbox: Inbox, matcher: EmailMatcher, wanted: usize) -> Self {
        Self::paced(inbox, matcher, wanted, Pace::USUAL)
    }

    pub(super) fn paced(inbox: Inbox, matcher: EmailMatcher, wanted: usize, pace: Pace) -> Self {
        Self {
            fetches: Fetches::new(inbox.clone(), pace.head_start),
            inbox,
            pace,
            tally: Tally::new(matcher, wanted),
            trouble: None,
        }
    }

    /// Looks until enough is found, for so long at most.
    pub(super) async fn run(mut self, limit: Duration) -> Result<Tally, Error> {
        if self.tally.is_full() {
            return Ok(self.tally);
        }
        match timeout(limit, self.watch()).await {
            Ok(watched) => watched?,
            Err(_) => return self.last_look().await,
        }
        Ok(self.tally)
    }

    /// Takes in what the subscription brings, until enough is found or the inbox is gone.
    async fn watch(&mut self) -> Result<(), Error> {
        let gone = absence(self.inbox.clone(), self.pace.presence);
        tokio::select! {
            biased;
            followed = self.follow() => followed,
            gone = gone => Err(gone),
        }
    }

    async fn follow(&mut self) -> Result<(), Error> {
        let mut watch = self.inbox.watch(Existing::Deliver).await?;
        while !self.tally.is_full() {
            let again = reached(self.fetches.again_at());
            tokio::select! {
                biased;
                Some(fetched) = self.fetches.next() => self.take(fetched)?,
                item = watch.next() => self.hear(item)?,
                () = again => self.fetches.bring_back(),
            }
        }
        Ok(())
    }

    /// Takes in what the subscription says.
    pub(super) fn hear(&mut self, item: Option<Result<Arrival, Error>>) -> Result<(), Error> {
        match item {
            Some(Ok(arrival)) => self.consider(&arrival.email),
            Some(Err(error)) if may_pass(&error) => self.trouble = Some(error),
            Some(Err(error)) => return Err(error),
            None => {
                self.inbox.client().http().check_open()?;
                let unsaid = || Error::Stream("it ended, and did not say why".to_owned());
                return Err(self.trouble.take().unwrap_or_else(unsaid));
            }
        }
        Ok(())
    }

    async fn last_look(mut self) -> Result<Tally, Error> {
        let limit = self.pace.last_look;
        let Ok(looked) = timeout(limit, self.look()).await else {
            let url = self.inbox.client().http().url().to_owned();
            return Err(Error::RequestTimeout { url, limit });
        };
        looked?;
        match self.fetches.into_trouble() {
            // It could be the one.
            Some(trouble) if !self.tally.is_full() => Err(trouble),
            _ => Ok(self.tally),
        }
    }

    /// Takes in what the inbox holds now: a polling client may not have asked since an email came, and an inbox that
    /// is gone is no matter of time.
    async fn look(&mut self) -> Result<(), Error> {
        for email in self.inbox.each_summary().await?.into_iter().rev() {
            self.consider(&email.map_err(|unreadable| unreadable.error)?);
        }
        self.fetches.bring_back();
        while !self.tally.is_full() {
            match self.fetches.next().await {
                Some(fetched) => self.take(fetched)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Counts an email, after it was fetched if it may be one of those that are waited for.
    fn consider(&mut self, email: &EmailSummary) {
        if self.tally.needs(email) {
            self.fetches.add(email.id);
        }
    }

    /// Takes an email in; trouble that may pass is waited out, since the subscription names no email twice.
    fn take(&mut self, (id, fetched): Fetched) -> Result<(), Error> {
        match fetched {
            Ok(email) => self.tally.add(email),
            // Somebody deleted it meanwhile.
            Err(Error::EmailNotFound(_)) => {}
            Err(error) if may_pass(&error) => {
                let pause = self.inbox.client().settings().retry.delay;
                self.fetches
                    .put_aside(id, error, pause.clamp(SHORTEST_PAUSE, LONGEST_PAUSE));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn may_pass(error: &Error) -> bool {
    error.is_transient() || matches!(error, Error::Stream(_))
}

/// Ends when the server says that the inbox is not there.
async fn absence(inbox: Inbox, pause: Duration) -> Error {
    loop {
        sleep(pause).await;
        if let Err(error @ Error::InboxNotFound(_)) = inbox.sync_status().await {
            return error;
        }
    }
}

/// Ends at the moment, if there is one.
async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => future::pending().await,
    }
}
