//! The routes.

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, Uri};
use axum::routing::{get, patch, post};

use crate::error::ApiError;
use crate::state::Api;
use crate::webhooks::{self, deliveries};
use crate::{chaos, console, emails, inboxes, info, metrics, stream, test_emails};

/// Every route of the interface that exists, with one answer for those that do not.
pub fn router(api: Arc<Api>) -> Router {
    mailbox_routes()
        .merge(webhook_routes())
        .merge(test_email_routes(api.settings.serves_test_emails))
        .fallback(async |uri: Uri| ApiError::NoRoute(uri.path().to_owned()))
        .method_not_allowed_fallback(async |method: Method| ApiError::Method(method.to_string()))
        .with_state(api)
}

/// The server, inboxes, emails and their stream.
fn mailbox_routes() -> Router<Arc<Api>> {
    Router::new()
        .route("/health/live", get(info::live))
        .route("/health/ready", get(info::ready))
        .route("/api/check-key", get(info::check_key))
        .route("/api/server-info", get(info::server_info))
        .route(
            "/api/inboxes",
            post(inboxes::create).get(inboxes::list).delete(inboxes::delete_all),
        )
        .route("/api/inboxes/{address}", get(inboxes::show).delete(inboxes::delete))
        .route("/api/inboxes/{address}/sync", get(inboxes::sync))
        .route(
            "/api/inboxes/{address}/chaos",
            get(chaos::show).post(chaos::replace).delete(chaos::clear),
        )
        .route("/api/inboxes/{address}/emails", get(emails::list))
        .route(
            "/api/inboxes/{address}/emails/{id}",
            get(emails::show).delete(emails::delete),
        )
        .route("/api/inboxes/{address}/emails/{id}/raw", get(emails::raw))
        .route("/api/inboxes/{address}/emails/{id}/read", patch(emails::mark_read))
        .route(stream::PATH, get(stream::events))
        .route("/api/metrics", get(metrics::counts))
        .route("/api/metrics/storage", get(metrics::storage))
        .route(console::PATH, get(console::lines))
}

/// What only tests of programs that read mail want; nothing of it exists where it is not served.
fn test_email_routes(are_served: bool) -> Router<Arc<Api>> {
    if are_served {
        Router::new().route("/api/test/emails", post(test_emails::create))
    } else {
        Router::new()
    }
}

/// Global webhooks, and the same operations on those of an inbox.
fn webhook_routes() -> Router<Arc<Api>> {
    Router::new()
        .route("/api/webhooks/templates", get(webhooks::templates))
        .route("/api/webhooks/metrics", get(webhooks::metrics))
        .merge(webhooks_at("/api/webhooks"))
        .merge(webhooks_at("/api/inboxes/{address}/webhooks"))
}

fn webhooks_at(base: &str) -> Router<Arc<Api>> {
    Router::new()
        .route(base, post(webhooks::create).get(webhooks::list))
        .route(
            &format!("{base}/{{id}}"),
            get(webhooks::show).patch(webhooks::update).delete(webhooks::delete),
        )
        .route(&format!("{base}/{{id}}/test"), post(webhooks::test))
        .route(&format!("{base}/{{id}}/rotate-secret"), post(webhooks::rotate_secret))
        .route(&format!("{base}/{{id}}/deliveries"), get(deliveries::list))
        .route(
            &format!("{base}/{{id}}/deliveries/{{delivery}}/redeliver"),
            post(deliveries::redeliver),
        )
}
