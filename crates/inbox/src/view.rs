//! From the stored parts of an email to what a reader gets: readable or sealed, by the mode of its inbox.

use bytes::Bytes;
use futures_util::future;
use restante_envelope::{PayloadPart, Sealed, SealedPayload, Signature};
use restante_model::{EmailId, Inbox, InboxHash, InboxMode, Timestamp};
use restante_storage::{Part, StoredEmail};

use crate::parts::{Damaged, Facts};
use crate::{Inboxes, ReadError, content, parts};

/// What an email says, as it leaves the server: by the mode of its inbox, readable or sealed, never both.
#[derive(Debug, Clone)]
pub enum Content {
    /// Of a plain inbox: JSON documents.
    Plain {
        /// Sender, recipient, subject.
        metadata: Bytes,
        /// The parsed content, when it was asked for.
        parsed: Option<Bytes>,
    },
    /// Of an encrypted inbox: the same documents, sealed.
    Sealed {
        /// Sender, recipient, subject.
        metadata: SealedPayload,
        /// The parsed content, when it was asked for.
        parsed: Option<SealedPayload>,
    },
}

/// The source of an email, as it leaves the server.
#[derive(Debug, Clone)]
pub enum Source {
    /// Of a plain inbox: the message with this server's trace header.
    Plain(Bytes),
    /// Of an encrypted inbox: the base64 text of the same, sealed.
    Sealed(SealedPayload),
}

/// An email as a reader gets it.
#[derive(Debug, Clone)]
pub struct EmailView {
    /// Its id.
    pub id: EmailId,
    /// The hash of its inbox.
    pub inbox: InboxHash,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Whether it was marked as read.
    pub is_read: bool,
    /// What it says.
    pub content: Content,
}

impl Inboxes {
    pub(crate) async fn view(
        &self,
        inbox: &Inbox,
        email: StoredEmail,
        include_content: bool,
    ) -> Result<EmailView, ReadError> {
        let content = self.content(inbox, &email, include_content).await?;
        let StoredEmail {
            id,
            received_at,
            is_read,
            ..
        } = email;
        Ok(EmailView {
            id,
            inbox: inbox.hash,
            received_at,
            is_read,
            content,
        })
    }

    pub(crate) async fn content(&self, inbox: &Inbox, email: &StoredEmail, whole: bool) -> Result<Content, ReadError> {
        match inbox.mode {
            InboxMode::Plain => {
                let parsed = if whole { Some(self.parsed(email).await?) } else { None };
                Ok(Content::Plain {
                    metadata: required(email, Part::Metadata)?.clone(),
                    parsed,
                })
            }
            InboxMode::Encrypted { .. } => {
                // Side by side: signatures that are new are stored in one group.
                let metadata = self.signed(inbox, email, LatePart::Metadata);
                let parsed = async {
                    if whole {
                        self.signed(inbox, email, LatePart::Parsed).await.map(Some)
                    } else {
                        Ok(None)
                    }
                };
                let (metadata, parsed) = future::try_join(metadata, parsed).await?;
                Ok(Content::Sealed { metadata, parsed })
            }
        }
    }

    /// The parsed content of a plain email, made from its source and kept for the next read.
    async fn parsed(&self, email: &StoredEmail) -> Result<Bytes, ReadError> {
        if let Some(parsed) = self.shared.parsed.get(&email.id) {
            return Ok(parsed);
        }
        let facts = Facts::from_bytes(required(email, Part::Facts)?).map_err(damaged(email.id))?;
        let raw = required(email, Part::Raw)?.clone();
        let (inboxes, raw_bytes) = (self.clone(), raw.len());
        let make = move || {
            content::json(&content::parsed_content(
                inboxes.policy().profile,
                inboxes.shared.parser.parse(&raw),
                facts.auth,
                facts.spam,
            ))
        };
        let parsed = self.off_thread(raw_bytes, make).await?;
        self.shared.parsed.insert(email.id, parsed.clone());
        Ok(parsed)
    }

