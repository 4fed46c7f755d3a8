//! Making answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use serde::Serialize;

use crate::budget::Held;

/// A JSON answer.
pub(crate) fn json(status: StatusCode, shape: &impl Serialize) -> Response<Body> {
    with_body(status, Body::from(to_bytes(shape)))
}

/// A JSON answer that holds its memory until it is sent.
pub(crate) fn json_holding(shape: &impl Serialize, held: Held) -> Response<Body> {
    with_body(
        StatusCode::OK,
        Body::new(Holding {
            bytes: Full::new(to_bytes(shape)),
            _held: held,
        }),
    )
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

/// A body whose memory is counted until hyper is done with it.
struct Holding {
    bytes: Full<Bytes>,
    _held: Held,
}

impl HttpBody for Holding {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.bytes).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.size_hint()
    }
}
