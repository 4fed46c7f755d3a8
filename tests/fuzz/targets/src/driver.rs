//! A driver without sockets: it answers what the session asks from a script, and writes all down.

use std::fmt;
use std::sync::Arc;

use restante_model::{ForwardPath, TlsFacts};
use restante_smtp::{Action, Answer, CloseReason, Enhanced, Reply, Session, SessionConfig, Transaction};

use crate::head;
use crate::wire::Wire;

/// Octets of output that may wait at once: what a session lets gather, and one long reply.
const OUTPUT_MAX: usize = 16_384 + 8_192;

/// A server around the session.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) config: Arc<SessionConfig>,
    /// The encryption that the connection begins with.
    pub(crate) tls: Option<TlsFacts>,
    /// The answers, again and again: even for yes, odd for no; of those to a message every second one ends the session.
    pub(crate) answers: Vec<u8>,
}

/// What came of it.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) output: Vec<u8>,
    /// What the session asked, in order.
    pub(crate) asked: Vec<Question>,
    pub(crate) accepted: Vec<Transaction>,
    pub(crate) closed: Option<CloseReason>,
}

impl fmt::Debug for Outcome {
    /// The output as text, as one reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("output", &self.output.escape_ascii().to_string())
            .field("asked", &self.asked)
            .field("accepted", &self.accepted)
            .field("closed", &self.closed)
            .finish()
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Verify(ForwardPath),
    Reserve(usize),
    StartTls,
    Accept,
}

impl Script {
    /// A server that says yes to everything.
    pub(crate) fn of(config: SessionConfig) -> Self {
        Self {
            config: Arc::new(config),
            tls: None,
            answers: Vec::new(),
        }
    }

    /// Sends the flights of a client, each cut into pieces of these sizes.
    pub(crate) fn run(&self, wire: &Wire, cuts: &[u8]) -> Outcome {
        let mut connection = Connection::new(self);
        let mut flights = wire.flights().peekable();
        while let Some(flight) = flights.next() {
            connection.can_shake_hands = flights.peek().is_some();
            for piece in head::pieces(flight, cuts) {
                if connection.send(piece) == Sent::Handshake {
                    break;
                }
            }
        }
        connection.finish()
    }
}

/// Facts of a handshake.
pub(crate) fn tls_facts() -> TlsFacts {
    TlsFacts {
        version: "TLSv1.3".into(),
        cipher: "TLS_AES_256_GCM_SHA384".into(),
    }
}

/// How far sending came.
#[derive(PartialEq, Eq)]
enum Sent {
    All,
    /// The connection is encrypted now: the rest of the flight is gone.
    Handshake,
}

struct Connection<'a> {
    script: &'a Script,
    session: Session,
    outcome: Outcome,
    /// There is a flight after this one.
    can_shake_hands: bool,
    /// Bytes that were granted to the message that is open.
    granted: usize,
}

impl<'a> Connection<'a> {
    fn new(script: &'a Script) -> Self {
        let mut session = Session::new(Arc::clone(&script.config), script.tls.clone());
        session.greet();
        let mut connection = Self {
            script,
            session,
            outcome: Outcome::default(),
            can_shake_hands: false,
            granted: 0,
        };
        connection.write();
        connection
    }

    fn send(&mut self, mut input: &[u8]) -> Sent {
        while let Some(action) = self.session.feed(&mut input) {
            match action {
                Action::Flush => assert!(self.write() > 0, "nothing to flush"),
                Action::Close(reason) => {
                    assert!(input.is_empty(), "a session that is over reads on");
                    self.write();
                    self.outcome.closed = Some(reason);
                    return Sent::All;
                }
                Action::Verify(recipient) => {
                    let answer = self.answer(Question::Verify(recipient));
                    self.session.resume(answer);
                }
                Action::Reserve(bytes) => self.reserve(bytes),
                Action::Accept(transaction) => self.accept(transaction),
                Action::StartTls => {
                    assert!(input.is_empty(), "what came in clear after STARTTLS is dropped");
                    if self.shake_hands() {
                        return Sent::Handshake;
                    }
                }
            }
            self.check_reservation();
        }
        assert!(input.is_empty(), "all input is read");
        self.check_reservation();
        self.write();
        Sent::All
    }

