//! The session: decides what each byte of a client means.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use restante_model::{ForwardPath, TlsFacts};

use crate::action::{Action, Answer, CloseReason, Phase};
use crate::auth::Exchange;
use crate::body::Body;
use crate::config::SessionConfig;
use crate::line::LineReader;
use crate::reply::{Enhanced, Reply};
use crate::transaction::Draft;
use crate::wording;

mod authenticate;
mod obey;
mod receive;

/// Bytes of output that gather before the driver has to write: a client that sends commands and reads no replies holds
/// no more than this.
const OUTPUT_HIGH_WATER: usize = 16_384;

/// Unknown commands in a session; the last of them ends it.
const UNKNOWN_MAX: u8 = 10;

/// One SMTP session; the crate's documentation shows how to drive it.
#[derive(Debug)]
pub struct Session {
    config: Arc<SessionConfig>,
    tls: Option<TlsFacts>,
    output: BytesMut,
    lines: LineReader,
    state: State,
    /// What the driver was asked.
    pending: Option<Pending>,
    /// What HELO or EHLO said.
    client: Option<Client>,
    /// AUTH has succeeded.
    authenticated: bool,
    draft: Option<Draft>,
    /// A line has been read: what comes now is no TLS hello by mistake.
    begun: bool,
    unknown_commands: u8,
    refusals: OwnRefusals,
}

/// What the session has refused by itself: how often, for whoever counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnRefusals {
    /// Messages over a limit of size, declared or real.
    pub too_large: u32,
    /// Recipients over the limit of a message.
    pub too_many_recipients: u32,
}

#[derive(Debug)]
enum State {
    Commands,
    Auth(Exchange),
    Body(Body),
    Closed(CloseReason),
}

/// What the answer of the driver will decide.
#[derive(Debug)]
enum Pending {
    /// The room that SIZE= asked for, and the transaction that waits for it.
    Mail(Draft, usize),
    /// A recipient.
    Recipient(ForwardPath),
    /// More room for the message that is coming in.
    Growth(usize),
    /// A complete message.
    Accept,
    StartTls,
}

#[derive(Debug)]
struct Client {
    name: String,
    greeting: Greeting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Greeting {
    Helo,
    Ehlo,
}

/// How one step of reading ended.
enum Step {
    /// There may be more in the input.
    Continue,
    /// All of the input has been read.
    NeedInput,
    /// The driver has something to do.
    Act(Action),
}

impl Session {
    /// A session on a connection that has just been made; `tls` if it is encrypted already.
    pub fn new(config: Arc<SessionConfig>, tls: Option<TlsFacts>) -> Self {
        Self {
            config,
            tls,
            output: BytesMut::new(),
            lines: LineReader::default(),
            state: State::Commands,
            pending: None,
            client: None,
            authenticated: false,
            draft: None,
            begun: false,
            unknown_commands: 0,
            refusals: OwnRefusals::default(),
        }
    }

    /// Puts the greeting into the output.
    pub fn greet(&mut self) {
        self.say(&Reply::plain(
            220,
            [format!("{} ESMTP {}", self.config.hostname, self.config.banner)],
        ));
    }

    /// Reads from the input, which moves on, until there is something to do or nothing to read.
    ///
    /// `None` means that all has been read: write [`Session::take_output`], then read from the client.
    /// While an action waits for [`Session::resume`], nothing is read.
    pub fn feed(&mut self, input: &mut &[u8]) -> Option<Action> {
        debug_assert!(self.pending.is_none(), "resume comes before feed");
        while self.pending.is_none() {
            if let State::Closed(reason) = self.state {
                *input = &[];
                return Some(Action::Close(reason));
            }
            if self.output.len() >= OUTPUT_HIGH_WATER {
                return Some(Action::Flush);
            }
            let step = match self.state {
                State::Body(_) => self.read_body(input),
                State::Auth(exchange) => self.read_response(exchange, input),
                State::Commands | State::Closed(_) => self.read_command(input),
            };
            match step {
                Step::Continue => {}
                Step::NeedInput => return None,
                Step::Act(action) => return Some(action),
            }
        }
        None
    }

