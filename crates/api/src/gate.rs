//! What every request passes before its handler, and every answer after it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, Request, Response, StatusCode, Version};
use axum::response::IntoResponse as _;
use restante_envelope::digest::random_bytes;
use restante_wire::ErrorBody;
use tower::ServiceExt as _;

use crate::error::ApiError;
use crate::state::Api;
use crate::{answer, deadline, sse};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Characters of a request id that is taken from a request.
const REQUEST_ID_MAX: usize = 128;
/// Some clients come back to a refused stream without pause.
const STREAM_REFUSAL_PAUSE: Duration = Duration::from_secs(1);
/// What a stream is refused with slowly.
const REFUSED_STREAM: [StatusCode; 3] = [
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// Answers one request of `peer`.
pub async fn answer(api: &Arc<Api>, router: Router, request: Request<Body>, peer: SocketAddr) -> Response<Body> {
    let id = request_id(request.headers());
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    let deadline = deadline::of(&method, &path, api.webhooks.policy().timeout);
    let mut response = match admit(api, &request, peer.ip()) {
        Ok(()) => match tokio::time::timeout(deadline, router.oneshot(request)).await {
            Ok(response) => response.unwrap_or_else(|never| match never {}),
            Err(_) => ApiError::Deadline.into_response(),
        },
        Err(refusal) => refusal.into_response(),
    };
    let status = response.status();
    tracing::debug!(%peer, %method, path, status = status.as_u16(), request_id = id, "answered");
    if status == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!(%method, path, request_id = id, "a request failed");
        response = internal(&id);
    }
    if sse::is_at(&path) && REFUSED_STREAM.contains(&status) {
        tokio::time::sleep(STREAM_REFUSAL_PAUSE).await;
    }
    finish(response, &id)
}

/// Refuses what must not reach the router: no host or a foreign one, too many requests, requests without the key.
fn admit(api: &Api, request: &Request<Body>, ip: IpAddr) -> Result<(), ApiError> {
    if !has_its_host(request) {
        return Err(ApiError::invalid("Host header must be there once"));
    }
    if api.settings.local_hosts_only && !names_this_machine(request) {
        return Err(ApiError::ForeignHost);
    }
    let path = request.uri().path();
    if path != "/api" && !path.starts_with("/api/") {
        return Ok(());
    }
    let presented = request.headers().get(API_KEY);
    let refusal = match presented {
        Some(key) if api.settings.key.matches(key.as_bytes()) => {
            let throttle = api.throttle.as_ref().map_or(Ok(()), |throttle| throttle.count(ip));
            return throttle.map_err(ApiError::TooMany);
        }
        Some(_) => ApiError::InvalidKey,
        None => ApiError::MissingKey,
    };
    Err(api.failed_keys.count(ip).err().map_or(refusal, ApiError::TooMany))
}

/// Whether the request names its host once; one of HTTP/1.0 may leave it out (RFC 9112 section 3.2).
fn has_its_host(request: &Request<Body>) -> bool {
    match request.headers().get_all(HOST).iter().count() {
        0 => request.version() < Version::HTTP_11,
        count => count == 1,
    }
}

/// Whether the request was meant for a server on this machine: a page elsewhere whose name was pointed here was not.
fn names_this_machine(request: &Request<Body>) -> bool {
    match request.headers().get(HOST) {
        // What is no text is no name of this machine.
        Some(host) => host.to_str().is_ok_and(is_this_machine),
        None => request.uri().host().is_none_or(is_this_machine),
    }
}

/// Whether a host, perhaps with a port, is `localhost` or a loopback address.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The client's id if it is a sane token, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let sane = |id: &&str| {
        (1..=REQUEST_ID_MAX).contains(&id.len())
            && id
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(sane);
    given.map_or_else(
        || format!("{:032x}", u128::from_be_bytes(random_bytes())),
        str::to_owned,
    )
}

/// Says nothing but where to look.
fn internal(id: &str) -> Response<Body> {
    let message = format!("Internal server error (request id {id})");
    let body = ErrorBody::new(500, vec![message], "Internal Server Error");
    answer::json(StatusCode::INTERNAL_SERVER_ERROR, &body)
}

fn finish(mut response: Response<Body>, id: &str) -> Response<Body> {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.insert(CONTENT_SECURITY_POLICY, nothing);
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_host(host: &str) -> Request<Body> {
        Request::builder()
            .uri("/api/check-key")
            .header(HOST, host)
            .body(Body::empty())
            .unwrap()
    }

    #[test]
    fn only_names_of_this_machine_pass_the_host_check() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1",
            "127.0.0.1:1",
            "127.1.2.3:80",
            "[::1]:8080",
            "[::1]",
        ] {
            assert!(names_this_machine(&with_host(host)), "{host}");
        }
        for host in [
            "evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test:80",
            "10.0.0.1",
            "",
            "[::2]:80",
        ] {
            assert!(!names_this_machine(&with_host(host)), "{host}");
        }
    }

    #[test]
    fn a_request_id_is_taken_only_if_it_is_a_sane_token() {
        let id = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(value).unwrap());
            request_id(&headers)
        };
        assert_eq!(id("build-7_a.b"), "build-7_a.b");
        for value in ["", "a b", "a\"b", &"x".repeat(129)] {
            assert_ne!(id(value), value);
            assert_eq!(id(value).len(), 32);
        }
    }
}
