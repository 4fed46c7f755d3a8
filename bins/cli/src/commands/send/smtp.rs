//! One SMTP session that sends mail, and says what the server said (RFC 5321).

use std::error::Error as _;
use std::io;
use std::time::Duration;

use lettre::transport::smtp::Error as LettreError;
use lettre::transport::smtp::client::SmtpConnection;
use lettre::transport::smtp::extension::{ClientId, Extension};
use lettre::transport::smtp::response::Response;

use crate::context::SmtpServer;

/// How long a server may take to accept the connection and to greet.
const GREETING_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take for a reply: the end of DATA waits for checks of the mail.
const REPLY_TIMEOUT: Duration = Duration::from_mins(1);

/// From whom and to whom a mail goes, whatever its headers say.
#[derive(Debug, Clone)]
pub(super) struct Envelope {
    /// The reverse-path; empty for the null one of bounces.
    pub(super) from: String,
    /// The forward-paths.
    pub(super) to: Vec<String>,
}

/// What a server said to the end of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Accepted {
    /// Its reply, line by line, with the code.
    pub(super) reply: Vec<String>,
    /// The ids of the emails that it names.
    pub(super) email_ids: Vec<String>,
}

/// Why a mail was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SmtpError {
    /// Nobody is there.
    #[error("there is no SMTP server at {server}: {reason}; start the server, or name its SMTP address with --smtp")]
    NoServer {
        /// Where it should be.
        server: String,
        /// What the system said.
        reason: String,
    },
    /// Somebody is there who does not speak SMTP in the clear.
    #[error(
        "what answers at {server} does not greet as SMTP does: {reason}; mail is sent in the clear only, \
         so name the plain SMTP port with --smtp if this one is for TLS or HTTP"
    )]
    NoGreeting {
        /// Where it is.
        server: String,
        /// What came instead.
        reason: String,
    },
    /// The server said no.
    #[error("the server refused {command}: {reply}")]
    Refused {
        /// What it refused.
        command: String,
        /// Its reply with the code.
        reply: String,
    },
    /// An address that a server without SMTPUTF8 does not understand.
    #[error("the server does not take addresses beyond ASCII (SMTPUTF8): {0}")]
    NoSmtpUtf8(String),
    /// The connection broke.
    #[error("the connection broke at {command}: {reason}")]
    Lost {
        /// What was said last.
        command: String,
        /// What the system said.
        reason: String,
    },
}

/// An open session.
pub(super) struct Session {
    connection: SmtpConnection,
}

impl Session {
    /// Connects and says EHLO; blocks.
    pub(super) fn open(server: &SmtpServer) -> Result<Self, SmtpError> {
        let hello = ClientId::default();
        let address = (server.host.as_str(), server.port);
        let opened = SmtpConnection::connect(address, Some(GREETING_TIMEOUT), &hello, None, None);
        let mut connection = opened.map_err(|error| at_start(server, &error))?;
        let set = connection.set_timeout(Some(REPLY_TIMEOUT));
        set.map_err(|error| lost("EHLO", error.to_string()))?;
        Ok(Self { connection })
    }

    /// Sends a message as it is; blocks.
    ///
    /// # Errors
    /// [`SmtpError::Refused`] names the command. No recipient gets the mail if one is refused.
    pub(super) fn send(&mut self, envelope: &Envelope, message: &[u8]) -> Result<Accepted, SmtpError> {
        let parameters = self.parameters(envelope, message)?;
        self.say(&format!("MAIL FROM:<{}>{parameters}", envelope.from))?;
        for to in &envelope.to {
            self.say(&format!("RCPT TO:<{to}>"))?;
        }
        self.say("DATA")?;
        // lettre ends the last line itself: what ends in CRLF would get an empty line more.
        let body = message.strip_suffix(b"\r\n").unwrap_or(message);
        let reply = self
            .connection
            .message(body)
            .map_err(|error| failed("the mail after DATA", &error))?;
        Ok(accepted(&reply))
    }

    /// Ends the session; what the server says to it does not matter any more.
    pub(super) fn quit(mut self) {
        let _ = self.connection.quit();
    }

    fn say(&mut self, command: &str) -> Result<(), SmtpError> {
        let said = self.connection.command(format!("{command}\r\n"));
        said.map(drop).map_err(|error| failed(command, &error))
    }

    /// What MAIL says of a message that is not ASCII (RFC 6152, RFC 6531).
    fn parameters(&self, envelope: &Envelope, message: &[u8]) -> Result<&'static str, SmtpError> {
        let offers = self.connection.server_info();
        let addresses = envelope.to.iter().chain([&envelope.from]);
        let beyond_ascii = addresses.into_iter().find(|address| !address.is_ascii());
        let eight_bit = !message.is_ascii() && offers.supports_feature(Extension::EightBitMime);
        match (beyond_ascii, eight_bit) {
            (Some(address), _) if !offers.supports_feature(Extension::SmtpUtfEight) => {
                Err(SmtpError::NoSmtpUtf8(address.clone()))
            }
            (Some(_), true) => Ok(" SMTPUTF8 BODY=8BITMIME"),
            (Some(_), false) => Ok(" SMTPUTF8"),
            (None, true) => Ok(" BODY=8BITMIME"),
            (None, false) => Ok(""),
        }
    }
}

