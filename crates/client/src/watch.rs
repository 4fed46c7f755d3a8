//! The live subscription: every email of some inboxes, exactly once, as it arrives.
//!
//! One task follows the inboxes of a [`Watch`]; it ends with it.
//! Modules: `engine` (that task, and its commands), `link` (opening the stream, again and again), `connection` (one
//! connection of it), `events` (from its bytes to events); `synchroniser` (comparing and polling), `comparison` (one
//! inbox against the server); `ledger` (what is followed, and what is queued), `seen` (what was taken in); `schedule`
//! (when).
//!
//! Why each email comes once:
//! - An id is taken in in the same step in which its email is queued, and an id that was taken in is never queued again.
//! - Only the reader of the queue takes an email out of it, in the step in which it hands it over.
//!   Every wait in between may be given up, for a command or for a connection, and nothing is lost or doubled.
//! - An email that cannot be opened is an item too, an error, and counts like any other.
//!
//! Why none is missed:
//! - After every connection everything is compared: `emailsHash` with the hash of what was taken in, and if they
//!   differ, the listing.
//!   The stream is open before that, so that what is committed later than the listing saw comes as an event.
//! - A connection whose comparison does not succeed counts as one that failed.
//! - A subscriber who is slow lets the queue wait, then the connection, then the server end it: the next comparison
//!   finds what that one would have told.
//!
//! What the subscription remembers is bounded by what the inboxes hold, and by what one connection told: see `seen`.

mod comparison;
mod connection;
mod engine;
mod events;
mod ledger;
mod link;
mod schedule;
mod seen;
mod synchroniser;

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Stream, StreamExt, TryStreamExt as _, stream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use self::engine::{Command, Engine};
use self::ledger::{Baseline, Item};
use crate::{Client, Email, EmailSummary, Error, Inbox};

/// How many emails wait for the subscriber outside the queue.
const WAITING: usize = 64;
/// How many commands may wait; the task takes them at once.
const COMMANDS: usize = 8;
/// How many baselines are taken at a time.
const BASELINES: usize = 8;

/// What happens to the emails that are there when a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// They are not delivered.
    Skip,
    /// They are delivered first, in arrival order.
    Deliver,
}

/// A live subscription to some inboxes: a stream of the emails that arrive, each exactly once.
///
/// How it hears of them is the client's [`Strategy`](crate::Strategy).
/// An item that is an error does not end it, unless it is the last:
/// an email that cannot be opened ([`Error::Decryption`], [`Error::SignatureVerification`]); an inbox that is not
/// there any more ([`Error::InboxNotFound`]), which leaves the subscription.
/// It ends when its last inbox has left it so, with [`Error::Unauthorized`], with [`Error::Closed`] when the client is
/// closed; with the strategy `sse` also with [`Error::Stream`] when it gives up, and with [`Error::Strategy`] when
/// there are more inboxes than one stream takes (1,400; `auto` polls then).
/// Dropping it ends everything that it does.
///
/// An inbox that was deleted and made anew at its address is another one.
/// If either is encrypted, the former is not found any more, as soon as mail has come to the new one and a comparison
/// saw it: within a minute, if not at once.
/// A plain one has the hash of the former, so that its mail is delivered as that one's, and over the live stream only
/// with the comparison of each minute; [`Watch::add`] of the new one follows it as it arrives.
///
/// ```no_run
/// # async fn example() -> Result<(), restante_client::Error> {
/// use restante_client::{Client, Existing, NewInbox};
///
/// let client = Client::new("http://127.0.0.1:8080", "the API key")?;
/// let inbox = client.create_inbox(NewInbox::new()).await?;
/// let mut watch = client.watch(&[inbox], Existing::Skip).await?;
/// while let Some(arrival) = watch.next().await {
///     match arrival {
///         Ok(arrival) => println!("{}: {}", arrival.inbox.address(), arrival.email.subject()),
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping a subscription ends it"]
pub struct Watch {
    arrivals: mpsc::Receiver<Item>,
    commands: mpsc::Sender<Command>,
    existing: Existing,
    client: Client,
    /// The task; aborted when the set is dropped.
    engine: JoinSet<()>,
}

/// An email that arrived.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// In this inbox.
    pub inbox: Inbox,
    /// What a list shows of it. As the live stream tells it, it is not read yet.
    pub email: EmailSummary,
}

/// Why a subscription is over.
#[derive(Debug)]
enum Ended {
    /// The subscriber is told.
    Failed(Error),
    /// The last inbox is gone, which the subscriber was told.
    AllLost,
    /// The subscriber is gone.
    Abandoned,
}

