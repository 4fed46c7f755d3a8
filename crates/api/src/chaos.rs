//! Handlers of an inbox's faults: what is shown, replaced and taken away again.
//!
//! The module `request` reads them, here and in the creation of an inbox.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use restante_model::Inbox;

use crate::answer;
use crate::body::JsonObject;
use crate::error::ApiError;
use crate::inboxes;
use crate::query::Segments;
use crate::state::Api;

pub(crate) mod request;

pub(crate) async fn show(
    State(api): State<Arc<Api>>,
    Segments(address): Segments<String>,
) -> Result<Response<Body>, ApiError> {
    let inbox = find(&api, &address).await?;
    let chaos = inbox.chaos.as_deref().cloned().unwrap_or_default();
    Ok(answer::json(StatusCode::OK, &chaos))
}

/// Replaces all of it. A repetition changes nothing more, so that no `Idempotency-Key` is needed.
pub(crate) async fn replace(
    State(api): State<Arc<Api>>,
    Segments(address): Segments<String>,
    mut body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    let chaos = request::read(&mut body.fields);
    body.finish()?;
    let chaos = chaos.expect("what keeps it from being read is an error");
    let inbox = find(&api, &address).await?;
    let set = api.inboxes.set_chaos(&inbox, chaos.clone()).await;
    set.map_err(|error| ApiError::reading(error, &address, ""))?;
    Ok(answer::json(StatusCode::OK, &chaos))
}

pub(crate) async fn clear(
    State(api): State<Arc<Api>>,
    Segments(address): Segments<String>,
    body: JsonObject,
) -> Result<Response<Body>, ApiError> {
    body.finish()?;
    let inbox = find(&api, &address).await?;
    let cleared = api.inboxes.clear_chaos(&inbox).await;
    cleared.map_err(|error| ApiError::reading(error, &address, ""))?;
    Ok(answer::no_content())
}

/// The inbox at the address of a path, on a server where inboxes may ask for faults.
async fn find(api: &Api, address: &str) -> Result<Arc<Inbox>, ApiError> {
    let inbox = inboxes::find(api, address).await?;
    if api.inboxes.policy().chaos_available {
        Ok(inbox)
    } else {
        Err(ApiError::NoChaos)
    }
}
