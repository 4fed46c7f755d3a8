//! The one table from errors to HTTP.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use restante_inbox::{CreateError, DepositError, ReadError, RecipientError, TestEmailError};
use restante_wire::ErrorBody;
use std::time::Duration;

/// How long a client should wait when the server is out of something, in seconds.
const RETRY_SECS: u64 = 1;

/// Why a request is refused.
///
/// Texts of 404 are read by clients: they look for the first of the words webhook, inbox, email before "not found".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// 400, with one text or several field errors; never empty.
    #[error("the request is invalid")]
    Invalid(Vec<String>),
    /// 401.
    #[error("no key")]
    MissingKey,
    /// 401.
    #[error("a wrong key")]
    InvalidKey,
    /// 403: the Host header names another server (DNS rebinding).
    #[error("a foreign host")]
    ForeignHost,
    /// 403: switched off by the setting named.
    #[error("switched off by {0}")]
    Disabled(&'static str),
    /// 403: inboxes may not ask for faults; clients look for the word `chaos`.
    #[error("chaos is switched off")]
    NoChaos,
    /// 404.
    #[error("no such route")]
    NoRoute(String),
    /// 404, with the address asked for.
    #[error("no such inbox")]
    NoInbox(String),
    /// 404, with the id asked for.
    #[error("no such email")]
    NoEmail(String),
    /// 404, with the id asked for.
    #[error("no such webhook")]
    NoWebhook(String),
    /// 404, with the id asked for.
    #[error("no such delivery")]
    NoDelivery(String),
    /// 405.
    #[error("method not allowed")]
    Method(String),
    /// 408: the body did not arrive in time.
    #[error("the body is late")]
    LateBody,
    /// 409, with its text.
    #[error("a conflict")]
    Conflict(&'static str),
    /// 409, with the limit.
    #[error("as many webhooks as there may be")]
    WebhookLimit(u64),
    /// 413, with the limit in bytes.
    #[error("the body is too large")]
    TooLarge(usize),
    /// 413: the message as composed has more bytes than this.
    #[error("the message is too large")]
    MessageTooLarge(usize),
    /// 413: the message has no place in all the storage or memory that there is.
    #[error("the message is larger than what can be stored")]
    BeyondStorage,
    /// 415.
    #[error("the body is not JSON")]
    MediaType,
    /// 422, with its text: a filter or a template that cannot work.
    #[error("what cannot be processed")]
    Unprocessable(String),
    /// 429, with the time to wait.
    #[error("too many requests")]
    TooMany(Duration),
    /// 500; what happened is in the log under the request's id.
    #[error("an internal error")]
    Internal,
    /// 503: the store cannot work now.
    #[error("the storage is unavailable")]
    Unavailable,
    /// 503: no memory for the answer, or no free alias.
    #[error("the server is busy")]
    Busy,
    /// 503: as many streams are open as there may be.
    #[error("too many streams")]
    TooManyStreams,
    /// 507: no room for the message now.
    #[error("no room")]
    NoRoom,
    /// 503: a stream that is switched off by the setting named.
    #[error("not served because of {0}")]
    NotServed(&'static str),
    /// 504: the answer took too long.
    #[error("the deadline passed")]
    Deadline,
}

impl ApiError {
    /// 409: the key of an earlier request with another body.
    pub(crate) const IDEMPOTENCY_REUSED: Self = Self::Conflict("Idempotency-Key was used with another request body");

    /// A 400 with one text.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(vec![message.into()])
    }

    /// What a failed read of an email, or of its inbox, means for a request that named them.
    pub(crate) fn reading(error: ReadError, address: &str, email: &str) -> Self {
        match error {
            ReadError::NoInbox => Self::NoInbox(address.to_owned()),
            ReadError::NoEmail => Self::NoEmail(email.to_owned()),
            ReadError::Unavailable => Self::Unavailable,
            ReadError::Damaged(id) => {
                let id = id.map(|id| id.to_string());
                tracing::error!(
                    address,
                    email = id.as_deref().unwrap_or(email),
                    "a stored email is damaged"
                );
                Self::Internal
            }
        }
    }

    /// What it means for a request to an address that no mail can go there.
    pub(crate) fn receiving(error: &RecipientError, address: &str) -> Self {
        match error {
            RecipientError::Domain(_) | RecipientError::NoInbox => Self::NoInbox(address.to_owned()),
            RecipientError::Unavailable => Self::Unavailable,
        }
    }

    /// What it means for a request that its mail to an address was not stored.
    pub(crate) fn depositing(error: TestEmailError, address: &str) -> Self {
        match error {
            TestEmailError::TooLarge(limit) => Self::MessageTooLarge(limit),
            TestEmailError::Deposit(DepositError::Gone) => Self::NoInbox(address.to_owned()),
            TestEmailError::Deposit(DepositError::NoRoom) => Self::NoRoom,
            TestEmailError::Deposit(DepositError::TooLarge | DepositError::BeyondStorage) => Self::BeyondStorage,
            TestEmailError::Deposit(DepositError::Unavailable) => Self::Unavailable,
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::MissingKey | Self::InvalidKey => StatusCode::UNAUTHORIZED,
            Self::ForeignHost | Self::Disabled(_) | Self::NoChaos => StatusCode::FORBIDDEN,
            Self::NoRoute(_) | Self::NoInbox(_) | Self::NoEmail(_) | Self::NoWebhook(_) | Self::NoDelivery(_) => {
                StatusCode::NOT_FOUND
            }
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::LateBody => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict(_) | Self::WebhookLimit(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) | Self::MessageTooLarge(_) | Self::BeyondStorage => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unprocessable(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable | Self::Busy | Self::TooManyStreams | Self::NotServed(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
            Self::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
            Self::Deadline => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    fn messages(&self) -> Vec<String> {
        let message = match self {
            Self::Invalid(messages) => return messages.clone(),
            Self::MissingKey => "Missing X-API-Key header".to_owned(),
            Self::InvalidKey => "Invalid API key".to_owned(),
            Self::ForeignHost => {
                "Host header must name this machine: localhost, 127.0.0.1 or [::1] (set SVC_SERVER_HOST to serve others)"
                    .to_owned()
            }
            Self::Disabled(setting) | Self::NotServed(setting) => format!("Switched off by the setting {setting}"),
            Self::NoChaos => "Inboxes may not ask for chaos: switched off by the setting SVC_CHAOS_ENABLED".to_owned(),
            Self::NoRoute(path) => format!("Route not found: {path}"),
            Self::NoInbox(address) => format!("Inbox not found: {address}"),
            Self::NoEmail(id) => format!("Email not found: {id}"),
            Self::NoWebhook(id) => format!("Webhook not found: {id}"),
            Self::NoDelivery(id) => format!("Delivery not found: {id}"),
            Self::Method(method) => format!("Method not allowed: {method}"),
            Self::LateBody => "Request body did not arrive in time".to_owned(),
            Self::Conflict(text) => (*text).to_owned(),
            Self::WebhookLimit(limit) => format!("Webhook limit reached ({limit})"),
            Self::TooLarge(limit) => format!("Request body must be at most {limit} bytes"),
            Self::MessageTooLarge(limit) => format!("Message must be at most {limit} bytes (SVC_SMTP_MAX_MESSAGE_SIZE)"),
            Self::BeyondStorage => "Message is larger than what can be stored".to_owned(),
            Self::MediaType => "Content-Type must be application/json".to_owned(),
            Self::Unprocessable(text) => text.clone(),
            Self::TooMany(_) => "Too many requests".to_owned(),
            Self::Internal => "Internal server error".to_owned(),
            Self::Unavailable => "Storage is unavailable, try again later".to_owned(),
            Self::Busy => "Server is busy, try again later".to_owned(),
            Self::TooManyStreams => "Too many open streams, try again later".to_owned(),
            Self::NoRoom => "There is no room for the message, try again later".to_owned(),
            Self::Deadline => "The answer took too long, try again later".to_owned(),
        };
        vec![message]
    }
}

impl From<CreateError> for ApiError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::Invalid(errors) => Self::Invalid(errors.iter().map(ToString::to_string).collect()),
            CreateError::AddressTaken => Self::Conflict("An inbox with this email address already exists"),
            CreateError::KeyTaken => Self::Conflict("An inbox with the same client KEM public key already exists"),
            CreateError::IdempotencyReused => Self::IDEMPOTENCY_REUSED,
            CreateError::NoAlias => Self::Busy,
            CreateError::Unavailable(_) => Self::Unavailable,
        }
    }
}

/// Answered with the request's id put in for a 500: see [`crate::gate`].
impl IntoResponse for ApiError {
    fn into_response(self) -> Response<Body> {
        let status = self.status();
        let body = ErrorBody::new(
            status.as_u16(),
            self.messages(),
            status.canonical_reason().unwrap_or("Error"),
        );
        let mut response = Response::new(Body::from(serde_json::to_vec(&body).expect("texts serialise")));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match &self {
            Self::MissingKey | Self::InvalidKey => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey"));
            }
            Self::TooMany(wait) => {
                headers.insert(RETRY_AFTER, HeaderValue::from(wait.as_secs() + 1));
            }
            Self::Unavailable | Self::Busy | Self::TooManyStreams | Self::NoRoom => {
                headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECS));
            }
            _ => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    /// Status, reason phrase and message of every refusal.
    #[rustfmt::skip]
    fn table() -> Vec<(ApiError, u16, &'static str, &'static str)> {
        let text = str::to_owned;
        vec![
            (ApiError::Invalid(vec![text("a"), text("b")]), 400, "Bad Request", r#"["a","b"]"#),
            (ApiError::invalid("a"), 400, "Bad Request", r#""a""#),
            (ApiError::MissingKey, 401, "Unauthorized", r#""Missing X-API-Key header""#),
            (ApiError::InvalidKey, 401, "Unauthorized", r#""Invalid API key""#),
            (ApiError::Disabled("SVC_X"), 403, "Forbidden", r#""Switched off by the setting SVC_X""#),
            (ApiError::NoChaos, 403, "Forbidden", r#""Inboxes may not ask for chaos: switched off by the setting SVC_CHAOS_ENABLED""#),
            (ApiError::NoRoute(text("/x")), 404, "Not Found", r#""Route not found: /x""#),
            (ApiError::NoInbox(text("a@b")), 404, "Not Found", r#""Inbox not found: a@b""#),
            (ApiError::NoEmail(text("x")), 404, "Not Found", r#""Email not found: x""#),
            (ApiError::NoWebhook(text("x")), 404, "Not Found", r#""Webhook not found: x""#),
            (ApiError::NoDelivery(text("x")), 404, "Not Found", r#""Delivery not found: x""#),
            (ApiError::Method(text("PUT")), 405, "Method Not Allowed", r#""Method not allowed: PUT""#),
            (ApiError::LateBody, 408, "Request Timeout", r#""Request body did not arrive in time""#),
            (ApiError::Conflict("taken"), 409, "Conflict", r#""taken""#),
            (ApiError::WebhookLimit(100), 409, "Conflict", r#""Webhook limit reached (100)""#),
            (ApiError::TooLarge(7), 413, "Payload Too Large", r#""Request body must be at most 7 bytes""#),
            (ApiError::MessageTooLarge(7), 413, "Payload Too Large", r#""Message must be at most 7 bytes (SVC_SMTP_MAX_MESSAGE_SIZE)""#),
            (ApiError::BeyondStorage, 413, "Payload Too Large", r#""Message is larger than what can be stored""#),
            (ApiError::MediaType, 415, "Unsupported Media Type", r#""Content-Type must be application/json""#),
            (ApiError::Unprocessable(text("x")), 422, "Unprocessable Entity", r#""x""#),
            (ApiError::TooMany(Duration::from_secs(1)), 429, "Too Many Requests", r#""Too many requests""#),
            (ApiError::Internal, 500, "Internal Server Error", r#""Internal server error""#),
            (ApiError::Unavailable, 503, "Service Unavailable", r#""Storage is unavailable, try again later""#),
            (ApiError::Busy, 503, "Service Unavailable", r#""Server is busy, try again later""#),
            (ApiError::TooManyStreams, 503, "Service Unavailable", r#""Too many open streams, try again later""#),
            (ApiError::NoRoom, 507, "Insufficient Storage", r#""There is no room for the message, try again later""#),
            (ApiError::NotServed("SVC_X"), 503, "Service Unavailable", r#""Switched off by the setting SVC_X""#),
            (ApiError::Deadline, 504, "Gateway Timeout", r#""The answer took too long, try again later""#),
        ]
    }

    #[tokio::test]
    async fn every_refusal_has_its_status_and_its_words() {
        for (error, status, reason, message) in table() {
            let (head, body) = error.clone().into_response().into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let expected = format!(r#"{{"statusCode":{status},"message":{message},"error":"{reason}"}}"#);
            assert_eq!(body, expected, "{error:?}");
            assert_eq!(head.status, status, "{error:?}");
            assert_eq!(head.headers[CONTENT_TYPE], "application/json");
        }
    }

    #[test]
    fn some_refusals_tell_more_in_a_header() {
        for (error, ..) in table() {
            let header = match &error {
                ApiError::MissingKey | ApiError::InvalidKey => Some((WWW_AUTHENTICATE, "ApiKey")),
                ApiError::TooMany(_) => Some((RETRY_AFTER, "2")),
                ApiError::Unavailable | ApiError::Busy | ApiError::TooManyStreams | ApiError::NoRoom => {
                    Some((RETRY_AFTER, "1"))
                }
                _ => None,
            };
            let headers = error.clone().into_response().headers().clone();
            assert_eq!(headers.len(), 1 + usize::from(header.is_some()), "{error:?}");
            if let Some((name, value)) = header {
                assert_eq!(headers[name], value, "{error:?}");
            }
        }
    }

    #[test]
    fn mail_that_is_not_taken_has_its_place_in_the_table() {
        let no_inbox = ApiError::NoInbox("a@b".into());
        for (error, expected) in [
            (RecipientError::Domain("b".into()), no_inbox.clone()),
            (RecipientError::NoInbox, no_inbox.clone()),
            (RecipientError::Unavailable, ApiError::Unavailable),
        ] {
            assert_eq!(ApiError::receiving(&error, "a@b"), expected);
        }
        for (error, expected) in [
            (TestEmailError::TooLarge(7), ApiError::MessageTooLarge(7)),
            (DepositError::Gone.into(), no_inbox),
            (DepositError::NoRoom.into(), ApiError::NoRoom),
            (DepositError::TooLarge.into(), ApiError::BeyondStorage),
            (DepositError::BeyondStorage.into(), ApiError::BeyondStorage),
            (DepositError::Unavailable.into(), ApiError::Unavailable),
        ] {
            assert_eq!(ApiError::depositing(error, "a@b"), expected);
        }
    }

    #[test]
    fn what_the_use_cases_say_has_its_place_in_the_table() {
        assert_eq!(
            ApiError::reading(ReadError::Unavailable, "a@b", "x"),
            ApiError::Unavailable
        );
        assert_eq!(ApiError::from(CreateError::NoAlias), ApiError::Busy);
        assert_eq!(
            ApiError::reading(ReadError::Damaged(None), "a@b", "x"),
            ApiError::Internal
        );
        assert_eq!(
            ApiError::reading(ReadError::NoInbox, "a@b", "x"),
            ApiError::NoInbox("a@b".into())
        );
        assert_eq!(
            ApiError::reading(ReadError::NoEmail, "a@b", "x"),
            ApiError::NoEmail("x".into())
        );
    }
}
