//! What the server counts of its work, and the console that tells of it as it happens.
//!
//! Whoever does something says so once, by a [`Happening`]: [`Monitor::note`] is the one place that counts it and puts
//! it into words. Neither shows a subject, a body or a secret.

use std::net::IpAddr;
use std::time::Duration;

use restante_model::{AuthResults, InboxAddress, RemovalReason, SpamAnalysis, Timestamp};

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Happening<'a> {
    /// A mail client connected.
    ConnectionOpened,
    /// It left.
    ConnectionClosed,
    /// It was turned away: too many connections.
    ConnectionRefused,
    /// A message was stored.
    MailStored {
        /// The inboxes that it came to.
        recipients: &'a [InboxAddress],
        /// Its size.
        bytes: usize,
        /// Who brought it.
        peer: IpAddr,
        /// How long that took from the end of its data on.
        took: Duration,
    },
    /// A message or a recipient was refused.
    MailRefused {
        /// Why.
        cause: Refusal,
        /// Who brought it.
        peer: IpAddr,
    },
    /// An inbox was created.
    InboxCreated(&'a InboxAddress),
    /// Inboxes ended.
    InboxesEnded {
        /// How many.
        count: usize,
        /// Why.
        reason: RemovalReason,
    },
    /// A message was checked for one inbox or several.
    Authenticated(&'a AuthResults),
    /// The spam filter was asked about a message.
    SpamAnalysed(&'a SpamAnalysis),
    /// An inbox's mail met a fault that it had asked for.
    FaultMet {
        /// Which.
        fault: Fault,
        /// Whose.
        inbox: &'a InboxAddress,
    },
}

/// Why mail was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No inbox has the address.
    NoInbox,
    /// The domain is not served.
    Domain,
    /// The client brought too much.
    Rate,
    /// It is too large.
    Size,
    /// There is no room.
    NoRoom,
    /// The store cannot tell.
    Storage,
    /// The inbox asked for it.
    Chaos,
}

/// A fault that an inbox can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The reply came late.
    Latency,
    /// The connection was dropped.
    ConnectionDrop,
    /// The message was refused at random.
    RandomError,
    /// The message was greylisted.
    Greylist,
    /// The message was taken and thrown away.
    Blackhole,
}

/// Counts, and tells.
#[derive(Debug)]
pub struct Monitor {
    _started_at: Timestamp,
}

impl Monitor {
    /// A monitor of a server that starts now.
    pub fn new(started_at: Timestamp) -> Self {
        Self {
            _started_at: started_at,
        }
    }

    /// Counts what happened, and tells those who watch the console.
    pub fn note(&self, _happening: Happening<'_>) {}
}
