//! What can happen, as those say it who do it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use restante_model::{AuthResults, Inbox, InboxAddress, RemovalReason, SpamAnalysis};

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum Happening<'a> {
    /// A mail client connected.
    ConnectionOpened {
        /// Who.
        peer: IpAddr,
    },
    /// It left.
    ConnectionClosed,
    /// A mail client was turned away: too many connections.
    ConnectionRefused {
        /// Who.
        peer: IpAddr,
    },
    /// A message was stored.
    MailStored {
        /// In how many inboxes.
        recipients: usize,
        /// These inboxes; may be empty while nobody watches ([`Monitor::is_watched`](crate::Monitor::is_watched)).
        inboxes: &'a [Arc<Inbox>],
        /// Its size.
        bytes: usize,
        /// Who brought it.
        peer: IpAddr,
        /// How long that took from the end of its data on.
        took: Duration,
    },
    /// A test email, which comes over HTTP, was stored.
    TestEmailStored {
        /// Where.
        inbox: &'a InboxAddress,
        /// Its size.
        bytes: usize,
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
        /// Which, if it was one that somebody named.
        address: Option<&'a InboxAddress>,
    },
    /// A message was checked for an inbox, or was not because the inbox does not ask for it.
    Authenticated {
        /// What the inbox sees.
        results: &'a AuthResults,
        /// Whose.
        inbox: &'a InboxAddress,
    },
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
    /// A message has more recipients than it may have.
    Recipients,
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

impl Refusal {
    /// Every cause.
    pub const ALL: [Self; 8] = [
        Self::NoInbox,
        Self::Domain,
        Self::Recipients,
        Self::Rate,
        Self::Size,
        Self::NoRoom,
        Self::Storage,
        Self::Chaos,
    ];
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

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 5] = [
        Self::Latency,
        Self::ConnectionDrop,
        Self::RandomError,
        Self::Greylist,
        Self::Blackhole,
    ];
}
