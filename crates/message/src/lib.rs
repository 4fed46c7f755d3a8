//! RFC 5322 and MIME to content: text, HTML, headers, attachments, links, defects.

mod parse;
mod parsed;
mod trace;

pub use parse::{parse, summary};
pub use parsed::{Attachment, Mailbox, ParsedMessage, Summary};
pub use trace::trace;
