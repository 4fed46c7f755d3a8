//! Handlers of emails.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream::{self, StreamExt as _};
use restante_envelope::SealedPayload;
use restante_inbox::{Content, EmailList, EmailView, ListRequest, Source};
use restante_model::{EmailId, Inbox};
use restante_wire::{Base64, EmailRecord, RawContent, RawRecord, RecordContent};

use crate::answer;
use crate::body::JsonObject;
use crate::budget::Held;
use crate::error::ApiError;
use crate::inboxes::find;
use crate::query::{Parameters, Segments};
use crate::state::Api;

/// An answer takes about so many times the bytes of its content: the content itself and its base64 text.
const ANSWER_FACTOR: usize = 3;
/// Making an answer from a plain email takes about so many times its stored bytes: its source, what is decoded from it,
/// the document of that, and its base64 text.
const PARSE_FACTOR: usize = 4;

type EmailPath = Segments<(String, String)>;

pub(crate) async fn list(
    State(api): State<Arc<Api>>,
    Segments(address): Segments<String>,
    parameters: Parameters,
) -> Result<Response<Body>, ApiError> {
    let include_content = parameters.flag("includeContent")?;
    let limit = parameters.limit()?;
    let before = parameters.parsed("before")?;
    let inbox = find(&api, &address).await?;
    let listing = Listing {
        api,
        inbox,
        include_content,
        before,
        left: limit.unwrap_or(usize::MAX),
        is_first: true,
        held: None,
    };
    listing.answer().await
}

pub(crate) async fn show(
    State(api): State<Arc<Api>>,
    Segments((address, id)): EmailPath,
) -> Result<Response<Body>, ApiError> {
    let (inbox, email) = locate(&api, &address, &id).await?;
    let reading = |error| ApiError::reading(error, &address, &id);
    let stored = api.inboxes.stored_bytes(&inbox, email).await.map_err(reading)?;
    let mut held = api.budget.hold(times(stored, read_factor(&inbox)))?;
    let view = api.inboxes.email(&inbox, email).await.map_err(reading)?;
    api.budget
        .grow(&mut held, content_bytes(&view.content) * ANSWER_FACTOR)?;
    Ok(answer::json_holding(&record(view), held))
}

pub(crate) async fn raw(
    State(api): State<Arc<Api>>,
    Segments((address, id)): EmailPath,
) -> Result<Response<Body>, ApiError> {
    let (inbox, email) = locate(&api, &address, &id).await?;
    let reading = |error| ApiError::reading(error, &address, &id);
    let stored = api.inboxes.stored_bytes(&inbox, email).await.map_err(reading)?;
    let held = api.budget.hold(times(stored, ANSWER_FACTOR))?;
    let content = match api.inboxes.raw(&inbox, email).await.map_err(reading)? {
        Source::Plain(raw) => RawContent::Plain { raw: Base64(raw) },
        Source::Sealed(encrypted_raw) => RawContent::Encrypted { encrypted_raw },
    };
    Ok(answer::json_holding(&RawRecord { id: email, content }, held))
}

pub(crate) async fn mark_read(
    State(api): State<Arc<Api>>,
    Segments((address, id)): EmailPath,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    body.finish()?;
    let (inbox, email) = locate(&api, &address, &id).await?;
    api.inboxes
        .mark_read(&inbox, email)
        .await
        .map_err(|error| ApiError::reading(error, &address, &id))?;
    Ok(answer::no_content())
}

pub(crate) async fn delete(
    State(api): State<Arc<Api>>,
    Segments((address, id)): EmailPath,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    body.finish()?;
    let (inbox, email) = locate(&api, &address, &id).await?;
    api.inboxes
        .delete_email(&inbox, email)
        .await
        .map_err(|error| ApiError::reading(error, &address, &id))?;
    Ok(answer::no_content())
}

/// The inbox of a path, and the id if it is one.
async fn locate(api: &Api, address: &str, id: &str) -> Result<(Arc<Inbox>, EmailId), ApiError> {
    let inbox = find(api, address).await?;
    let email = id.parse().map_err(|_| ApiError::NoEmail(id.to_owned()))?;
    Ok((inbox, email))
}

