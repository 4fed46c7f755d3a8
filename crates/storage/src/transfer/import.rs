//! Filling an empty store from a stream.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use restante_envelope::EncapsulationKey;
use restante_model::{EmailId, Inbox, InboxAddress, InboxHash, InboxKey, InboxMode, Timestamp};

use super::format::{Begin, EmailEntry, Entry, InboxEntry, Reader, StreamError, Totals};
use crate::chaos_json;
use crate::{
    AcceptError, CreateError, Created, NewEmail, NewInbox, Part, QueueItem, ReadError, Retention, Stamp, Store,
    Unavailable,
};

/// Emails that are stored in one call, at most.
const BATCH_EMAILS: usize = 128;
/// Bytes of them after which the call is made.
const BATCH_BYTES: u64 = 4 * 1024 * 1024;

/// Why an import ended early; what the store holds then is not the whole export.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The stream cannot be read.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The stream is whole, but an entry says what cannot be.
    #[error("the export is not one of this program: {what} before byte {offset}")]
    Invalid {
        /// What is wrong.
        what: &'static str,
        /// Where the entry ends.
        offset: u64,
    },
    /// The store holds inboxes or webhooks already.
    #[error("the store is not empty")]
    NotEmpty,
    /// The disk is below its floor of free space.
    #[error("there is no room for the mail on the disk")]
    NoRoom,
    /// The store cannot write.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A stream whose beginning has been read.
pub struct Import<R> {
    reader: Reader<R>,
    begin: Begin,
}

impl<R: Read> Import<R> {
    /// Reads the beginning of a stream.
    ///
    /// # Errors
    /// [`ImportError::Stream`], [`ImportError::Invalid`].
    pub fn begin(input: R) -> Result<Self, ImportError> {
        let mut reader = Reader::new(input)?;
        match reader.next()? {
            Entry::Begin(begin) => Ok(Self { reader, begin }),
            _ => Err(ImportError::Invalid {
                what: "no beginning",
                offset: reader.offset(),
            }),
        }
    }

    /// What the mail of the stream depends on: only a store with this stamp can read it.
    pub fn stamp(&self) -> Stamp {
        self.begin.stamp()
    }

    /// Stores everything; nobody else may use the store meanwhile. Inboxes that have expired since the export come back
    /// as expired ones.
    ///
    /// `watch` hears what was stored so far.
    ///
    /// # Errors
    /// [`ImportError`]; the store holds a part of the stream then.
    pub async fn fill(self, store: &dyn Store, mut watch: impl FnMut(&Totals)) -> Result<Totals, ImportError> {
        let exported_at = Timestamp::from_unix_ms(self.begin.exported_at);
        let has_webhooks = !store.all_webhooks(None, 1, exported_at).await?.webhooks.is_empty();
        if has_webhooks || store.usage().await?.inboxes > 0 {
            return Err(ImportError::NotEmpty);
        }
        let mut filling = Filling {
            reader: self.reader,
            store,
            // As of the export all its inboxes live: what has expired since is for the server to end.
            now: exported_at,
            inbox: None,
            batch: Vec::new(),
            queue: Vec::new(),
            queue_bytes: 0,
            is_queue_begun: false,
            batch_bytes: 0,
            totals: Totals::default(),
        };
        while filling.step().await? {
            watch(&filling.totals);
        }
        Ok(filling.totals)
    }
}

struct Filling<'a, R> {
    reader: Reader<R>,
    store: &'a dyn Store,
    now: Timestamp,
    /// Whose emails come now.
    inbox: Option<InboxKey>,
    batch: Vec<EmailEntry>,
    queue: Vec<QueueItem>,
    queue_bytes: u64,
    /// Whether all mail is stored.
    is_queue_begun: bool,
    batch_bytes: u64,
    totals: Totals,
}

