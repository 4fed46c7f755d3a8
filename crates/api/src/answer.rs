//! Making answers.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use serde::Serialize;

use crate::budget::Held;

/// A JSON answer.
pub(crate) fn json(status: StatusCode, shape: &impl Serialize) -> Response<Body> {
    with_body(status, Body::from(to_bytes(shape)))
}

/// A JSON answer that holds its memory until it is sent.
///
/// The bytes hold it, not the body: hyper lets go of a body as soon as its last bytes wait for a slow client.
pub(crate) fn json_holding(shape: &impl Serialize, held: Held) -> Response<Body> {
    with_body(StatusCode::OK, Body::from(holding(to_bytes(shape), held)))
}

/// Bytes that hold something, memory for example, until nobody has them any more.
pub(crate) fn holding(bytes: Bytes, held: impl Send + 'static) -> Bytes {
    Bytes::from_owner(Holding { bytes, _held: held })
}

/// A JSON answer from a body that is made already.
pub(crate) fn with_body(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// 204.
pub(crate) fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

pub(crate) fn to_bytes(shape: &impl Serialize) -> Bytes {
    serde_json::to_vec(shape)
        .expect("the shapes of the API have string keys only")
        .into()
}

struct Holding<T> {
    bytes: Bytes,
    _held: T,
}

impl<T> AsRef<[u8]> for Holding<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
