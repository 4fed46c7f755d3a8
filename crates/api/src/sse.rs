//! Server-Sent Events: what all streams have in common.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;

use crate::error::ApiError;
use crate::state::Api;
use crate::{console, stream as notifications};

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Events that wait for a client.
const QUEUE: usize = 32;

/// Whether a path is that of a stream.
pub(crate) fn is_at(path: &str) -> bool {
    matches!(path, notifications::PATH | console::PATH)
}

/// A place among the streams that may be open at a time.
///
/// # Errors
/// [`ApiError::TooManyStreams`].
pub(crate) fn place(api: &Api) -> Result<OwnedSemaphorePermit, ApiError> {
    let place = Arc::clone(&api.streams).try_acquire_owned();
    place.map_err(|_| ApiError::TooManyStreams)
}

/// Answers with a stream of what a task puts into its queue; it ends with the task, and the task with the server.
pub(crate) fn serve<T>(
    api: &Api,
    place: OwnedSemaphorePermit,
    task: impl FnOnce(mpsc::Sender<Bytes>) -> T,
) -> Response<Body>
where
    T: Future<Output = ()> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(QUEUE);
    let (task, stop) = (task(sender), api.stop.clone());
    api.tasks.spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = task => {}
        }
    });
    response(Events {
        receiver,
        keep_alive: api.settings.keep_alive,
        is_open: false,
        _place: place,
    })
}

struct Events {
    receiver: mpsc::Receiver<Bytes>,
    keep_alive: Duration,
    is_open: bool,
    _place: OwnedSemaphorePermit,
}

impl Events {
    /// The next piece: at once a comment, so that the client has its headers; then events, and comments in between.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
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
