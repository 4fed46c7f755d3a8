//! Depositing a message: one email for each recipient inbox, all of them or none.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use bytes::Bytes;
use restante_envelope::{EncapsulationKey, PayloadPart, seal, seal_with};
use restante_message::Summary;
use restante_model::{AuthResults, EmailId, Inbox, InboxMode, SessionFacts};
use restante_storage::{AcceptError, Arrival, Bus, NewEmail, Part};

use crate::lanes::Turn;
use crate::parts::Facts;
use crate::{Inboxes, Reservation, content, parts};

/// Of a message that is sealed for nobody only the header block is read: up to this size, that is done at once.
const LIGHT_HEADER_BYTES: usize = 64 * 1024;

/// A message up to this size is sealed for one inbox at once: handing it to another thread and its parts back takes half
/// as much processor time again as the work.
const LIGHT_SEALED_BYTES: usize = 8 * 1024;

/// About what a trace field takes, or the names of the fields of a document.
const TRACE_BYTES: usize = 4096;

/// Bytes that come behind a sealed plaintext: its tag and its MAC.
const BEHIND: usize = 64;

/// A message and whom it is for.
#[derive(Debug, Clone)]
pub struct Deposit {
    /// The message as received, dot-unstuffed.
    pub raw: Bytes,
    /// What the session knew; the forward-path is set for each recipient.
    pub facts: SessionFacts,
    /// Who gets it; an inbox that stands here twice gets it once.
    pub recipients: Vec<Recipient>,
}

/// One recipient of a message.
#[derive(Debug, Clone)]
pub struct Recipient {
    /// The inbox.
    pub inbox: Arc<Inbox>,
    /// The forward-path as the client spelled it.
    pub forward_path: String,
    /// The authentication results that this inbox sees.
    pub auth: AuthResults,
}

impl Deposit {
    /// The encrypted inboxes, each once.
    fn sealed_copies(&self) -> usize {
        let encrypted = self.recipients.iter().filter(|to| to.inbox.mode.is_encrypted());
        encrypted.map(|to| to.inbox.key).collect::<HashSet<_>>().len()
    }

    /// Whether it is prepared in microseconds, between two reads of a socket.
    fn is_light(&self) -> bool {
        match self.sealed_copies() {
            0 => has_short_header(&self.raw),
            1 => self.raw.len() <= LIGHT_SEALED_BYTES,
            _ => false,
        }
    }

    /// Memory that sealing takes beside the message: two sealed parts of up to one and a half times its size for each
    /// copy, and, until the last of them is written, what was decoded of it.
    fn sealing_bytes(&self, all: usize) -> usize {
        match self.sealed_copies() {
            0 => 0,
            // One that alone needs more than there is gets all of it: it must be possible to send it.
            1 => self.raw.len().saturating_mul(4).min(all),
            copies => self.raw.len().saturating_mul(3 * copies + 1),
        }
    }
}

/// Whether the header block ends within [`LIGHT_HEADER_BYTES`].
fn has_short_header(raw: &[u8]) -> bool {
    let start = &raw[..raw.len().min(LIGHT_HEADER_BYTES)];
    start.len() == raw.len() || start.windows(4).any(|bytes| bytes == b"\r\n\r\n")
}

/// Emails that are ready to be stored, with the memory that they hold.
#[derive(Debug)]
pub struct Prepared {
    emails: Vec<NewEmail>,
    _memory: Reservation,
    _turn: Option<Turn>,
}

/// Why a message was not stored. Nothing of it is, unless the store cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DepositError {
    /// An inbox expired or was removed after its RCPT.
    #[error("a recipient is gone")]
    Gone,
    /// The disk is full, or the memory for sealed copies is taken: another time there may be room.
    #[error("there is no room")]
    NoRoom,
    /// All the memory for sealed copies would not do for so large a message to so many encrypted inboxes.
    #[error("the message is too large for so many encrypted inboxes")]
    TooLarge,
    /// Its copies alone are larger than all that may be stored.
    #[error("the message is larger than all that may be stored")]
    BeyondStorage,
    /// The store cannot tell.
    #[error("the storage is unavailable")]
    Unavailable,
}

/// Emails that are stored but not yet told to anyone.
///
/// It tells the live streams when it is dropped: after the 250 is on the wire, or when that could not be written.
#[derive(Debug)]
pub struct Announcement {
    arrivals: Vec<Arrival>,
    bus: Bus,
}

impl Announcement {
    /// The ids of the stored emails, in the order of the recipients.
    pub fn ids(&self) -> impl Iterator<Item = EmailId> {
        self.arrivals.iter().map(|arrival| arrival.email)
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        self.bus.publish(&self.arrivals);
    }
}

impl Inboxes {
    /// Parses the message and, for encrypted inboxes, seals it: the part of a deposit that costs time but does no IO.
    ///
    /// # Errors
    /// [`DepositError::NoRoom`] when there is no memory for the sealed copies now, [`DepositError::TooLarge`] when there
    /// never is, [`DepositError::Unavailable`] when the work panics.
    pub async fn prepare(&self, deposit: Deposit) -> Result<Prepared, DepositError> {
        if deposit.is_light() {
            return self.prepare_now(&deposit);
        }
        let (inboxes, size, lanes) = (self.clone(), deposit.raw.len(), &self.shared.lanes);
        let turn = if deposit.sealed_copies() > 0 {
            lanes.turn(size).await
        } else {
            None
        };
        let prepared = lanes.run(size, move || inboxes.prepare_now(&deposit)).await;
        let prepared = prepared.unwrap_or_else(|error| {
            tracing::error!(%error, size, "a message could not be prepared");
            Err(DepositError::Unavailable)
        })?;
        Ok(Prepared {
            _turn: turn,
            ..prepared
        })
    }