impl<R: Read> Filling<'_, R> {
    /// Takes an entry; `false` after the last one.
    async fn step(&mut self) -> Result<bool, ImportError> {
        match self.reader.next()? {
            Entry::Begin(_) => Err(self.invalid("a second beginning")),
            Entry::Inbox(_) | Entry::Email(_) if self.is_queue_begun => Err(self.invalid("mail behind webhooks")),
            Entry::Queue(item) => {
                self.flush().await?;
                self.is_queue_begun = true;
                self.totals.count(&item);
                self.queue_bytes += item.bytes();
                self.queue.push(item);
                if self.queue.len() >= BATCH_EMAILS || self.queue_bytes >= BATCH_BYTES {
                    self.flush_queue().await?;
                }
                Ok(true)
            }
            Entry::Inbox(entry) => {
                self.flush().await?;
                self.create(entry).await?;
                Ok(true)
            }
            Entry::Email(entry) => {
                self.batch_bytes += entry.bytes();
                self.batch.push(entry);
                if self.batch.len() >= BATCH_EMAILS || self.batch_bytes >= BATCH_BYTES {
                    self.flush().await?;
                }
                Ok(true)
            }
            Entry::End(totals) => {
                self.flush().await?;
                self.flush_queue().await?;
                if totals != self.totals {
                    return Err(self.invalid("other totals than entries"));
                }
                if !self.reader.is_at_end()? {
                    return Err(self.invalid("more after the end"));
                }
                self.store.finish_restore().await?;
                Ok(false)
            }
        }
    }

    async fn create(&mut self, entry: InboxEntry) -> Result<(), ImportError> {
        let inbox = inbox(entry).map_err(|what| self.invalid(what))?;
        self.inbox = Some(inbox.key);
        let idempotency = None;
        match self.store.create_inbox(NewInbox { inbox, idempotency }, self.now).await {
            Ok(Created::New) => {}
            Ok(Created::Repeated(_)) | Err(CreateError::IdempotencyReused | CreateError::AddressTaken) => {
                return Err(self.invalid("two inboxes at one address"));
            }
            Err(CreateError::KeyTaken) => return Err(self.invalid("two inboxes with one key")),
            Err(CreateError::Unavailable(error)) => return Err(error.into()),
        }
        self.totals.inboxes += 1;
        Ok(())
    }

    /// Stores the emails that wait, in their order, then what was said of them later.
    async fn flush(&mut self) -> Result<(), ImportError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let inbox = self.inbox.ok_or_else(|| self.invalid("an email without an inbox"))?;
        let batch = std::mem::take(&mut self.batch);
        let emails = batch.iter().map(|entry| new_email(inbox, entry)).collect();
        match self.store.accept(emails, &Retention::UNLIMITED, self.now).await {
            Ok(_) => {}
            Err(AcceptError::NoRoom) => return Err(ImportError::NoRoom),
            Err(AcceptError::Unavailable(error)) => return Err(error.into()),
            Err(AcceptError::Gone | AcceptError::TooLarge | AcceptError::EventWanted) => {
                return Err(self.invalid("mail of an inbox that has expired"));
            }
        }
        self.mark(inbox, &batch).await?;
        self.totals.emails += batch.len() as u64;
        self.totals.bytes += std::mem::take(&mut self.batch_bytes);
        Ok(())
    }

    async fn flush_queue(&mut self) -> Result<(), Unavailable> {
        self.queue_bytes = 0;
        let items = std::mem::take(&mut self.queue);
        if items.is_empty() {
            return Ok(());
        }
        self.store.restore_queue(items).await
    }

    /// Marks and signs; the calls are made at once, so that they share syncs.
    async fn mark(&self, inbox: InboxKey, batch: &[EmailEntry]) -> Result<(), Unavailable> {
        let id = |entry: &EmailEntry| EmailId::from_bytes(entry.id);
        let read = batch.iter().filter(|entry| entry.is_read);
        let marks = read.map(|entry| self.store.mark_read(inbox, id(entry), self.now));
        let signatures = batch.iter().flat_map(|entry| {
            let added = entry.parts.iter().filter(|(part, _)| is_added(*part));
            added.map(move |(part, bytes)| (id(entry), *part, bytes.clone()))
        });
        let signatures = signatures.map(|(id, part, bytes)| self.store.attach(inbox, id, part, bytes, self.now));
        let done = [join_all(marks).await, join_all(signatures).await].concat();
        done.into_iter().try_for_each(|done| done.map(|_| ()))
    }

    fn invalid(&self, what: &'static str) -> ImportError {
        ImportError::Invalid {
            what,
            offset: self.reader.offset(),
        }
    }
}

/// Whether a part is added to an email after its arrival.
fn is_added(part: Part) -> bool {
    Part::SIGNATURES.contains(&part)
}

fn new_email(inbox: InboxKey, entry: &EmailEntry) -> NewEmail {
    let parts = entry.parts.iter().filter(|(part, _)| !is_added(*part));
    NewEmail {
        inbox,
        id: EmailId::from_bytes(entry.id),
        received_at: Timestamp::from_unix_ms(entry.received_at),
        parts: parts.cloned().collect(),
        event: None,
    }
}

fn inbox(entry: InboxEntry) -> Result<Inbox, &'static str> {
    let mode = match entry.client_key {
        None => InboxMode::Plain,
        Some(key) => {
            let key = EncapsulationKey::parse(&key).map_err(|_| "an inbox without a proper key")?;
            InboxMode::Encrypted { key }
        }
    };
    let chaos = |json: Bytes| match chaos_json::decode(&json) {
        Some(chaos) => Ok(Arc::new(chaos)),
        None => Err("an inbox whose chaos cannot be read"),
    };
    let chaos = entry.chaos.map(chaos);
    Ok(Inbox {
        key: InboxKey::from_bytes(entry.key),
        address: InboxAddress::parse_exact(&entry.address).map_err(|_| "an inbox without a proper address")?,
        hash: InboxHash::from_bytes(entry.hash),
        mode,
        email_auth: entry.email_auth,
        spam_analysis: entry.spam_analysis,
        persistent: entry.persistent,
        chaos: chaos.transpose()?,
        created_at: Timestamp::from_unix_ms(entry.created_at),
        expires_at: Timestamp::from_unix_ms(entry.expires_at),
    })
}