    /// Goes on after an action that suspended the session.
    ///
    /// # Panics
    /// If the answer does not fit the action, or there was none: a mistake of the driver, not of the client.
    pub fn resume(&mut self, answer: Answer) {
        let pending = self.pending.take().expect("an action waits for its answer");
        match (pending, answer) {
            (Pending::Mail(mut draft, bytes), Answer::Granted) => {
                draft.reserved = bytes;
                self.open(draft);
            }
            (Pending::Recipient(recipient), Answer::Granted) => {
                if let Some(draft) = &mut self.draft {
                    draft.add(recipient);
                }
                self.say(&wording::RECIPIENT_OK);
            }
            (Pending::Growth(bytes), Answer::Granted) => {
                if let Some(draft) = &mut self.draft {
                    draft.reserved += bytes;
                }
            }
            (Pending::Growth(_), Answer::Refused(reply)) => self.refuse_body(reply),
            (Pending::Mail(..) | Pending::Recipient(_) | Pending::Accept, Answer::Refused(reply)) => self.say(&reply),
            (Pending::Accept, Answer::Dismissed(reply)) => {
                self.close(CloseReason::Dismissed, &reply);
            }
            (Pending::Accept, Answer::Accepted { ids }) => self.say(&Reply::stored(&ids)),
            (Pending::StartTls, Answer::TlsStarted(facts)) => self.start_anew(facts),
            (Pending::StartTls, Answer::TlsFailed) => self.state = State::Closed(CloseReason::TlsFailed),
            (pending, answer) => panic!("{answer:?} does not answer {pending:?}"),
        }
    }

    /// Takes the replies that wait to be written.
    pub fn take_output(&mut self) -> Bytes {
        self.output.split().freeze()
    }

    /// What was refused since the last call; not what the driver refused.
    pub fn take_refusals(&mut self) -> OwnRefusals {
        std::mem::take(&mut self.refusals)
    }

    /// Where the session is.
    pub fn phase(&self) -> Phase {
        match &self.state {
            State::Closed(_) => Phase::Closed,
            State::Body(body) if body.refusal.is_some() => Phase::Draining,
            State::Body(_) => Phase::Data,
            State::Commands if !self.begun => Phase::Connected,
            State::Commands | State::Auth(_) => Phase::Commands,
        }
    }

    /// Whether a transaction is under way: a server that stops lets it end first.
    pub fn in_transaction(&self) -> bool {
        self.draft.is_some() || self.pending.is_some() || matches!(self.state, State::Body(_))
    }

    /// The bytes that the open transaction holds of what was granted to [`Action::Reserve`]; the driver gives the rest
    /// back. Zero once the transaction has gone out with [`Action::Accept`] or has ended otherwise.
    pub fn reserved_bytes(&self) -> usize {
        self.draft.as_ref().map_or(0, |draft| draft.reserved)
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

    fn say(&mut self, reply: &Reply) {
        reply.write_to(&mut self.output);
    }

    /// The reply to a message over the limit, which is counted.
    fn too_large(&mut self) -> Reply {
        self.refusals.too_large += 1;
        wording::message_too_large(self.config.max_message_bytes)
    }

    /// Ends the session with a last word.
    fn close(&mut self, reason: CloseReason, reply: &Reply) -> Step {
        self.say(reply);
        self.draft = None;
        self.state = State::Closed(reason);
        Step::Continue
    }

    /// Forgets all that was said before the handshake (RFC 3207 section 4.2).
    fn start_anew(&mut self, tls: TlsFacts) {
        let output = std::mem::take(&mut self.output);
        *self = Self {
            output,
            begun: true,
            ..Self::new(Arc::clone(&self.config), Some(tls))
        };
    }
}

#[cfg(test)]
mod tests;