fn at_start(server: &SmtpServer, error: &LettreError) -> SmtpError {
    let server = format!("{}:{}", server.host, server.port);
    if error.status().is_some() {
        return failed("the connection", error);
    }
    if error.is_response() {
        let reason = "its first words are not a reply of SMTP".to_owned();
        return SmtpError::NoGreeting { server, reason };
    }
    match system_error(error) {
        Some(timeout) if timeout.kind() == io::ErrorKind::WouldBlock => SmtpError::NoGreeting {
            server,
            reason: format!("it says nothing within {} s", GREETING_TIMEOUT.as_secs()),
        },
        _ => SmtpError::NoServer {
            server,
            reason: reason(error),
        },
    }
}

fn failed(command: &str, error: &LettreError) -> SmtpError {
    let text = reason(error);
    match error.status() {
        Some(code) => SmtpError::Refused {
            command: command.to_owned(),
            reply: format!("{code} {text}"),
        },
        None => lost(command, text),
    }
}

fn lost(command: &str, reason: String) -> SmtpError {
    SmtpError::Lost {
        command: command.to_owned(),
        reason,
    }
}

/// What the server or the system said, without lettre's words for its kind.
fn reason(error: &LettreError) -> String {
    match system_error(error) {
        Some(timeout) if matches!(timeout.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            "no answer in time".to_owned()
        }
        Some(system) => system.to_string(),
        None => error.source().map_or_else(|| error.to_string(), ToString::to_string),
    }
}

fn system_error(error: &LettreError) -> Option<&io::Error> {
    error.source()?.downcast_ref::<io::Error>()
}

fn accepted(reply: &Response) -> Accepted {
    let lines: Vec<&str> = reply.message().collect();
    let words = lines.iter().flat_map(|line| line.split([' ', ',']));
    let email_ids = words
        .filter(|word| word.starts_with("msg_"))
        .map(str::to_owned)
        .collect();
    let last = lines.len().saturating_sub(1);
    let shown = lines.iter().enumerate().map(|(index, line)| {
        let after_code = if index == last { ' ' } else { '-' };
        format!("{}{after_code}{line}", reply.code())
    });
    Accepted {
        reply: shown.collect(),
        email_ids,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{Shutdown, TcpListener};

    use super::*;

    #[test]
    fn a_reply_of_several_lines_names_all_its_emails() {
        let reply: Response = "250-2.0.0 Ok: msg_1 msg_2\r\n250 2.0.0 msg_3\r\n".parse().unwrap();
        let accepted = accepted(&reply);
        assert_eq!(accepted.reply, ["250-2.0.0 Ok: msg_1 msg_2", "250 2.0.0 msg_3"]);
        assert_eq!(accepted.email_ids, ["msg_1", "msg_2", "msg_3"]);
    }

    /// A server that says these replies, the first unasked, the next to a line each, and hangs up.
    fn server(replies: &'static [&'static str]) -> SmtpServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            for (index, reply) in replies.iter().enumerate() {
                if index > 0 {
                    lines.next();
                }
                stream.write_all(reply.as_bytes()).unwrap();
            }
            // What the client still says is read, so that no reset overtakes the last reply.
            stream.shutdown(Shutdown::Write).unwrap();
            lines.for_each(drop);
        });
        SmtpServer {
            host: "127.0.0.1".to_owned(),
            port,
            implicit_tls: false,
        }
    }

    fn failure(replies: &'static [&'static str], to: &str) -> String {
        let envelope = Envelope {
            from: "a@example.test".to_owned(),
            to: vec![to.to_owned()],
        };
        let sent =
            Session::open(&server(replies)).and_then(|mut session| session.send(&envelope, b"A: b\r\n\r\nc\r\n"));
        sent.unwrap_err().to_string()
    }

    #[test]
    fn a_failure_names_the_command_and_the_whole_reply() {
        const HELLO: &str = "220 x\r\n";
        const EHLO: &str = "250 x\r\n";
        let to = "b@example.test";
        for (replies, to, told) in [
            (
                &["554 5.3.2 no\r\n"][..],
                to,
                "the server refused the connection: 554 5.3.2 no",
            ),
            (
                &[HELLO, EHLO, "501 5.1.7 bad\r\n"],
                to,
                "the server refused MAIL FROM:<a@example.test>: 501 5.1.7 bad",
            ),
            (
                &[HELLO, EHLO, EHLO, "550-5.1.1 one\r\n550 5.1.1 two\r\n"],
                to,
                "the server refused RCPT TO:<b@example.test>: 550 5.1.1 one two",
            ),
            (
                &[HELLO, EHLO, EHLO, EHLO, "452 4.3.1 full\r\n"],
                to,
                "the server refused DATA: 452 4.3.1 full",
            ),
            (
                &[HELLO, EHLO, EHLO],
                to,
                "the connection broke at RCPT TO:<b@example.test>: ",
            ),
            (
                &[HELLO, EHLO],
                "ü@example.test",
                "the server does not take addresses beyond ASCII (SMTPUTF8): ü@example.test",
            ),
        ] {
            let failure = failure(replies, to);
            assert!(failure.starts_with(told), "{failure}");
        }
        assert!(failure(&["HTTP/1.1 400 Bad Request\r\n"], to).contains("does not greet as SMTP does"));
    }

    #[test]
    fn nobody_there_is_told_with_the_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let server = SmtpServer {
            host: "127.0.0.1".to_owned(),
            port,
            implicit_tls: false,
        };
        let told = Session::open(&server).err().unwrap().to_string();
        assert!(
            told.starts_with(&format!("there is no SMTP server at 127.0.0.1:{port}: ")),
            "{told}"
        );
    }
}
