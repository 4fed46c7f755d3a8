//! Reading JSON bodies.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::fields::Fields;

/// Bytes of a JSON body, at most.
pub const BODY_MAX: usize = 256 * 1024;
/// A body is there within this time.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// A JSON object from a request; an absent body is an empty object.
pub(crate) struct JsonObject {
    /// The bytes as sent.
    bytes: Bytes,
    /// What it says.
    pub(crate) fields: Fields,
}

impl<S: Send + Sync> FromRequest<S> for JsonObject {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        // What is in a body of another type is not looked at, not even how long it is.
        if !is_json(&parts.headers) {
            return if is_empty(body).await {
                Ok(Self::new(Bytes::new(), Map::new()))
            } else {
                Err(ApiError::MediaType)
            };
        }
        let bytes = read(body).await?;
        if bytes.is_empty() {
            return Ok(Self::new(bytes, Map::new()));
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(fields)) => Ok(Self::new(bytes, fields)),
            Ok(_) => Err(ApiError::invalid("Request body must be a JSON object")),
            Err(error) => Err(ApiError::invalid(format!("Request body must be valid JSON: {error}"))),
        }
    }
}

async fn is_empty(mut body: Body) -> bool {
    let first = tokio::time::timeout(BODY_DEADLINE, body.frame()).await;
    matches!(first, Ok(None))
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("");
    let essence = media_type.split(';').next().unwrap_or("").trim();
    essence.eq_ignore_ascii_case("application/json")
}

async fn read(body: Body) -> Result<Bytes, ApiError> {
    let whole = tokio::time::timeout(BODY_DEADLINE, collect(body)).await;
    whole.unwrap_or(Err(ApiError::LateBody))
}

/// All of a body within its limit.
async fn collect(mut body: Body) -> Result<Bytes, ApiError> {
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| ApiError::invalid("Request body is incomplete"))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + data.len() > BODY_MAX {
            return Err(ApiError::TooLarge(BODY_MAX));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

impl JsonObject {
    fn new(bytes: Bytes, fields: Map<String, Value>) -> Self {
        let fields = Fields::of_body(fields);
        Self { bytes, fields }
    }

    /// A body that says this.
    #[cfg(test)]
    pub(crate) fn of(body: &Value) -> Self {
        let text = body.to_string();
        Self::new(Bytes::from(text.clone()), serde_json::from_str(&text).unwrap())
    }

    /// Refuses every field that was not taken, and every wrong one; gives back the bytes as sent.
    ///
    /// # Errors
    /// 400 with all of them.
    pub(crate) fn finish(self) -> Result<Bytes, ApiError> {
        let errors = self.fields.into_errors();
        if errors.is_empty() {
            Ok(self.bytes)
        } else {
            Err(ApiError::Invalid(errors))
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use futures_util::stream::{self, StreamExt as _};
    use tokio::time::Instant;

    use super::*;

    /// A request whose body says this and then never ends.
    async fn unfinished(content_type: &'static str, begin: &'static [u8]) -> Option<ApiError> {
        let begin = stream::once(std::future::ready(Ok::<_, std::io::Error>(Bytes::from_static(begin))));
        let mut request = Request::new(Body::from_stream(begin.chain(stream::pending())));
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        JsonObject::from_request(request, &()).await.err()
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_end_is_late_after_30_seconds() {
        let began = Instant::now();
        assert_eq!(unfinished("application/json", b"{").await, Some(ApiError::LateBody));
        assert_eq!(began.elapsed(), Duration::from_secs(30));
        assert_eq!(unfinished("text/plain", b"{").await, Some(ApiError::MediaType));
        assert_eq!(
            began.elapsed(),
            Duration::from_secs(30),
            "its type is enough to refuse it"
        );
    }
}