    fn prepare_now(&self, deposit: &Deposit) -> Result<Prepared, DepositError> {
        let sealing = &self.shared.sealing;
        let (mut memory, needed) = (sealing.empty_reservation(), deposit.sealing_bytes(sealing.all()));
        if needed > sealing.all() {
            return Err(DepositError::TooLarge);
        }
        if !memory.grow(needed) {
            return Err(DepositError::NoRoom);
        }
        let message = Message {
            raw: &deposit.raw,
            summary: self.shared.parser.summary(&deposit.raw),
        };
        let mut seen = HashSet::new();
        let emails = deposit
            .recipients
            .iter()
            .filter(|to| seen.insert(to.inbox.key))
            .map(|to| self.new_email(to, &deposit.facts, &message))
            .collect();
        Ok(Prepared {
            emails,
            _memory: memory,
            _turn: None,
        })
    }

    /// Stores prepared emails in one step; they are durable when this returns.
    ///
    /// # Errors
    /// [`DepositError::Gone`], [`DepositError::BeyondStorage`], [`DepositError::NoRoom`]: no email is stored.
    /// [`DepositError::Unavailable`]: perhaps.
    pub async fn deposit(&self, prepared: Prepared) -> Result<Announcement, DepositError> {
        let accepted = self
            .store()
            .accept(prepared.emails, &self.policy().retention, self.now())
            .await;
        let arrivals = accepted.map_err(|error| match error {
            AcceptError::Gone => DepositError::Gone,
            AcceptError::TooLarge => DepositError::BeyondStorage,
            AcceptError::NoRoom => DepositError::NoRoom,
            AcceptError::EventWanted => DepositError::Unavailable,
            AcceptError::Unavailable(_) => {
                self.shared.is_unsure.store(true, Ordering::Release);
                DepositError::Unavailable
            }
        })?;
        self.evict_if_over().await;
        let bus = self.shared.bus.clone();
        if let Some(first) = arrivals.first()
            && self.shared.is_unsure.swap(false, Ordering::AcqRel)
        {
            // What was stored before without an answer is in the store now, and nobody will announce it.
            bus.skip_to(first.sequence - 1);
        }
        Ok(Announcement { arrivals, bus })
    }

    fn new_email(&self, to: &Recipient, facts: &SessionFacts, message: &Message<'_>) -> NewEmail {
        let id = EmailId::new(facts.received_at);
        let received_at = facts.received_at;
        let session = SessionFacts {
            forward_path: to.forward_path.clone(),
            ..facts.clone()
        };
        let facts = Facts {
            session,
            auth: to.auth.clone(),
        };
        let parts = match &to.inbox.mode {
            InboxMode::Plain => self.plain_parts(id, &facts, message),
            InboxMode::Encrypted { key } => self.sealed_parts(key, id, facts, message),
        };
        NewEmail {
            inbox: to.inbox.key,
            id,
            received_at,
            parts,
            event: None,
        }
    }

    fn plain_parts(&self, id: EmailId, facts: &Facts, message: &Message<'_>) -> Vec<(Part, Bytes)> {
        let metadata = content::metadata(self.policy().profile, id, &message.summary, &facts.session);
        vec![
            (Part::Metadata, content::json(&metadata)),
            (Part::Facts, facts.to_bytes()),
            (Part::Raw, message.raw.clone()),
        ]
    }

    /// Nothing is signed here: that is most of the cost of a sealed mail, and needs no plaintext (docs/adr/0002).
    ///
    /// Each plaintext is written straight into the buffer that it is encrypted in, which is as large as it will be: a
    /// buffer that grows is in memory twice. The parsed content comes first, so that what was decoded for it is gone
    /// before the source is written.
    fn sealed_parts(
        &self,
        key: &EncapsulationKey,
        id: EmailId,
        facts: Facts,
        message: &Message<'_>,
    ) -> Vec<(Part, Bytes)> {
        let (profile, keys) = (self.policy().profile, &self.shared.keys);
        let metadata = content::metadata(profile, id, &message.summary, &facts.session);
        let metadata = seal(profile, PayloadPart::Metadata, key, &content::json(&metadata));
        let unsigned = |part, sealed| parts::unsigned_to_bytes(keys.mac.as_slice(), id, part, sealed);
        let parsed = seal_with(profile, PayloadPart::Parsed, key, |buffer| {
            let parsed = content::parsed_content(self.shared.parser.parse(message.raw), facts.auth);
            buffer.reserve_exact(message.raw.len() / 8 * 9 + TRACE_BYTES + BEHIND);
            serde_json::to_writer(buffer, &parsed).expect("content has string keys only");
        });
        let raw = seal_with(profile, PayloadPart::Raw, key, |buffer| {
            let source = message.raw.len() + TRACE_BYTES;
            buffer.reserve_exact(source.div_ceil(3) * 4 + BEHIND);
            let mut base64 = EncoderWriter::new(buffer, &STANDARD);
            content::write_source(&mut base64, message.raw, &facts.session, &self.policy().hostname, id)
                .and_then(|()| base64.finish().map(drop))
                .expect("memory can be written");
        });
        vec![
            (Part::Metadata, unsigned(PayloadPart::Metadata, metadata)),
            (Part::Parsed, unsigned(PayloadPart::Parsed, parsed)),
            (Part::Raw, unsigned(PayloadPart::Raw, raw)),
        ]
    }
}

/// A message with what every recipient needs of it.
struct Message<'a> {
    raw: &'a Bytes,
    summary: Summary,
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
