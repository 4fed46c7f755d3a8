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

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use restante_model::SystemClock;
    use restante_monitor::{Happening, Monitor, Refusal};
    use serde_json::Value;
    use tokio_util::task::TaskTracker;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    async fn next(queue: &mut mpsc::Receiver<Bytes>) -> Value {
        let piece = queue.recv().await.unwrap();
        let data = piece.strip_prefix(b"data: ").unwrap().strip_suffix(b"\n\n").unwrap();
        serde_json::from_slice(data).unwrap()
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_loses_lines_and_is_told_how_many() {
        const NOTED: u64 = 1000;
        const ROOM: u64 = 4;
        let monitor = Monitor::new(Arc::new(SystemClock));
        let (sender, mut queue) = mpsc::channel(ROOM.try_into().unwrap());
        let tasks = TaskTracker::new();
        tasks.spawn(forward(monitor.watch(), sender));
        for _ in 0..NOTED {
            // Nobody waits: this is no async call.
            monitor.note(Happening::MailRefused {
                cause: Refusal::NoInbox,
                peer: PEER,
            });
            tokio::task::yield_now().await;
        }
        let (mut told, mut lost) = (0, 0);
        assert_eq!(next(&mut queue).await["type"], "info");
        while told + lost < NOTED {
            let line = next(&mut queue).await;
            assert_eq!(line["type"], "warning");
            let text = line["text"].as_str().unwrap();
            match text.strip_prefix("Lines lost: ") {
                None => told += 1,
                Some(rest) => lost += rest.split(',').next().unwrap().parse::<u64>().unwrap(),
            }
        }
        assert_eq!(told + lost, NOTED);
        assert!(lost > NOTED / 2, "{told} told, {lost} lost");
    }

    #[tokio::test]
    async fn a_client_that_leaves_is_no_watcher_any_more() {
        let monitor = Monitor::new(Arc::new(SystemClock));
        let (sender, mut queue) = mpsc::channel(4);
        let tasks = TaskTracker::new();
        tasks.spawn(forward(monitor.watch(), sender));
        next(&mut queue).await;
        assert!(monitor.is_watched());
        drop(queue);
        tasks.close();
        tasks.wait().await;
        assert!(!monitor.is_watched());
    }
}
