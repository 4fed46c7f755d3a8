//! One request to the server: key, time-out, retries, and from an answer to a result.

mod answer;
pub(crate) mod retry;
mod tls;

use std::error::Error as _;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use restante_envelope::{base64url, digest};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::retry::RetryPolicy;
use crate::builder::ApiKey;
use crate::{Error, Settings};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The way to the server.
#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: Url,
    api_key: ApiKey,
    timeout: Duration,
    retry: RetryPolicy,
    closed: CancellationToken,
}

/// One request, which may be made several times.
#[derive(Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Option<Bytes>,
    idempotency_key: Option<String>,
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

    fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            body: None,
            idempotency_key: None,
        }
    }
}

impl Http {
    pub(crate) fn new(
        url: &str,
        api_key: ApiKey,
        certificates: &[Vec<u8>],
        settings: &Settings,
    ) -> Result<Self, Error> {
        let base = base_url(url)?;
        if api_key.expose().is_empty() || header_value(&api_key).is_err() {
            return Err(Error::Configuration(
                "the API key is empty or has characters that no key has".to_owned(),
            ));
        }
        Ok(Self {
            client: tls::client(&base, certificates)?,
            base,
            api_key,
            timeout: settings.timeout,
            retry: RetryPolicy::new(settings.retry),
            closed: CancellationToken::new(),
        })
    }

    /// Where the server is, without a slash at the end.
    pub(crate) fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Cancelled when the client is closed.
    pub(crate) fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Makes a call whose answer is JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let body = self.answer(&call).await?;
        serde_json::from_slice(&body).map_err(|error| Error::UnexpectedAnswer {
            url: self.shown_url(&call),
            reason: answer::json_fault(&error),
        })
    }

    /// Makes a call whose answer says nothing.
    pub(crate) async fn done(&self, call: Call) -> Result<(), Error> {
        self.answer(&call).await.map(|_| ())
    }

    /// Opens the notification stream once: the head of its answer has come within `connect_timeout`.
    pub(crate) async fn stream(
        &self,
        call: Call,
        last_event_id: Option<&str>,
        connect_timeout: Duration,
    ) -> Result<Response, Error> {
        let mut request = self.request(&call)?;
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers_mut().insert(LAST_EVENT_ID, id);
        }
        let opened = self.within(connect_timeout, self.client.execute(request)).await?;
        let response = opened.map_err(|error| self.failure(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let head = answer::Head::of(&response);
        let body = self.within(connect_timeout, response.bytes()).await?;
        Err(head.refusal(&body.unwrap_or_default()))
    }

    /// The body of the first answer that is worth no repetition.
    async fn answer(&self, call: &Call) -> Result<Bytes, Error> {
        let mut repetitions = self.retry.repetitions();
        loop {
            let error = match self.attempt(call).await {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            let Some(pause) = repetitions.next_pause(&error.error, error.retry_after) else {
                return Err(error.error);
            };
            self.pause(pause).await?;
        }
    }

    async fn attempt(&self, call: &Call) -> Result<Bytes, answer::Failed> {
        let exchange = async {
            let request = self.request(call)?;
            let response = self.client.execute(request).await;
            let response = response.map_err(|error| self.failure(&error))?;
            let head = answer::Head::of(&response);
            let body = response.bytes().await.map_err(|error| self.failure(&error))?;
            Ok::<_, Error>((head, body))
        };
        let (head, body) = self.within(self.timeout, exchange).await??;
        head.result(body)
    }

    /// Waits, unless the client is closed meanwhile.
    pub(crate) async fn pause(&self, pause: Duration) -> Result<(), Error> {
        tokio::select! {
            () = self.closed.cancelled() => Err(Error::Closed),
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }

    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Result<T, Error> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(Error::Closed),
            done = tokio::time::timeout(limit, work) => done.map_err(|_| Error::RequestTimeout {
                url: self.url().to_owned(),
                limit,
            }),
        }
    }

    fn request(&self, call: &Call) -> Result<reqwest::Request, Error> {
        let mut request = reqwest::Request::new(call.method.clone(), self.resolve(call));
        let headers = request.headers_mut();
        headers.insert(API_KEY, header_value(&self.api_key)?);
        if let Some(key) = call
            .idempotency_key
            .as_deref()
            .and_then(|key| HeaderValue::from_str(key).ok())
        {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if let Some(body) = &call.body {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            *request.body_mut() = Some(body.clone().into());
        }
        Ok(request)
    }

    fn resolve(&self, call: &Call) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{}", self.base.path().trim_end_matches('/'), call.path));
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        url
    }

    fn shown_url(&self, call: &Call) -> String {
        format!("{}{}", self.url(), call.path)
    }

    /// What the network did, without what reqwest adds of the URL.
    fn failure(&self, error: &reqwest::Error) -> Error {
        let mut reason = String::new();
        let mut source = error.source();
        while let Some(cause) = source {
            reason = cause.to_string();
            source = cause.source();
        }
        if reason.is_empty() {
            reason = error.to_string();
        }
        Error::Network {
            url: self.url().to_owned(),
            reason,
        }
    }
}

fn header_value(api_key: &ApiKey) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(api_key.expose())
        .map_err(|_| Error::Configuration("the API key has characters that no header may have".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn base_url(text: &str) -> Result<Url, Error> {
    let expected = |fault: &str| {
        Error::Configuration(format!(
            "expected the server's URL such as http://127.0.0.1:8080, got {text:?}: {fault}"
        ))
    };
    let url = Url::parse(text).map_err(|error| expected(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(expected("it must begin with http:// or https://"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(expected("it must have no query and no fragment"));
    }
    Ok(url)
}
