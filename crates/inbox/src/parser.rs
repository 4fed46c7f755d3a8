//! Reading messages, and surviving it.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use restante_message::{ParsedMessage, Summary};

/// The functions that read a message.
#[derive(Debug, Clone, Copy)]
pub struct Parser {
    /// All that it says.
    pub parse: fn(&[u8]) -> ParsedMessage,
    /// Its header block, for lists.
    pub summary: fn(&[u8]) -> Summary,
}

impl Default for Parser {
    fn default() -> Self {
        Self {
            parse: restante_message::parse,
            summary: restante_message::summary,
        }
    }
}

/// A parser whose panics cost one message its content and nothing else: the message is kept as it came.
#[derive(Debug)]
pub(crate) struct Guarded {
    parser: Parser,
    panics: AtomicU64,
}

impl Guarded {
    pub(crate) fn new(parser: Parser) -> Self {
        let panics = AtomicU64::new(0);
        Self { parser, panics }
    }

    pub(crate) fn parse(&self, raw: &[u8]) -> ParsedMessage {
        self.survive(raw, self.parser.parse)
            .unwrap_or_else(ParsedMessage::unparsable)
    }

    pub(crate) fn summary(&self, raw: &[u8]) -> Summary {
        self.survive(raw, self.parser.summary).unwrap_or_default()
    }

    /// How often reading a message has panicked.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Where it panicked is logged by the process; the words of a panic may quote mail.
    fn survive<T>(&self, raw: &[u8], read: fn(&[u8]) -> T) -> Option<T> {
        let outcome = catch_unwind(|| read(raw)).ok();
        if outcome.is_none() {
            let panics = self.panics.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::error!(
                size = raw.len(),
                panics,
                "a message could not be parsed; its source is kept"
            );
        }
        outcome
    }
}
