//! The notification stream: Server-Sent Events of arrivals (interface, "Notification stream").

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response};
use bytes::Bytes;
use futures_util::stream;
use restante_inbox::{Watch, WatchError, Watched};
use restante_model::{EmailId, InboxHash};
use restante_wire::StreamItem;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use crate::answer;
use crate::emails::record_content;
use crate::error::ApiError;
use crate::query::Parameters;
use crate::state::Api;

/// Where the stream is.
pub const PATH: &str = "/api/events";

const LAST_EVENT_ID: &str = "last-event-id";
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Events that wait for a client; one that falls further behind for [`PATIENCE`] has its stream ended.
const QUEUE: usize = 32;
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn events(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response<Body>, ApiError> {
    let hashes = hashes(&parameters)?;
    let place = Arc::clone(&api.streams)
        .try_acquire_owned()
        .map_err(|_| ApiError::TooManyStreams)?;
    let watch = api
        .inboxes
        .watch(&hashes, last_event_id(&headers, &parameters))
        .await
        .map_err(|error| match error {
            WatchError::NoInbox => ApiError::invalid("inboxes must name at least one existing inbox by its hash"),
            WatchError::Read(error) => ApiError::reading(error, "", ""),
        })?;
    let (sender, receiver) = mpsc::channel(QUEUE);
    let stop = api.stop.clone();
    api.tasks.spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = forward(watch, sender) => {}
        }
    });
    Ok(response(Events {
        receiver,
        keep_alive: api.settings.keep_alive,
        is_open: false,
        _place: place,
    }))
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

struct Events {
    receiver: mpsc::Receiver<Bytes>,
    keep_alive: Duration,
    is_open: bool,
    _place: OwnedSemaphorePermit,
}

impl Events {
    /// The next piece: at once a comment, so that the client has its headers; then events, and comments in between.
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        let piece = if self.is_open {
            match timeout(self.keep_alive, self.receiver.recv()).await {
                Ok(event) => event?,
                Err(_) => Bytes::from_static(b": keep-alive\n\n"),
            }
        } else {
            self.is_open = true;
            Bytes::from_static(b": connected\n\n")
        };
        Some((Ok(piece), self))
    }
}

fn response(events: Events) -> Response<Body> {
    let mut response = Response::new(Body::from_stream(stream::unfold(events, Events::next)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}
