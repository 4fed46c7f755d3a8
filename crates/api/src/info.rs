//! What the server says of itself.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use restante_wire::{CheckKey, Health, HealthStatus};

use crate::answer;
use crate::state::Api;

/// The process runs.
pub(crate) async fn live() -> Response<Body> {
    answer::json(
        StatusCode::OK,
        &Health {
            status: HealthStatus::Ok,
        },
    )
}

/// Mail is taken.
pub(crate) async fn ready(State(api): State<Arc<Api>>) -> Response<Body> {
    if api.is_ready().await {
        answer::json(
            StatusCode::OK,
            &Health {
                status: HealthStatus::Ok,
            },
        )
    } else {
        answer::json(
            StatusCode::SERVICE_UNAVAILABLE,
            &Health {
                status: HealthStatus::Error,
            },
        )
    }
}

/// The key was checked on the way here.
pub(crate) async fn check_key() -> Response<Body> {
    answer::json(StatusCode::OK, &CheckKey { ok: true })
}

pub(crate) async fn server_info(State(api): State<Arc<Api>>) -> Response<Body> {
    answer::json(StatusCode::OK, &api.settings.info)
}