/// A list that is read page by page as it is sent, so that its memory does not depend on its length.
struct Listing {
    api: Arc<Api>,
    inbox: Arc<Inbox>,
    include_content: bool,
    before: Option<EmailId>,
    left: usize,
    is_first: bool,
    /// Memory for a page, held until the last one is sent.
    held: Option<Held>,
}

impl Listing {
    /// The first page decides the status; a list of one page has a length.
    async fn answer(mut self) -> Result<Response<Body>, ApiError> {
        let first = self.next_chunk().await?.unwrap_or_default();
        if self.left == 0 {
            return Ok(answer::with_body(StatusCode::OK, Body::from(first)));
        }
        let rest = stream::try_unfold(self, async |mut listing| {
            let chunk = listing.next_chunk().await.inspect_err(|error| {
                tracing::warn!(inbox = %listing.inbox.hash, %error, "a list broke off");
            })?;
            Ok(chunk.map(|chunk| (chunk, listing)))
        });
        let whole = stream::once(std::future::ready(Ok::<Bytes, ApiError>(first))).chain(rest);
        Ok(answer::with_body(StatusCode::OK, Body::from_stream(whole)))
    }

    /// The JSON text of the next page; `None` after the last.
    async fn next_chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        if self.left == 0 {
            return Ok(None);
        }
        let request = ListRequest {
            before: self.before,
            limit: self.left,
            include_content: self.include_content,
        };
        let reading = |error| ApiError::reading(error, self.inbox.address.as_str(), "");
        let (inboxes, budget) = (&self.api.inboxes, &self.api.budget);
        let stored = inboxes.page_bytes(&self.inbox, &request).await.map_err(reading)?;
        let mut held = self.held.take().map_or_else(|| budget.hold(0), Ok)?;
        budget.grow(&mut held, times(stored, read_factor(&self.inbox)))?;
        let EmailList { emails, next } = inboxes.list(&self.inbox, &request).await.map_err(reading)?;
        let bytes: usize = emails.iter().map(|email| content_bytes(&email.content)).sum();
        budget.grow(&mut held, bytes * ANSWER_FACTOR)?;
        self.left = next.map_or(0, |_| self.left - emails.len());
        self.before = next;
        let mut chunk = BytesMut::new();
        for email in emails {
            chunk.put_u8(if std::mem::take(&mut self.is_first) { b'[' } else { b',' });
            serde_json::to_writer((&mut chunk).writer(), &record(email)).expect("records have string keys only");
        }
        if self.left == 0 {
            chunk.put_slice(if self.is_first { b"[]" } else { b"]" });
            return Ok(Some(answer::holding(chunk.freeze(), held)));
        }
        self.held = Some(held);
        Ok(Some(chunk.freeze()))
    }
}

/// How many times its stored bytes an email of the inbox takes until its answer is made.
fn read_factor(inbox: &Inbox) -> usize {
    if inbox.mode.is_encrypted() {
        ANSWER_FACTOR
    } else {
        PARSE_FACTOR
    }
}

/// Memory for so many times the bytes: what does not fit cannot be had.
fn times(bytes: u64, factor: usize) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX).saturating_mul(factor)
}

/// The bytes of a page's content, before they are encoded.
fn content_bytes(content: &Content) -> usize {
    match content {
        Content::Plain { metadata, parsed } => metadata.len() + parsed.as_ref().map_or(0, Bytes::len),
        Content::Sealed { metadata, parsed } => {
            metadata.sealed_bytes() + parsed.as_ref().map_or(0, SealedPayload::sealed_bytes)
        }
    }
}

fn record(view: EmailView) -> EmailRecord {
    EmailRecord {
        id: view.id,
        inbox_id: view.inbox,
        received_at: view.received_at,
        is_read: view.is_read,
        content: record_content(view.content),
    }
}

/// The content in the fields of its mode.
pub(crate) fn record_content(content: Content) -> RecordContent {
    match content {
        Content::Plain { metadata, parsed } => RecordContent::Plain {
            metadata: Base64(metadata),
            parsed: parsed.map(Base64),
        },
        Content::Sealed { metadata, parsed } => RecordContent::Encrypted {
            encrypted_metadata: metadata,
            encrypted_parsed: parsed,
        },
    }
}
