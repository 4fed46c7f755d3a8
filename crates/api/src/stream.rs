//! The notification stream: Server-Sent Events of arrivals (interface, "Notification stream").

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response};
use bytes::Bytes;
use restante_inbox::{Watch, WatchError, Watched};
use restante_model::{EmailId, InboxHash};
use restante_wire::StreamItem;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::emails::record_content;
use crate::error::ApiError;
use crate::query::Parameters;
use crate::state::Api;
use crate::{answer, sse};

/// Where the stream is.
pub const PATH: &str = "/api/events";

const LAST_EVENT_ID: &str = "last-event-id";
/// A client whose queue is full for so long has its stream ended.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn events(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response<Body>, ApiError> {
    let hashes = hashes(&parameters)?;
    let place = sse::place(&api)?;
    let watch = api
        .inboxes
        .watch(&hashes, last_event_id(&headers, &parameters))
        .await
        .map_err(|error| match error {
            WatchError::NoInbox => ApiError::invalid("inboxes must name at least one existing inbox by its hash"),
            WatchError::Read(error) => ApiError::reading(error, "", ""),
        })?;
    Ok(sse::serve(&api, place, |queue| forward(watch, queue)))
}

/// The subscribed hashes; those that are none are as unknown as those of no inbox.
fn hashes(parameters: &Parameters) -> Result<Vec<InboxHash>, ApiError> {
    let list = parameters.value("inboxes").unwrap_or("");
    if list.split(',').all(|hash| hash.trim().is_empty()) {
        return Err(ApiError::invalid(
            "inboxes must be a comma-separated list of inbox hashes",
        ));
    }
    Ok(list.split(',').filter_map(|hash| hash.trim().parse().ok()).collect())
}

/// Where a client that comes back wants to go on; what is no id gives no replay.
fn last_event_id(headers: &HeaderMap, parameters: &Parameters) -> Option<EmailId> {
    let header = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    header.or_else(|| parameters.value("lastEventId"))?.trim().parse().ok()
}

/// Takes arrivals to the client's queue until the client leaves or does not keep up.
async fn forward(mut watch: Watch, queue: mpsc::Sender<Bytes>) {
    loop {
        let watched = tokio::select! {
            () = queue.closed() => return,
            watched = watch.next() => watched,
        };
        let Ok(watched) = watched.inspect_err(|error| tracing::warn!(%error, "a stream ends")) else {
            return;
        };
        match timeout(PATIENCE, queue.send(event(watched))).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                tracing::info!("a stream ends because its client does not keep up");
                return;
            }
        }
    }
}

/// One event as one piece: it goes out in one write.
fn event(watched: Watched) -> Bytes {
    let (inbox_id, email_id) = (watched.inbox, watched.email);
    let item = StreamItem {
        inbox_id,
        email_id,
        content: record_content(watched.content),
    };
    let mut text = format!("id: {email_id}\ndata: ").into_bytes();
    text.extend_from_slice(&answer::to_bytes(&item));
    text.extend_from_slice(b"\n\n");
    text.into()
}
