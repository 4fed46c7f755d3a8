//! The stream: a magic and a version, then entries, the last of which says how many there must have been.
//!
//! All integers outside of postcard are little-endian.
//!
//! | Bytes | Start of the stream | Meaning |
//! |---|---|---|
//! | 8 | magic | `rstEXPRT` |
//! | 4 | version | [`VERSION`] |
//!
//! | Bytes | Field of an entry | Meaning |
//! |---|---|---|
//! | 4 | length | of the content |
//! | 4 | check of the length | CRC-32 of the entry's number (8 bytes, from 0) and the length |
//! | 4 | check of the content | CRC-32 of the entry's number and the content |
//! | length | content | a postcard `Entry` |
//!
//! The first entry is `Entry::Begin`, the last `Entry::End`; the emails of an inbox follow it, in the order in which
//! they were committed. Webhooks, events and deliveries come behind all mail: while it is stored nobody listens.
//! A checksum fits in its place only, so entries cannot be lost, doubled or exchanged unseen.

use std::io::{self, Read, Write};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{Part, QueueItem, Stamp};

/// The version of the stream that this build writes; it reads this one and all before.
pub const VERSION: u32 = 3;
/// The first version, which can still be read.
const FIRST_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"rstEXPRT";
/// Bytes before the content of an entry.
const FRAME: usize = 12;

/// What a stream holds so far, or in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Inboxes.
    pub inboxes: u64,
    /// Emails.
    pub emails: u64,
    /// Bytes of the parts of the emails.
    pub bytes: u64,
    /// Webhooks.
    pub webhooks: u64,
    /// Events for them.
    pub events: u64,
    /// Deliveries of these.
    pub deliveries: u64,
}

impl Totals {
    /// Counts something of webhooks.
    pub(super) fn count(&mut self, item: &QueueItem) {
        match item {
            QueueItem::Dispatched { .. } => {}
            QueueItem::Webhook(_) => self.webhooks += 1,
            QueueItem::Event(_) => self.events += 1,
            QueueItem::Delivery(_) => self.deliveries += 1,
        }
    }
}

/// Why a stream cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The system's reason.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It begins otherwise.
    #[error("this is no export of a restante store")]
    NotAnExport,
    /// It was written by a later version of this program.
    #[error("the export has version {found}, and this program reads versions {FIRST_VERSION} to {VERSION}")]
    Version {
        /// The version that it has.
        found: u32,
    },
    /// It ends before its end entry.
    #[error("the export is cut short at byte {offset}: it was not written or copied to its end")]
    CutShort {
        /// Where.
        offset: u64,
    },
    /// An entry does not match its checksum, or is none.
    #[error("the export is damaged at byte {offset}")]
    Damaged {
        /// Where the entry begins.
        offset: u64,
    },
}

/// How the content of an [`Entry::Inbox`] begins.
const INBOX: u8 = 1;
/// How that of an [`Entry::End`] begins.
const END: u8 = 3;

/// The order of variants and of fields is the format: append only, raise [`VERSION`], and say in [`completed`] what earlier ones lack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    Begin(Begin),
    Inbox(InboxEntry),
    Email(EmailEntry),
    End(Totals),
    Queue(QueueItem),
}

/// When the stream was made, and what its mail depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begin {
    /// Milliseconds since the epoch, as all times of the stream.
    pub(super) exported_at: u64,
    pub(super) profile: String,
    pub(super) signing_key: String,
    pub(super) event_key: String,
    pub(super) seal_mac_key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InboxEntry {
    pub(super) key: [u8; 16],
    pub(super) address: String,
    pub(super) hash: [u8; 32],
    /// The client's key, if it is encrypted.
    pub(super) client_key: Option<Bytes>,
    pub(super) email_auth: bool,
    pub(super) created_at: u64,
    pub(super) expires_at: u64,
    pub(super) spam_analysis: bool,
    pub(super) persistent: bool,
    /// What is done to its mail: JSON.
    pub(super) chaos: Option<Bytes>,
}

/// An email of the inbox before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EmailEntry {
    pub(super) id: [u8; 16],
    pub(super) received_at: u64,
    pub(super) is_read: bool,
    /// All parts, added signatures among them.
    pub(super) parts: Vec<(Part, Bytes)>,
}

impl EmailEntry {
    /// Bytes of its parts.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }
}

