//! RFC 5322 and MIME to content: text, HTML, headers, attachments, links, defects.
//!
//! The crate turns the bytes of a message into what the API shows of it, and never fails: whatever stood between
//! `DATA` and the dot has a result, and what is wrong with it is told in sentences for a person.
//! It knows no inbox, no storage and no JSON, and it never changes a message: the raw bytes stay the truth, and
//! parsing them again gives the same content.
//!
//! ```
//! let raw = b"From: App <app@example.test>\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\r\nSee https://example.test/x.\r\n";
//! let message = restante_message::parse(raw);
//! assert_eq!(message.subject.as_deref(), Some("Grüße"));
//! assert_eq!(message.text.as_deref(), Some("See https://example.test/x.\n"));
//! assert_eq!(message.links, ["https://example.test/x"]);
//! assert_eq!(message.defects, ["There is no Date header."]);
//! ```
//!
//! Invariants:
//! - Time and memory are linear in the size of the message, whatever its shape; what is beyond the limits is left
//!   unparsed and named.
//! - Attachments are byte for byte what was encoded; only body text is decoded and gets LF line ends.
//! - No control character but the tab of a header field reaches a decoded header value, a name, an address or a file name:
//!   CR, LF and NUL least of all. Everything else of a name is kept, as what is tested may be wrong in just that: path
//!   separators and bidirectional overrides in a file name are for those who write files or show names to mind.
//!
//! mail-parser supplies what is a table: charsets and HTML entities.
//! Structure and grammar are read here, because of the first two invariants: its own walk searches the rest of the
//! message for every missing boundary, its encoded words are quadratic when left open, nesting has no bound, and text
//! attachments come out decoded.
//!
//! Modules, in reading order: `parse`, `parsed`; `fields`, `header`, `comment`, `encoded_word`, `param`, `address`, `message_id`, `date`; `mime`,
//! `transfer`, `charset`, `utf7`, `content`; `html`, `html_text`, `links`; `limit`, `defect`; `trace`.

mod address;
mod charset;
mod comment;
mod content;
mod date;
mod defect;
mod encoded_word;
mod fields;
mod header;
mod html;
mod html_text;
mod limit;
mod links;
mod message_id;
mod mime;
mod param;
mod parse;
mod parsed;
mod trace;
mod transfer;
mod utf7;

pub use address::MailboxList;
pub use fields::{RawField, RawMessage};
pub use html_text::render as html_to_text;
pub use parse::{parse, summary};
pub use parsed::{Attachment, Mailbox, ParsedMessage, Summary};
pub use trace::trace;
