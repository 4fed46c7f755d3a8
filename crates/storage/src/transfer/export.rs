//! Writing what a store holds as a stream.

use std::io::{self, Write};

use restante_model::{EmailId, Inbox, InboxAddress, InboxMode, Timestamp};

use super::format::{Begin, EmailEntry, Entry, InboxEntry, Totals, Writer};
use crate::chaos_json;
use crate::{Part, ReadError, Stamp, Store, StoredEmail};

/// Inboxes, or arrivals of an inbox, that are asked for at once.
const PAGE: usize = 256;
/// Webhooks, events or deliveries that are asked for at once, with their content.
const QUEUE_PAGE: usize = 64;

/// Every part that an email may have.
const PARTS: [Part; 7] = [
    Part::Metadata,
    Part::Facts,
    Part::Raw,
    Part::Parsed,
    Part::ParsedSignature,
    Part::RawSignature,
    Part::MetadataSignature,
];

/// How a store is exported.
#[derive(Debug, Clone)]
pub struct Exporting {
    /// What its mail depends on.
    pub stamp: Stamp,
    /// The time: inboxes that have expired are left out.
    pub now: Timestamp,
    /// What becomes of emails that cannot be read.
    pub damaged: Damaged,
}

/// What becomes of emails that cannot be read, and of webhooks, events and deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    /// The first one ends the export.
    Stops,
    /// They are left out, and counted.
    LeftOut,
}

/// What an export left out, as it is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Emails.
    pub emails: u64,
    /// Webhooks, events and deliveries.
    pub queued: u64,
}

/// Why an export ended early; the stream has no end entry then.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The stream cannot be written.
    #[error("{0}")]
    Write(#[from] io::Error),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An email does not match its checksums.
    #[error("the email {email} of {inbox} is damaged")]
    Damaged {
        /// The inbox.
        inbox: InboxAddress,
        /// The email.
        email: EmailId,
    },
    /// A webhook, an event or a report does not match its checksum.
    #[error("a webhook, or what it is to be told, is damaged")]
    QueueDamaged,
}

/// Writes all live inboxes with their mail, and all webhooks with their queue; nobody may write to the store meanwhile.
///
/// `watch` hears what was written so far. Gives back what was written, and what was left out.
///
/// # Errors
/// [`ExportError`]; the stream is not whole then.
pub async fn export(
    store: &dyn Store,
    out: impl Write,
    exporting: &Exporting,
    mut watch: impl FnMut(&Totals),
) -> Result<(Totals, LeftOut), ExportError> {
    let mut out = Writer::new(out)?;
    out.put(&Entry::Begin(Begin::new(&exporting.stamp, exporting.now.unix_ms())))?;
    let mut export = Export {
        store,
        out,
        exporting,
        totals: Totals::default(),
        left_out: LeftOut::default(),
    };
    let mut after = None;
    loop {
        let page = store.inboxes(after, PAGE, exporting.now).await?;
        for inbox in &page.inboxes {
            export.inbox(inbox, &mut watch).await?;
        }
        after = page.inboxes.last().map(|inbox| inbox.hash);
        if !page.more {
            break;
        }
    }
    export.queue(&mut watch).await?;
    let Export {
        mut out,
        totals,
        left_out,
        ..
    } = export;
    out.put(&Entry::End(totals))?;
    out.finish()?;
    Ok((totals, left_out))
}

struct Export<'a, W> {
    store: &'a dyn Store,
    out: Writer<W>,
    exporting: &'a Exporting,
    totals: Totals,
    left_out: LeftOut,
}

impl<W: Write> Export<'_, W> {
    async fn inbox(&mut self, inbox: &Inbox, watch: &mut impl FnMut(&Totals)) -> Result<(), ExportError> {
        self.out.put(&Entry::Inbox(inbox_entry(inbox)))?;
        self.totals.inboxes += 1;
        watch(&self.totals);
        let mut after = 0;
        loop {
            let now = self.exporting.now;
            let arrivals = self.store.arrivals(inbox.key, after, PAGE, now).await?;
            for arrival in &arrivals {
                self.email(inbox, arrival.email).await?;
                watch(&self.totals);
            }
            match arrivals.last() {
                Some(last) => after = last.sequence,
                None => return Ok(()),
            }
        }
    }

    /// All webhooks that are not removed, what they are still to be told, and the log of what they were told.
    async fn queue(&mut self, watch: &mut impl FnMut(&Totals)) -> Result<(), ExportError> {
        let mut place = None;
        loop {
            let page = self.store.queue_items(place, QUEUE_PAGE).await?;
            if page.damaged > 0 && self.exporting.damaged == Damaged::Stops {
                return Err(ExportError::QueueDamaged);
            }
            self.left_out.queued += page.damaged;
            for item in page.items {
                self.totals.count(&item);
                self.out.put(&Entry::Queue(item))?;
            }
            watch(&self.totals);
            match page.next {
                Some(next) => place = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn email(&mut self, inbox: &Inbox, id: EmailId) -> Result<(), ExportError> {
        let read = self.store.email(inbox.key, id, &PARTS, self.exporting.now).await;
        let email = match read {
            Ok(Some(email)) => email,
            Ok(None) => return Ok(()),
            Err(ReadError::Damaged) if self.exporting.damaged == Damaged::LeftOut => {
                self.left_out.emails += 1;
                return Ok(());
            }
            Err(ReadError::Damaged) => {
                let inbox = inbox.address.clone();
                return Err(ExportError::Damaged { inbox, email: id });
            }
            Err(error) => return Err(error.into()),
        };
        let entry = email_entry(email);
        self.totals.emails += 1;
        self.totals.bytes += entry.bytes();
        Ok(self.out.put(&Entry::Email(entry))?)
    }
}

fn inbox_entry(inbox: &Inbox) -> InboxEntry {
    let client_key = match &inbox.mode {
        InboxMode::Plain => None,
        InboxMode::Encrypted { key } => Some(key.as_bytes().to_vec().into()),
    };
    InboxEntry {
        key: *inbox.key.as_bytes(),
        address: inbox.address.as_str().to_owned(),
        hash: *inbox.hash.as_bytes(),
        client_key,
        email_auth: inbox.email_auth,
        created_at: inbox.created_at.unix_ms(),
        expires_at: inbox.expires_at.unix_ms(),
        spam_analysis: inbox.spam_analysis,
        persistent: inbox.persistent,
        // What a store gives could be stored.
        chaos: inbox.chaos.as_deref().and_then(chaos_json::encode),
    }
}

fn email_entry(email: StoredEmail) -> EmailEntry {
    EmailEntry {
        id: *email.id.as_bytes(),
        received_at: email.received_at.unix_ms(),
        is_read: email.is_read,
        parts: email.parts,
    }
}
