//! The session: decides what each byte of a client means.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use restante_model::{ForwardPath, TlsFacts};

use crate::config::SessionConfig;
use crate::reply::{Enhanced, Reply};
use crate::transaction::Transaction;

/// What the driver has to do. All but [`Action::Flush`] and [`Action::Close`] suspend the session until
/// [`Session::resume`].
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
    /// Store the message: [`Answer::Accepted`] or [`Answer::Refused`].
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
    /// A refused message was still not at its end after [`SessionConfig::max_drain_bytes`].
    DrainLimit,
    /// The TLS handshake failed.
    TlsFailed,
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

/// One SMTP session.
#[derive(Debug)]
pub struct Session {
    config: Arc<SessionConfig>,
    tls: Option<TlsFacts>,
    output: BytesMut,
}

impl Session {
    /// A session on a connection that has just been made; `tls` if it is encrypted already.
    pub fn new(config: Arc<SessionConfig>, tls: Option<TlsFacts>) -> Self {
        Self {
            config,
            tls,
            output: BytesMut::new(),
        }
    }

    /// Puts the greeting into the output.
    pub fn greet(&mut self) {
        Reply::plain(220, [format!("{} ESMTP {}", self.config.hostname, self.config.banner)])
            .write_to(&mut self.output);
    }

    /// Reads from the input, which moves on, until there is something to do or nothing to read.
    pub fn feed(&mut self, input: &mut &[u8]) -> Option<Action> {
        *input = &[];
        None
    }

    /// Goes on after an action that suspended the session.
    ///
    /// # Panics
    /// If the answer does not fit the action, or there was none: a mistake of the driver, not of the client.
    pub fn resume(&mut self, answer: Answer) {
        drop(answer);
    }

    /// Takes the replies that wait to be written.
    pub fn take_output(&mut self) -> Bytes {
        self.output.split().freeze()
    }

    /// Where the session is.
    pub fn phase(&self) -> Phase {
        Phase::Connected
    }

    /// Whether a transaction is open: a server that stops lets it end first.
    pub fn in_transaction(&self) -> bool {
        self.tls.is_some()
    }

    /// The bytes that the open transaction holds of what was granted to [`Action::Reserve`]; the driver gives the rest
    /// back. Zero once the transaction has gone out with [`Action::Accept`] or has ended otherwise.
    pub fn reserved_bytes(&self) -> usize {
        0
    }

    /// What to write before closing on a client that missed its deadline.
    pub fn timeout_reply(&self) -> Reply {
        Reply::new(
            421,
            Enhanced(4, 4, 2),
            &format!("{} Timeout, closing connection", self.config.hostname),
        )
    }

    /// What to write before closing because the server stops.
    pub fn shutdown_reply(&self) -> Reply {
        Reply::new(
            421,
            Enhanced(4, 3, 2),
            &format!("{} Server is shutting down", self.config.hostname),
        )
    }
}
