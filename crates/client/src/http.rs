//! One request to the server: key, time-out, retries, and from an answer to a result.

mod answer;
mod base_url;
mod body;
mod call;
mod failure;
pub(crate) mod retry;
mod retry_after;
mod tls;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use restante_model::Clock;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use url::Url;

pub(crate) use self::answer::json_fault;
pub(crate) use self::call::Call;
pub(crate) use self::tls::is_local;

use self::answer::Head;
use self::retry::{Failed, RetryPolicy};
use crate::builder::ApiKey;
use crate::{Error, Settings};

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The way to the server.
pub(crate) struct Http {
    client: reqwest::Client,
    base: Url,
    api_key: ApiKey,
    timeout: Duration,
    retry: RetryPolicy,
    clock: Arc<dyn Clock>,
    closed: CancellationToken,
}

/// Shows where the server is: neither the key, nor the proxies of the environment, whose URLs may hold passwords.
impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Http {
    pub(crate) fn new(
        url: &str,
        api_key: ApiKey,
        certificates: &[Vec<u8>],
        settings: &Settings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let base = base_url::parse(url)?;
        check_key(&api_key)?;
        Ok(Self {
            client: tls::client(&base, certificates)?,
            base,
            api_key,
            timeout: settings.timeout,
            retry: RetryPolicy::new(settings.retry, settings.timeout),
            clock,
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

    /// Whether the client still works.
    pub(crate) fn check_open(&self) -> Result<(), Error> {
        if self.closed.is_cancelled() {
            Err(Error::Closed)
        } else {
            Ok(())
        }
    }

    /// Makes a call whose answer is JSON.
    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let body = self.answer(&call).await?;
        serde_json::from_slice(&body).map_err(|error| Error::UnexpectedAnswer {
            url: self.shown_url(&call),
            reason: json_fault(&error),
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
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_event_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        let opening = async {
            let (head, response) = self.send(request).await?;
            if head.is_success() {
                return Ok(response);
            }
            let body = body::read(response, body::MAX_ERROR_BYTES).await;
            Err(head.refusal(&body.ok().flatten().unwrap_or_default()))
        };
        let opened = self.within(connect_timeout, opening).await?;
        opened.map_err(|failed| failed.error)
    }

    /// Waits, unless the client is closed meanwhile.
    pub(crate) async fn pause(&self, pause: Duration) -> Result<(), Error> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(Error::Closed),
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }

    /// The body of the first answer that is worth no repetition.
    async fn answer(&self, call: &Call) -> Result<Bytes, Error> {
        let mut repetitions = self.retry.repetitions();
        let mut may_be_done = false;
        loop {
            let failed = match self.attempt(call).await {
                Ok(body) => return Ok(body),
                Err(failed) => failed,
            };
            if may_be_done && call.is_deletion() && failed.error.status() == Some(404) {
                // An attempt before this one deleted it, and its answer was lost.
                return Ok(Bytes::new());
            }
            match repetitions.next_pause(failed.worth) {
                Some(pause) if !call.is_made_once => {
                    may_be_done |= failed.may_have_succeeded();
                    self.pause(pause).await?;
                }
                _ => return Err(failed.error),
            }
        }
    }

    async fn attempt(&self, call: &Call) -> Result<Bytes, Failed> {
        let request = self.request(call)?;
        let exchange = async {
            let (head, response) = self.send(request).await?;
            let body = body::read(response, head.body_limit(call.largest_answer)).await;
            let body = body.map_err(|error| failure::failed(self.url(), &error))?;
            head.result(body, call.largest_answer, self.url())
        };
        self.within(self.timeout, exchange).await?
    }

    async fn send(&self, request: reqwest::Request) -> Result<(Head, Response), Failed> {
        let answered = self.client.execute(request).await;
        let response = answered.map_err(|error| failure::failed(self.url(), &error))?;
        Ok((Head::of(&response, self.clock.now()), response))
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
        let key = call.idempotency_key.as_deref();
        if let Some(key) = key.and_then(|key| HeaderValue::from_str(key).ok()) {
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
}

/// A text that can be no key, with what is wrong with it and without the text.
fn check_key(api_key: &ApiKey) -> Result<(), Error> {
    let key = api_key.expose();
    let fault = match key.chars().position(|c| !(' '..='~').contains(&c)) {
        _ if key.is_empty() => "the API key is empty".to_owned(),
        Some(_) if key.contains('\n') => "the API key has more than one line; is it the file of a key?".to_owned(),
        Some(at) => format!(
            "the API key has a character that no key has, as its character {}",
            at + 1
        ),
        None => return Ok(()),
    };
    Err(Error::Configuration(fault))
}

fn header_value(api_key: &ApiKey) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(api_key.expose())
        .map_err(|_| Error::Configuration("the API key has characters that no header may have".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use restante_model::SystemClock;

    use super::*;
    use crate::Client;

    #[test]
    fn neither_the_transport_nor_a_request_shows_the_key() {
        let key = "a-key-that-nobody-may-see";
        let builder = Client::builder("http://127.0.0.1:1/team/", key);
        let client = builder.clock(Arc::new(SystemClock)).build().unwrap();
        let http = client.http();
        let request = http.request(&Call::post("/api/x").query("a", "b c")).unwrap();
        assert_eq!(request.url().as_str(), "http://127.0.0.1:1/team/api/x?a=b+c");
        assert_eq!(request.headers()[API_KEY], key);
        let shown = format!("{http:?} {request:?} {:?}", request.headers());
        assert!(!shown.contains(key), "{shown}");
        assert!(
            shown.starts_with(r#"Http { url: "http://127.0.0.1:1/team", .. }"#),
            "{shown}"
        );
    }
}
