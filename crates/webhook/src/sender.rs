//! One attempt: a POST within a deadline, to an address that was checked.

mod client;
mod failure;
mod reused;

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Request, Response};
use tokio::time::Instant;

use self::client::Clients;
use self::failure::Failure;
use self::reused::Answered;
use crate::{Guard, TargetUrl};

/// How much of an answer is read (docs/spec/decisions.md, section 7).
const RESPONSE_BYTES: usize = 16 * 1024;

/// How attempts are made.
#[derive(Debug, Clone)]
pub struct SenderConfig {
    /// How long an attempt may take, from the look-up of the name to the end of the answer.
    pub timeout: Duration,
    /// Which targets are allowed.
    pub guard: Guard,
    /// Certificates, in DER, that are trusted beside the system's: those of tests.
    pub extra_roots: Vec<Vec<u8>>,
    /// How the service names itself.
    pub user_agent: String,
}

/// There can be no sender with such a configuration.
#[derive(Debug, thiserror::Error)]
pub enum SenderError {
    /// Not the bytes of a certificate.
    #[error("an extra root certificate cannot be read: {0}")]
    Root(rustls::Error),
    /// The HTTP client cannot be made.
    #[error("the client of webhooks cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// Makes attempts, over connections that it keeps for the next ones.
#[derive(Debug, Clone)]
pub struct Sender {
    clients: Clients,
    guard: Guard,
    timeout: Duration,
    answered: Answered,
}

/// What is sent, and where.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The target.
    pub url: TargetUrl,
    /// Headers beside those of HTTP itself, as [`sign`](crate::sign) makes them.
    pub headers: Vec<(&'static str, String)>,
    /// What the body is.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The status of the target, if it answered in time.
    pub status: Option<u16>,
    /// How long it took in milliseconds, rounded up, never 0.
    pub duration_ms: u64,
    /// Why it is no success, in words for the user; there unless it is one.
    pub error: Option<String>,
    /// The start of the body of the answer, as far as it came.
    pub response: Bytes,
}

impl Outcome {
    /// Whether the target took it: 2xx, and nothing else (docs/spec/interface.md, "Delivery").
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

impl Sender {
    /// A sender that has no connection yet.
    pub fn new(config: SenderConfig) -> Result<Self, SenderError> {
        Ok(Self {
            clients: Clients::new(&config)?,
            guard: config.guard,
            timeout: config.timeout,
            answered: Answered::new(),
        })
    }

    /// Makes one attempt, and comes back within the time-out.
    pub async fn send(&self, attempt: &Attempt) -> Outcome {
        let start = Instant::now();
        let deadline = start + self.timeout;
        let answer = match tokio::time::timeout_at(deadline, self.answer(attempt, start)).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::Timeout(self.timeout)),
        };
        match answer {
            Ok(response) => {
                let status = response.status().as_u16();
                let body = first_bytes(response, deadline).await;
                self.answered.note(&attempt.url, Instant::now());
                let error = failure::of_status(status);
                outcome(start, Some(status), error, body)
            }
            Err(failure) => outcome(start, None, Some(failure.to_string()), Bytes::new()),
        }
    }

    /// The head of the answer.
    async fn answer(&self, attempt: &Attempt, start: Instant) -> Result<Response, Failure> {
        // The client asks its resolver for names only.
        self.guard.check_literal(&attempt.url)?;
        let may_be_reused = self.answered.is_recent(&attempt.url, start);
        let error = match self.clients.pooled.execute(request(attempt)?).await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        // A target may close a kept connection in the moment in which it is used again; that says nothing about it.
        if may_be_reused && failure::is_of_connection(&error) {
            return Ok(self.clients.fresh.execute(request(attempt)?).await?);
        }
        Err(error.into())
    }
}

fn request(attempt: &Attempt) -> Result<Request, Failure> {
    let mut request = Request::new(reqwest::Method::POST, attempt.url.url().clone());
    *request.headers_mut() = headers(attempt)?;
    *request.body_mut() = Some(attempt.body.clone().into());
    Ok(request)
}

/// The headers in their order; a value with a line end is no value, wherever it came from.
fn headers(attempt: &Attempt) -> Result<HeaderMap, Failure> {
    let value = |name: &'static str, text: &str| HeaderValue::from_str(text).map_err(|_| Failure::Header(name));
    let mut headers = HeaderMap::with_capacity(attempt.headers.len() + 1);
    headers.insert(CONTENT_TYPE, value("Content-Type", &attempt.content_type)?);
    for (name, text) in &attempt.headers {
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| Failure::Header(name))?;
        headers.append(key, value(name, text)?);
    }
    Ok(headers)
}

/// The start of the body, as far as it comes until the deadline; whatever goes wrong, the answer stands.
async fn first_bytes(mut response: Response, deadline: Instant) -> Bytes {
    let mut body = Vec::new();
    while body.len() < RESPONSE_BYTES
        && let Ok(Ok(Some(chunk))) = tokio::time::timeout_at(deadline, response.chunk()).await
    {
        let room = RESPONSE_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }
    body.into()
}

fn outcome(start: Instant, status: Option<u16>, error: Option<String>, response: Bytes) -> Outcome {
    let duration_ms = start.elapsed().as_micros().div_ceil(1000).max(1);
    Outcome {
        status,
        duration_ms: u64::try_from(duration_ms).unwrap_or(u64::MAX),
        error,
        response,
    }
}
