//! From an answer to a result: bodies of successes, and the kinds of errors.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use reqwest::StatusCode;
use reqwest::header::RETRY_AFTER;
use restante_wire::ErrorBody;
use restante_wire::error::Message;

use crate::{ApiError, Error};

/// What an answer says beside its body.
#[derive(Debug)]
pub(super) struct Head {
    status: StatusCode,
    request_id: Option<String>,
    retry_after: Option<Duration>,
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: Error,
    pub(super) retry_after: Option<Duration>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self {
            error,
            retry_after: None,
        }
    }
}

impl Head {
    pub(super) fn of(response: &Response) -> Self {
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        Self {
            status: response.status(),
            request_id: text("x-request-id").map(str::to_owned),
            retry_after: text(RETRY_AFTER.as_str())
                .and_then(|seconds| seconds.trim().parse().ok())
                .map(Duration::from_secs),
        }
    }

    /// The body of a success, else what it says.
    pub(super) fn result(self, body: Bytes) -> Result<Bytes, Failed> {
        if self.status.is_success() {
            return Ok(body);
        }
        let retry_after = self.retry_after;
        Err(Failed {
            error: self.refusal(&body),
            retry_after,
        })
    }

    /// The error that this answer is.
    pub(super) fn refusal(self, body: &[u8]) -> Error {
        let answer = ApiError {
            status: self.status.as_u16(),
            message: message(body, self.status),
            request_id: self.request_id,
        };
        match answer.status {
            401 => Error::Unauthorized(answer),
            404 => not_found(answer),
            409 if answer.message.starts_with("An inbox with ") => Error::InboxTaken(answer),
            429 => Error::RateLimited {
                answer,
                retry_after: self.retry_after,
            },
            _ => Error::Api(answer),
        }
    }
}

/// By the first of the words before "not found" (decisions, section 2).
fn not_found(answer: ApiError) -> Error {
    let text = answer.message.to_ascii_lowercase();
    match text.split_once(" not found").map(|(noun, _)| noun) {
        Some("webhook") => Error::WebhookNotFound(answer),
        Some("inbox") => Error::InboxNotFound(answer),
        Some("email") => Error::EmailNotFound(answer),
        _ => Error::Api(answer),
    }
}

fn message(body: &[u8], status: StatusCode) -> String {
    match serde_json::from_slice::<ErrorBody>(body).map(|body| body.message) {
        Ok(Message::One(text)) => text,
        Ok(Message::Many(texts)) => texts.join("; "),
        Err(_) => status.canonical_reason().unwrap_or("no reason given").to_owned(),
    }
}

/// What is wrong with JSON, and where; never a part of it.
pub(super) fn json_fault(error: &serde_json::Error) -> String {
    let kind = if error.is_data() {
        "not the expected fields"
    } else {
        "not JSON"
    };
    format!("{kind}, at column {}", error.column())
}
