//! The way to an open stream: attempt after attempt, with pauses in between.

use std::time::Duration;

use restante_model::InboxHash;
use tokio::time::sleep;

use super::Ended;
use super::connection::{self, Connection};
use super::schedule::{ReconnectSchedule, asked};
use crate::{Client, Error};

/// What is needed to open the stream, and to open it again.
#[derive(Debug)]
pub(super) struct Link {
    client: Client,
    schedule: ReconnectSchedule,
    /// Before the next attempt.
    pause: Duration,
    last_event_id: Option<String>,
}

/// Why there is no stream.
#[derive(Debug)]
pub(super) enum Unopened {
    /// The server knows none of the inboxes; this was one failed attempt.
    NoInbox(Error),
    /// There is no use in another attempt, or there were as many as there may be.
    GivenUp(Error),
    /// The subscription is over.
    Ended(Ended),
}

impl Link {
    pub(super) fn new(client: Client) -> Self {
        Self {
            schedule: ReconnectSchedule::new(client.settings().reconnect),
            client,
            pause: Duration::ZERO,
            last_event_id: None,
        }
    }

    /// Opens the stream of these inboxes, which takes as many attempts as there may be. May be interrupted.
    pub(super) async fn open(&mut self, inboxes: &[InboxHash]) -> Result<Connection, Unopened> {
        loop {
            sleep(self.pause).await;
            let opened = connection::open(&self.client, inboxes, self.last_event_id.as_deref()).await;
            match opened {
                Ok(connection) => return Ok(connection),
                Err(error @ (Error::Unauthorized(_) | Error::Closed)) => {
                    return Err(Unopened::Ended(Ended::Failed(error)));
                }
                Err(Error::Api(answer)) if answer.status == 400 => return Err(Unopened::NoInbox(Error::Api(answer))),
                Err(error @ Error::Strategy(_)) => return Err(Unopened::GivenUp(error)),
                Err(failure) => self.failed(failure).map_err(Unopened::GivenUp)?,
            }
        }
    }

    /// Notes that an attempt failed, or that a connection broke: there is a pause before the next attempt.
    ///
    /// # Errors
    /// The failure, if there is no next attempt.
    pub(super) fn failed(&mut self, failure: Error) -> Result<(), Error> {
        let Some(pause) = self.schedule.next_pause() else {
            return Err(failure);
        };
        self.pause = pause.max(asked(&failure));
        Ok(())
    }

    /// Notes that a connection was good for something: failures are counted anew.
    pub(super) fn succeeded(&mut self) {
        self.schedule.reset();
    }

    /// Makes the next attempt at once: it is for other inboxes.
    pub(super) fn hurry(&mut self) {
        self.pause = Duration::ZERO;
    }

    /// Notes the last event that was heard, after which the server goes on.
    pub(super) fn heard(&mut self, id: String) {
        self.last_event_id = Some(id).filter(|id| !id.is_empty());
    }
}