    /// A sealed part with its signature, which is made, and kept, at the first read.
    pub(crate) async fn signed(
        &self,
        inbox: &Inbox,
        email: &StoredEmail,
        part: LatePart,
    ) -> Result<SealedPayload, ReadError> {
        let mac_key = self.shared.keys.mac.as_slice();
        let sealed = parts::unsigned_from_bytes(mac_key, email.id, part.payload(), required(email, part.stored())?)
            .map_err(damaged(email.id))?;
        if let Some(signature) = email.part(part.signature()) {
            let signature = parts::signature_from_bytes(signature).map_err(damaged(email.id))?;
            return Ok(self.payload(sealed, part.payload(), signature));
        }
        let (inboxes, sealed_bytes) = (self.clone(), sealed.as_bytes().len());
        let sign = move || {
            let signature = sealed.sign(inboxes.policy().profile, part.payload(), &inboxes.shared.keys.signing);
            (sealed, signature)
        };
        let (sealed, signature) = self.off_thread(sealed_bytes, sign).await?;
        let signature = self.keep(inbox, email.id, part, signature).await?;
        Ok(self.payload(sealed, part.payload(), signature))
    }

    /// Keeps a signature, and gives back the one that is kept: that of a reader who was faster, if there was one.
    async fn keep(
        &self,
        inbox: &Inbox,
        id: EmailId,
        part: LatePart,
        signature: Signature,
    ) -> Result<Signature, ReadError> {
        let (name, bytes) = (part.signature(), Bytes::copy_from_slice(signature.as_bytes()));
        if self
            .store()
            .attach(inbox.key, id, name, bytes, self.now())
            .await
            .is_err()
        {
            // The reader still gets a valid signature; the next one is made anew.
            tracing::warn!(email = %id, "a signature could not be kept");
            return Ok(signature);
        }
        let email = self.store().email(inbox.key, id, &[name], self.now()).await?;
        match email.as_ref().and_then(|email| email.part(name)) {
            Some(kept) => parts::signature_from_bytes(kept).map_err(damaged(id)),
            // Deleted meanwhile.
            None => Ok(signature),
        }
    }

    /// Runs work on so many bytes in its lane, off the async threads.
    async fn off_thread<T: Send + 'static>(
        &self,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ReadError> {
        // The work does not panic; the pool refuses only while the process stops.
        let done = self.shared.lanes.run(bytes, work).await;
        done.map_err(|_| ReadError::Unavailable)
    }

    fn payload(&self, sealed: Sealed, part: PayloadPart, signature: Signature) -> SealedPayload {
        let (profile, key) = (self.policy().profile, self.verifying_key().clone());
        SealedPayload::new(sealed, profile, part, signature, key)
    }
}

/// The sealed parts, which are signed at their first read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LatePart {
    Metadata,
    Parsed,
    Raw,
}

impl LatePart {
    fn payload(self) -> PayloadPart {
        match self {
            Self::Metadata => PayloadPart::Metadata,
            Self::Parsed => PayloadPart::Parsed,
            Self::Raw => PayloadPart::Raw,
        }
    }

    fn stored(self) -> Part {
        match self {
            Self::Metadata => Part::Metadata,
            Self::Parsed => Part::Parsed,
            Self::Raw => Part::Raw,
        }
    }

    fn signature(self) -> Part {
        match self {
            Self::Metadata => Part::MetadataSignature,
            Self::Parsed => Part::ParsedSignature,
            Self::Raw => Part::RawSignature,
        }
    }
}

pub(crate) fn wanted_parts(inbox: &Inbox, include_content: bool) -> Vec<Part> {
    let (mut wanted, content) = match inbox.mode {
        InboxMode::Plain => (vec![Part::Metadata], [Part::Facts, Part::Raw]),
        InboxMode::Encrypted { .. } => (
            vec![Part::Metadata, Part::MetadataSignature],
            [Part::Parsed, Part::ParsedSignature],
        ),
    };
    if include_content {
        wanted.extend(content);
    }
    wanted
}

pub(crate) fn required(email: &StoredEmail, part: Part) -> Result<&Bytes, ReadError> {
    email.part(part).ok_or(ReadError::Damaged(Some(email.id)))
}

pub(crate) fn damaged(id: EmailId) -> impl Fn(Damaged) -> ReadError {
    move |Damaged| ReadError::Damaged(Some(id))
}
