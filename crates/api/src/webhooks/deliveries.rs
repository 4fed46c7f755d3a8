//! Handlers of the log of a webhook (decisions, section 7).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use restante_webhook::{DeliveriesRequest, DeliveryStatus, DeliveryView};
use restante_wire::webhook::DeliveryWord;
use restante_wire::{DeliveryList, DeliveryRecord, RedeliverAnswer};

use super::path::WebhookPath;
use crate::answer;
use crate::body::JsonObject;
use crate::error::ApiError;
use crate::idempotency::idempotency;
use crate::memo::Answered;
use crate::query::{Parameters, Segments};
use crate::state::Api;

/// Deliveries of a page whose request sets no limit.
const PAGE_DEFAULT: usize = 100;

pub(crate) async fn list(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
    parameters: Parameters,
) -> Result<Response<Body>, ApiError> {
    let limit = parameters.limit()?.unwrap_or(PAGE_DEFAULT);
    let before = parameters.parsed("before")?;
    let (owner, id) = path.locate(&api).await?;
    let page = api
        .webhooks
        .deliveries(&owner, id, DeliveriesRequest { limit, before })
        .await
        .map_err(|error| path.refusal(error))?;
    let list = DeliveryList {
        deliveries: page.deliveries.into_iter().map(record).collect(),
        next: page.next,
    };
    Ok(answer::json(StatusCode::OK, &list))
}

pub(crate) async fn redeliver(
    State(api): State<Arc<Api>>,
    Segments(path): Segments<WebhookPath>,
    headers: HeaderMap,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let sent = body.finish()?;
    let idempotency = idempotency(&headers, &sent)?;
    let (owner, id) = path.locate(&api).await?;
    let Ok(delivery) = path.delivery.parse() else {
        // A webhook that there is not comes before what it has not.
        let found = api.webhooks.get(&owner, id).await;
        found.map_err(|error| path.refusal(error))?;
        return Err(ApiError::NoDelivery(path.delivery));
    };
    let repeatable = idempotency.map(|idempotency| path.repeatable(idempotency, &owner, "redeliver"));
    let webhooks = api.webhooks.clone();
    let work = async move {
        let queued = webhooks.redeliver(&owner, id, delivery).await;
        queued.map_err(|error| path.refusal(error))?;
        Ok(Answered::json(StatusCode::ACCEPTED, &RedeliverAnswer { id: delivery }))
    };
    api.memo.once(&api.tasks, repeatable, work).await
}

fn record(view: DeliveryView) -> DeliveryRecord {
    DeliveryRecord {
        id: view.id,
        event_id: view.event_id,
        event_type: view.event_type,
        attempt: view.attempts,
        status: match view.status {
            DeliveryStatus::Pending => DeliveryWord::Pending,
            DeliveryStatus::Success => DeliveryWord::Success,
            DeliveryStatus::Failed => DeliveryWord::Failed,
        },
        status_code: view.status_code,
        duration_ms: view.duration_ms,
        error: view.error,
        response_body: view.response,
        next_attempt_at: view.next_attempt_at,
        created_at: view.created_at,
        completed_at: view.completed_at,
    }
}
