//! The emails of an inbox, page by page.

use restante_model::{EmailId, Timestamp};

use crate::http::Call;
use crate::reader::Reader;
use crate::record::EmailRecord;
use crate::routes::path;
use crate::{Email, EmailSummary, Error, Inbox};

/// An email of a list that could not be opened; the others of the list are not touched by it.
#[derive(Debug, thiserror::Error)]
#[error("{id}: {error}")]
pub struct UnreadableEmail {
    /// Its id: it can be looked at again, or deleted.
    pub id: EmailId,
    /// When it arrived.
    pub received_at: Timestamp,
    /// Whether it was marked as read when it was listed.
    pub is_read: bool,
    /// Why: [`Error::SignatureVerification`], [`Error::Decryption`] or [`Error::UnexpectedAnswer`].
    #[source]
    pub error: Error,
}

/// What is asked of each email.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content {
    Included,
    LeftOut,
}

impl Content {
    fn parameter(self) -> &'static str {
        match self {
            Self::Included => "true",
            Self::LeftOut => "false",
        }
    }

    /// Emails of one answer: attachments are many times larger than metadata.
    fn page(self) -> usize {
        match self {
            Self::Included => 100,
            Self::LeftOut => 1000,
        }
    }
}

impl Inbox {
    /// Its emails with their content, newest first.
    ///
    /// # Errors
    /// Those of every request, and of the first email that cannot be opened; [`Inbox::each_email`] gives the others too.
    pub async fn emails(&self) -> Result<Vec<Email>, Error> {
        whole(self.each_email().await?)
    }

    /// Its emails without their content, newest first.
    ///
    /// # Errors
    /// Those of every request, and of the first email that cannot be opened; [`Inbox::each_summary`] gives the others
    /// too.
    pub async fn summaries(&self) -> Result<Vec<EmailSummary>, Error> {
        whole(self.each_summary().await?)
    }

    /// Its emails with their content, newest first, each with its own result: one that cannot be opened hides no other.
    pub async fn each_email(&self) -> Result<Vec<Result<Email, UnreadableEmail>>, Error> {
        self.opened(Content::Included, Self::open).await
    }

    /// Its emails without their content, newest first, each with its own result.
    pub async fn each_summary(&self) -> Result<Vec<Result<EmailSummary, UnreadableEmail>>, Error> {
        self.opened(Content::LeftOut, Self::summary).await
    }

    async fn opened<T>(
        &self,
        content: Content,
        open: impl Fn(&Self, &EmailRecord, Reader<'_>) -> Result<T, Error>,
    ) -> Result<Vec<Result<T, UnreadableEmail>>, Error> {
        let reader = self.reader().await?;
        let mut emails = Vec::new();
        let mut before = None;
        loop {
            let page = self.page(content, content.page(), before).await?;
            let (is_last, oldest) = (page.len() < content.page(), page.last().map(|record| record.id));
            emails.extend(page.iter().map(|record| {
                open(self, record, reader).map_err(|error| UnreadableEmail {
                    id: record.id,
                    received_at: record.received_at,
                    is_read: record.is_read,
                    error,
                })
            }));
            // Ids are in the order of arrival: what comes or goes meanwhile moves no other email over the border.
            match oldest {
                Some(oldest) if !is_last => before = Some(oldest),
                _ => return Ok(emails),
            }
        }
    }

    /// The newest `limit` emails older than `before`, also from a server that knows no paging and answers with all of them.
    pub(crate) async fn page(
        &self,
        content: Content,
        limit: usize,
        before: Option<EmailId>,
    ) -> Result<Vec<EmailRecord>, Error> {
        let mut call = Call::get(path(["inboxes", self.address(), "emails"]))
            .answers_mail()
            .query("includeContent", content.parameter())
            .query("limit", limit.to_string());
        if let Some(before) = before {
            call = call.query("before", before.to_string());
        }
        let mut records: Vec<EmailRecord> = self.client().http().json(call).await?;
        records.iter().try_for_each(|record| self.check_own(record))?;
        records.retain(|record| before.is_none_or(|before| record.id < before));
        Ok(records)
    }
}

fn whole<T>(emails: Vec<Result<T, UnreadableEmail>>) -> Result<Vec<T>, Error> {
    let emails: Result<_, UnreadableEmail> = emails.into_iter().collect();
    emails.map_err(|unreadable| unreadable.error)
}
