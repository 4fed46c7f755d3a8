//! Reading: which inbox a path reaches, what an inbox holds, and its emails.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use restante_model::{EmailId, ForwardPath, Inbox, InboxAddress, InboxHash, InboxMode};
use restante_storage::{InboxPage, ListPage, Part, StoredEmail, SyncStatus};

use crate::parts::Facts;
use crate::view::{Content, EmailView, LatePart, Source, damaged, required, wanted_parts};
use crate::{Inboxes, content};

/// Emails that one page of a listing reads at most, by number and by bytes.
const PAGE_ROWS: usize = 500;
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// The metadata of an email has few more bytes than this, also if it is sealed.
const METADATA_BYTES: u64 = 8 * 1024;
/// Emails of one page that are parsed or signed side by side; their signatures are stored in few groups.
const VIEWS_AT_ONCE: usize = 16;

/// Why something could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No live inbox has the address.
    #[error("no such inbox")]
    NoInbox,
    /// The inbox has no such email.
    #[error("no such email")]
    NoEmail,
    /// The store cannot read now.
    #[error("the storage is unavailable")]
    Unavailable,
    /// The stored bytes of this email, if one is named, are damaged.
    #[error("a stored record is damaged")]
    Damaged(Option<EmailId>),
}

impl From<restante_storage::ReadError> for ReadError {
    fn from(error: restante_storage::ReadError) -> Self {
        match error {
            restante_storage::ReadError::Unavailable(_) => Self::Unavailable,
            restante_storage::ReadError::Damaged => Self::Damaged(None),
        }
    }
}

impl From<restante_storage::Unavailable> for ReadError {
    fn from(_: restante_storage::Unavailable) -> Self {
        Self::Unavailable
    }
}

/// Why a forward-path is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipientError {
    /// The domain is none of this server's.
    #[error("no mail is accepted for the domain {0}")]
    Domain(String),
    /// No live inbox has the address.
    #[error("no such inbox")]
    NoInbox,
    /// The store cannot tell.
    #[error("the storage is unavailable")]
    Unavailable,
}

/// One page of a listing.
#[derive(Debug, Clone)]
pub struct ListRequest {
    /// Only emails older than this one.
    pub before: Option<EmailId>,
    /// At most so many emails, and never more than a page holds.
    pub limit: usize,
    /// Whether the parsed content is wanted.
    pub include_content: bool,
}

/// Emails of an inbox, newest first.
#[derive(Debug, Clone)]
pub struct EmailList {
    /// The emails of the page.
    pub emails: Vec<EmailView>,
    /// Older ones remain: those before this email, which the page may not show.
    pub next: Option<EmailId>,
}

impl Inboxes {
    /// The live inbox that a forward-path of SMTP reaches.
    ///
    /// # Errors
    /// Every variant of [`RecipientError`].
    pub async fn recipient(&self, path: &ForwardPath) -> Result<Arc<Inbox>, RecipientError> {
        if let ForwardPath::Mailbox { domain, .. } = path {
            let allowed = |name: &&restante_model::Domain| name.as_str().eq_ignore_ascii_case(domain);
            if self.policy().allowed_domains.iter().find(allowed).is_none() {
                return Err(RecipientError::Domain(domain.clone()));
            }
        }
        let address = path
            .inbox_address(self.policy().default_domain())
            .ok_or(RecipientError::NoInbox)?;
        let inbox = self
            .store()
            .inbox(&address, self.now())
            .await
            .map_err(|_| RecipientError::Unavailable)?;
        inbox.ok_or(RecipientError::NoInbox)
    }

