//! Reading JSON bodies: every wrong field is named, and none is passed over.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};

use crate::error::ApiError;

/// Bytes of a JSON body, at most.
pub const BODY_MAX: usize = 256 * 1024;
/// A body is there within this time.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// A JSON object from a request; an absent body is an empty object.
pub(crate) struct JsonObject {
    /// The bytes as sent.
    bytes: Bytes,
    fields: Map<String, Value>,
    errors: Vec<String>,
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
        Self {
            bytes,
            fields,
            errors: Vec::new(),
        }
    }

    /// Takes a field; `null` is absent.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a text.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            _ => self.wrong(name, "must be a string"),
        }
    }

    /// Takes a boolean.
    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        match self.take(name)? {
            Value::Bool(flag) => Some(flag),
            _ => self.wrong(name, "must be a boolean"),
        }
    }

    /// Takes a whole number. One below 0 or above 64 bits becomes the nearest that fits: for its reader to say which range
    /// it is out of.
    pub(crate) fn whole_number(&mut self, name: &str) -> Option<u64> {
        let value = self.take(name)?;
        let whole = value.as_u64().or_else(|| value.as_f64().and_then(whole));
        whole.or_else(|| self.wrong(name, "must be a whole number"))
    }

    /// Notes that a field breaks a rule.
    pub(crate) fn wrong<T>(&mut self, name: &str, rule: &str) -> Option<T> {
        self.errors.push(format!("{name} {rule}"));
        None
    }

    /// Refuses every field that was not taken, and every wrong one; gives back the bytes as sent.
    ///
    /// # Errors
    /// 400 with all of them.
    pub(crate) fn finish(mut self) -> Result<Bytes, ApiError> {
        let unknown = self
            .fields
            .keys()
            .map(|name| format!("property {name} should not exist"));
        self.errors.extend(unknown);
        if self.errors.is_empty() {
            Ok(self.bytes)
        } else {
            Err(ApiError::Invalid(self.errors))
        }
    }
}

/// `60.0` is a whole number in JSON, which has only one type of number.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what does not fit becomes the nearest that does"
    )]
    let nearest = number as u64;
    (number.fract() == 0.0).then_some(nearest)
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

    fn object(json: &str) -> JsonObject {
        let fields = serde_json::from_str(json).unwrap();
        JsonObject::new(Bytes::new(), fields)
    }

    #[test]
    fn every_error_is_named_at_once() {
        let mut body = object(r#"{"ttl": "60", "emailAuth": 1, "emailAddress": [], "ttll": 3}"#);
        assert_eq!(body.whole_number("ttl"), None);
        assert_eq!(body.flag("emailAuth"), None);
        assert_eq!(body.text("emailAddress"), None);
        let expected = [
            "ttl must be a whole number",
            "emailAuth must be a boolean",
            "emailAddress must be a string",
            "property ttll should not exist",
        ];
        assert_eq!(
            body.finish(),
            Err(ApiError::Invalid(expected.map(str::to_owned).to_vec()))
        );
    }

    #[test]
    fn null_is_absent_and_whole_floats_are_whole() {
        let mut body = object(r#"{"a": null, "b": 60.0, "c": 60.5, "d": -1.5, "e": -1, "f": 1e300}"#);
        assert_eq!(body.text("a"), None);
        assert_eq!(body.whole_number("b"), Some(60));
        assert_eq!(body.whole_number("c"), None);
        assert_eq!(body.whole_number("d"), None);
        assert_eq!(body.whole_number("e"), Some(0));
        assert_eq!(body.whole_number("f"), Some(u64::MAX));
        assert_eq!(
            body.finish(),
            Err(ApiError::Invalid(vec![
                "c must be a whole number".into(),
                "d must be a whole number".into()
            ]))
        );
    }
}
