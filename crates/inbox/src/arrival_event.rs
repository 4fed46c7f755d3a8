//! What webhooks may hear of an arrival: read out of a message once, told for each inbox that it came to, and sealed.
//!
//! An event is plaintext also of mail for an encrypted inbox, so nobody but this server can open what is stored of it
//! (decisions, sections 5 and 7).

use std::sync::Arc;

use bytes::Bytes;
use restante_envelope::AtRestKey;
use restante_message::{Attachment, Mailbox, ParsedMessage};
use restante_model::event::{EventAttachment, EventAuth, EventMailbox};
use restante_model::{ArrivalEvent, EmailId, SessionFacts, Timestamp};

use crate::content::{NO_SUBJECT, UNKNOWN_SENDER};
use crate::{Recipient, content};

/// Bytes of each body that filters see (interface, Limits).
const FILTERABLE_BYTES: usize = 5 * 1024;

/// How arrivals are kept for webhooks.
#[derive(Debug, Clone)]
pub struct EventRules {
    /// Seals events at rest.
    pub key: Arc<AtRestKey>,
    /// Bytes of each body that a payload shows.
    pub max_body_bytes: usize,
}

impl EventRules {
    /// About what the event of a message takes: its headers, its bodies, and as much again for JSON and a wider charset.
    pub(crate) fn event_bytes(&self, raw: &[u8]) -> usize {
        let header_bytes = raw
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .unwrap_or(raw.len());
        let told = self.body_bytes().saturating_mul(2).saturating_add(header_bytes);
        raw.len().min(told).saturating_mul(2)
    }

    /// An event as it is stored: JSON under a key that is not in the store.
    pub(crate) fn seal(&self, event: &ArrivalEvent) -> Bytes {
        let context = [b"webhook event".as_slice(), event.email.as_bytes()].concat();
        self.key.seal(&context, &content::json(event)).into()
    }

    /// What is kept of each body: filters see so much of it even if payloads show less.
    fn body_bytes(&self) -> usize {
        self.max_body_bytes.max(FILTERABLE_BYTES)
    }
}

/// What the events of a message have in common, whichever inbox it came to.
#[derive(Debug)]
pub(crate) struct Story {
    from: Option<EventMailbox>,
    to: Vec<EventMailbox>,
    cc: Vec<EventMailbox>,
    subject: Option<String>,
    text: Option<String>,
    html: Option<String>,
    headers: Vec<(String, String)>,
    attachments: Vec<EventAttachment>,
}

impl Story {
    /// Takes out of a message what events tell of it.
    pub(crate) fn of(message: &ParsedMessage, rules: &EventRules) -> Self {
        let body = |text: &Option<String>| text.as_deref().map(|text| start(text, rules.body_bytes()));
        Self {
            from: message.from_mailbox.as_ref().map(mailbox),
            to: message.to_mailboxes.iter().map(mailbox).collect(),
            cc: message.cc_mailboxes.iter().map(mailbox).collect(),
            subject: message.subject.clone().filter(|subject| !subject.is_empty()),
            text: body(&message.text),
            html: body(&message.html),
            headers: message.headers.clone(),
            attachments: message.attachments.iter().map(attachment).collect(),
        }
    }

    /// The event for one inbox.
    pub(crate) fn told(
        &self,
        email: EmailId,
        recipient: &Recipient,
        facts: &SessionFacts,
        stored_at: Timestamp,
    ) -> ArrivalEvent {
        let inbox = &recipient.inbox;
        ArrivalEvent {
            email,
            inbox_hash: inbox.hash,
            inbox_address: inbox.address.to_string(),
            from: self.from.clone().unwrap_or_else(|| sender(facts)),
            to: match self.to.as_slice() {
                [] => vec![unnamed(recipient.forward_path.to_lowercase())],
                to => to.to_vec(),
            },
            cc: self.cc.clone(),
            subject: self.subject.clone().unwrap_or_else(|| NO_SUBJECT.to_owned()),
            text: self.text.clone(),
            html: self.html.clone(),
            headers: self.headers.clone(),
            attachments: self.attachments.clone(),
            auth: EventAuth::of(&recipient.auth),
            received_at: facts.received_at,
            stored_at,
        }
    }
}

/// Who sent a message whose header does not say it.
fn sender(facts: &SessionFacts) -> EventMailbox {
    let path = facts.reverse_path.as_str();
    let path = if path.is_empty() { UNKNOWN_SENDER } else { path };
    unnamed(path.to_owned())
}

fn unnamed(address: String) -> EventMailbox {
    EventMailbox { address, name: None }
}

fn mailbox(mailbox: &Mailbox) -> EventMailbox {
    EventMailbox {
        address: mailbox.address.clone(),
        name: mailbox.name.clone(),
    }
}

fn attachment(attachment: &Attachment) -> EventAttachment {
    EventAttachment {
        filename: attachment.filename.clone(),
        content_type: attachment.content_type.clone(),
        size: attachment.content.len() as u64,
    }
}

/// At most so many bytes of a text, whole characters.
fn start(text: &str, max_bytes: usize) -> String {
    text[..text.floor_char_boundary(max_bytes)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, max, cut) in [
            ("", 4, ""),
            ("abcd", 4, "abcd"),
            ("abcde", 4, "abcd"),
            ("abcé", 4, "abc"),
            ("ab😀c", 5, "ab"),
            ("ab😀c", 6, "ab😀"),
        ] {
            assert_eq!(start(text, max), cut, "{text} at {max}");
        }
    }

    #[test]
    fn filters_see_their_part_of_a_body_that_payloads_hardly_show() {
        let kept = |max_body_bytes| {
            let key = Arc::new(AtRestKey::new([0; 32].into()));
            EventRules { key, max_body_bytes }.body_bytes()
        };
        assert_eq!(
            [kept(0), kept(5120), kept(5121), kept(65_536)],
            [5120, 5120, 5121, 65_536]
        );
    }
}
