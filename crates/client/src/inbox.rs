//! One inbox: its emails.

use std::fmt;
use std::sync::Arc;

use restante_envelope::{DecapsulationKey, VerifyingKey};
use restante_model::content::{Metadata, ParsedContent};
use restante_model::{EmailId, InboxHash, Timestamp};
use restante_wire::{InboxResource, SyncResource};
use serde::de::DeserializeOwned;

use crate::http::Call;
use crate::reader::{Document, Reader};
use crate::record::{EmailRecord, Part, RawRecord};
use crate::routes::path;
use crate::{ApiError, Client, Email, EmailSummary, Error};

/// An inbox that a client knows; clones are the same inbox.
///
/// The server is asked by address, where another inbox may be after this one was deleted or has expired.
/// Its emails are refused with [`Error::InboxNotFound`], by the inbox that they name.
/// A plain inbox has the hash of its address: one made anew there is taken for this one.
#[derive(Clone)]
pub struct Inbox {
    client: Client,
    known: Arc<KnownInbox>,
}

/// What a client knows of an inbox.
#[derive(Debug)]
pub(crate) struct KnownInbox {
    pub(crate) facts: InboxFacts,
    pub(crate) keys: InboxKeys,
}

/// What is no secret.
#[derive(Debug, Clone)]
pub(crate) struct InboxFacts {
    /// As the server spells it.
    pub(crate) address: String,
    /// Its name in streams and records.
    pub(crate) hash: InboxHash,
    /// From then on it is gone; `None` if it does not end by itself.
    pub(crate) expires_at: Option<Timestamp>,
    /// What else was agreed on at its creation; an export does not say.
    pub(crate) terms: Option<InboxTerms>,
}

/// What was agreed on when an inbox was created, beside its name and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InboxTerms {
    /// Whether its mail is checked.
    pub(crate) email_auth: bool,
    /// Whether a spam filter is asked about its mail.
    pub(crate) spam_analysis: bool,
    /// Whether it is persistent.
    pub(crate) persistent: bool,
}

/// What opens the mail of an inbox. `Debug` shows no key.
#[derive(Debug)]
pub(crate) enum InboxKeys {
    /// Nothing: the mail is plain.
    Plain,
    /// The inbox's own key, and the server key that was pinned at creation.
    Encrypted {
        key: DecapsulationKey,
        pinned: VerifyingKey,
    },
}

impl InboxFacts {
    pub(crate) fn of(resource: &InboxResource) -> Self {
        Self {
            address: resource.email_address.to_string(),
            hash: resource.inbox_hash,
            expires_at: resource.expires_at,
            terms: Some(InboxTerms {
                email_auth: resource.email_auth,
                spam_analysis: resource.spam_analysis,
                persistent: resource.persistent,
            }),
        }
    }

    /// Whether it is gone at `now`.
    pub(crate) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

impl Inbox {
    pub(crate) fn new(client: Client, known: Arc<KnownInbox>) -> Self {
        Self { client, known }
    }

    /// Where it takes mail.
    pub fn address(&self) -> &str {
        &self.known.facts.address
    }

    /// Its name in streams and records.
    pub fn hash(&self) -> InboxHash {
        self.known.facts.hash
    }

    /// From then on it is gone; `None` for one that does not end by itself.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.known.facts.expires_at
    }

    /// Whether its mail is sealed.
    pub fn is_encrypted(&self) -> bool {
        matches!(self.known.keys, InboxKeys::Encrypted { .. })
    }

    /// Whether its mail is checked for SPF, DKIM, DMARC and reverse DNS; `None` for an imported one, whose export
    /// does not say.
    pub fn email_auth(&self) -> Option<bool> {
        self.known.facts.terms.map(|terms| terms.email_auth)
    }

    /// Whether a spam filter is asked about its mail; `None` for an imported one, whose export does not say.
    pub fn spam_analysis(&self) -> Option<bool> {
        self.known.facts.terms.map(|terms| terms.spam_analysis)
    }

    /// Whether it is persistent; `None` for an imported one, whose export does not say.
    ///
    /// A restante server keeps every inbox through restarts: [`NewInbox::persistent`](crate::NewInbox::persistent).
    pub fn is_persistent(&self) -> Option<bool> {
        self.known.facts.terms.map(|terms| terms.persistent)
    }

    /// One email with its content.
    ///
    /// # Errors
    /// [`Error::EmailNotFound`], [`Error::InboxNotFound`]; [`Error::SignatureVerification`] and [`Error::Decryption`]
    /// for what was not sealed by this server for this inbox.
    pub async fn email(&self, id: EmailId) -> Result<Email, Error> {
        self.open(&self.record(id).await?, self.reader().await?)
    }

