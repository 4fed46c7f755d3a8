//! One request, before it is made.

use bytes::Bytes;
use reqwest::Method;
use restante_envelope::{base64url, digest};
use serde::Serialize;

use super::body;

/// One request, which may be made several times.
///
/// Every request of the interface may be: a second GET, DELETE or PATCH leaves what the first one left, and a POST has
/// an idempotency key (decisions, section 2).
#[derive(Debug)]
pub(crate) struct Call {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Bytes>,
    pub(super) idempotency_key: Option<String>,
    pub(super) is_made_once: bool,
    /// How many bytes a success may have.
    pub(super) largest_answer: usize,
}

impl Call {
    /// GET of a path, whose segments are encoded already.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new(Method::GET, path)
    }

    /// DELETE of a path.
    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// PATCH of a path.
    pub(crate) fn patch(path: impl Into<String>) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// POST of a path, with an idempotency key, so that it may be repeated.
    pub(crate) fn post(path: impl Into<String>) -> Self {
        Self {
            idempotency_key: Some(base64url::encode(digest::random_bytes::<16>())),
            ..Self::new(Method::POST, path)
        }
    }

    /// With a parameter of the query.
    pub(crate) fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    /// With a body of JSON.
    pub(crate) fn body(mut self, body: &impl Serialize) -> Self {
        let json = serde_json::to_vec(body).expect("requests have string keys only");
        self.body = Some(json.into());
        self
    }

    /// Its first answer is the one that is asked for, whatever it is.
    pub(crate) fn once(mut self) -> Self {
        self.is_made_once = true;
        self
    }

    /// Its answer has mail in it, and may be large.
    pub(crate) fn answers_mail(mut self) -> Self {
        self.largest_answer = body::MAX_MAIL_BYTES;
        self
    }

    pub(super) fn is_deletion(&self) -> bool {
        self.method == Method::DELETE
    }

    fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            body: None,
            idempotency_key: None,
            is_made_once: false,
            largest_answer: body::MAX_PLAIN_BYTES,
        }
    }
}
