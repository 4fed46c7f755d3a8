//! What each command does (RFC 5321 section 4.1.1, order of commands in section 4.1.4).

use restante_model::{ForwardPath, ReversePath};

use super::{Client, Greeting, Pending, Session, State, Step, UNKNOWN_MAX};
use crate::action::{Action, CloseReason};
use crate::body::Body;
use crate::chunk::ChunkKind;
use crate::command::{self, Command, Fault};
use crate::config::{Auth, StartTls};
use crate::line::{COMMAND_LINE_MAX, Line};
use crate::reply::Reply;
use crate::transaction::{Draft, MailParameters};
use crate::wording;

/// The first byte of a TLS record that carries a handshake (RFC 8446 section 5.1).
const TLS_HANDSHAKE: u8 = 0x16;

impl Session {
    /// Reads one command line and obeys it.
    pub(super) fn read_command(&mut self, input: &mut &[u8]) -> Step {
        if !self.begun && self.lines.is_empty() && input.first() == Some(&TLS_HANDSHAKE) {
            return self.close(CloseReason::TlsHello, &wording::NOT_TLS);
        }
        // The reader lends its line out, and the session must be free to act on it: the reader steps aside.
        let mut lines = std::mem::take(&mut self.lines);
        let step = match lines.read(input, COMMAND_LINE_MAX) {
            Line::NeedInput => Step::NeedInput,
            Line::TooLong => self.no_command(&wording::LINE_TOO_LONG),
            Line::Complete(line) => match command::parse(line) {
                Ok(command) => self.obey(command),
                Err(fault) => self.object(fault),
            },
        };
        self.begun |= !matches!(step, Step::NeedInput);
        self.lines = lines;
        if matches!(step, Step::Act(Action::StartTls)) {
            // What came in clear after STARTTLS must not be taken for something said under TLS (RFC 3207 section 5).
            *input = &[];
        }
        step
    }

    fn obey(&mut self, command: Command<'_>) -> Step {
        let reply = match command {
            Command::Helo(name) => return self.greeted(name, Greeting::Helo),
            Command::Ehlo(name) => return self.greeted(name, Greeting::Ehlo),
            Command::Mail(reverse_path, parameters) => return self.mail(reverse_path, parameters),
            Command::Rcpt(recipient) => return self.recipient(recipient),
            Command::Data => return self.data(),
            Command::Bdat(size, kind) => return self.chunk(size, kind, None),
            Command::Quit => return self.close(CloseReason::Quit, &wording::BYE),
            Command::StartTls => return self.start_tls(),
            Command::Auth(argument) => return self.authenticate(argument),
            Command::Rset => {
                self.draft = None;
                wording::OK
            }
            Command::Noop => wording::OK,
            Command::Vrfy => wording::CANNOT_VERIFY,
            Command::Help => wording::help(self.offers_tls(), self.config.auth),
        };
        self.answer(&reply)
    }

    fn object(&mut self, fault: Fault) -> Step {
        match fault {
            Fault::Unknown => self.no_command(&wording::UNKNOWN),
            Fault::Http => self.close(CloseReason::HttpRequest, &wording::NOT_HTTP),
            Fault::Chunk(size) => self.chunk(size, ChunkKind::Inner, Some(wording::BDAT_SYNTAX)),
            Fault::ChunkSize => self.close(CloseReason::LostFraming, &wording::BDAT_SYNTAX),
            Fault::Refused(reply) => self.answer(&reply),
        }
    }

    fn answer(&mut self, reply: &Reply) -> Step {
        self.say(reply);
        Step::Continue
    }

    fn no_command(&mut self, reply: &Reply) -> Step {
        self.unknown_commands += 1;
        if self.unknown_commands == UNKNOWN_MAX {
            return self.close(CloseReason::TooManyUnknownCommands, &wording::TOO_MANY_UNKNOWN);
        }
        self.answer(reply)
    }

    /// HELO and EHLO, which also do what RSET does.
    fn greeted(&mut self, name: &str, greeting: Greeting) -> Step {
        self.draft = None;
        self.client = Some(Client {
            name: name.to_owned(),
            greeting,
        });
        let reply = match greeting {
            Greeting::Helo => Reply::plain(250, [self.config.hostname.as_str()]),
            Greeting::Ehlo => self.extensions(),
        };
        self.answer(&reply)
    }

    fn extensions(&self) -> Reply {
        let size = format!("SIZE {}", self.config.max_message_bytes);
        let limits = format!("LIMITS RCPTMAX={}", self.config.max_recipients);
        let mut lines = vec![
            self.config.hostname.as_str(),
            "PIPELINING",
            &size,
            "8BITMIME",
            "SMTPUTF8",
            "CHUNKING",
            "ENHANCEDSTATUSCODES",
            &limits,
        ];
        if self.config.auth == Auth::AcceptAny {
            lines.push("AUTH PLAIN LOGIN");
        }
        if self.offers_tls() {
            lines.push("STARTTLS");
        }
        Reply::plain(250, lines)
    }