    /// The message as the server received it (RFC 5322), after its trace header.
    pub async fn raw(&self, id: EmailId) -> Result<Vec<u8>, Error> {
        let call = Call::get(format!("{}/raw", self.email_path(id))).answers_mail();
        let record: RawRecord = self.client.http().json(call).await?;
        let part = record.raw().ok_or_else(|| self.misses("raw"))?;
        match self.reader().await?.read(part) {
            Ok(Document::Decoded(bytes)) => Ok(bytes),
            // The sealed text is base64 once more (decisions, section 5).
            Ok(Document::Opened(text)) => decode_raw(text.expose()).ok_or_else(|| self.misses("raw payload of base64")),
            Err(error) => {
                // A source does not name its inbox; its record does.
                self.record(id).await?;
                Err(error)
            }
        }
    }

    /// Marks an email as read.
    pub async fn mark_read(&self, id: EmailId) -> Result<(), Error> {
        let call = Call::patch(format!("{}/read", self.email_path(id)));
        self.client.http().done(call).await
    }

    /// Deletes an email.
    pub async fn delete_email(&self, id: EmailId) -> Result<(), Error> {
        self.client.http().done(Call::delete(self.email_path(id))).await
    }

    /// How many emails there are, and a hash of their ids: equal hashes mean no change.
    pub async fn sync_status(&self) -> Result<SyncResource, Error> {
        let call = Call::get(path(["inboxes", self.address(), "sync"]));
        self.client.http().json(call).await
    }

    /// Deletes the inbox and its mail.
    pub async fn delete(&self) -> Result<(), Error> {
        self.client.delete_inbox(self.address()).await
    }

    /// The client that this inbox belongs to.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What this client knows of it, with its keys, for whoever outlives this handle.
    pub(crate) fn shared_known(&self) -> Arc<KnownInbox> {
        Arc::clone(&self.known)
    }

    /// Refuses the record of another inbox, which is at this address after this one is gone.
    pub(crate) fn check_own(&self, record: &EmailRecord) -> Result<(), Error> {
        if record.inbox_id == self.hash() {
            return Ok(());
        }
        Err(Error::InboxNotFound(ApiError {
            status: 404,
            message: format!("Inbox not found: another one is at {} now", self.address()),
            request_id: None,
            retry_after: None,
        }))
    }

    async fn record(&self, id: EmailId) -> Result<EmailRecord, Error> {
        let record: EmailRecord = self
            .client
            .http()
            .json(Call::get(self.email_path(id)).answers_mail())
            .await?;
        if record.id != id {
            return Err(self.misses("id as it was asked for"));
        }
        self.check_own(&record)?;
        Ok(record)
    }

    /// What reads the documents of this inbox.
    pub(crate) async fn reader(&self) -> Result<Reader<'_>, Error> {
        Ok(match &self.known.keys {
            InboxKeys::Plain => Reader::Plain,
            keys @ InboxKeys::Encrypted { .. } => Reader::new(keys, self.client.profile().await?),
        })
    }

    /// The summary of a record.
    pub(crate) fn summary(&self, record: &EmailRecord, reader: Reader<'_>) -> Result<EmailSummary, Error> {
        let part = record.metadata().ok_or_else(|| self.misses("metadata"))?;
        let metadata = self.metadata(part, reader)?;
        // A genuine document of another email is not this one's.
        if metadata.id != record.id {
            return Err(self.misses("metadata of its own"));
        }
        Ok(EmailSummary {
            id: record.id,
            inbox_id: record.inbox_id,
            received_at: record.received_at,
            is_read: record.is_read,
            metadata,
        })
    }

    /// The metadata in a document.
    pub(crate) fn metadata(&self, part: Part<'_>, reader: Reader<'_>) -> Result<Metadata, Error> {
        self.document(part, reader, "metadata that is JSON of the interface")
    }

    /// The email of a record that has its content.
    pub(crate) fn open(&self, record: &EmailRecord, reader: Reader<'_>) -> Result<Email, Error> {
        let parsed = record.parsed().ok_or_else(|| self.misses("parsed"))?;
        let content: ParsedContent = self.document(parsed, reader, "parsed content that is JSON of the interface")?;
        Ok(Email {
            summary: self.summary(record, reader)?,
            content,
        })
    }

    fn document<T: DeserializeOwned>(&self, part: Part<'_>, reader: Reader<'_>, expected: &str) -> Result<T, Error> {
        let document = reader.read(part)?;
        serde_json::from_slice(&document).map_err(|_| self.misses(expected))
    }

    fn email_path(&self, id: EmailId) -> String {
        path(["inboxes", self.address(), "emails", &id.to_string()])
    }

    fn misses(&self, what: &str) -> Error {
        self.client.unexpected(
            &format!("inboxes/{}/emails", self.address()),
            &format!("an email has no {what}"),
        )
    }
}

/// What tells it from others; neither its keys nor the client's other inboxes.
impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("address", &self.address())
            .field("hash", &format_args!("{}", self.hash()))
            .field("is_encrypted", &self.is_encrypted())
            .field("expires_at", &format_args!("{}", shown_end(self.expires_at())))
            .finish_non_exhaustive()
    }
}

/// The end of an inbox, or `never`.
pub(crate) fn shown_end(end: Option<Timestamp>) -> String {
    end.map_or_else(|| "never".to_owned(), |end| end.to_string())
}

fn decode_raw(text: &[u8]) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}
