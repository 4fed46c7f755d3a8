//! Preparing a deposit: parsing the message, sealing it for encrypted inboxes, and telling of it to webhooks that want to
//! hear. It costs time and memory, but does no IO.

mod task;

use std::cell::OnceCell;
use std::collections::HashSet;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use bytes::Bytes;
use restante_envelope::{EncapsulationKey, PayloadPart, seal, seal_with};
use restante_message::{ParsedMessage, Summary};
use restante_model::{EmailId, InboxMode, SessionFacts};
use restante_storage::{NewEmail, Part};

pub(crate) use self::task::{Listeners, Task};
use crate::arrival_event::{EventRules, Story};
use crate::lanes::Turn;
use crate::parser::Guarded;
use crate::parts::Facts;
use crate::{Deposit, DepositError, Inboxes, Recipient, Reservation, content, parts};

/// About what a trace field takes, or the names of the fields of a document.
const TRACE_BYTES: usize = 4096;

/// Bytes that come behind a sealed plaintext: its tag and its MAC.
const BEHIND: usize = 64;

/// Emails that are ready to be stored, with the memory that they hold.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) emails: Vec<NewEmail>,
    pub(crate) task: Task,
    pub(crate) memory: Memory,
}

/// What is held until emails are stored.
#[derive(Debug)]
pub(crate) struct Memory {
    _bytes: Reservation,
    _turn: Option<Turn>,
}

impl Inboxes {
    /// Does the work of a task: at once, or in its lane.
    pub(crate) async fn work_on(&self, task: Task) -> Result<Prepared, DepositError> {
        if task.is_light() {
            return self.work_now(task);
        }
        let (inboxes, size, lanes) = (self.clone(), task.deposit.raw.len(), &self.shared.lanes);
        let is_sealed = task.sealed_copies() > 0;
        let turn = if is_sealed || task.tells() {
            lanes.turn(size).await
        } else {
            None
        };
        let prepared = lanes.run(size, move || inboxes.work_now(task)).await;
        let prepared = prepared.unwrap_or_else(|error| {
            tracing::error!(%error, size, "a message could not be prepared");
            Err(DepositError::Unavailable)
        })?;
        let memory = Memory {
            // What is left of reading is small: the next large message may be read while this one is stored.
            _turn: turn.filter(|_| is_sealed),
            ..prepared.memory
        };
        Ok(Prepared { memory, ..prepared })
    }

    fn work_now(&self, task: Task) -> Result<Prepared, DepositError> {
        let (sealing, rules) = (&self.shared.sealing, self.shared.events.as_ref());
        let (mut bytes, needed) = (sealing.empty_reservation(), task.needed_bytes(sealing.all(), rules));
        if needed > sealing.all() {
            return Err(DepositError::TooLarge);
        }
        if !bytes.grow(needed) {
            return Err(DepositError::NoRoom);
        }
        let emails = self.emails(&task, &mut bytes)?;
        if task.sealed_copies() == 0 {
            bytes.shrink_to(
                emails
                    .iter()
                    .filter_map(|email| email.event.as_ref())
                    .map(Bytes::len)
                    .sum(),
            );
        }
        let memory = Memory {
            _bytes: bytes,
            _turn: None,
        };
        Ok(Prepared { emails, task, memory })
    }

    /// Makes the emails; events that come out larger than what was reserved for them take more.
    fn emails(&self, task: &Task, bytes: &mut Reservation) -> Result<Vec<NewEmail>, DepositError> {
        let Deposit { raw, facts, recipients } = &task.deposit;
        let message = Message {
            raw,
            summary: self.shared.parser.summary(raw),
            rules: self.shared.events.as_ref().filter(|_| task.tells()),
            story: OnceCell::new(),
        };
        let reserved = message.rules.map_or(0, |rules| rules.event_bytes(raw));
        let (mut seen, mut emails) = (HashSet::new(), Vec::with_capacity(recipients.len()));
        let each = recipients.iter().zip(&task.ids);
        for (to, id) in each.filter(|(to, _)| seen.insert(to.inbox.key)) {
            let email = self.new_email(*id, to, facts, &message, task);
            let more = email.event.as_ref().map_or(0, Bytes::len).saturating_sub(reserved);
            // A single one has all that there is, if it needs it.
            if !bytes.grow(more) && !task.is_single() {
                let fits = bytes.bytes() + more <= self.shared.sealing.all();
                return Err(if fits {
                    DepositError::NoRoom
                } else {
                    DepositError::TooLarge
                });
            }
            emails.push(email);
        }
        Ok(emails)
    }

    fn new_email(
        &self,
        id: EmailId,
        to: &Recipient,
        facts: &SessionFacts,
        message: &Message<'_>,
        task: &Task,
    ) -> NewEmail {
        let received_at = facts.received_at;
        let session = SessionFacts {
            forward_path: to.forward_path.clone(),
            ..facts.clone()
        };
        let of_inbox = Facts {
            session,
            auth: to.auth.clone(),
            spam: to.spam.clone(),
        };
        let parts = match &to.inbox.mode {
            _ if !task.makes_emails() => Vec::new(),
            InboxMode::Plain => self.plain_parts(id, &of_inbox, message),
            InboxMode::Encrypted { key } => self.sealed_parts(key, id, of_inbox, message),
        };
        let event = task.has_listener(to.inbox.key).then(|| match message.rules {
            Some(rules) => {
                let story = message.story(&self.shared.parser, rules);
                rules.seal(&story.told(id, to, facts, self.now()))
            }
            // Nothing is sent, whoever listens: an event that tells nothing will do.
            None => Bytes::new(),
        });
        NewEmail {
            inbox: to.inbox.key,
            id,
            received_at,
            parts,
            event,
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
            let parsed = content::parsed_content(profile, message.parse(&self.shared.parser), facts.auth, facts.spam);
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
    /// Set if any recipient's webhooks want to hear of it.
    rules: Option<&'a EventRules>,
    /// Made when it is first needed: reading the whole message is most of the work.
    story: OnceCell<Story>,
}

impl Message<'_> {
    /// Reads the whole message; its story is taken on the way.
    fn parse(&self, parser: &Guarded) -> ParsedMessage {
        let message = parser.parse(self.raw);
        if let Some(rules) = self.rules {
            self.story.get_or_init(|| Story::of(&message, rules));
        }
        message
    }

    fn story(&self, parser: &Guarded, rules: &EventRules) -> &Story {
        self.story.get_or_init(|| Story::of(&parser.parse(self.raw), rules))
    }
}