    fn offers_tls(&self) -> bool {
        self.config.starttls == StartTls::Offered && self.tls.is_none()
    }

    fn mail(&mut self, reverse_path: ReversePath, parameters: MailParameters) -> Step {
        if self.client.is_none() {
            return self.answer(&wording::HELO_FIRST);
        }
        if self.draft.is_some() {
            return self.answer(&wording::NESTED_MAIL);
        }
        if parameters.auth && self.config.auth == Auth::Off {
            return self.answer(&wording::unsupported_parameter(b"AUTH"));
        }
        let draft = Draft::new(reverse_path, parameters);
        match usize::try_from(parameters.size) {
            Ok(0) => {
                self.open(draft);
                Step::Continue
            }
            Ok(size) if size <= self.config.max_message_bytes => {
                self.pending = Some(Pending::Mail(draft, size));
                Step::Act(Action::Reserve(size))
            }
            _ => {
                let reply = self.too_large();
                self.answer(&reply)
            }
        }
    }

    /// Opens a transaction.
    pub(super) fn open(&mut self, draft: Draft) {
        self.draft = Some(draft);
        self.say(&wording::SENDER_OK);
    }

    fn recipient(&mut self, recipient: ForwardPath) -> Step {
        let reply = match &self.draft {
            None if self.client.is_none() => wording::HELO_FIRST,
            None => wording::MAIL_FIRST,
            Some(draft) if draft.chunked => wording::BDAT_BEGUN,
            Some(draft) if draft.is_full(&recipient, self.config.max_recipients) => {
                self.refusals.too_many_recipients += 1;
                wording::TOO_MANY_RECIPIENTS
            }
            Some(draft) if !draft.parameters.smtputf8 && !is_ascii(&recipient) => wording::NEEDS_SMTPUTF8,
            Some(_) => {
                self.pending = Some(Pending::Recipient(recipient.clone()));
                return Step::Act(Action::Verify(recipient));
            }
        };
        self.answer(&reply)
    }

    /// Why no message may come now, if so; both DATA and BDAT ask.
    fn message_refusal(&self) -> Option<Reply> {
        match &self.draft {
            None if self.client.is_none() => Some(wording::HELO_FIRST),
            None => Some(wording::MAIL_FIRST),
            Some(draft) if draft.recipients.is_empty() => Some(wording::NO_RECIPIENTS),
            Some(_) => None,
        }
    }

    fn data(&mut self) -> Step {
        if let Some(reply) = self.message_refusal() {
            return self.answer(&reply);
        }
        if self.draft.as_ref().is_some_and(|draft| draft.chunked) {
            return self.answer(&wording::BDAT_BEGUN);
        }
        self.state = State::Body(Body::data());
        self.answer(&wording::SEND_DATA)
    }

    /// BDAT: whatever is wrong, the bytes of the chunk follow and must be read, never obeyed (RFC 3030 section 2).
    fn chunk(&mut self, size: u64, kind: ChunkKind, fault: Option<Reply>) -> Step {
        let mut refusal = fault.or_else(|| self.message_refusal());
        if size > self.config.drain_limit() {
            // It cannot be kept, and it would take too long to read: the connection cannot go on.
            let reply = refusal.unwrap_or_else(|| self.too_large());
            return self.close(CloseReason::DrainLimit, &reply);
        }
        match &mut self.draft {
            Some(draft) if refusal.is_none() => {
                let room = self.config.max_message_bytes.saturating_sub(draft.message.len());
                draft.chunked = true;
                if size > room as u64 {
                    refusal = Some(self.too_large());
                }
            }
            _ => {}
        }
        if refusal.is_some() {
            // A chunk that fails ends its transaction: the next one must not complete a message with a hole.
            self.draft = None;
        }
        self.state = State::Body(Body::chunk(size, kind, refusal));
        Step::Continue
    }

    fn start_tls(&mut self) -> Step {
        if self.config.starttls == StartTls::Off {
            return self.answer(&wording::NOT_IMPLEMENTED);
        }
        if self.tls.is_some() {
            return self.answer(&wording::TLS_ACTIVE);
        }
        self.say(&wording::START_TLS);
        self.pending = Some(Pending::StartTls);
        Step::Act(Action::StartTls)
    }
}

fn is_ascii(recipient: &ForwardPath) -> bool {
    match recipient {
        ForwardPath::Postmaster => true,
        ForwardPath::Mailbox { local, domain } => local.is_ascii() && domain.is_ascii(),
    }
}
