//! The receiving side of SMTP (RFC 5321) as a state machine: bytes in, actions out.
//!
//! A [`Session`] decides what each byte of a client means: framing, order of commands, limits, replies.
//! It knows no socket, no clock, no inbox and no disk.
//! What it cannot decide it asks of its driver by an [`Action`], and the driver's [`Answer`] lets it go on; the text of
//! an answer that refuses is the driver's too, as a ready [`Reply`].
//!
//! # Driving a session
//!
//! Feed what was read until `feed` returns `None`, do what it asks on the way, then write the output and read again.
//! Replies gather in the output, so that a packet of a hundred commands is answered in one write.
//!
//! ```
//! use std::sync::Arc;
//! use restante_smtp::{Action, Answer, Enhanced, Reply, Session, SessionConfig};
//!
//! /// What a connection would do with what it has read; returns what to write and whether to close then.
//! fn serve(session: &mut Session, mut input: &[u8], mailbox: &mut Vec<Vec<u8>>) -> (Vec<u8>, bool) {
//!     let mut output = Vec::new();
//!     while let Some(action) = session.feed(&mut input) {
//!         match action {
//!             Action::Verify(recipient) if recipient.to_string() == "bob@restante.test" => {
//!                 session.resume(Answer::Granted);
//!             }
//!             Action::Verify(_) => {
//!                 let reply = Reply::new(550, Enhanced(5, 1, 1), "Recipient address rejected");
//!                 session.resume(Answer::Refused(reply));
//!             }
//!             Action::Reserve(_bytes) => session.resume(Answer::Granted),
//!             Action::Accept(transaction) => {
//!                 mailbox.push(transaction.data.to_vec());
//!                 session.resume(Answer::Accepted { ids: vec![format!("msg_{}", mailbox.len())] });
//!             }
//!             Action::StartTls => session.resume(Answer::TlsFailed),
//!             Action::Flush => output.extend_from_slice(&session.take_output()),
//!             Action::Close(_reason) => {
//!                 output.extend_from_slice(&session.take_output());
//!                 return (output, true);
//!             }
//!         }
//!     }
//!     output.extend_from_slice(&session.take_output());
//!     (output, false)
//! }
//!
//! let mut mailbox = Vec::new();
//! let mut session = Session::new(Arc::new(SessionConfig::default()), None);
//! session.greet();
//! let (output, _) = serve(&mut session, b"EHLO laptop\r\n", &mut mailbox);
//! assert!(output.starts_with(b"220 localhost ESMTP"));
//!
//! let packet = b"MAIL FROM:<>\r\nRCPT TO:<bob@restante.test>\r\nDATA\r\n";
//! let (output, _) = serve(&mut session, packet, &mut mailbox);
//! assert!(output.starts_with(b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 "));
//!
//! let (output, close) = serve(&mut session, b"..hello\r\n.\r\nQUIT\r\n", &mut mailbox);
//! assert_eq!(output, b"250 2.0.0 Ok: msg_1\r\n221 2.0.0 Bye\r\n");
//! assert_eq!(mailbox, [b".hello\r\n"]);
//! assert!(close);
//! ```
//!
//! Deadlines are the driver's: [`Session::phase`] says which one holds, [`Session::timeout_reply`] and
//! [`Session::shutdown_reply`] what to write before closing.
//! So is memory: each [`Action::Reserve`] asks for more of the driver's budget *before* bytes are kept, and after every
//! `feed` the driver gives back what is beyond [`Session::reserved_bytes`].
//! At [`Action::StartTls`] the session has dropped the rest of its input; a driver that holds more unread bytes drops
//! them too.
//!
//! # Invariants
//!
//! - Only CRLF ends a command line and only CRLF.CRLF ends DATA; a bare CR or LF is a byte like any other.
//! - No byte of a body is ever run as a command: a refused message is read to its true end, and where that cannot be
//!   found the session closes.
//! - However the input is cut, the output and the transactions are the same.
//! - Memory is bounded by the largest line, 16 KiB of output and what was reserved.
//! - No text that leaves the session has a control character, except the message itself, whose bytes are as sent.
//!
//! # Modules, in reading order
//!
//! [`config`], [`action`], [`session`] (with what each command does and how a message is received),
//! `line` (framing of lines), `command` and `path` (their grammar), `auth` (the exchanges of AUTH), `body`, `data` and `chunk` (framing of messages),
//! [`transaction`], [`reply`], and `wording`, the table of the session's own replies.

pub mod action;
mod auth;
mod body;
mod chunk;
mod command;
pub mod config;
mod data;
mod line;
mod path;
pub mod reply;
pub mod session;
pub mod transaction;
mod wording;

pub use action::{Action, Answer, CloseReason, Phase};
pub use config::{Auth, SessionConfig, StartTls};
pub use reply::{Enhanced, Reply};
pub use session::{OwnRefusals, Session};
pub use transaction::{BodyType, MailParameters, Transaction};