impl Client {
    /// Subscribes to inboxes of this client.
    ///
    /// When it returns, the baseline is taken: every email that arrives afterwards is delivered exactly once.
    ///
    /// # Errors
    /// [`Error::InboxNotFound`] if one of them is not there; [`Error::Configuration`] if one is of another client; the
    /// kinds of every request.
    pub async fn watch(&self, inboxes: &[Inbox], existing: Existing) -> Result<Watch, Error> {
        inboxes.iter().try_for_each(|inbox| check_own(self, inbox))?;
        let baselines: Vec<_> = inboxes.iter().map(|inbox| Baseline::take(inbox, existing)).collect();
        let baselines: Vec<_> = stream::iter(baselines).buffered(BASELINES).try_collect().await?;
        let (outlet, arrivals) = mpsc::channel(WAITING);
        let (commands, orders) = mpsc::channel(COMMANDS);
        let mut engine = JoinSet::new();
        engine.spawn(Engine::new(self.clone(), baselines, outlet).run(orders));
        Ok(Watch {
            arrivals,
            commands,
            existing,
            client: self.clone(),
            engine,
        })
    }
}

impl Inbox {
    /// Subscribes to this inbox alone: see [`Client::watch`].
    pub async fn watch(&self, existing: Existing) -> Result<Watch, Error> {
        self.client().watch(std::slice::from_ref(self), existing).await
    }
}

impl Watch {
    /// The next email; `None` when the subscription is over.
    ///
    /// May be given up at any time, by a time-out or a `select!`: nothing is lost.
    pub async fn next(&mut self) -> Option<Result<Arrival, Error>> {
        StreamExt::next(self).await
    }

    /// Subscribes to one more inbox; one that it has already changes nothing.
    /// A plain one made anew at the address of one that it has takes its place.
    ///
    /// Its emails before are treated like those of the others. When it returns, its baseline is taken.
    ///
    /// # Errors
    /// As [`Client::watch`]; [`Error::Stream`] if the subscription is over.
    pub async fn add(&self, inbox: &Inbox) -> Result<(), Error> {
        check_own(&self.client, inbox)?;
        let baseline = Baseline::take(inbox, self.existing).await?;
        self.order(Command::Add(Box::new(baseline))).await
    }

    /// Leaves out an inbox; one that it does not have changes nothing.
    ///
    /// What arrives after it returned does not come; emails that wait for [`Watch::next`] already still do.
    /// Without any inbox the subscription waits for one to be added.
    ///
    /// # Errors
    /// [`Error::Stream`] if the subscription is over.
    pub async fn remove(&self, inbox: &Inbox) -> Result<(), Error> {
        let (done, left_out) = oneshot::channel();
        self.order(Command::Remove(inbox.hash(), done)).await?;
        left_out.await.map_err(|_| over())
    }

    async fn order(&self, command: Command) -> Result<(), Error> {
        self.commands.send(command).await.map_err(|_| over())
    }
}

fn over() -> Error {
    Error::Stream("the subscription is over".to_owned())
}

/// Refuses an inbox of another client: its stream would be asked of the wrong server.
fn check_own(client: &Client, inbox: &Inbox) -> Result<(), Error> {
    if std::ptr::eq(client.http(), inbox.client().http()) {
        return Ok(());
    }
    Err(Error::Configuration(format!(
        "the inbox {} is of another client; subscribe to it there",
        inbox.address()
    )))
}

impl Stream for Watch {
    type Item = Result<Arrival, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(item) = ready!(self.arrivals.poll_recv(context)) {
            return Poll::Ready(Some(item));
        }
        // The task is over, or about to be.
        Poll::Ready(match ready!(self.engine.poll_join_next(context)) {
            Some(Err(fault)) if fault.is_panic() => Some(Err(Error::Stream(
                "its task panicked, which is a fault of this client".to_owned(),
            ))),
            _ => None,
        })
    }
}

impl Arrival {
    /// The email with its content.
    ///
    /// # Errors
    /// As [`Inbox::email`]: it may be deleted already.
    pub async fn fetch(&self) -> Result<Email, Error> {
        self.inbox.email(self.email.id).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panicked_is_told_of() {
        let (outlet, arrivals) = mpsc::channel::<Item>(1);
        let mut engine = JoinSet::new();
        engine.spawn(async move {
            assert!(outlet.is_closed(), "on purpose");
        });
        let mut watch = Watch {
            arrivals,
            commands: mpsc::channel(1).0,
            existing: Existing::Skip,
            client: Client::new("http://127.0.0.1:1", "key").unwrap(),
            engine,
        };
        let told = watch.next().await;
        assert!(
            matches!(&told, Some(Err(Error::Stream(text))) if text.contains("panicked")),
            "{told:?}"
        );
        assert!(watch.next().await.is_none());
    }
}
