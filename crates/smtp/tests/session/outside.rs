//! A driver without sockets: it answers the session's actions at once and writes all down.

use std::sync::Arc;

use restante_model::{Domain, ForwardPath};
use restante_smtp::{Action, Answer, CloseReason, Enhanced, Reply, Session, SessionConfig, Transaction};

/// The domains that the server of a dialogue takes mail for.
const DOMAINS: [&str; 2] = ["restante.test", "localhost"];

const DISMISSAL: Reply = Reply::fixed(421, Enhanced(4, 7, 0), "Go");

/// What a server around the session would know.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outside {
    pub(crate) config: Arc<SessionConfig>,
    pub(crate) inboxes: Vec<String>,
    /// Every client is dismissed with its first message.
    pub(crate) dismisses: bool,
}

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) output: Vec<u8>,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) closed: Option<CloseReason>,
}

/// A session with its driver.
pub(crate) struct Connection {
    outside: Outside,
    session: Session,
    pub(crate) outcome: Outcome,
}

impl Connection {
    pub(crate) fn new(outside: &Outside) -> Self {
        let mut session = Session::new(Arc::clone(&outside.config), None);
        session.greet();
        let mut connection = Self {
            outside: outside.clone(),
            session,
            outcome: Outcome::default(),
        };
        connection.write();
        connection
    }

    pub(crate) fn send(&mut self, mut input: &[u8]) {
        while let Some(action) = self.session.feed(&mut input) {
            match action {
                Action::Flush => self.write(),
                Action::Close(reason) => {
                    self.write();
                    self.outcome.closed = Some(reason);
                    break;
                }
                Action::Verify(recipient) => self.session.resume(self.outside.verify(&recipient)),
                Action::Reserve(_) => self.session.resume(Answer::Granted),
                Action::StartTls => self.session.resume(Answer::TlsFailed),
                Action::Accept(transaction) if self.outside.dismisses => {
                    self.outcome.transactions.push(transaction);
                    self.session.resume(Answer::Dismissed(DISMISSAL));
                }
                Action::Accept(transaction) => {
                    let ids = self.outside.store(&transaction, self.outcome.transactions.len());
                    self.outcome.transactions.push(transaction);
                    self.session.resume(Answer::Accepted { ids });
                }
            }
        }
        self.write();
    }

    fn write(&mut self) {
        self.outcome.output.extend_from_slice(&self.session.take_output());
    }
}

impl Outside {
    /// Sends the chunks one by one.
    pub(crate) fn run<'a>(&self, chunks: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
        let mut connection = Connection::new(self);
        for chunk in chunks {
            connection.send(chunk);
        }
        connection.outcome
    }

    fn address(recipient: &ForwardPath) -> Option<String> {
        let default = Domain::parse(DOMAINS[0]).ok()?;
        Some(recipient.inbox_address(&default)?.as_str().to_owned())
    }

    fn verify(&self, recipient: &ForwardPath) -> Answer {
        match recipient {
            ForwardPath::Mailbox { domain, .. } if !DOMAINS.contains(&domain.to_lowercase().as_str()) => {
                let text = format!("This server does not accept mail for domain: {domain}");
                Answer::Refused(Reply::new(550, Enhanced(5, 7, 1), &text))
            }
            _ if Self::address(recipient).is_some_and(|address| self.inboxes.contains(&address)) => Answer::Granted,
            _ => Answer::Refused(Reply::new(550, Enhanced(5, 1, 1), "Recipient address rejected")),
        }
    }

    /// One id for each inbox.
    fn store(&self, transaction: &Transaction, count: usize) -> Vec<String> {
        let addresses: Vec<_> = transaction.recipients.iter().filter_map(Self::address).collect();
        let inboxes = self.inboxes.iter().filter(|inbox| addresses.contains(inbox)).count();
        (0..inboxes).map(|n| format!("msg_{:032x}", count * 1000 + n)).collect()
    }
}
