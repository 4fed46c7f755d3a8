//! Brings a subscription level with the server: the whole comparison, once or again and again.

use std::convert::Infallible;

use futures_util::{StreamExt as _, stream};
use restante_envelope::digest;
use restante_model::InboxHash;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::Ended;
use super::comparison::{self, Difference};
use super::ledger::{Followed, Item, Ledger};
use super::schedule::{PollingSchedule, after, asked};
use crate::{Error, Settings};

/// How many inboxes are compared at a time.
const AT_ONCE: usize = 8;

/// The ledger, and the way out of it.
#[derive(Debug)]
pub(super) struct Synchroniser {
    pub(super) ledger: Ledger,
    outlet: mpsc::Sender<Item>,
    polling: PollingSchedule,
    next_poll: Instant,
    streaming: bool,
    settings: Settings,
}

/// What one comparison of all inboxes came to.
#[derive(Debug, Default)]
struct Round {
    changed: bool,
    /// Why not all inboxes could be compared; of several, that with the longest pause asked for.
    failure: Option<Error>,
}

impl Round {
    fn fail(&mut self, failure: Error) {
        if self
            .failure
            .as_ref()
            .is_none_or(|other| asked(other) <= asked(&failure))
        {
            self.failure = Some(failure);
        }
    }
}

impl Synchroniser {
    pub(super) fn new(ledger: Ledger, outlet: mpsc::Sender<Item>, settings: Settings) -> Self {
        Self {
            ledger,
            outlet,
            polling: PollingSchedule::new(settings.polling),
            next_poll: after(settings.reconnect.connect_timeout),
            streaming: false,
            settings,
        }
    }

    /// Hands over what is queued.
    pub(super) async fn hand_over(&mut self) -> Result<(), Ended> {
        self.ledger.hand_over(&self.outlet).await
    }

    /// Compares every inbox once and hands over what was missed; the failure, if it is to be done again.
    pub(super) async fn resynchronise(&mut self) -> Result<Result<(), Error>, Ended> {
        let round = self.round().await?;
        Ok(round.failure.map_or(Ok(()), Err))
    }

    /// Polling begins at this moment, as often as at first.
    pub(super) fn poll_from(&mut self, moment: Instant) {
        self.next_poll = moment;
        self.polling.reset();
    }

    /// There is no stream any more: after the time-out of connections it is time to poll.
    pub(super) fn end_stream(&mut self) {
        if std::mem::take(&mut self.streaming) {
            self.poll_from(after(self.settings.reconnect.connect_timeout));
        }
    }

    /// There is a stream, asked for at that moment.
    pub(super) fn begin_stream(&mut self, asked_at: Instant) {
        self.streaming = true;
        self.ledger.begin_stream(asked_at);
    }

    /// Compares every inbox on schedule, for ever. May be interrupted anywhere and called again.
    pub(super) async fn poll(&mut self) -> Result<Infallible, Ended> {
        loop {
            sleep_until(self.next_poll).await;
            self.forget_gone();
            let round = self.round().await?;
            let pause = self.polling.next_pause(round.changed, random_fraction());
            self.next_poll = after(
                round
                    .failure
                    .as_ref()
                    .map_or(pause, |failure| pause.max(asked(failure))),
            );
        }
    }

    /// While there is no connection, one that is being opened was asked for no longer ago than that may take.
    fn forget_gone(&mut self) {
        let longest = self.settings.reconnect.connect_timeout.saturating_mul(2);
        if let Some(before) = Instant::now().checked_sub(longest) {
            self.ledger.forget_gone(before);
        }
    }

    async fn round(&mut self) -> Result<Round, Ended> {
        let followed = self.ledger.followed().iter();
        let comparisons: Vec<_> = followed.map(|(hash, followed)| compare(*hash, followed)).collect();
        let compared: Vec<_> = stream::iter(comparisons).buffer_unordered(AT_ONCE).collect().await;
        let mut round = Round::default();
        for (hash, found, outcome) in compared {
            if !found.is_empty() {
                round.changed = true;
                self.ledger.list(hash, found);
            }
            self.apply(hash, outcome, &mut round)?;
        }
        self.hand_over().await?;
        Ok(round)
    }

    fn apply(&mut self, hash: InboxHash, outcome: Result<(), Error>, round: &mut Round) -> Result<(), Ended> {
        match outcome {
            Ok(()) => {}
            Err(error @ Error::InboxNotFound(_)) => self.ledger.lose(hash, error),
            Err(error @ (Error::Unauthorized(_) | Error::Closed)) => return Err(Ended::Failed(error)),
            Err(error) if error.is_transient() => round.fail(error),
            Err(error) => {
                round.fail(Error::Stream(error.to_string()));
                self.ledger.notice(error);
            }
        }
        Ok(())
    }
}

async fn compare(hash: InboxHash, followed: &Followed) -> (InboxHash, Difference, Result<(), Error>) {
    let mut found = Difference::default();
    let outcome = comparison::compare(&followed.inbox, &followed.seen, &mut found).await;
    (hash, found, outcome)
}

fn random_fraction() -> f64 {
    f64::from(u32::from_be_bytes(digest::random_bytes())) / f64::from(u32::MAX)
}