    /// The next answer of the script.
    fn answer(&mut self, question: Question) -> Answer {
        let answers = &self.script.answers;
        let byte = match answers.len() {
            0 => 0,
            length => answers[self.outcome.asked.len() % length],
        };
        let is_message = question == Question::Accept;
        self.outcome.asked.push(question);
        // What a refusal says must not become a reply of its own.
        let refusal = |code, enhanced| Reply::new(code, enhanced, "no\r\n250 2.0.0 Ok: msg_forged");
        match byte % 4 {
            0 | 2 => Answer::Granted,
            3 if is_message => Answer::Dismissed(refusal(421, Enhanced(4, 7, 0))),
            _ => Answer::Refused(refusal(452, Enhanced(4, 3, 1))),
        }
    }

    fn reserve(&mut self, bytes: usize) {
        assert!(bytes > 0, "nothing is reserved");
        let answer = self.answer(Question::Reserve(bytes));
        if answer == Answer::Granted {
            self.granted += bytes;
        }
        self.session.resume(answer);
    }

    fn accept(&mut self, transaction: Transaction) {
        let config = &self.script.config;
        assert!(
            transaction.data.len() <= self.granted,
            "bytes were kept before they were reserved"
        );
        assert!(transaction.data.len() <= config.max_message_bytes);
        assert!(header_length(&transaction.data) <= config.max_header_bytes);
        assert!((1..=config.max_recipients).contains(&transaction.recipients.len()));
        self.check_envelope(&transaction);
        let ids = (0..transaction.recipients.len())
            .map(|n| format!("msg_{n:032x}"))
            .collect();
        match self.answer(Question::Accept) {
            Answer::Granted => {
                self.outcome.accepted.push(transaction);
                self.session.resume(Answer::Accepted { ids });
            }
            refusal => self.session.resume(refusal),
        }
    }

    /// Nothing in the envelope could break out of a log line or a header, and every recipient was asked for.
    fn check_envelope(&self, transaction: &Transaction) {
        let unfit = |text: &str| text.contains(|c: char| c.is_control() || c == '\u{2028}' || c == '\u{2029}');
        assert!(!unfit(&transaction.helo) && !transaction.helo.contains(char::is_whitespace));
        assert!(!unfit(transaction.reverse_path.as_str()));
        for (at, recipient) in transaction.recipients.iter().enumerate() {
            assert!(!unfit(&recipient.to_string()));
            assert!(
                !transaction.recipients[..at].contains(recipient),
                "{recipient} stands twice"
            );
            let question = Question::Verify(recipient.clone());
            assert!(self.outcome.asked.contains(&question), "nobody asked for {recipient}");
        }
    }

    /// Whether the handshake is made.
    fn shake_hands(&mut self) -> bool {
        self.write();
        let made = self.answer(Question::StartTls) == Answer::Granted && self.can_shake_hands;
        self.session.resume(if made {
            Answer::TlsStarted(tls_facts())
        } else {
            Answer::TlsFailed
        });
        made
    }

    /// What the session holds was granted; the driver takes the rest back.
    fn check_reservation(&mut self) {
        let held = self.session.reserved_bytes();
        assert!(
            held <= self.granted,
            "{held} bytes are held and {} were granted",
            self.granted
        );
        assert!(held <= self.script.config.max_message_bytes);
        self.granted = held;
    }

    fn write(&mut self) -> usize {
        let output = self.session.take_output();
        assert!(output.len() <= OUTPUT_MAX, "{} bytes of output wait", output.len());
        self.outcome.output.extend_from_slice(&output);
        output.len()
    }

    /// Ends the connection; a session that is over stays so and says nothing more.
    fn finish(mut self) -> Outcome {
        if let Some(reason) = self.outcome.closed {
            let mut more = &b"NOOP\r\n"[..];
            assert_eq!(self.session.feed(&mut more), Some(Action::Close(reason)));
            assert!(self.session.take_output().is_empty());
        }
        self.outcome
    }
}

/// Bytes of the header block: up to the first line without content.
fn header_length(message: &[u8]) -> usize {
    let is_empty = |line: &&[u8]| matches!(*line, b"\r\n" | b"\n");
    let lines = message.split_inclusive(|&byte| byte == b'\n');
    lines.take_while(|line| !is_empty(line)).map(<[u8]>::len).sum()
}
