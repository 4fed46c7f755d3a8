//! What a session asks of its driver, and what the driver tells it.

use restante_model::{ForwardPath, TlsFacts};

use crate::reply::Reply;
use crate::transaction::Transaction;

/// What the driver has to do. All but [`Action::Flush`] and [`Action::Close`] suspend the session until
/// [`Session::resume`](crate::Session::resume).
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Write the output, then feed again: much of it has gathered.
    Flush,
    /// Say whether mail for this recipient is taken: [`Answer::Granted`] or [`Answer::Refused`].
    Verify(ForwardPath),
    /// Set so many more bytes aside for this message: [`Answer::Granted`] or [`Answer::Refused`].
    Reserve(usize),
    /// Write the output, drop what was read beyond it, shake hands: [`Answer::TlsStarted`] or [`Answer::TlsFailed`].
    StartTls,
    /// Store the message: [`Answer::Accepted`], [`Answer::Refused`] or [`Answer::Dismissed`].
    ///
    /// A driver may also end the connection without an answer.
    Accept(Transaction),
    /// Write the output and close the connection; the session is over.
    Close(CloseReason),
}

/// What the driver found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, to [`Action::Verify`] and [`Action::Reserve`].
    Granted,
    /// No, to [`Action::Verify`], [`Action::Reserve`] and [`Action::Accept`]: the reply says why.
    Refused(Reply),
    /// No, to [`Action::Accept`], and the session is over: the reply is its last word, so it is a 421 (RFC 5321 section
    /// 4.2.1).
    Dismissed(Reply),
    /// The connection is encrypted from here on.
    TlsStarted(TlsFacts),
    /// The handshake failed: the session is over.
    TlsFailed,
    /// The message is durable.
    Accepted {
        /// The ids of the stored emails, one for each inbox.
        ids: Vec<String>,
    },
}

/// Why a session is over. Some reasons deserve a line in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// QUIT.
    Quit,
    /// The client sent ten lines that are no command.
    TooManyUnknownCommands,
    /// The client speaks HTTP: a port was probably mistaken.
    HttpRequest,
    /// The client began a TLS handshake where none was asked for: it probably wants the implicit TLS port.
    TlsHello,
    /// Where the next command begins cannot be known: BDAT with an unreadable size.
    LostFraming,
    /// A refused message was still not at its end after [`max_drain_bytes`](crate::SessionConfig::max_drain_bytes).
    DrainLimit,
    /// The TLS handshake failed.
    TlsFailed,
    /// The driver ended it: [`Answer::Dismissed`].
    Dismissed,
}

/// Where a session is, for the deadline that its driver sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// No command yet.
    Connected,
    /// Between commands.
    Commands,
    /// Inside DATA or a chunk of BDAT.
    Data,
    /// Inside DATA or BDAT that will be refused.
    Draining,
    /// After [`Action::Close`].
    Closed,
}
