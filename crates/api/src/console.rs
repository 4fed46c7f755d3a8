//! The stream of the server's console (docs/spec/additions.md, "Console").

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use bytes::Bytes;
use restante_monitor::{Line, LineKind, Watcher};
use restante_wire::{ConsoleKind, ConsoleLine};
use tokio::sync::mpsc;

use crate::error::ApiError;
use crate::state::Api;
use crate::{answer, sse};

/// Where the stream is.
pub(crate) const PATH: &str = "/api/sse-console/stream";

pub(crate) async fn lines(State(api): State<Arc<Api>>) -> Result<Response<Body>, ApiError> {
    if !api.settings.serves_console {
        return Err(ApiError::NotServed("SVC_SSE_CONSOLE_ENABLED"));
    }
    let place = sse::place(&api)?;
    let watcher = api.monitor.watch();
    Ok(sse::serve(&api, place, |queue| forward(watcher, queue)))
}

/// Takes lines to the client's queue until the client leaves. One that does not keep up loses lines, and nobody waits.
async fn forward(mut watcher: Watcher, queue: mpsc::Sender<Bytes>) {
    loop {
        let line = tokio::select! {
            () = queue.closed() => return,
            line = watcher.next() => line,
        };
        let Some(line) = line else { return };
        if queue.send(event(&line)).await.is_err() {
            return;
        }
    }
}

/// One line as one piece: it goes out in one write.
fn event(line: &Line) -> Bytes {
    let line = ConsoleLine {
        kind: kind(line.kind),
        text: line.text.clone(),
        timestamp: line.at,
    };
    [b"data: ", answer::to_bytes(&line).as_ref(), b"\n\n"].concat().into()
}

fn kind(kind: LineKind) -> ConsoleKind {
    match kind {
        LineKind::Info => ConsoleKind::Info,
        LineKind::Success => ConsoleKind::Success,
        LineKind::Warning => ConsoleKind::Warning,
        LineKind::Error => ConsoleKind::Error,
    }
}
