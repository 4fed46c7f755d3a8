//! The API as clients call it whose server may end at any moment.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use ureq::Agent;

use crate::server::Server;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of an answer, at most.
const ANSWER_MAX: u64 = 1 << 30;

/// A client of one server.
pub(crate) struct Api {
    url: String,
    key: String,
    agent: Agent,
}

/// An answer that came whole.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

/// No answer came, or not all of it: what was asked for may have happened or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unanswered;

impl Api {
    /// A client of its own, with connections of its own.
    pub(crate) fn of(server: &Server) -> Result<Self> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE));
        Ok(Self {
            url: server.discovery().url.clone(),
            key: server.api_key()?,
            agent: config.build().into(),
        })
    }

    pub(crate) fn get(&self, path: &str) -> Result<Answer, Unanswered> {
        whole(self.agent.get(self.url(path)).header("X-API-Key", &self.key).call())
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Answer, Unanswered> {
        whole(self.agent.delete(self.url(path)).header("X-API-Key", &self.key).call())
    }

    pub(crate) fn patch(&self, path: &str) -> Result<Answer, Unanswered> {
        let asked = self.agent.patch(self.url(path)).header("X-API-Key", &self.key);
        whole(asked.send_empty())
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Answer, Unanswered> {
        let asked = self.agent.post(self.url(path)).header("X-API-Key", &self.key);
        whole(asked.send_json(body))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

impl Answer {
    /// The body of an answer that says 200 or 201.
    pub(crate) fn json(&self) -> Result<Value> {
        ensure!(matches!(self.status, 200 | 201), "answered {self}");
        serde_json::from_slice(&self.body).with_context(|| format!("no JSON: {self}"))
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = &self.body[..self.body.len().min(200)];
        write!(f, "{}: {}", self.status, String::from_utf8_lossy(shown))
    }
}

fn whole(outcome: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Answer, Unanswered> {
    let mut answer = outcome.map_err(|_| Unanswered)?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(ANSWER_MAX).read_to_vec();
    Ok(Answer {
        status,
        body: body.map_err(|_| Unanswered)?,
    })
}
