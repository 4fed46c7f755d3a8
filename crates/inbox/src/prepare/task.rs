//! What is to be prepared, and what that takes.

use std::collections::HashSet;

use restante_model::{EmailId, InboxKey};

use crate::Deposit;
use crate::arrival_event::EventRules;

/// Of a message that is read for nobody only the header block is parsed: up to this size, that is done at once.
const LIGHT_HEADER_BYTES: usize = 64 * 1024;

/// A message up to this size is sealed for one inbox, and told of, at once: handing it to another thread and its parts
/// back takes half as much processor time again as the work.
const LIGHT_READ_BYTES: usize = 8 * 1024;

/// What it takes to prepare a message, and to prepare it again with the same ids.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) deposit: Deposit,
    /// One for each recipient.
    pub(crate) ids: Vec<EmailId>,
    listeners: Listeners,
    makes: Makes,
}

/// What comes of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Makes {
    /// Emails, and events for those that are listened to.
    Emails,
    /// The events alone.
    Events,
}

/// The inboxes of whose mail some webhook wants to hear.
#[derive(Debug)]
pub(crate) enum Listeners {
    /// So much is known.
    Of(HashSet<InboxKey>),
    /// Perhaps any.
    Unknown,
}

impl Deposit {
    /// The encrypted inboxes, each once.
    pub(crate) fn sealed_copies(&self) -> usize {
        let encrypted = self.recipients.iter().filter(|to| to.inbox.mode.is_encrypted());
        encrypted.map(|to| to.inbox.key).collect::<HashSet<_>>().len()
    }
}

impl Task {
    pub(crate) fn new(deposit: Deposit, listeners: Listeners) -> Self {
        let received_at = deposit.facts.received_at;
        let ids = deposit.recipients.iter().map(|_| EmailId::new(received_at)).collect();
        Self {
            deposit,
            ids,
            listeners,
            makes: Makes::Emails,
        }
    }

    /// The same of a message that is not stored.
    pub(crate) fn of_events(deposit: Deposit, listeners: Listeners) -> Self {
        Self {
            makes: Makes::Events,
            ..Self::new(deposit, listeners)
        }
    }

    /// Whether emails are made, with all their parts.
    pub(crate) fn makes_emails(&self) -> bool {
        self.makes == Makes::Emails
    }

    /// The encrypted inboxes that it is sealed for.
    pub(crate) fn sealed_copies(&self) -> usize {
        match self.makes {
            Makes::Emails => self.deposit.sealed_copies(),
            Makes::Events => 0,
        }
    }

    /// With this id for the email of the first recipient.
    pub(crate) fn beginning_with(mut self, id: EmailId) -> Self {
        if let Some(first) = self.ids.first_mut() {
            *first = id;
        }
        self
    }

    /// The same emails, all of them with an event.
    pub(crate) fn for_any_listener(self) -> Self {
        Self {
            listeners: Listeners::Unknown,
            ..self
        }
    }

    /// Whether any email comes with an event.
    pub(crate) fn tells(&self) -> bool {
        match &self.listeners {
            Listeners::Of(inboxes) => !inboxes.is_empty(),
            Listeners::Unknown => true,
        }
    }

    pub(crate) fn has_listener(&self, inbox: InboxKey) -> bool {
        match &self.listeners {
            Listeners::Of(inboxes) => inboxes.contains(&inbox),
            Listeners::Unknown => true,
        }
    }

    /// How many emails come with an event, at most.
    fn events(&self) -> usize {
        match &self.listeners {
            Listeners::Of(inboxes) => inboxes.len(),
            Listeners::Unknown => self.deposit.recipients.len(),
        }
    }

    /// Whether it is prepared in microseconds, between two reads of a socket.
    pub(crate) fn is_light(&self) -> bool {
        let raw = &self.deposit.raw;
        match (self.sealed_copies(), self.events()) {
            (0, 0) => has_short_header(raw),
            (0 | 1, 0 | 1) => raw.len() <= LIGHT_READ_BYTES,
            _ => false,
        }
    }

    /// Whether it is sealed for one inbox at most, and told of to the webhooks of one at most.
    pub(crate) fn is_single(&self) -> bool {
        self.sealed_copies().max(self.events()) <= 1
    }

    /// Memory that it takes beside the message: for each sealed copy two parts of up to one and a half times its size, and,
    /// until the last of them is written, what was decoded of it; what is read for events, and the events.
    pub(crate) fn needed_bytes(&self, all: usize, rules: Option<&EventRules>) -> usize {
        let raw = self.deposit.raw.len();
        let copies = self.sealed_copies();
        let sealing = match copies {
            0 => 0,
            copies => raw.saturating_mul(3 * copies + 1),
        };
        let rules = rules.filter(|_| self.tells());
        let events = rules.map_or(0, |rules| {
            self.events().saturating_mul(rules.event_bytes(&self.deposit.raw))
        });
        let reading = rules.map_or(0, |_| raw.saturating_mul(2));
        let needed = sealing.max(reading).saturating_add(events);
        // One that alone needs more than there is gets all of it: it must be possible to send it.
        if self.is_single() { needed.min(all) } else { needed }
    }
}

/// Whether the header block ends within [`LIGHT_HEADER_BYTES`].
fn has_short_header(raw: &[u8]) -> bool {
    let start = &raw[..raw.len().min(LIGHT_HEADER_BYTES)];
    start.len() == raw.len() || start.windows(4).any(|bytes| bytes == b"\r\n\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_short_by_its_own_size() {
        let body = "x".repeat(2 * LIGHT_HEADER_BYTES);
        let cases = [
            (String::new(), true),
            (format!("Subject: a\r\n\r\n{body}"), true),
            (format!("Subject: {}\r\n", &body[..LIGHT_HEADER_BYTES / 2]), true),
            (format!("Subject: {}\r\n\r\nb", &body[..LIGHT_HEADER_BYTES]), false),
        ];
        for (raw, is_short) in cases {
            assert_eq!(has_short_header(raw.as_bytes()), is_short, "{} bytes", raw.len());
        }
    }
}
