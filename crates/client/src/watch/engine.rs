//! The task of one subscription.

use std::convert::Infallible;
use std::future;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until};

use super::Ended;
use super::connection::{self, Connection};
use super::events::Event;
use super::ledger::{Baseline, Item, Ledger};
use super::schedule::ReconnectSchedule;
use super::synchroniser::Synchroniser;
use crate::{Client, Error, InboxHash, Strategy};

/// While the stream is up, everything is compared once more this often: so an inbox that is gone is noticed, and what
/// was deleted is forgotten.
const CHECK_UP: Duration = Duration::from_mins(5);

/// A change of the inboxes.
#[derive(Debug)]
pub(super) enum Command {
    Add(Box<Baseline>),
    /// Answered when it is done.
    Remove(InboxHash, oneshot::Sender<()>),
}

/// What follows the inboxes.
///
/// Everything that it waits for may be interrupted by a command: the ledger is right after every step.
#[derive(Debug)]
pub(super) struct Engine {
    client: Client,
    synchroniser: Synchroniser,
    reconnects: ReconnectSchedule,
    /// How long to wait before the next attempt to open the stream.
    pause: Duration,
    last_event_id: Option<String>,
    outlet: mpsc::Sender<Item>,
}

impl Engine {
    pub(super) fn new(client: Client, baselines: Vec<Baseline>, outlet: mpsc::Sender<Item>) -> Self {
        let settings = *client.settings();
        let mut ledger = Ledger::default();
        for baseline in baselines {
            ledger.add(baseline);
        }
        Self {
            client,
            synchroniser: Synchroniser::new(ledger, outlet.clone(), settings),
            reconnects: ReconnectSchedule::new(settings.reconnect),
            pause: Duration::ZERO,
            last_event_id: None,
            outlet,
        }
    }

    /// Follows until the subscription ends; says why, if the subscriber does not know.
    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        let closed = self.client.http().closed().clone();
        let ended = tokio::select! {
            biased;
            () = closed.cancelled() => Ended::Failed(Error::Closed),
            ended = self.obey(&mut commands) => ended,
        };
        if let Ended::Failed(error) = ended {
            // Nobody is there to hear it only if the subscription was dropped.
            let _ = self.outlet.send(Err(error)).await;
        }
    }

    /// Works, and begins anew with every command.
    async fn obey(&mut self, commands: &mut mpsc::Receiver<Command>) -> Ended {
        loop {
            let command = tokio::select! {
                biased;
                command = commands.recv() => command,
                ended = self.work() => match (ended, commands.try_recv()) {
                    (Err(Ended::AllLost), Ok(command)) => Some(command),
                    (Err(ended), _) => return ended,
                },
            };
            match command {
                Some(Command::Add(baseline)) => self.synchroniser.ledger.add(*baseline),
                Some(Command::Remove(hash, done)) => {
                    self.synchroniser.ledger.remove(hash);
                    // Whoever asked may have given up.
                    let _ = done.send(());
                }
                None => return Ended::Abandoned,
            }
            self.pause = Duration::ZERO;
        }
    }

    async fn work(&mut self) -> Result<Infallible, Ended> {
        self.synchroniser.hand_over().await?;
        if self.synchroniser.ledger.followed().is_empty() {
            return future::pending().await;
        }
        let now = Instant::now();
        let settings = self.client.settings();
        match settings.strategy {
            Strategy::Polling => {
                self.synchroniser.poll_from(now);
                self.synchroniser.poll().await
            }
            Strategy::Auto => {
                self.synchroniser.poll_from(now + settings.reconnect.connect_timeout);
                self.stream().await
            }
            Strategy::Sse => self.stream().await,
        }
    }

    /// Keeps the stream up.
    async fn stream(&mut self) -> Result<Infallible, Ended> {
        loop {
            let failure = match self.open().await? {
                Ok(connection) => self.follow(connection).await?,
                Err(failure) => failure,
            };
            match &failure {
                Error::Unauthorized(_) | Error::Closed => return Err(Ended::Failed(failure)),
                // The server knows none of the inboxes any more; each is asked for, so that each is reported.
                Error::Api(answer) if answer.status == 400 => {
                    let _ = self.synchroniser.resynchronise().await?;
                }
                _ => {}
            }
            self.pause = match (self.reconnects.next_pause(), self.is_auto()) {
                (Some(pause), _) => pause,
                (None, true) => return self.synchroniser.poll().await,
                (None, false) => return Err(Ended::Failed(given_up(failure))),
            };
        }
    }

    /// Waits and opens the stream once; with `auto` polls meanwhile, if it is time.
    async fn open(&mut self) -> Result<Result<Connection, Error>, Ended> {
        let is_auto = self.is_auto();
        let inboxes: Vec<_> = self.synchroniser.ledger.followed().keys().copied().collect();
        let opened = async {
            sleep(self.pause).await;
            connection::open(&self.client, &inboxes, self.last_event_id.as_deref()).await
        };
        if !is_auto {
            return Ok(opened.await);
        }
        tokio::select! {
            biased;
            opened = opened => Ok(opened),
            Err(ended) = self.synchroniser.poll() => Err(ended),
        }
    }

    /// Follows a connection to its end, and says why it ended.
    ///
    /// The stream is open before everything is compared, so that no email falls between the two.
    async fn follow(&mut self, mut connection: Connection) -> Result<Error, Ended> {
        self.synchroniser.ledger.begin_stream(connection.asked_at);
        loop {
            if let Err(failure) = self.synchroniser.resynchronise().await? {
                return Ok(self.lost(Error::Stream(failure)));
            }
            self.reconnects.reset();
            if let Err(failure) = self.hear(&mut connection).await? {
                return Ok(self.lost(failure));
            }
        }
    }

    /// Hears of emails until everything is to be compared once more.
    async fn hear(&mut self, connection: &mut Connection) -> Result<Result<(), Error>, Ended> {
        let check_up = Instant::now() + CHECK_UP;
        loop {
            let event = tokio::select! {
                event = connection.next() => match event {
                    Ok(event) => event,
                    Err(failure) => return Ok(Err(failure)),
                },
                () = sleep_until(check_up) => return Ok(Ok(())),
            };
            if !self.take(event).await? {
                return Ok(Ok(()));
            }
        }
    }

    /// Hands over the email of an event; whether the event could be read.
    async fn take(&mut self, event: Event) -> Result<bool, Ended> {
        if !event.name.is_empty() {
            return Ok(true);
        }
        let Ok(record) = serde_json::from_str(&event.data) else {
            return Ok(false);
        };
        self.synchroniser.ledger.hear(record);
        self.last_event_id = Some(event.id).filter(|id| !id.is_empty());
        self.synchroniser.hand_over().await?;
        Ok(true)
    }

    /// There is no connection from now on.
    fn lost(&mut self, failure: Error) -> Error {
        let connect_timeout = self.client.settings().reconnect.connect_timeout;
        self.synchroniser.poll_from(Instant::now() + connect_timeout);
        failure
    }

    fn is_auto(&self) -> bool {
        self.client.settings().strategy == Strategy::Auto
    }
}

fn given_up(failure: Error) -> Error {
    match failure {
        failure @ Error::Stream(_) => failure,
        other => Error::Stream(other.to_string()),
    }
}
