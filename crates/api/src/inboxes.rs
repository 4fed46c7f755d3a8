//! Handlers of inboxes.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use restante_envelope::base64url;
use restante_inbox::{ClientKey, CreateRequest, EncryptionChoice, TtlWish};
use restante_model::Inbox;
use restante_wire::{DeletedCount, InboxList, InboxResource, SyncResource};
use serde_json::Value;

use crate::answer;
use crate::body::JsonObject;
use crate::chaos;
use crate::error::ApiError;
use crate::idempotency::idempotency;
use crate::query::{Parameters, Segments};
use crate::state::Api;

/// Inboxes of a page whose request sets no limit.
const PAGE_DEFAULT: usize = 100;

pub(crate) async fn create(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let request = create_request(&headers, body)?;
    let chaos = request.chaos.clone();
    let inbox = api.inboxes.create(request).await?;
    let mut resource = resource(&inbox);
    // As asked for: a repetition is answered like the first time, whatever was set meanwhile.
    resource.chaos = chaos.filter(|_| api.inboxes.policy().chaos_available);
    if inbox.mode.is_encrypted() {
        resource.server_sig_pk = Some(base64url::encode(api.inboxes.verifying_key().as_bytes()));
    }
    Ok(answer::json(StatusCode::CREATED, &resource))
}

fn create_request(headers: &HeaderMap, mut body: JsonObject) -> Result<CreateRequest, ApiError> {
    let fields = &mut body.fields;
    let client_key = match fields.take("clientKemPk") {
        None => ClientKey::Absent,
        Some(Value::String(text)) => ClientKey::Text(text),
        Some(_) => ClientKey::NotText,
    };
    let otherwise = if fields.is_null("ttl") {
        TtlWish::Null
    } else {
        TtlWish::Absent
    };
    let ttl = fields.whole_number("ttl").map_or(otherwise, TtlWish::Secs);
    let address = fields.text("emailAddress");
    let encryption = match fields.text("encryption").as_deref() {
        None => None,
        Some("encrypted") => Some(EncryptionChoice::Encrypted),
        Some("plain") => Some(EncryptionChoice::Plain),
        Some(_) => fields.wrong("encryption", "must be 'encrypted' or 'plain'"),
    };
    let persistent = match fields.text("persistence").as_deref() {
        None => None,
        Some("persistent") => Some(true),
        Some("ephemeral") => Some(false),
        Some(_) => fields.wrong("persistence", "must be 'persistent' or 'ephemeral'"),
    };
    let email_auth = fields.flag("emailAuth");
    let spam_analysis = fields.flag("spamAnalysis");
    let chaos = chaos::request::field(fields, "chaos");
    let sent = body.finish()?;
    let idempotency = idempotency(headers, &sent)?;
    Ok(CreateRequest {
        address,
        ttl,
        spam_analysis,
        persistent,
        chaos,
        encryption,
        client_key,
        email_auth,
        idempotency,
    })
}

pub(crate) async fn list(State(api): State<Arc<Api>>, parameters: Parameters) -> Result<Response<Body>, ApiError> {
    let limit = parameters.limit()?.unwrap_or(PAGE_DEFAULT);
    let after = parameters.parsed("after")?;
    let page = api
        .inboxes
        .page(after, limit)
        .await
        .map_err(|error| ApiError::reading(error, "", ""))?;
    let next = page.inboxes.last().filter(|_| page.more).map(|inbox| inbox.hash);
    let inboxes = page.inboxes.iter().map(|inbox| resource(inbox)).collect();
    Ok(answer::json(StatusCode::OK, &InboxList { inboxes, next }))
}

pub(crate) async fn show(
    State(api): State<Arc<Api>>,
    Segments(address): Segments<String>,
) -> Result<Response<Body>, ApiError> {
    let inbox = find(&api, &address).await?;
    Ok(answer::json(StatusCode::OK, &resource(&inbox)))
}

pub(crate) async fn sync(
    State(api): State<Arc<Api>>,
    Segments(address): Segments<String>,
) -> Result<Response<Body>, ApiError> {
    let inbox = find(&api, &address).await?;
    let status = api
        .inboxes
        .sync_status(&inbox)
        .await
        .map_err(|error| ApiError::reading(error, &address, ""))?;
    let resource = SyncResource {
        email_count: status.email_count,
        emails_hash: base64url::encode(status.emails_hash),
    };
    Ok(answer::json(StatusCode::OK, &resource))
}

pub(crate) async fn delete(
    State(api): State<Arc<Api>>,
    Segments(address): Segments<String>,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    body.finish()?;
    api.inboxes
        .delete(&address)
        .await
        .map_err(|error| ApiError::reading(error, &address, ""))?;
    Ok(answer::no_content())
}

pub(crate) async fn delete_all(State(api): State<Arc<Api>>, body: JsonObject) -> Result<Response<Body>, ApiError> {
    body.finish()?;
    if !api.settings.allow_clear_all {
        return Err(ApiError::Disabled("SVC_LOCAL_ALLOW_CLEAR_ALL_INBOXES"));
    }
    let deleted = api
        .inboxes
        .delete_all()
        .await
        .map_err(|error| ApiError::reading(error, "", ""))?;
    Ok(answer::json(StatusCode::OK, &DeletedCount { deleted }))
}

/// The inbox at the address of a path.
pub(crate) async fn find(api: &Api, address: &str) -> Result<Arc<Inbox>, ApiError> {
    api.inboxes
        .find(address)
        .await
        .map_err(|error| ApiError::reading(error, address, ""))
}

fn resource(inbox: &Inbox) -> InboxResource {
    InboxResource {
        email_address: inbox.address.clone(),
        expires_at: inbox.ends_at(),
        inbox_hash: inbox.hash,
        encrypted: inbox.mode.is_encrypted(),
        email_auth: inbox.email_auth,
        spam_analysis: inbox.spam_analysis,
        persistent: inbox.persistent,
        chaos: None,
        server_sig_pk: None,
    }
}
