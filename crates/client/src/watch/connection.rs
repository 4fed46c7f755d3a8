//! One connection of the live stream, from the answer's head to its end.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use restante_model::InboxHash;
use tokio::time::{Instant, timeout_at};

use super::events::{Event, Events, TooLong};
use crate::http::Call;
use crate::routes::path;
use crate::{Client, Error};

/// After so long without a byte a connection is dead: the server sends a comment every 15 s (decisions, section 6).
const SILENCE: Duration = Duration::from_secs(45);

/// How many inboxes one URL names: a hash and its comma take 46 of the 65,534 bytes that a URL may have here.
const MAX_INBOXES: usize = 1400;

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, reqwest::Error>> + Send>>;

/// A stream that is open.
pub(super) struct Connection {
    chunks: Chunks,
    events: Events,
    silent_at: Instant,
    /// When the server was asked: everything committed later is told of.
    pub(super) asked_at: Instant,
}

/// Asks for the stream of these inboxes, once.
///
/// # Errors
/// What the server answers; [`Error::Stream`] for an answer that is no stream; [`Error::Strategy`] for more inboxes
/// than one stream can have.
pub(super) async fn open(
    client: &Client,
    inboxes: &[InboxHash],
    last_event_id: Option<&str>,
) -> Result<Connection, Error> {
    if inboxes.len() > MAX_INBOXES {
        return Err(Error::Strategy(format!(
            "the live stream takes at most {MAX_INBOXES} inboxes, got {}; use the strategy polling",
            inboxes.len()
        )));
    }
    let inboxes: Vec<_> = inboxes.iter().map(InboxHash::to_string).collect();
    let call = Call::get(path(["events"])).query("inboxes", inboxes.join(","));
    let asked_at = Instant::now();
    let limit = client.settings().reconnect.connect_timeout;
    let response = client.http().stream(call, last_event_id, limit).await?;
    if !is_stream(&response) {
        return Err(Error::Stream("the answer is no event stream".to_owned()));
    }
    Ok(Connection::new(chunks(response), asked_at))
}

impl Connection {
    pub(super) fn new(chunks: Chunks, asked_at: Instant) -> Self {
        Self {
            chunks,
            events: Events::default(),
            silent_at: Instant::now() + SILENCE,
            asked_at,
        }
    }

    /// The next event, or why there is none. May be interrupted and called again.
    pub(super) async fn next(&mut self) -> Result<Event, Error> {
        loop {
            if let Some(event) = self.events.next() {
                return Ok(event);
            }
            let chunk = timeout_at(self.silent_at, self.chunks.next())
                .await
                .map_err(|_| failed("nothing came for 45 s, not even a sign of life"))?
                .ok_or_else(|| failed("the server ended it"))?
                .map_err(|_| failed("the connection broke"))?;
            self.silent_at = Instant::now() + SILENCE;
            self.events
                .take(&chunk)
                .map_err(|TooLong| failed("a line is longer than any of the interface"))?;
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

fn failed(reason: &str) -> Error {
    Error::Stream(reason.to_owned())
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
}

fn chunks(response: Response) -> Chunks {
    Box::pin(stream::unfold(response, |mut response| async {
        let chunk = response.chunk().await.transpose()?;
        Some((chunk, response))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(chunks: impl Stream<Item = Bytes> + Send + 'static) -> Connection {
        Connection::new(Box::pin(chunks.map(Ok)), Instant::now())
    }

    fn text(error: Error) -> String {
        match error {
            Error::Stream(reason) => reason,
            other => panic!("expected a failure of the stream, got {other}"),
        }
    }

    #[tokio::test]
    async fn more_inboxes_than_a_url_can_name_are_refused_before_anything_is_sent() {
        let client = Client::new("http://127.0.0.1:1", "key").unwrap();
        let hash = InboxHash::from_bytes([0; 32]);
        let refused = open(&client, &vec![hash; MAX_INBOXES + 1], None).await.unwrap_err();
        assert!(matches!(refused, Error::Strategy(_)), "{refused}");
        // A hash and its comma, which is percent-encoded.
        assert!(MAX_INBOXES * (hash.to_string().len() + "%2C".len()) < 65_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_is_dead_after_45_seconds() {
        let began = Instant::now();
        let mut connection = connection(stream::pending());
        assert!(text(connection.next().await.unwrap_err()).contains("45 s"));
        assert_eq!(began.elapsed(), SILENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn signs_of_life_keep_a_connection_up() {
        let began = Instant::now();
        let comments = stream::unfold(0, |count| async move {
            tokio::time::sleep(Duration::from_secs(15)).await;
            let chunk: &'static [u8] = if count < 20 {
                b": keep-alive\n\n"
            } else {
                b"data: 1\n\n"
            };
            Some((Bytes::from_static(chunk), count + 1))
        });
        let mut connection = connection(comments);
        assert_eq!(connection.next().await.unwrap().data, "1");
        assert_eq!(began.elapsed(), Duration::from_secs(21 * 15));
    }

    #[tokio::test(start_paused = true)]
    async fn asking_again_does_not_make_a_silent_connection_live_longer() {
        let mut connection = connection(stream::pending());
        let began = Instant::now();
        let mut interruptions = 0;
        while tokio::time::timeout(Duration::from_secs(10), connection.next())
            .await
            .is_err()
        {
            interruptions += 1;
        }
        assert_eq!((interruptions, began.elapsed()), (4, SILENCE));
    }

    #[tokio::test]
    async fn events_before_the_end_are_told_first() {
        let pieces = ["id: 1\nda", "ta: one\n\ndata: two\n\ndata: cut"];
        let mut connection = connection(stream::iter(pieces.map(|piece| Bytes::from_static(piece.as_bytes()))));
        assert_eq!(connection.next().await.unwrap().data, "one");
        assert_eq!(connection.next().await.unwrap().data, "two");
        assert!(text(connection.next().await.unwrap_err()).contains("ended"));
    }
}
