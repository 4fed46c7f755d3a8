//! What the receiver does with a request.

use std::io::{self, Write};
use std::time::Duration;

use super::state::Shared;

/// One answer, or what comes instead of one.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    delay: Duration,
    is_held: bool,
    ending: Ending,
}

/// Where a receiver stops without closing the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// After the request was read.
    BeforeStatus,
    /// After the status line and one header.
    InHeaders,
    /// After the headers and the first half of the body.
    InBody,
}

#[derive(Debug, Clone)]
enum Ending {
    /// The connection stays open for the next request.
    Whole,
    /// The answer is whole, and the connection is closed without having said so.
    ThenClosed,
    /// The connection stays open, and nothing more comes.
    Stalled(Stage),
    /// The connection is closed without an answer.
    Closed,
    /// The connection is closed amid the body.
    Broken,
    /// The body never ends.
    Endless,
    /// These bytes, then the connection is closed.
    Raw(Vec<u8>),
}

impl Answer {
    /// An answer without a body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            delay: Duration::ZERO,
            is_held: false,
            ending: Ending::Whole,
        }
    }

    /// A temporary redirect to another URL.
    pub fn redirect(to: &str) -> Self {
        Self::status(307).header("Location", to)
    }

    /// Nothing more comes from this stage on.
    pub fn stalled(at: Stage) -> Self {
        Self::status(200)
            .body("half of it, and the other half")
            .ending(Ending::Stalled(at))
    }

    /// The request is read, and the connection closed.
    pub fn closed() -> Self {
        Self::status(200).ending(Ending::Closed)
    }

    /// A body that does not end.
    pub fn endless(status: u16) -> Self {
        Self::status(status).ending(Ending::Endless)
    }

    /// A body that is cut off by the end of the connection.
    pub fn broken(status: u16) -> Self {
        Self::status(status)
            .body("half of it, and the other half")
            .ending(Ending::Broken)
    }

    /// Bytes as they are, and the end of the connection.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::status(200).ending(Ending::Raw(bytes.into()))
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Only after this time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Only after the first [`Receiver::release`](super::Receiver::release) that follows the request.
    #[must_use]
    pub fn held(mut self) -> Self {
        self.is_held = true;
        self
    }

    /// And the connection is closed, though the answer did not say so.
    #[must_use]
    pub fn then_closed(self) -> Self {
        self.ending(Ending::ThenClosed)
    }

    fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// Waits as it is told to, for a release after these.
    pub(super) fn wait(&self, shared: &Shared, releases: usize) {
        if self.is_held {
            shared.wait_for_release(releases);
        }
        shared.wait_for(self.delay);
    }

    /// Answers; true if the connection stays open.
    pub(super) fn write(&self, connection: &mut impl Write, shared: &Shared) -> io::Result<bool> {
        let (head, half) = (self.head(), self.body.len() / 2);
        match &self.ending {
            Ending::Whole => send(connection, &[&head, b"\r\n", &self.body]).map(|()| true),
            Ending::ThenClosed => send(connection, &[&head, b"\r\n", &self.body]).map(|()| false),
            Ending::Closed => Ok(false),
            Ending::Raw(bytes) => send(connection, &[bytes]).map(|()| false),
            Ending::Broken => send(connection, &[&head, b"\r\n", &self.body[..half]]).map(|()| false),
            Ending::Stalled(stage) => {
                match stage {
                    Stage::BeforeStatus => (),
                    Stage::InHeaders => send(connection, &[&head])?,
                    Stage::InBody => send(connection, &[&head, b"\r\n", &self.body[..half]])?,
                }
                shared.wait_for_stop();
                Ok(false)
            }
            Ending::Endless => {
                send(connection, &[&head, b"\r\n"])?;
                // The client ends it, or the end of the test.
                while !shared.is_stopping() {
                    send(connection, &[b"400\r\n", &[b'.'; 0x400], b"\r\n"])?;
                }
                Ok(false)
            }
        }
    }

    /// Status line and headers, without the empty line.
    fn head(&self) -> Vec<u8> {
        let length = self.body.len().to_string();
        let framing = match self.ending {
            Ending::Endless => ("Transfer-Encoding", "chunked"),
            _ => ("Content-Length", length.as_str()),
        };
        let given = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let lines: Vec<String> = given
            .chain([framing])
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        format!("HTTP/1.1 {} Scripted\r\n{}", self.status, lines.concat()).into_bytes()
    }
}

fn send(connection: &mut impl Write, parts: &[&[u8]]) -> io::Result<()> {
    connection.write_all(&parts.concat())?;
    connection.flush()
}
