//! Handlers of webhooks: one set for the global ones and for those of an inbox.
//!
//! Modules: `path` (whose webhook is meant), `request`, `filter` and `template` (reading what it is to be), `resource`
//! (showing what it is), `deliveries` (its log).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use restante_webhook::TestOutcome;
use restante_wire::webhook::{DeliveryCounts, WebhookCounts};
use restante_wire::{
    RotateSecretResponse, ShownSecret, TemplateList, TestWebhookResponse, WebhookList, WebhookMetrics,
};

use self::path::WebhookPath;
use self::resource::{Answering, resource};
use crate::answer;
use crate::body::JsonObject;
use crate::error::ApiError;
use crate::fields::Fields;
use crate::idempotency::idempotency;
use crate::memo::Answered;
use crate::query::Segments;
use crate::state::Api;

pub(crate) mod deliveries;
mod filter;
mod path;
mod request;
mod resource;
mod template;

pub(crate) async fn create(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let shaped = request::create(&headers, body, api.webhooks.policy().allow_http)?;
    let owner = path.owner(&api).await?;
    let request = shaped.processable()?;
    let created = api.webhooks.create(&owner, request).await;
    let view = created.map_err(|error| path.refusal(error))?;
    Ok(answer::json(
        StatusCode::CREATED,
        &resource(api.webhooks.policy().profile, view, Answering::Create),
    ))
}

pub(crate) async fn list(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
) -> Result<Response<Body>, ApiError> {
    let owner = path.owner(&api).await?;
    let views = api.webhooks.list(&owner).await;
    let views = views.map_err(|error| path.refusal(error))?;
    let shown = views
        .into_iter()
        .map(|view| resource(api.webhooks.policy().profile, view, Answering::List));
    let webhooks: Vec<_> = shown.collect();
    let total = webhooks.len();
    Ok(answer::json(StatusCode::OK, &WebhookList { webhooks, total }))
}

pub(crate) async fn show(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
) -> Result<Response<Body>, ApiError> {
    let (owner, id) = path.locate(&api).await?;
    let found = api.webhooks.get(&owner, id).await;
    let view = found.map_err(|error| path.refusal(error))?;
    Ok(answer::json(
        StatusCode::OK,
        &resource(api.webhooks.policy().profile, view, Answering::Get),
    ))
}

pub(crate) async fn update(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let shaped = request::update(body, api.webhooks.policy().allow_http)?;
    let (owner, id) = path.locate(&api).await?;
    if shaped.is_unprocessable() {
        // A webhook that there is not comes before what it cannot be.
        let found = api.webhooks.get(&owner, id).await;
        found.map_err(|error| path.refusal(error))?;
    }
    let updated = api.webhooks.update(&owner, id, shaped.processable()?).await;
    let view = updated.map_err(|error| path.refusal(error))?;
    Ok(answer::json(
        StatusCode::OK,
        &resource(api.webhooks.policy().profile, view, Answering::Update),
    ))
}

pub(crate) async fn delete(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    body.finish()?;
    let (owner, id) = path.locate(&api).await?;
    let removed = api.webhooks.remove(&owner, id).await;
    removed.map_err(|error| path.refusal(error))?;
    Ok(answer::no_content())
}

/// Answers when the target has, or did not in time: see [`crate::deadline`].
pub(crate) async fn test(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let sent = body.finish()?;
    let idempotency = idempotency(&headers, &sent)?;
    let (owner, id) = path.locate(&api).await?;
    let repeatable = idempotency.map(|idempotency| path.repeatable(idempotency, &owner, "test"));
    let webhooks = api.webhooks.clone();
    let work = async move {
        let tested = webhooks.test(&owner, id).await;
        let outcome = tested.map_err(|error| path.refusal(error))?;
        Ok(Answered::json(StatusCode::OK, &shown_test(outcome)))
    };
    api.memo.once(&api.tasks, repeatable, work).await
}

fn shown_test(outcome: TestOutcome) -> TestWebhookResponse {
    TestWebhookResponse {
        success: outcome.success,
        status_code: outcome.status_code,
        response_time: Some(outcome.response_time_ms),
        response_body: outcome.response_body,
        error: outcome.error,
        payload_sent: outcome.payload_sent,
    }
}

pub(crate) async fn rotate_secret(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let sent = body.finish()?;
    let idempotency = idempotency(&headers, &sent)?;
    let (owner, id) = path.locate(&api).await?;
    let rotated = api.webhooks.rotate_secret(&owner, id, idempotency).await;
    let rotation = rotated.map_err(|error| path.refusal(error))?;
    let shown = RotateSecretResponse {
        id: rotation.id,
        secret: ShownSecret::new(rotation.secret.expose()),
        previous_secret_valid_until: rotation.previous_valid_until,
    };
    Ok(answer::json(StatusCode::OK, &shown))
}

pub(crate) async fn templates() -> Response<Body> {
    answer::json(StatusCode::OK, &TemplateList::all())
}

pub(crate) async fn metrics(State(api): State<Arc<Api>>) -> Result<Response<Body>, ApiError> {
    let counted = api.webhooks.metrics().await;
    let metrics = counted.map_err(|error| WebhookPath::default().refusal(error))?;
    let shown = WebhookMetrics {
        webhooks: WebhookCounts {
            global: metrics.global,
            inbox: metrics.inbox,
            enabled: metrics.enabled,
            total: metrics.webhooks(),
        },
        deliveries: DeliveryCounts {
            total: metrics.deliveries(),
            successful: metrics.successful,
            failed: metrics.failed,
        },
    };
    Ok(answer::json(StatusCode::OK, &shown))
}

/// The text, if it is not too long; characters are Unicode scalar values.
fn at_most(fields: &mut Fields, name: &str, text: String, max: usize) -> Option<String> {
    if text.chars().count() <= max {
        Some(text)
    } else {
        fields.wrong(name, &format!("must be at most {max} characters"))
    }
}
