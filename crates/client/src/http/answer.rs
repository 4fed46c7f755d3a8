//! From an answer to a result: bodies of successes, and the kinds of errors.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use restante_model::Timestamp;
use restante_wire::ErrorBody;
use restante_wire::error::Message;

use super::retry::{Failed, Worth, is_retryable};
use super::{body, retry_after};
use crate::{ApiError, Error};

/// How the refusals begin that mean that an inbox is in the way, by its address or its key (decisions, section 3).
const TAKEN: &str = "An inbox with ";

/// What an answer says beside its body.
#[derive(Debug)]
pub(super) struct Head {
    status: StatusCode,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    location: Option<String>,
}

impl Head {
    pub(super) fn of(response: &Response, now: Timestamp) -> Self {
        let headers = response.headers();
        let asked = text(headers, RETRY_AFTER.as_str());
        Self {
            status: response.status(),
            request_id: text(headers, "x-request-id").map(str::to_owned),
            retry_after: asked.and_then(|asked| retry_after::parse(asked, now)),
            location: text(headers, LOCATION.as_str()).map(str::to_owned),
        }
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }

    /// How much of the body is read at most, where a success may have so much.
    pub(super) fn body_limit(&self, largest: usize) -> usize {
        if self.is_success() {
            largest
        } else {
            body::MAX_ERROR_BYTES
        }
    }

    /// The body of a success, else what it says; a body that was too large is `None`.
    pub(super) fn result(self, body: Option<Bytes>, largest: usize, url: &str) -> Result<Bytes, Failed> {
        if !self.is_success() {
            return Err(self.refusal(&body.unwrap_or_default()));
        }
        body.ok_or_else(|| {
            Failed::finally(Error::UnexpectedAnswer {
                url: url.to_owned(),
                reason: format!("it is larger than {largest} bytes"),
            })
        })
    }

