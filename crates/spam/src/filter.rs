//! Asking, within the time that there is.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderValue;
use reqwest::{Client, Response};
use restante_model::{SessionFacts, SpamAnalysis};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::answer::Verdict;
use crate::failure::Failure;
use crate::{SpamError, SpamSettings, client, request};

/// Longest answer that is read.
pub const ANSWER_BYTES: usize = 1024 * 1024;

/// Messages that are asked about at the same time, at most; the others wait, and that is of their time.
///
/// Each has a connection of its own: where rspamd hangs, those of all mail clients would take as many descriptors again.
pub const AT_ONCE: usize = 64;

/// Asks the filter; cheap to clone.
#[derive(Clone)]
pub struct SpamFilter {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    endpoint: Url,
    password: Option<HeaderValue>,
    timeout: Duration,
    /// Places for questions.
    places: Semaphore,
    /// Whether the last question got no answer: the log tells of a change, not of every message.
    is_failing: AtomicBool,
}

impl fmt::Debug for SpamFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpamFilter")
            .field("timeout", &self.shared.timeout)
            .finish_non_exhaustive()
    }
}

impl SpamFilter {
    /// A filter with these settings; nothing is connected yet.
    ///
    /// # Errors
    /// [`SpamError`].
    pub fn new(settings: SpamSettings) -> Result<Self, SpamError> {
        let password = settings.password.as_ref().map(|password| request::password(password));
        let shared = Shared {
            client: client::for_url(&settings.url)?,
            endpoint: client::endpoint(settings.url)?,
            password: password.transpose()?,
            timeout: settings.timeout,
            places: Semaphore::new(AT_ONCE),
            is_failing: AtomicBool::new(false),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// What the filter says of a message; never later than its timeout.
    ///
    /// `recipients` are the forward-paths of the transaction, `queue_id` names it in the filter's log.
    pub async fn analyse(
        &self,
        raw: &Bytes,
        facts: &SessionFacts,
        recipients: &[String],
        queue_id: &str,
    ) -> SpamAnalysis {
        let (start, timeout) = (Instant::now(), self.shared.timeout);
        let answer = timeout_at(start + timeout, self.ask(raw, facts, recipients, queue_id)).await;
        let answer = answer.unwrap_or(Err(Failure::Timeout(timeout)));
        let took = start.elapsed().as_micros().div_ceil(1000);
        let processing_time_ms = u64::try_from(took).unwrap_or(u64::MAX);
        self.log(queue_id, processing_time_ms, answer.as_ref().err());
        match answer {
            Ok(verdict) => SpamAnalysis::Analyzed(verdict.score(processing_time_ms)),
            Err(failure) => SpamAnalysis::Error {
                info: failure.to_string(),
                processing_time_ms,
            },
        }
    }

    async fn ask(
        &self,
        raw: &Bytes,
        facts: &SessionFacts,
        recipients: &[String],
        queue_id: &str,
    ) -> Result<Verdict, Failure> {
        let mut headers = request::headers(facts, recipients, queue_id);
        if let Some(password) = &self.shared.password {
            headers.insert(request::PASSWORD, password.clone());
        }
        let _place = self.shared.places.acquire().await.expect("nobody closes the semaphore");
        let request = self.shared.client.post(self.shared.endpoint.clone());
        let response = request.headers(headers).body(raw.clone()).send().await?;
        match response.status().as_u16() {
            200 => Verdict::read(&body(response).await?),
            401 | 403 if self.shared.password.is_some() => Err(Failure::WrongPassword),
            401 | 403 => Err(Failure::NoPassword),
            status => Err(Failure::Status(status)),
        }
    }

    fn log(&self, queue_id: &str, took_ms: u64, failure: Option<&Failure>) {
        tracing::debug!(queue_id, took_ms, ?failure, "asked rspamd");
        let was_failing = self.shared.is_failing.swap(failure.is_some(), Ordering::Relaxed);
        match failure {
            Some(why) if !was_failing => {
                tracing::warn!(queue_id, %why, "no spam analysis: mail is stored without it");
            }
            None if was_failing => tracing::info!("rspamd answers again"),
            Some(_) | None => {}
        }
    }
}

/// The whole body, if it is not too large.
async fn body(mut response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > ANSWER_BYTES {
            return Err(Failure::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