impl Begin {
    pub(super) fn new(stamp: &Stamp, exported_at: u64) -> Self {
        let Stamp {
            profile,
            signing_key,
            event_key,
            seal_mac_key,
        } = stamp.clone();
        Self {
            exported_at,
            profile,
            signing_key,
            event_key,
            seal_mac_key,
        }
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp {
            profile: self.profile.clone(),
            signing_key: self.signing_key.clone(),
            event_key: self.event_key.clone(),
            seal_mac_key: self.seal_mac_key.clone(),
        }
    }
}

/// Writes a stream.
pub(super) struct Writer<W> {
    out: W,
    entries: u64,
}

impl<W: Write> Writer<W> {
    /// Writes what comes before the entries.
    pub(super) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        out.write_all(&VERSION.to_le_bytes())?;
        Ok(Self { out, entries: 0 })
    }

    pub(super) fn put(&mut self, entry: &Entry) -> io::Result<()> {
        self.put_content(&postcard::to_stdvec(entry).expect("entries are plain data, which postcard always encodes"))
    }

    /// An entry that is encoded.
    pub(super) fn put_content(&mut self, content: &[u8]) -> io::Result<()> {
        let length = u32::try_from(content.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.out.write_all(&frame(self.entries, length, content))?;
        self.out.write_all(content)?;
        self.entries += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn frame(number: u64, length: u32, content: &[u8]) -> [u8; FRAME] {
    let mut bytes = [0; FRAME];
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes[4..8].copy_from_slice(&checksum(number, &length.to_le_bytes()).to_le_bytes());
    bytes[8..].copy_from_slice(&checksum(number, content).to_le_bytes());
    bytes
}

fn checksum(number: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// The content of an entry of an earlier version with the three last fields of its kind that it lacks: 0, `false` and
/// nothing are one zero byte each.
fn completed(version: u32, mut content: Vec<u8>) -> Vec<u8> {
    let is_lacking = match content.first() {
        // Spam analysis, persistence and chaos.
        Some(&INBOX) => version < 3,
        // Totals of webhooks, events and deliveries.
        Some(&END) => version < 2,
        _ => false,
    };
    if is_lacking {
        content.extend_from_slice(&[0; 3]);
    }
    content
}

/// Reads a stream.
pub(super) struct Reader<R> {
    input: R,
    version: u32,
    entries: u64,
    offset: u64,
}

impl<R: Read> Reader<R> {
    /// Reads what comes before the entries.
    pub(super) fn new(mut input: R) -> Result<Self, StreamError> {
        let mut start = Vec::with_capacity(MAGIC.len() + 4);
        input.by_ref().take(MAGIC.len() as u64 + 4).read_to_end(&mut start)?;
        let Some((magic, version)) = start.split_first_chunk() else {
            return Err(StreamError::NotAnExport);
        };
        let Ok(version) = version.try_into().map(u32::from_le_bytes) else {
            return Err(StreamError::NotAnExport);
        };
        match (*magic == MAGIC, version) {
            (false, _) => Err(StreamError::NotAnExport),
            (true, FIRST_VERSION..=VERSION) => Ok(Self {
                input,
                version,
                entries: 0,
                offset: start.len() as u64,
            }),
            (true, found) => Err(StreamError::Version { found }),
        }
    }

    /// The next entry.
    pub(super) fn next(&mut self) -> Result<Entry, StreamError> {
        let damaged = StreamError::Damaged { offset: self.offset };
        let (number, start) = (self.entries, self.offset);
        let frame_bytes = self.take(FRAME as u64)?;
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| frame_bytes[at + i]));
        let length = word(0);
        if word(4) != checksum(number, &length.to_le_bytes()) {
            return Err(damaged);
        }
        let content = self.take(u64::from(length))?;
        if word(8) != checksum(number, &content) {
            return Err(damaged);
        }
        self.entries += 1;
        let content = completed(self.version, content);
        postcard::from_bytes(&content).map_err(|_| StreamError::Damaged { offset: start })
    }

    /// Whether nothing follows.
    pub(super) fn is_at_end(&mut self) -> Result<bool, StreamError> {
        let mut more = [0];
        Ok(self.input.read(&mut more)? == 0)
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Exactly so many bytes; the buffer grows only with what is there.
    fn take(&mut self, count: u64) -> Result<Vec<u8>, StreamError> {
        let mut bytes = Vec::new();
        self.input.by_ref().take(count).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        if bytes.len() as u64 == count {
            Ok(bytes)
        } else {
            Err(StreamError::CutShort { offset: self.offset })
        }
    }
}
