//! Requests over an HTTP client that shares no code with the server.

use serde_json::Value;
use ureq::http::{HeaderMap, Method, Request};

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The body as text.
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// A header as text; empty if it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or("")
    }

    /// The answer itself if it has the status.
    pub(crate) fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }
}

/// Sends one request; an answer of any status is an answer.
pub(crate) fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let config = ureq::Agent::config_builder();
    let config = config
        .http_status_as_error(false)
        .max_redirects(0)
        .allow_non_standard_methods(true);
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let agent = config.build().new_agent();
    let sent = match (body, method) {
        ([], "GET" | "DELETE" | "HEAD" | "OPTIONS") => agent.run(request.body(()).unwrap()),
        _ => agent.run(request.body(body.to_vec()).unwrap()),
    };
    let mut response = sent.unwrap_or_else(|error| panic!("{method} {url}: {error}"));
    let body = response
        .body_mut()
        .with_config()
        .limit(u64::MAX)
        .read_to_string()
        .unwrap();
    Answer {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body,
    }
}
