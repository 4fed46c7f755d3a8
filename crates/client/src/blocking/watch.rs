//! A live subscription as an iterator.

use std::time::Duration;

use super::Inbox;
use super::runtime::{Runtime, is_asynchronous};
use crate::{Email, EmailSummary, Error};

/// The emails of some inboxes as they arrive, as [`crate::Watch`].
///
/// Without a time-out the iterator waits as long as it takes.
/// With one it ends when nothing has come for so long; asked again, it goes on.
/// On a thread of a runtime it refuses once with [`Error::Configuration`], and then it ends: a loop over it does too.
#[derive(Debug)]
#[must_use = "dropping a subscription ends it"]
pub struct Watch {
    // Before the runtime, which ends what the watch has under way.
    arrivals: crate::Watch,
    runtime: Runtime,
    timeout: Option<Duration>,
    /// Whether asynchronous code was told that it cannot be used there.
    has_refused: bool,
}

/// An email that arrived, as [`crate::Arrival`].
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The inbox that it came to.
    pub inbox: Inbox,
    /// What a list shows of it.
    pub email: EmailSummary,
}

impl Watch {
    pub(super) fn new(runtime: Runtime, watch: crate::Watch) -> Self {
        Self {
            arrivals: watch,
            runtime,
            timeout: None,
            has_refused: false,
        }
    }

    /// Ends the iterator when nothing has come for so long.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// As [`crate::Watch::add`].
    pub fn add(&self, inbox: &Inbox) -> Result<(), Error> {
        self.runtime.wait(self.arrivals.add(inbox.asynchronous()))
    }

    /// As [`crate::Watch::remove`].
    pub fn remove(&self, inbox: &Inbox) -> Result<(), Error> {
        self.runtime.wait(self.arrivals.remove(inbox.asynchronous()))
    }
}

impl Iterator for Watch {
    type Item = Result<Arrival, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_refused = is_asynchronous();
        if is_refused && self.has_refused {
            return None;
        }
        self.has_refused = is_refused;
        let (arrivals, limit) = (&mut self.arrivals, self.timeout);
        let next = self.runtime.wait(async {
            match limit {
                Some(limit) => match tokio::time::timeout(limit, arrivals.next()).await {
                    Ok(next) => next.transpose(),
                    Err(_) => Ok(None),
                },
                None => arrivals.next().await.transpose(),
            }
        });
        let arrival = |arrival: crate::Arrival| Arrival {
            inbox: Inbox::new(self.runtime.clone(), arrival.inbox),
            email: arrival.email,
        };
        next.map(|next| next.map(arrival)).transpose()
    }
}

impl Arrival {
    /// As [`crate::Arrival::fetch`].
    pub fn fetch(&self) -> Result<Email, Error> {
        self.inbox.email(self.email.id)
    }
}