    /// The live inbox at the address of a URL, in any case; a `+tag` matches nothing.
    ///
    /// # Errors
    /// [`ReadError::NoInbox`], [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn find(&self, address: &str) -> Result<Arc<Inbox>, ReadError> {
        let address = InboxAddress::parse_exact(address).map_err(|_| ReadError::NoInbox)?;
        self.store()
            .inbox(&address, self.now())
            .await?
            .ok_or(ReadError::NoInbox)
    }

    /// Live inboxes in the order of their hashes, those after `after`.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn page(&self, after: Option<InboxHash>, limit: usize) -> Result<InboxPage, ReadError> {
        Ok(self.store().inboxes(after, limit, self.now()).await?)
    }

    /// How many emails an inbox holds, and the hash over their ids.
    ///
    /// # Errors
    /// [`ReadError::NoInbox`] if it is gone meanwhile, [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn sync_status(&self, inbox: &Inbox) -> Result<SyncStatus, ReadError> {
        self.store()
            .sync(inbox.key, self.now())
            .await?
            .ok_or(ReadError::NoInbox)
    }

    /// One page of an inbox's emails, newest first.
    ///
    /// # Errors
    /// [`ReadError::NoInbox`] if it is gone meanwhile and nothing of it was read, [`ReadError::Unavailable`],
    /// [`ReadError::Damaged`].
    pub async fn list(&self, inbox: &Inbox, request: &ListRequest) -> Result<EmailList, ReadError> {
        let page = page(request, wanted_parts(inbox, request.include_content));
        let page = self.store().list(inbox.key, page, self.now()).await?;
        if page.emails.is_empty() {
            // The store shows nothing of an inbox that is gone: to the client that must not look like an empty one.
            self.sync_status(inbox).await?;
        }
        let next = page.emails.last().filter(|_| page.more).map(|email| email.id);
        let views = page
            .emails
            .into_iter()
            .map(|email| self.view(inbox, email, request.include_content));
        let views = stream::iter(views)
            .buffered(VIEWS_AT_ONCE)
            .filter_map(async |view| match view {
                // One that cannot be read must not keep the others from their reader.
                Err(ReadError::Damaged(email)) => {
                    let email = email.map(|id| id.to_string());
                    tracing::error!(email, inbox = %inbox.address, "a stored email is damaged: no list shows it");
                    None
                }
                view => Some(view),
            });
        let emails = views.try_collect().await?;
        Ok(EmailList { emails, next })
    }

    /// Bytes that [`Inboxes::list`] will read for the same page, more or less, without reading them.
    ///
    /// # Errors
    /// [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn page_bytes(&self, inbox: &Inbox, request: &ListRequest) -> Result<u64, ReadError> {
        let page = self
            .store()
            .list(inbox.key, page(request, Vec::new()), self.now())
            .await?;
        let most = if request.include_content {
            u64::MAX
        } else {
            METADATA_BYTES
        };
        let sizes = page.emails.iter().map(|email| email.bytes.min(most));
        let largest = sizes.clone().max().unwrap_or(0);
        // A page ends before it has more, unless its first email alone has.
        Ok(sizes.sum::<u64>().min(largest.max(PAGE_BYTES as u64)))
    }

    /// Bytes that an email takes in the store, all its parts together, without reading them.
    ///
    /// # Errors
    /// [`ReadError::NoEmail`], [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn stored_bytes(&self, inbox: &Inbox, id: EmailId) -> Result<u64, ReadError> {
        Ok(self.stored(inbox, id, &[]).await?.bytes)
    }

    /// One email with its parsed content.
    ///
    /// # Errors
    /// [`ReadError::NoEmail`], [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn email(&self, inbox: &Inbox, id: EmailId) -> Result<EmailView, ReadError> {
        let email = self.stored(inbox, id, &wanted_parts(inbox, true)).await?;
        self.view(inbox, email, true).await
    }

    /// The source of an email.
    ///
    /// # Errors
    /// [`ReadError::NoEmail`], [`ReadError::Unavailable`], [`ReadError::Damaged`].
    pub async fn raw(&self, inbox: &Inbox, id: EmailId) -> Result<Source, ReadError> {
        match inbox.mode {
            InboxMode::Plain => {
                let email = self.stored(inbox, id, &[Part::Facts, Part::Raw]).await?;
                let facts = Facts::from_bytes(required(&email, Part::Facts)?).map_err(damaged(id))?;
                let raw = required(&email, Part::Raw)?;
                let mut source = Vec::new();
                content::write_source(&mut source, raw, &facts.session, &self.policy().hostname, id)
                    .expect("memory can be written");
                Ok(Source::Plain(source.into()))
            }
            InboxMode::Encrypted { .. } => {
                let email = self.stored(inbox, id, &[Part::Raw, Part::RawSignature]).await?;
                Ok(Source::Sealed(self.signed(inbox, &email, LatePart::Raw).await?))
            }
        }
    }

    /// What the live stream shows of an email; `None` if it was deleted meanwhile.
    pub(crate) async fn headline(&self, inbox: &Inbox, id: EmailId) -> Result<Option<Content>, ReadError> {
        let parts = wanted_parts(inbox, false);
        match self.store().email(inbox.key, id, &parts, self.now()).await? {
            Some(email) => Ok(Some(self.content(inbox, &email, false).await?)),
            None => Ok(None),
        }
    }

    async fn stored(&self, inbox: &Inbox, id: EmailId, parts: &[Part]) -> Result<StoredEmail, ReadError> {
        self.store()
            .email(inbox.key, id, parts, self.now())
            .await?
            .ok_or(ReadError::NoEmail)
    }
}

fn page(request: &ListRequest, parts: Vec<Part>) -> ListPage {
    ListPage {
        before: request.before,
        max_rows: request.limit.min(PAGE_ROWS),
        max_bytes: PAGE_BYTES,
        parts,
    }
}
