//! The task of one subscription.

use std::convert::Infallible;
use std::future;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::Ended;
use super::connection::Connection;
use super::events::Event;
use super::ledger::{Baseline, Item, Ledger};
use super::link::{Link, Unopened};
use super::schedule::after;
use super::synchroniser::Synchroniser;
use crate::{Client, Error, InboxHash, Strategy};

/// While the stream is up, everything is compared once more this often, for one request an inbox: the stream says
/// neither that an inbox is gone, nor what comes to one made anew at its address, nor what was deleted.
const CHECK_UP: Duration = Duration::from_mins(1);

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
    strategy: Strategy,
    synchroniser: Synchroniser,
    link: Link,
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
            link: Link::new(client.clone()),
            client,
            strategy: settings.strategy,
            synchroniser: Synchroniser::new(ledger, outlet.clone(), settings),
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
                Err(ended) = self.work() => match (ended, commands.try_recv()) {
                    (Ended::AllLost, Ok(command)) => Some(command),
                    (ended, _) => return ended,
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
            self.link.hurry();
            self.synchroniser.end_stream();
        }
    }

    async fn work(&mut self) -> Result<Infallible, Ended> {
        self.synchroniser.hand_over().await?;
        if self.synchroniser.ledger.followed().is_empty() {
            return future::pending().await;
        }
        if self.strategy == Strategy::Polling {
            self.synchroniser.poll_from(Instant::now());
            return self.synchroniser.poll().await;
        }
        loop {
            let failure = match self.open().await {
                Ok(connection) => self.follow(connection).await?,
                Err(Unopened::NoInbox(failure)) => {
                    // Each is asked for, so that each is reported.
                    let _ = self.synchroniser.resynchronise().await?;
                    failure
                }
                Err(Unopened::GivenUp(failure)) => return self.give_up(failure).await,
                Err(Unopened::Ended(ended)) => return Err(ended),
            };
            if let Err(failure) = self.link.failed(failure) {
                return self.give_up(failure).await;
            }
        }
    }

    /// Opens the stream; with `auto` polls meanwhile, if it is time.
    async fn open(&mut self) -> Result<Connection, Unopened> {
        let inboxes: Vec<_> = self.synchroniser.ledger.followed().keys().copied().collect();
        let opened = self.link.open(&inboxes);
        if self.strategy == Strategy::Sse {
            return opened.await;
        }
        tokio::select! {
            biased;
            opened = opened => opened,
            Err(ended) = self.synchroniser.poll() => Err(Unopened::Ended(ended)),
        }
    }

    /// There is no stream, and there will be none.
    async fn give_up(&mut self, failure: Error) -> Result<Infallible, Ended> {
        if self.strategy == Strategy::Auto {
            return self.synchroniser.poll().await;
        }
        Err(Ended::Failed(match failure {
            failure @ (Error::Stream(_) | Error::Strategy(_)) => failure,
            other => Error::Stream(other.to_string()),
        }))
    }

    /// Follows a connection to its end, and says why it ended.
    ///
    /// The stream is open before everything is compared, so that no email falls between the two.
    async fn follow(&mut self, mut connection: Connection) -> Result<Error, Ended> {
        self.synchroniser.begin_stream(connection.asked_at);
        loop {
            if let Err(failure) = self.compare_and_hear(&mut connection).await? {
                self.synchroniser.end_stream();
                return Ok(failure);
            }
        }
    }

    async fn compare_and_hear(&mut self, connection: &mut Connection) -> Result<Result<(), Error>, Ended> {
        if let Err(failure) = self.synchroniser.resynchronise().await? {
            return Ok(Err(failure));
        }
        self.link.succeeded();
        self.hear(connection).await
    }

    /// Hears of emails until everything is to be compared once more, or the connection ends.
    async fn hear(&mut self, connection: &mut Connection) -> Result<Result<(), Error>, Ended> {
        let mut check_up = after(CHECK_UP);
        let soon = after(self.client.settings().polling.initial);
        loop {
            let event = tokio::select! {
                event = connection.next() => match event {
                    Ok(event) => event,
                    Err(failure) => return Ok(Err(failure)),
                },
                () = sleep_until(check_up) => return Ok(Ok(())),
            };
            if !self.take(event).await? {
                // It may have been an email; as often as polling asks is often enough to see.
                check_up = check_up.min(soon);
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
        self.link.heard(event.id);
        self.synchroniser.hand_over().await?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::stream;

    use super::*;

    /// A connection that brings this again and again.
    fn connection(pause: Duration, text: &'static str) -> Connection {
        let chunks = stream::unfold((), move |()| async move {
            tokio::time::sleep(pause).await;
            Some((Ok(Bytes::from_static(text.as_bytes())), ()))
        });
        Connection::new(Box::pin(chunks), Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn everything_is_compared_each_minute_and_sooner_after_what_cannot_be_read() {
        for (pause, text, expected) in [
            (15, ": keep-alive\n\n", 60),
            (1, "data: ping\n\n", 2),
            (7, "data: ping\n\n", 7),
        ] {
            let client = Client::new("http://127.0.0.1:1", "key").unwrap();
            let (outlet, _arrivals) = mpsc::channel(1);
            let mut engine = Engine::new(client, Vec::new(), outlet);
            let began = Instant::now();
            let heard = engine.hear(&mut connection(Duration::from_secs(pause), text)).await;
            assert!(matches!(heard, Ok(Ok(()))), "{heard:?}");
            assert_eq!(
                began.elapsed(),
                Duration::from_secs(expected),
                "{text:?} each {pause} s"
            );
        }
    }
}