    /// The error that this answer is.
    pub(super) fn refusal(self, body: &[u8]) -> Failed {
        let message = match &self.location {
            Some(location) if self.status.is_redirection() => format!(
                "the server redirects to {location}, where the client does not follow with its key; if that is right, \
                 use its URL"
            ),
            _ => message(body, self.status),
        };
        let answer = ApiError {
            status: self.status.as_u16(),
            message,
            request_id: self.request_id,
            retry_after: self.retry_after,
        };
        let worth = if is_retryable(answer.status) {
            Worth::Repetition {
                not_before: self.retry_after.unwrap_or_default(),
            }
        } else {
            Worth::Nothing
        };
        Failed {
            error: kind(answer, self.retry_after),
            worth,
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn kind(answer: ApiError, retry_after: Option<Duration>) -> Error {
    match answer.status {
        401 => Error::Unauthorized(answer),
        404 => not_found(answer),
        409 if answer.message.starts_with(TAKEN) => Error::InboxTaken(answer),
        429 => Error::RateLimited { answer, retry_after },
        _ => Error::Api(answer),
    }
}

/// By the first of these words before "not found" (decisions, section 2).
fn not_found(answer: ApiError) -> Error {
    type Kind = fn(ApiError) -> Error;
    let kinds: [(&str, Kind); 3] = [
        ("webhook not found", Error::WebhookNotFound),
        ("inbox not found", Error::InboxNotFound),
        ("email not found", Error::EmailNotFound),
    ];
    let text = answer.message.to_ascii_lowercase();
    let named = kinds.iter().filter_map(|(words, kind)| Some((text.find(words)?, kind)));
    match named.min_by_key(|(at, _)| *at) {
        Some((_, kind)) => kind(answer),
        None => Error::Api(answer),
    }
}

/// What the error body says; the reason phrase where the answer is somebody else's.
fn message(body: &[u8], status: StatusCode) -> String {
    let said = match serde_json::from_slice::<ErrorBody>(body).map(|body| body.message) {
        Ok(Message::One(text)) => text,
        Ok(Message::Many(texts)) => texts.join("; "),
        Err(_) => String::new(),
    };
    if said.is_empty() {
        return status.canonical_reason().unwrap_or("no reason given").to_owned();
    }
    said
}

/// What is wrong with JSON, and where; never a part of it.
pub(crate) fn json_fault(error: &serde_json::Error) -> String {
    let kind = if error.is_data() {
        "it does not have the expected fields"
    } else {
        "it is not JSON"
    };
    format!("{kind} (line {}, column {})", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, body: &str) -> Failed {
        let head = Head {
            status: StatusCode::from_u16(status).unwrap(),
            request_id: Some("r1".into()),
            retry_after: Some(Duration::from_secs(7)),
            location: None,
        };
        head.refusal(body.as_bytes())
    }

    fn body(status: u16, message: &str) -> String {
        serde_json::to_string(&ErrorBody::new(status, vec![message.into()], "Reason")).unwrap()
    }

    #[test]
    fn answers_become_the_kinds_of_the_interface() {
        for (status, message, expected) in [
            (400, "property ttll should not exist", "Api"),
            (401, "Invalid API key", "Unauthorized"),
            (403, "Overridden by SVC_X", "Api"),
            (404, "Inbox not found: a@b.test", "InboxNotFound"),
            (404, "Email not found: msg_1", "EmailNotFound"),
            (404, "Webhook not found: whk_1", "WebhookNotFound"),
            (404, "Delivery not found: dlv_1", "Api"),
            (404, "Route not found: /x", "Api"),
            (
                404,
                "There is no such email: the inbox not found is a@b.test",
                "InboxNotFound",
            ),
            (404, "Inbox not found: email not found@b.test", "InboxNotFound"),
            (404, "WEBHOOK NOT FOUND", "WebhookNotFound"),
            (409, "An inbox with this email address already exists", "InboxTaken"),
            (
                409,
                "An inbox with the same client KEM public key already exists",
                "InboxTaken",
            ),
            (409, "Webhook limit reached (100)", "Api"),
            (422, "Inbox not found: a@b.test", "Api"),
            (429, "Too Many Requests", "RateLimited"),
            (503, "Storage unavailable", "Api"),
        ] {
            let error = refusal(status, &body(status, message)).error;
            let shown = format!("{error:?}");
            assert!(
                shown.split(['(', ' ']).next() == Some(expected),
                "{status} {message}: {shown}"
            );
            assert_eq!(error.status(), Some(status));
            assert_eq!(error.to_string(), format!("{message} ({status}, request r1)"));
        }
    }

    #[test]
    fn an_answer_that_is_not_the_interfaces_is_its_reason_phrase() {
        for (status, body, expected) in [
            (502, "<html><body>secret</body></html>", "Bad Gateway"),
            (500, "", "Internal Server Error"),
            (599, "{}", "no reason given"),
            (
                400,
                r#"{"statusCode":400,"message":[],"error":"Bad Request"}"#,
                "Bad Request",
            ),
            (
                400,
                r#"{"statusCode":400,"message":["a","b"],"error":"Bad Request"}"#,
                "a; b",
            ),
        ] {
            let error = refusal(status, body).error;
            assert_eq!(error.answer().unwrap().message, expected, "{status} {body}");
        }
    }

    #[test]
    fn what_the_server_asks_to_wait_goes_with_the_statuses_that_are_retried() {
        let asked = Worth::Repetition {
            not_before: Duration::from_secs(7),
        };
        for status in [408, 429, 500, 502, 503, 504] {
            assert_eq!(refusal(status, "").worth, asked, "{status}");
        }
        for status in [301, 400, 401, 403, 404, 409, 413, 422, 501, 505] {
            assert_eq!(refusal(status, "").worth, Worth::Nothing, "{status}");
        }
        assert!(matches!(
            refusal(429, "").error,
            Error::RateLimited { retry_after: Some(asked), .. } if asked.as_secs() == 7
        ));
    }

    #[test]
    fn a_fault_of_json_tells_the_place_and_not_the_text() {
        for (text, expected) in [
            ("<html>secret", "it is not JSON (line 1, column 1)"),
            ("", "it is not JSON (line 1, column 0)"),
            (
                r#"{"ok": "secret"}"#,
                "it does not have the expected fields (line 1, column 15)",
            ),
            (
                r#"{"secret": 1}"#,
                "it does not have the expected fields (line 1, column 13)",
            ),
        ] {
            let error = serde_json::from_str::<restante_wire::CheckKey>(text).unwrap_err();
            assert_eq!(json_fault(&error), expected);
        }
    }
}
